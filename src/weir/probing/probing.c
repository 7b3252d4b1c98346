/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/probing/probing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"

_Static_assert(CONF_STATUS_MIN == (int)HEALTH_STATUS_MIN, "the file's statuses are health's");
_Static_assert(CONF_STATUS_MAX == (int)HEALTH_STATUS_MAX, "the file's statuses are health's");

static const enum health_type types[] = {
	[CONF_CHECK_TCP] = HEALTH_TCP,     [CONF_CHECK_HTTP] = HEALTH_HTTP,
	[CONF_CHECK_HTTPS] = HEALTH_HTTPS, [CONF_CHECK_UDP] = HEALTH_UDP,
	[CONF_CHECK_DNS] = HEALTH_DNS,     [CONF_CHECK_ICMP] = HEALTH_ICMP,
	[CONF_CHECK_EXEC] = HEALTH_EXEC,
};

static const enum health_state states[] = {
	[CONF_INITIAL_UNKNOWN] = HEALTH_UNKNOWN,
	[CONF_INITIAL_HEALTHY] = HEALTH_HEALTHY,
	[CONF_INITIAL_UNHEALTHY] = HEALTH_UNHEALTHY,
};

/* RFC 1035, section 3.2.2; RFC 3596 */
static const uint16_t records[] = {
	[CONF_RECORD_A] = 1,   [CONF_RECORD_AAAA] = 28, [CONF_RECORD_NS] = 2,
	[CONF_RECORD_SOA] = 6, [CONF_RECORD_MX] = 15,   [CONF_RECORD_TXT] = 16,
};

static struct health_bytes text(const char *from)
{
	return (struct health_bytes){from, from ? strlen(from) : 0};
}

/* What was decoded goes to *at, and moves it on. */
static struct health_bytes decoded(const char *from, char **at)
{
	struct health_bytes bytes = {*at, 0};
	long length = from ? escape_decode(from, *at) : 0;

	bytes.length = length > 0 ? (size_t)length : 0;
	*at += bytes.length;
	return bytes;
}

static struct health_bytes joined(const struct conf_check *check, char **at)
{
	struct health_bytes bytes = {*at, 0};

	for (size_t i = 0; i < check->command_count; i++) {
		size_t length = strlen(check->command[i]) + 1;

		memcpy(*at, check->command[i], length);
		*at += length;
		bytes.length += length;
	}
	return bytes;
}

static size_t room_for(const struct conf_check *check)
{
	size_t room = text(check->body).length + text(check->send).length +
		      text(check->receive).length + 1;

	for (size_t i = 0; i < check->command_count; i++)
		room += strlen(check->command[i]) + 1;
	return room;
}

static void set_http(const struct conf_check *check, struct health_spec *spec, char **at)
{
	spec->texts[HEALTH_PATH] = text(check->path);
	spec->texts[HEALTH_HOST] = text(check->host);
	spec->texts[HEALTH_BODY] = decoded(check->body, at);
	spec->head = check->method == CONF_METHOD_HEAD;
	if (!check->expect_count)
		health_expect(spec, 200);
	for (size_t i = 0; i < check->expect_count; i++)
		health_expect(spec, check->expect[i]);
}

static void set_https(const struct conf_check *check, struct health_spec *spec)
{
	spec->texts[HEALTH_SNI] = text(check->sni);
	spec->texts[HEALTH_CA_FILE] = text(check->ca_file);
	spec->texts[HEALTH_CERT_FILE] = text(check->cert_file);
	spec->texts[HEALTH_KEY_FILE] = text(check->key_file);
	spec->insecure = check->insecure;
}

static void set_type(const struct conf_check *check, struct health_spec *spec, char *at)
{
	switch (check->type) {
	case CONF_CHECK_HTTPS: set_https(check, spec); /* fall through */
	case CONF_CHECK_HTTP: set_http(check, spec, &at); break;
	case CONF_CHECK_UDP:
		spec->texts[HEALTH_SEND] = decoded(check->send, &at);
		spec->texts[HEALTH_RECEIVE] = decoded(check->receive, &at);
		break;
	case CONF_CHECK_DNS:
		spec->texts[HEALTH_QUERY] = text(check->query);
		spec->record = records[check->record];
		break;
	case CONF_CHECK_EXEC: spec->texts[HEALTH_COMMAND] = joined(check, &at); break;
	default: break;
	}
}

bool probing_needs_tunnel(const struct conf *conf)
{
	for (size_t i = 0; i < conf->pool_count; i++) {
		if (conf->pools[i].check.type != CONF_CHECK_NONE &&
		    conf->pools[i].check.via == CONF_VIA_TUNNEL)
			return true;
	}
	return false;
}

int probing_init(const struct conf *conf, const struct conf_pool *pool,
		 const struct conf_backend *backend, struct probing *ret)
{
	const struct conf_check *check = &pool->check;
	const struct conf_service *service =
		check->via == CONF_VIA_TUNNEL ? conf_check_service(conf, pool) : NULL;
	char *bytes = malloc(room_for(check));

	if (!bytes)
		return -ENOMEM;
	*ret = (struct probing){
		.spec =
			{
				.type = types[check->type],
				.address = service ? service->vips[0].addr : backend->address,
				.port = check->port,
				.interval_ms = check->interval_ms,
				.fast_interval_ms = check->fast_interval_ms,
				.timeout_ms = check->timeout_ms,
				.jitter = check->jitter,
				.rise = check->rise,
				.fall = check->fall,
				.initial = states[check->initial],
			},
		.bytes = bytes,
	};
	set_type(check, &ret->spec, bytes);
	return 0;
}

void probing_fini(struct probing *probing)
{
	free(probing->bytes);
}
