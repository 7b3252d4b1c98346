/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The HTTP and HTTPS probes, by libcurl: one request of HTTP/1.1 on a connection of its own, which
 * is closed as soon as the answer is known, by RST. No redirect is followed, no proxy asked, no
 * environment read. What a server sends is bounded: HEADERS_MAX bytes of headers, BODY_MAX of a
 * body, of which no more is kept than a piece and what of the wanted text may have begun before it.
 *
 * Certificates are checked anew by each probe: no TLS session is resumed. Whom to believe is read
 * once and kept by libcurl for a day, a CA file of its own as long as the file's name is the same.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "health/probe/socket.h"
#include "health/probe/transfer.h"
#include "health/spec.h"

enum {
	HEADERS_MAX = 65536,
	BODY_MAX = 65536,
	BUFFER = 4096,   /* what libcurl reads at once */
	IDLE_MAX = 1024, /* easy handles kept for the next probes */
	URL_MAX = HEALTH_TEXT_MAX + 320,
};

/* Both types' own, one a struct health. */
struct http {
	struct transfers *transfers;
	CURL *idle[IDLE_MAX];
	unsigned idle_count;
};

/* What was found in the answer, before libcurl says that it has ended. */
enum finding { NOTHING_YET, RIGHT, WRONG_STATUS, LONG_HEADERS, LONG_BODY };

struct probe {
	struct probe_order order;
	struct http *http;
	CURL *easy;
	struct curl_slist *headers, *connect_to;
	enum finding finding;
	int status;
	int open_errno; /* why there is no socket */
	size_t header_bytes, body_bytes;
	char *tail; /* the body's last bytes, shorter than what is looked for */
	size_t tail_length;
	char error[CURL_ERROR_SIZE];
};

/* --- what comes --- */

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
	struct probe *probe = arg;
	size_t length = size * count;

	(void)bytes;
	probe->header_bytes += length;
	if (probe->header_bytes <= HEADERS_MAX)
		return length;
	probe->finding = LONG_HEADERS;
	return 0;
}

/* Whether what is looked for ends in these bytes. */
static bool search(struct probe *probe, const char *bytes, size_t length)
{
	const struct health_bytes *wanted = &probe->order.spec->texts[HEALTH_BODY];
	size_t keep = wanted->length - 1, joint = length < keep ? length : keep;

	if (memmem(bytes, length, wanted->data, wanted->length))
		return true;
	/* What begins in the tail ends in the first `keep` bytes. */
	memcpy(probe->tail + probe->tail_length, bytes, joint);
	if (memmem(probe->tail, probe->tail_length + joint, wanted->data, wanted->length))
		return true;
	if (length >= keep) {
		memcpy(probe->tail, bytes + length - keep, keep);
		probe->tail_length = keep;
	} else {
		size_t have = probe->tail_length + length;
		size_t drop = have > keep ? have - keep : 0;

		memmove(probe->tail, probe->tail + drop, have - drop);
		probe->tail_length = have - drop;
	}
	return false;
}

static bool is_expected(struct probe *probe)
{
	long status = 0;

	curl_easy_getinfo(probe->easy, CURLINFO_RESPONSE_CODE, &status);
	probe->status = (int)status;
	return spec_has_status(probe->order.spec, (unsigned)status);
}

/* Returning 0 ends the transfer, for all is known. */
static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct probe *probe = arg;
	size_t length = size * count;

	if (!is_expected(probe))
		probe->finding = WRONG_STATUS;
	else if (!probe->tail || search(probe, bytes, length))
		probe->finding = RIGHT;
	else if ((probe->body_bytes += length) >= BODY_MAX)
		probe->finding = LONG_BODY;
	return probe->finding == NOTHING_YET ? length : 0;
}

/* --- verdicts --- */

static void say_status(const struct probe *probe, char *error)
{
	size_t used =
		(size_t)snprintf(error, HEALTH_ERROR_MAX, "status %d, expected", probe->status);
	unsigned shown = 0;

	for (unsigned status = HEALTH_STATUS_MIN; status <= HEALTH_STATUS_MAX; status++) {
		if (!spec_has_status(probe->order.spec, status))
			continue;
		if (++shown > 5) {
			snprintf(error + used, HEALTH_ERROR_MAX - used, " or others");
			break;
		}
		used += (size_t)snprintf(error + used, HEALTH_ERROR_MAX - used, "%s %u",
					 shown > 1 ? "," : "", status);
	}
}

