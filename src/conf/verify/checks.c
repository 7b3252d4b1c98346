/* SPDX-License-Identifier: BSD-2-Clause */
/* The pools' checks: times and texts beside each other, and ports, which depend on the services. */
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "conf/verify/verify.h"

enum { COMMAND_MAX = 4096, LABEL_MAX = 63 };

/* One check in its file. */
struct context {
	struct reader *reader;
	struct conf_pool *pool;
	struct conf_check *check;
};

static struct conf_place place_at(const struct context *context, const void *at)
{
	const struct conf_check *check = context->check;

	return reader_place(context->reader, at,
			    reader_place(context->reader, &check->type, context->pool->place));
}

/* --- times --- */

static void check_times(const struct context *context)
{
	struct conf_check *check = context->check;
	const void *timeout = &check->timeout_ms;

	if (!reader_node(context->reader, timeout))
		timeout = &check->interval_ms;
	if (check->timeout_ms > check->interval_ms)
		reader_error(context->reader, place_at(context, timeout),
			     "timeout of %u ms is longer than the interval of %u ms, expected a "
			     "probe to end before the next begins",
			     check->timeout_ms, check->interval_ms);
	if (!check->fast_interval_ms)
		check->fast_interval_ms = check->interval_ms;
	if (check->fast_interval_ms > check->interval_ms)
		reader_error(context->reader, place_at(context, &check->fast_interval_ms),
			     "fast_interval of %u ms is longer than the interval of %u ms, "
			     "expected a shorter one",
			     check->fast_interval_ms, check->interval_ms);
}

/* --- texts --- */

/* What is wrong with a text, and what was expected; both NULL: nothing. */
struct finding {
	const char *wrong, *expected;
};

static bool is_graphic(const char *text)
{
	for (; *text; text++) {
		if (!isgraph((unsigned char)*text))
			return false;
	}
	return true;
}

static struct finding judge_path(const char *text)
{
	if (*text != '/')
		return (struct finding){"does not begin with a slash", "a path such as /healthz"};
	if (!is_graphic(text) || strchr(text, '#'))
		return (struct finding){"has letters that a request cannot have",
					"others written as %HH"};
	return (struct finding){0};
}

static struct finding judge_host(const char *text)
{
	if (*text && is_graphic(text) && !strpbrk(text, "/\\@?#%\""))
		return (struct finding){0};
	return (struct finding){"is not a host", "a name such as www.example.com, or with a port"};
}

static struct finding judge_sni(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_";

	if (*text && strspn(text, letters) == strlen(text))
		return (struct finding){0};
	return (struct finding){"is not a name", "one such as www.example.com"};
}

static struct finding judge_file(const char *text)
{
	if (*text == '/')
		return (struct finding){0};
	return (struct finding){"does not begin with a slash", "the whole path"};
}

static struct finding judge_bytes(const char *text)
{
	char *bytes = malloc(strlen(text) + 1);
	struct finding finding = {0};

	if (bytes && escape_decode(text, bytes) < 0)
		finding = (struct finding){"has a backslash before something else",
					   "\\xHH with two hexadecimal digits, or \\\\"};
	else if (!*text)
		finding = (struct finding){"is empty", "a byte or more"};
	free(bytes);
	return finding;
}

/* RFC 1035, section 3.1: labels of 1 to 63 bytes; one dot at the end is the root's. */
static struct finding judge_query(const char *text)
{
	const char *at = text;

	while (*at && is_graphic(text) && strcmp(text, ".") != 0) {
		size_t length = strcspn(at, ".");

		if (length == 0 || length > LABEL_MAX)
			break;
		at += length + (at[length] == '.');
	}
	if (*text && (!*at || strcmp(text, ".") == 0))
		return (struct finding){0};
	return (struct finding){"is not a domain name", "one such as www.example.com"};
}

static void check_texts(const struct context *context)
{
	const struct conf_check *check = context->check;
	const struct {
		const char *name;
		const char *const *at;
		struct finding (*judge)(const char *text);
	} rows[] = {
		{"path", &check->path, judge_path},
		{"host", &check->host, judge_host},
		{"body", &check->body, judge_bytes},
		{"sni", &check->sni, judge_sni},
		{"ca_file", &check->ca_file, judge_file},
		{"cert_file", &check->cert_file, judge_file},
		{"key_file", &check->key_file, judge_file},
		{"send", &check->send, judge_bytes},
		{"receive", &check->receive, judge_bytes},
		{"query", &check->query, judge_query},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const char *text = *rows[i].at;
		struct finding finding = text ? rows[i].judge(text) : (struct finding){0};

		if (finding.wrong)
			reader_error(context->reader, place_at(context, rows[i].at),
				     "%s %s %s, expected %s", rows[i].name,
				     quote(text, strlen(text)).text, finding.wrong,
				     finding.expected);
	}
}

static void check_command(const struct context *context)
{
	const struct conf_check *check = context->check;
	size_t length = 0;

	for (size_t i = 0; i < check->command_count; i++)
		length += check->command[i] ? strlen(check->command[i]) + 1 : 0;
	if (check->command_count && check->command[0] && check->command[0][0] != '/')
		reader_error(context->reader, place_at(context, &check->command),
			     "the command does not begin with a slash, expected the whole path");
	if (length > COMMAND_MAX)
		reader_error(context->reader, place_at(context, &check->command),
			     "the command has %zu bytes, expected %d at most", length, COMMAND_MAX);
}

