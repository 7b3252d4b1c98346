/* SPDX-License-Identifier: BSD-2-Clause */
/* HTTP_GET and SSL_GET. */
#include <stdlib.h>
#include <string.h>

#include "weir/import/probe.h"

enum { STATUS_MIN = 100, STATUS_MAX = 599 };
/* Those of 200 to 299 that there are. */
#define SUCCESSES "200, 201, 202, 203, 204, 205, 206, 207, 208, 226"

/* "200", "200-299": appended to a list. */
static void add_statuses(struct probe *probe, const struct keep_node *node, const char *word,
			 char **list)
{
	char *dash = strchr(word, '-');
	const char *first = arena_printf(probe->import->arena, "%.*s",
					 (int)(dash ? dash - word : (long)strlen(word)), word);
	uint64_t low, high;

	if (!import_number(first, STATUS_MAX, &low) || low < STATUS_MIN ||
	    (dash ? !import_number(dash + 1, STATUS_MAX, &high) : (high = low, 0)) || high < low ||
	    strlen(*list) > (STATUS_MAX - STATUS_MIN) * strlen("200, ")) {
		keep_note(probe->import, node, IMPORT_LOST, "not statuses from 100 to 599");
		return;
	}
	for (uint64_t status = low; status <= high; status++)
		*list = arena_printf(probe->import->arena, "%s%s%llu", *list, **list ? ", " : "",
				     (unsigned long long)status);
}

/* What the status of an answer may be; that of a body's digest does not matter there. */
static void add_expect(struct probe *probe, const struct keep_node *url)
{
	const struct keep_node *node = keep_find(url, "status_code");
	char *list = arena_strdup(probe->import->arena, "");

	for (size_t i = 1; node && i < node->count; i++)
		add_statuses(probe, node, keep_word(node, i), &list);
	keep_check_add(probe, "expect: [%s]", *list ? list : SUCCESSES);
}

/* A pattern that is a plain text is one that a body contains. */
static void add_body(struct probe *probe, const struct keep_node *regex)
{
	const char *text = keep_word(regex, 1);

	if (*text && keep_is_plain(text) && !strpbrk(text, "\\^$.|?*+()[]{}") &&
	    strlen(text) < 1024)
		keep_check_add(probe, "body: %s", keep_quoted(probe->import, text));
	else
		keep_note(probe->import, regex, IMPORT_LOST,
			  "no patterns: body is a text that the answer contains");
}

static void take_url(struct probe *probe, const struct keep_node *url)
{
	const char *path = "/";

	for (const struct keep_node *at = url->children; at; at = at->next) {
		if (keep_is(at, "path")) {
			path = keep_word(at, 1);
		} else if (keep_is(at, "virtualhost")) {
			probe->scope.virtualhost = keep_word(at, 1);
		} else if (keep_is(at, "digest")) {
			keep_note(probe->import, at, IMPORT_LOST,
				  "no digests: status (and body, a text in the answer) decide");
		} else if (keep_is(at, "regex") && !keep_find(url, "regex_no_match") &&
			   !keep_find(url, "regex_options")) {
			add_body(probe, at);
		} else if (!keep_is(at, "status_code")) {
			keep_note(probe->import, at, IMPORT_LOST,
				  "no patterns: body is a text that the answer contains");
		}
	}
	if (*path != '/' || !keep_is_plain(path) || strpbrk(path, "# ") || strlen(path) > 1024) {
		keep_note(probe->import, url, IMPORT_LOST, "its path is none: / is written");
		path = "/";
	}
	keep_check_add(probe, "path: %s", keep_quoted(probe->import, path));
	add_expect(probe, url);
}

void keep_http(struct probe *probe)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.-_:";
	bool secure = keep_is(probe->node, "SSL_GET"), sni = false;
	const struct keep_node *url = keep_find(probe->node, "url");
	const char *host;

	probe->type = secure ? "https" : "http";
	probe->delay_ms = 3000;
	for (const struct keep_node *at = probe->node->children; at; at = at->next) {
		if (keep_is(at, "enable_sni"))
			sni = true;
		else if (keep_is(at, "url") && at != url)
			keep_note(probe->import, at, IMPORT_LOST, "a check has one path");
		else if (keep_is(at, "url"))
			take_url(probe, at);
	}
	if (!url)
		keep_check_add(probe, "expect: [" SUCCESSES "]");
	host = probe->scope.virtualhost;
	if (host && (!*host || strlen(host) > 253 || strspn(host, letters) != strlen(host))) {
		keep_note(probe->import, probe->node, IMPORT_LOST, "its virtualhost is no host");
		host = NULL;
	}
	if (host)
		keep_check_add(probe, "host: %s", keep_quoted(probe->import, host));
	if (secure)
		keep_check_add(probe, "insecure: true");
	if (secure && host && !sni)
		keep_note(probe->import, probe->node, IMPORT_DIFFERS,
			  "TLS asks for the virtualhost's name");
}