static enum probe_result judge_answer(struct probe *probe, char *error)
{
	if (probe->finding == NOTHING_YET && !is_expected(probe))
		probe->finding = WRONG_STATUS;
	if (probe->finding == NOTHING_YET && !probe->tail)
		probe->finding = RIGHT;
	switch (probe->finding) {
	case RIGHT: return PROBE_SUCCEEDED;
	case WRONG_STATUS: say_status(probe, error); break;
	case LONG_HEADERS:
		snprintf(error, HEALTH_ERROR_MAX, "the headers are longer than %d KiB",
			 HEADERS_MAX / 1024);
		break;
	case LONG_BODY:
		snprintf(error, HEALTH_ERROR_MAX,
			 "the first %d KiB of the body do not contain what is expected",
			 BODY_MAX / 1024);
		break;
	case NOTHING_YET: strcpy(error, "the body does not contain what is expected"); break;
	}
	return PROBE_FAILED;
}

/* Of what went wrong some is this host's own affair. */
static enum probe_result judge_error(const struct probe *probe, CURLcode code, char *error)
{
	static const char origin[] = "SSL routines::";
	const char *words = *probe->error ? probe->error : curl_easy_strerror(code);
	const char *tls = strstr(words, origin);
	enum probe_result result = PROBE_FAILED;
	long os_errno = probe->open_errno;

	if (!os_errno)
		curl_easy_getinfo(probe->easy, CURLINFO_OS_ERRNO, &os_errno);
	switch (code) {
	case CURLE_COULDNT_CONNECT:
		if (os_errno)
			result = socket_verdict((int)os_errno, &words);
		break;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_FAILED_INIT:
	case CURLE_SSL_CERTPROBLEM: /* our own */
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CIPHER:
	case CURLE_NOT_BUILT_IN: result = PROBE_NOT_RUN; break;
	default: break;
	}
	/* Of OpenSSL's "error:0A00010B:SSL routines::wrong version number" the words. */
	if (tls)
		snprintf(error, HEALTH_ERROR_MAX, "TLS: %.*s", HEALTH_ERROR_MAX - 6,
			 tls + sizeof(origin) - 1);
	else
		snprintf(error, HEALTH_ERROR_MAX, "%.*s", HEALTH_ERROR_MAX - 1, words);
	return result;
}

/* --- the probe's life --- */

static void probe_free(struct probe *probe)
{
	struct http *http = probe->http;

	if (http->idle_count < IDLE_MAX) {
		curl_easy_reset(probe->easy);
		http->idle[http->idle_count++] = probe->easy;
	} else {
		curl_easy_cleanup(probe->easy);
	}
	curl_slist_free_all(probe->headers);
	curl_slist_free_all(probe->connect_to);
	free(probe->tail);
	free(probe);
}

static void cancel(struct probe *probe)
{
	transfers_remove(probe->http->transfers, probe->easy);
	probe_free(probe);
}

static void on_done(CURL *easy, CURLcode code, void *private)
{
	struct probe *probe = private;
	struct probe_order order = probe->order;
	char error[HEALTH_ERROR_MAX] = "";
	enum probe_result result;

	(void)easy;
	if (code == CURLE_OK || probe->finding != NOTHING_YET)
		result = judge_answer(probe, error);
	else
		result = judge_error(probe, code, error);
	probe_free(probe);
	order.done(order.arg, result, error);
}

/* --- the request --- */

/* libcurl closes it when it cannot be connected, too. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct probe *probe = arg;
	int fd = socket(to->family, to->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->protocol);

	(void)purpose;
	if (fd < 0) {
		probe->open_errno = errno;
		return CURL_SOCKET_BAD;
	}
	socket_reset_on_close(fd);
	probe->open_errno = socket_prepare(&probe->order, fd);
	if (!probe->open_errno)
		return fd;
	close(fd);
	return CURL_SOCKET_BAD;
}

/* Where the connection goes, and under which name; false: out of memory. */
static bool set_target(struct probe *probe, bool tls)
{
	const struct health_spec *spec = probe->order.spec;
	const char *host = spec_text(spec, HEALTH_HOST), *sni = spec_text(spec, HEALTH_SNI);
	char address[ADDR_TEXT_MAX], literal[ADDR_TEXT_MAX + 2], url[URL_MAX], line[320];
	const char *name = literal;

	addr_format(&spec->address, address);
	snprintf(literal, sizeof(literal), addr_is4(&spec->address) ? "%s" : "[%s]", address);
	if (tls && sni)
		name = sni;
	else if (tls && host && !strchr(host, ':'))
		name = host;
	snprintf(url, sizeof(url), "%s://%s:%u%s", tls ? "https" : "http", name, spec->port,
		 spec_text(spec, HEALTH_PATH) ? spec_text(spec, HEALTH_PATH) : "/");
	if (curl_easy_setopt(probe->easy, CURLOPT_URL, url) != CURLE_OK)
		return false;
	if (name != literal) {
		snprintf(line, sizeof(line), "::%s:%u", literal, spec->port);
		probe->connect_to = curl_slist_append(NULL, line);
		curl_easy_setopt(probe->easy, CURLOPT_CONNECT_TO, probe->connect_to);
	}
	if (host) {
		snprintf(line, sizeof(line), "Host: %s", host);
		probe->headers = curl_slist_append(NULL, line);
		curl_easy_setopt(probe->easy, CURLOPT_HTTPHEADER, probe->headers);
	}
	return (name == literal || probe->connect_to) && (!host || probe->headers);
}