static void need(const struct context *context, bool there, const char *what, const char *with)
{
	if (!there)
		reader_error(context->reader, place_at(context, NULL),
			     "%s is missing, expected it beside %s", what, with);
}

static void check_needs(const struct context *context)
{
	const struct conf_check *check = context->check;

	if (check->type == CONF_CHECK_UDP)
		need(context, check->send, "send", "type: udp");
	if (check->type == CONF_CHECK_DNS)
		need(context, check->query, "query", "type: dns");
	if (check->type == CONF_CHECK_EXEC)
		need(context, check->command_count, "command", "type: exec");
	if (check->cert_file || check->key_file) {
		need(context, check->cert_file, "cert_file", "key_file");
		need(context, check->key_file, "key_file", "cert_file");
	}
}

/* --- ports --- */

static uint8_t proto_of(const struct conf_check *check)
{
	return check->type == CONF_CHECK_UDP || check->type == CONF_CHECK_DNS ? IPPROTO_UDP
									      : IPPROTO_TCP;
}

/* The first listen that has a port, or was refused and may have been one; NULL: none. */
static const struct conf_listen *first_port(const struct conf_service *service, uint8_t proto)
{
	for (size_t i = 0; i < service->listen_count; i++) {
		const struct conf_listen *listen = &service->listens[i];

		if (!listen->proto || (listen->proto == proto && listen->first))
			return listen;
	}
	return NULL;
}

const struct conf_service *conf_check_service(const struct conf *conf, const struct conf_pool *pool)
{
	uint8_t proto = proto_of(&pool->check);

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		for (size_t j = 0; service->pool == pool && j < service->listen_count; j++) {
			const struct conf_listen *listen = &service->listens[j];

			if ((listen->proto == proto || listen->proto == CONF_PROTO_ANY) &&
			    listen->first <= pool->check.port && pool->check.port <= listen->last)
				return service;
		}
	}
	return NULL;
}

static void check_way(const struct context *context, const struct conf *conf)
{
	const struct conf_pool *pool = context->pool;

	if (pool->check.type == CONF_CHECK_NONE || pool->check.via != CONF_VIA_TUNNEL ||
	    !pool->check.port || conf_check_service(conf, pool))
		return;
	reader_error(context->reader, place_at(context, &pool->check.via),
		     "the check of pool \"%s\" goes through a tunnel to %s port %u, expected a "
		     "service of "
		     "the pool that listens there",
		     verify_name(pool->name), proto_of(&pool->check) == IPPROTO_TCP ? "TCP" : "UDP",
		     pool->check.port);
}

/* The port that serves what comes to `port`, where all backends have the same. */
static uint16_t backends_port(const struct context *context, uint16_t port)
{
	const struct conf_pool *pool = context->pool;
	uint16_t first = pool->backends[0].port ? pool->backends[0].port : port;

	for (size_t i = 1; i < pool->backend_count; i++) {
		const struct conf_backend *backend = &pool->backends[i];

		if ((backend->port ? backend->port : port) == first)
			continue;
		reader_error(context->reader, place_at(context, NULL),
			     "the backends of pool \"%s\" serve on different ports, expected "
			     "check: {port: PORT} or check: {type: none}",
			     verify_name(pool->name));
		break;
	}
	return first;
}

/* Probes go to the first port of the first service that has one, and where the mode changes it to
 * the backends', unless a port is given. */
static void resolve_port(const struct context *context, const struct conf *conf)
{
	struct conf_pool *pool = context->pool;
	uint8_t proto = proto_of(context->check);
	size_t users = 0;

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];
		const struct conf_listen *listen;

		if (service->pool != pool || service->listen_count == 0)
			continue;
		users++;
		listen = first_port(service, proto);
		if (!listen)
			continue;
		pool->check.port = listen->first;
		if (verify_changes_ports(service->forward) && pool->backend_count &&
		    pool->check.via == CONF_VIA_NODE)
			pool->check.port = backends_port(context, listen->first);
		return;
	}
	if (users == 0)
		pool->check.type = CONF_CHECK_NONE; /* nobody to check it for: a warning says so */
	else if (pool->check.type != CONF_CHECK_EXEC)
		reader_error(context->reader, place_at(context, NULL),
			     "the check of pool \"%s\" has no port and no service of the pool "
			     "listens on a %s port, expected check: {port: PORT} or check: {type: "
			     "none}",
			     verify_name(pool->name), proto == IPPROTO_TCP ? "TCP" : "UDP");
}

void verify_checks(struct reader *reader, struct conf *conf)
{
	for (size_t i = 0; i < conf->pool_count; i++) {
		struct conf_pool *pool = &conf->pools[i];
		const struct context context = {reader, pool, &pool->check};

		check_times(&context);
		check_texts(&context);
		check_command(&context);
		check_needs(&context);
		if (pool->check.type != CONF_CHECK_NONE && pool->check.type != CONF_CHECK_ICMP &&
		    !reader_node(reader, &pool->check.port))
			resolve_port(&context, conf);
		check_way(&context, conf);
	}
}
