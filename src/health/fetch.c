/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/fetch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include "health/health.h"
#include "health/probe/socket.h"
#include "health/probe/transfer.h"

enum {
	HEADERS_MAX = 16384,
	BUFFER = 16384, /* what libcurl reads at once */
	BODY_FIRST = 4096,
	URL_MAX = 512,
	STATUS_OK = 200,
};

struct fetches {
	struct transfers *transfers;
	LIST_HEAD(, fetch) list;
};

struct fetch {
	LIST_ENTRY(fetch) link;
	struct fetches *fetches;
	CURL *easy;
	fetch_done *done;
	void *arg;
	size_t header_bytes, body_max;
	char *body;
	size_t length, room;
	const char *finding; /* what was wrong with what came; NULL: nothing */
	char error[CURL_ERROR_SIZE];
};

/* --- what comes --- */

/* Returning less than all ends the transfer. */
static size_t refuse(struct fetch *fetch, const char *finding)
{
	fetch->finding = finding;
	return 0;
}

static size_t on_header(char *bytes, size_t size, size_t count, void *arg)
{
	struct fetch *fetch = arg;

	(void)bytes;
	fetch->header_bytes += size * count;
	return fetch->header_bytes <= HEADERS_MAX ? size * count
						  : refuse(fetch, "its headers are too long");
}

static bool grow(struct fetch *fetch, size_t needed)
{
	size_t room = fetch->room ? fetch->room : BODY_FIRST;
	char *body;

	while (room < needed)
		room *= 2;
	if (room == fetch->room)
		return true;
	body = realloc(fetch->body, room);
	if (!body)
		return false;
	fetch->body = body;
	fetch->room = room;
	return true;
}

static size_t on_body(char *bytes, size_t size, size_t count, void *arg)
{
	struct fetch *fetch = arg;
	size_t length = size * count;

	if (length > fetch->body_max - fetch->length)
		return refuse(fetch, "its answer is too long");
	if (!grow(fetch, fetch->length + length))
		return refuse(fetch, "out of memory");
	memcpy(fetch->body + fetch->length, bytes, length);
	fetch->length += length;
	return length;
}

/* --- its end --- */

static void fetch_free(struct fetch *fetch)
{
	LIST_REMOVE(fetch, link);
	curl_easy_cleanup(fetch->easy);
	free(fetch->body);
	free(fetch);
}

/* "" or what is wrong, in words for people. */
static void judge(const struct fetch *fetch, CURLcode code, char error[HEALTH_ERROR_MAX])
{
	long status = 0, os_errno = 0;
	const char *words = *fetch->error ? fetch->error : curl_easy_strerror(code);

	curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(fetch->easy, CURLINFO_OS_ERRNO, &os_errno);
	error[0] = '\0';
	if (fetch->finding)
		words = fetch->finding;
	else if (code == CURLE_OPERATION_TIMEDOUT)
		words = "no answer in time";
	else if (code == CURLE_OUT_OF_MEMORY) /* which libcurl says of a line without an end, too */
		words = "its headers are too long, or memory is short";
	else if (code == CURLE_COULDNT_CONNECT && os_errno)
		socket_verdict((int)os_errno, &words);
	if (code != CURLE_OK)
		snprintf(error, HEALTH_ERROR_MAX, "%.*s", HEALTH_ERROR_MAX - 1, words);
	else if (status != STATUS_OK)
		snprintf(error, HEALTH_ERROR_MAX, "status %ld, expected 200", status);
}

static void on_done(CURL *easy, CURLcode code, void *private)
{
	struct fetch *fetch = private;
	fetch_done *done = fetch->done;
	void *arg = fetch->arg;
	char error[HEALTH_ERROR_MAX];
	char *body = fetch->body;
	size_t length = fetch->length;

	(void)easy;
	judge(fetch, code, error);
	fetch->body = NULL;
	fetch_free(fetch);
	if (*error)
		done(arg, error, NULL, 0);
	else
		done(arg, NULL, body ? body : "", length);
	free(body);
}

void fetch_cancel(struct fetch *fetch)
{
	transfers_remove(fetch->fetches->transfers, fetch->easy);
	fetch_free(fetch);
}

/* --- its beginning --- */

/* libcurl closes it. By RST, or a node would keep a TIME_WAIT for each. */
static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *to)
{
	int fd = socket(to->family, to->socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, to->protocol);

	(void)arg;
	(void)purpose;
	if (fd < 0)
		return CURL_SOCKET_BAD;
	socket_reset_on_close(fd);
	return fd;
}

static bool set_target(CURL *easy, const struct fetch_spec *spec)
{
	char address[ADDR_TEXT_MAX], url[URL_MAX];

	addr_format(&spec->address, address);
	snprintf(url, sizeof(url), addr_is4(&spec->address) ? "http://%s:%u%s" : "http://[%s]:%u%s",
		 address, spec->port, spec->path);
	return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
}

static void set_options(struct fetch *fetch, const struct fetch_spec *spec)
{
	CURL *easy = fetch->easy;

	transfers_set(easy, BUFFER);
	curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->error);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http");
	curl_easy_setopt(easy, CURLOPT_HTTP_TRANSFER_DECODING, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)spec->timeout_ms);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
	curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
}

int fetch_start(struct fetches *fetches, const struct fetch_spec *spec, fetch_done *done, void *arg,
		struct fetch **ret)
{
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (!fetch)
		return -ENOMEM;
	*fetch = (struct fetch){
		.fetches = fetches, .done = done, .arg = arg, .body_max = spec->body_max};
	fetch->easy = curl_easy_init();
	if (!fetch->easy) {
		free(fetch);
		return -ENOMEM;
	}
	LIST_INSERT_HEAD(&fetches->list, fetch, link);
	set_options(fetch, spec);
	if (!set_target(fetch->easy, spec) || transfers_add(fetches->transfers, fetch->easy)) {
		fetch_free(fetch);
		return -ENOMEM;
	}
	*ret = fetch;
	return 0;
}

int fetches_open(uv_loop_t *loop, struct fetches **ret)
{
	struct fetches *fetches = calloc(1, sizeof(*fetches));

	if (!fetches || curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(fetches);
		return -ENOMEM;
	}
	fetches->transfers = transfers_new(loop, on_done);
	if (!fetches->transfers) {
		free(fetches);
		return -ENOMEM;
	}
	*ret = fetches;
	return 0;
}

void fetches_close(struct fetches *fetches)
{
	while (!LIST_EMPTY(&fetches->list))
		fetch_cancel(LIST_FIRST(&fetches->list));
	transfers_close(fetches->transfers);
	free(fetches);
}