static void set_tls(CURL *easy, const struct health_spec *spec)
{
	const char *ca = spec_text(spec, HEALTH_CA_FILE);
	const char *certificate = spec_text(spec, HEALTH_CERT_FILE);

	curl_easy_setopt(easy, CURLOPT_SSL_SESSIONID_CACHE, 0L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, spec->insecure ? 0L : 1L);
	curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, spec->insecure ? 0L : 2L);
	/* Only without a directory does libcurl keep what it has read; else each probe has a
	 * megabyte of authorities. */
	curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	if (ca)
		curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
	if (certificate) {
		curl_easy_setopt(easy, CURLOPT_SSLCERT, certificate);
		curl_easy_setopt(easy, CURLOPT_SSLKEY, spec_text(spec, HEALTH_KEY_FILE));
		/* Else OpenSSL would ask at the terminal. */
		curl_easy_setopt(easy, CURLOPT_KEYPASSWD, "");
	}
}

static void set_options(struct probe *probe, bool tls)
{
	CURL *easy = probe->easy;

	transfers_set(easy, BUFFER);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, probe);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, probe->error);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(easy, CURLOPT_NOBODY, probe->order.spec->head ? 1L : 0L);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, probe);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, probe);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, probe);
	if (tls)
		set_tls(easy, probe->order.spec);
}

static bool prepare(struct probe *probe, bool tls)
{
	const struct health_bytes *body = &probe->order.spec->texts[HEALTH_BODY];

	if (body->length) {
		probe->tail = malloc(2 * body->length);
		if (!probe->tail)
			return false;
	}
	set_options(probe, tls);
	return set_target(probe, tls);
}

static struct probe *probe_new(const struct probe_order *order, struct http *http)
{
	struct probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return NULL;
	probe->order = *order;
	probe->http = http;
	probe->easy = http->idle_count ? http->idle[--http->idle_count] : curl_easy_init();
	if (probe->easy)
		return probe;
	free(probe);
	return NULL;
}

/* --- both types --- */

static struct http *http_new(uv_loop_t *loop)
{
	struct http *http = calloc(1, sizeof(*http));

	if (!http || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(http);
		return NULL;
	}
	http->transfers = transfers_new(loop, on_done);
	if (http->transfers)
		return http;
	free(http);
	return NULL;
}

static void close_all(void *shared)
{
	struct http *http = shared;

	while (http->idle_count)
		curl_easy_cleanup(http->idle[--http->idle_count]);
	transfers_close(http->transfers);
	free(http);
}

static enum probe_result start(const struct probe_order *order, bool tls, struct probe **ret,
			       const char **ret_error)
{
	struct http *http = *order->shared ? *order->shared : http_new(order->loop);
	struct probe *probe;

	*order->shared = http;
	probe = http ? probe_new(order, http) : NULL;
	if (!probe)
		return socket_verdict(ENOMEM, ret_error);
	if (!prepare(probe, tls) || transfers_add(http->transfers, probe->easy)) {
		probe_free(probe);
		return socket_verdict(ENOMEM, ret_error);
	}
	*ret = probe;
	return PROBE_RUNNING;
}

static enum probe_result start_http(const struct probe_order *order, struct probe **ret,
				    const char **ret_error)
{
	return start(order, false, ret, ret_error);
}

static enum probe_result start_https(const struct probe_order *order, struct probe **ret,
				     const char **ret_error)
{
	return start(order, true, ret, ret_error);
}

const struct probe_type probe_http = {.name = "http",
				      .start = start_http,
				      .cancel = cancel,
				      .close = close_all,
				      .has_port = true,
				      .has_ways = true};
const struct probe_type probe_https = {.name = "https",
				       .start = start_https,
				       .cancel = cancel,
				       .close = close_all,
				       .has_port = true,
				       .has_ways = true};
