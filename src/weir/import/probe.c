/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keepalived's checkers. A real server has any number of them, all of which must succeed; a pool
 * has one check. The most telling is taken, the others are noted. Its text is put together here as
 * the file will have it, so that checks that say the same are the same.
 */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/probe.h"

enum {
	DELAY_LOOP_MS = 60000,
	TIMEOUT_MS = 5000,
	INTERVAL_MIN_MS = 100,
	INTERVAL_MAX_MS = 3600000,
	TIMEOUT_MIN_MS = 10,
	FALL_MAX = 100,
	WORDS_MAX = 30,    /* of a command; two more go around it */
	COMMAND_MAX = 800, /* bytes of it, without what a shell adds */
	SMTP_PORT = 25,
};
#define NOT_GIVEN UINT64_MAX

static const struct {
	const char *name;
	unsigned rank; /* how much it tells: the lowest is taken */
} kinds[] = {
	{"HTTP_GET", 1},   {"SSL_GET", 1},   {"MISC_CHECK", 2}, {"DNS_CHECK", 3}, {"UDP_CHECK", 4},
	{"SMTP_CHECK", 5}, {"TCP_CHECK", 6}, {"PING_CHECK", 7}, {"BFD_CHECK", 8}, {"FILE_CHECK", 9},
};

static unsigned rank_of(const struct keep_node *node)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (keep_is(node, kinds[i].name))
			return kinds[i].rank;
	}
	return 0;
}

bool keep_is_check(const struct keep_node *node)
{
	return rank_of(node) != 0;
}

bool keep_is_plain(const char *text)
{
	for (; *text; text++) {
		if (*text < ' ' || *text > '~')
			return false;
	}
	return true;
}

/* --- settings that are handed down --- */

struct keep_scope keep_scope_default(void)
{
	return (struct keep_scope){.interval_ms = DELAY_LOOP_MS,
				   .timeout_ms = NOT_GIVEN,
				   .retry = NOT_GIVEN,
				   .delay_ms = NOT_GIVEN};
}

/* "2", "0.5": seconds. */
static bool parse_time(const char *text, uint64_t *ret)
{
	char *end;
	double seconds;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	if (strspn(text, "0123456789.") != strlen(text))
		return false;
	seconds = strtod(text, &end);
	if (*end || seconds > 86400)
		return false;
	*ret = (uint64_t)(seconds * 1000 + 0.5);
	return true;
}

static bool parse_bool(const char *text)
{
	return strcmp(text, "off") != 0 && strcmp(text, "no") != 0 && strcmp(text, "false") != 0;
}

static void take_time(struct import *import, const struct keep_node *node, uint64_t *ret)
{
	if (!parse_time(keep_word(node, 1), ret))
		keep_note(import, node, IMPORT_LOST, "not a time in seconds");
}

bool keep_scope_take(struct import *import, struct keep_scope *scope, const struct keep_node *node)
{
	if (keep_is(node, "delay_loop"))
		take_time(import, node, &scope->interval_ms);
	else if (keep_is(node, "connect_timeout"))
		take_time(import, node, &scope->timeout_ms);
	else if (keep_is(node, "delay_before_retry"))
		take_time(import, node, &scope->delay_ms);
	else if (keep_is(node, "retry") || keep_is(node, "nb_get_retry")) {
		if (!import_number(keep_word(node, 1), UINT32_MAX, &scope->retry))
			keep_note(import, node, IMPORT_LOST, "not a number");
	} else if (keep_is(node, "alpha"))
		scope->alpha = parse_bool(keep_word(node, 1));
	else if (keep_is(node, "virtualhost"))
		scope->virtualhost = keep_word(node, 1);
	else if (keep_is(node, "warmup"))
		keep_note(import, node, IMPORT_NEEDLESS,
			  "probes are spread over the interval (jitter)");
	else if (keep_is(node, "inhibit_on_failure"))
		keep_note(import, node, IMPORT_NEEDLESS,
			  "flows of a backend that fails go on for on_down_keep");
	else
		return false;
	return true;
}

/* --- the text --- */

/* In double quotes, as YAML has it. */
const char *keep_quoted(struct import *import, const char *text)
{
	char *ret = arena_alloc(import->arena, 4 * strlen(text) + 3), *at = ret;

	*at++ = '"';
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			*at++ = '\\';
		if (c < ' ' || c >= 0x7f)
			at += sprintf(at, "\\x%02x", c);
		else
			*at++ = (char)c;
	}
	strcpy(at, "\"");
	return ret;
}

void keep_check_add(struct probe *probe, const char *format, ...)
{
	va_list args;
	char *more;

	va_start(args, format);
	if (vasprintf(&more, format, args) < 0)
		abort();
	va_end(args);
	probe->rest = arena_printf(probe->import->arena, "%s, %s", probe->rest, more);
	free(more);
}

static uint64_t within(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* "2s", "500ms" */
static const char *duration(struct import *import, uint64_t time_ms)
{
	if (time_ms % 1000)
		return arena_printf(import->arena, "%llums", (unsigned long long)time_ms);
	return arena_printf(import->arena, "%llus", (unsigned long long)time_ms / 1000);
}

/* One success is enough there. */
static const char *times_text(struct probe *probe)
{
	const struct keep_scope *scope = &probe->scope;
	uint64_t interval = within(scope->interval_ms, INTERVAL_MIN_MS, INTERVAL_MAX_MS);
	uint64_t timeout = scope->timeout_ms == NOT_GIVEN ? TIMEOUT_MS : scope->timeout_ms;
	uint64_t fast = scope->delay_ms == NOT_GIVEN ? probe->delay_ms : scope->delay_ms;
	uint64_t retry = scope->retry == NOT_GIVEN ? probe->retry : scope->retry;
	const char *text;

	if (scope->timeout_ms != NOT_GIVEN && timeout > interval)
		keep_note(probe->import, probe->node, IMPORT_DIFFERS,
			  "its timeout is longer than its interval: made as long");
	if (retry >= FALL_MAX)
		keep_note(probe->import, probe->node, IMPORT_DIFFERS,
			  "its retries are more than can be: fall is 100");
	timeout = within(timeout, TIMEOUT_MIN_MS, interval);
	text = arena_printf(probe->import->arena, "interval: %s",
			    duration(probe->import, interval));
	if (fast < interval)
		text = arena_printf(
			probe->import->arena, "%s, fast_interval: %s", text,
			duration(probe->import, within(fast, TIMEOUT_MIN_MS, interval)));
	return arena_printf(probe->import->arena, "%s, timeout: %s, rise: 1, fall: %llu%s", text,
			    duration(probe->import, timeout),
			    (unsigned long long)within(retry + 1, 1, FALL_MAX),
			    scope->alpha ? ", initial: unhealthy" : "");
}

/* --- a kind each --- */

static const struct keep_row of_all[] = {
	{"connect_ip", IMPORT_LOST, "a backend is probed at its own address"},
	{"bindto", IMPORT_LOST, "probes leave from the node's own address"},
	{"bind_if", IMPORT_LOST, "probes leave by the route"},
	{"bind_port", IMPORT_LOST, "probes leave from any port"},
	{"fwmark", IMPORT_LOST, "probes have no mark"},
	{"log_all_failures", IMPORT_NEEDLESS, "weir status has the last failure"},
	{"http_protocol", IMPORT_DIFFERS, "HTTP/1.1, a connection for each probe"},
	{"fast_recovery", IMPORT_NEEDLESS, "one success is enough"},
	{"helo_name", IMPORT_LOST, "nothing is said after the connection"},
	{"user", IMPORT_LOST, "it runs as the daemon does"},
	{"misc_dynamic", IMPORT_LOST, "an exit status sets no weight; weir weight does"},
	{"min_reply_length", IMPORT_LOST, "an answer's length is not looked at"},
	{"max_reply_length", IMPORT_LOST, "an answer's length is not looked at"},
};

static void note_rest(struct probe *probe, const struct keep_node *node)
{
	keep_note_row(probe->import, node, of_all, sizeof(of_all) / sizeof(*of_all));
}

const struct keep_node *keep_find(const struct keep_node *block, const char *name)
{
	for (const struct keep_node *at = block->children; at; at = at->next) {
		if (keep_is(at, name))
			return at;
	}
	return NULL;
}

/* A word of a command, where the server's own address is what the check finds in its environment:
 * so that those of all servers are alike. */
static const char *shell_word(struct probe *probe, const char *word, bool *ret_used)
{
	char address[ADDR_TEXT_MAX], *ret, *at;
	const char *found;

	addr_format(&probe->backend->address, address);
	ret = at = arena_alloc(probe->import->arena, 4 * strlen(word) + 32);
	*at++ = '\'';
	found = strstr(word, address);
	while (*word) {
		if (word == found) {
			at += sprintf(at, "'\"$WEIR_ADDRESS\"'");
			word += strlen(address);
			*ret_used = true;
		} else if (*word == '\'') {
			at += sprintf(at, "'\\''");
			word++;
		} else {
			*at++ = *word++;
		}
	}
	strcpy(at, "'");
	return ret;
}

/* Words by blanks, those in single quotes whole. */
static size_t split(struct import *import, const char *text, const char *words[WORDS_MAX])
{
	char *at = arena_strdup(import->arena, text);
	size_t count = 0;

	while (count < WORDS_MAX) {
		char *start;
		bool is_quoted;

		at += strspn(at, " \t");
		if (!*at)
			break;
		is_quoted = *at == '\'';
		start = at + is_quoted;
		at = start + strcspn(start, is_quoted ? "'" : " \t");
		if (*at)
			*at++ = '\0';
		words[count++] = start;
	}
	return count;
}

static bool add_command(struct probe *probe, const struct keep_node *node)
{
	const char *words[WORDS_MAX], *shell = "exec", *plain = "";
	size_t count = split(probe->import, keep_word(node, 1), words);
	size_t length = 0;
	bool used = false;

	for (size_t i = 2; i < node->count && count < WORDS_MAX; i++)
		words[count++] = keep_word(node, i);
	if (!count || *words[0] != '/')
		return false;
	for (size_t i = 0; i < count; i++) {
		length += strlen(words[i]);
		if (!keep_is_plain(words[i]) || length > COMMAND_MAX)
			return false;
		shell = arena_printf(probe->import->arena, "%s %s", shell,
				     shell_word(probe, words[i], &used));
		plain = arena_printf(probe->import->arena, "%s%s%s", plain, i ? ", " : "",
				     keep_quoted(probe->import, words[i]));
	}
	if (used && strlen(shell) < 1000)
		keep_check_add(probe, "command: [\"/bin/sh\", \"-c\", %s]",
			       keep_quoted(probe->import, shell));
	else
		keep_check_add(probe, "command: [%s]", plain);
	return true;
}

/* Its environment has the backend's address and port, so all servers share one. */
static void take_misc(struct probe *probe)
{
	const struct keep_node *path = keep_find(probe->node, "misc_path");
	const struct keep_node *timeout = keep_find(probe->node, "misc_timeout");

	probe->retry = 0;
	probe->type = "exec";
	if (timeout)
		take_time(probe->import, timeout, &probe->scope.timeout_ms);
	else
		probe->scope.timeout_ms = probe->scope.interval_ms;
	if (path && add_command(probe, path))
		return;
	keep_note(probe->import, path ? path : probe->node, IMPORT_LOST,
		  "not a program's whole path and plain words: an echo (icmp) is written");
	probe->type = "icmp";
	probe->check.port = 0;
}

static void take_dns(struct probe *probe)
{
	static const char *const records[] = {"A", "AAAA", "NS", "SOA", "MX", "TXT"};
	const struct keep_node *type = keep_find(probe->node, "type"),
			       *name = keep_find(probe->node, "name");
	const char *record = "soa", *query = name ? keep_word(name, 1) : ".";

	probe->type = "dns";
	probe->retry = 3;
	probe->delay_ms = probe->scope.interval_ms;
	for (size_t i = 0; type && i < sizeof(records) / sizeof(*records); i++) {
		if (strcasecmp(keep_word(type, 1), records[i]) != 0)
			continue;
		record = arena_strdup(probe->import->arena, records[i]);
		for (char *at = (char *)record; *at; at++)
			*at = (char)tolower((unsigned char)*at);
		type = NULL;
	}
	if (type)
		keep_note(probe->import, type, IMPORT_LOST, "not a record that is asked for: SOA");
	if (!*query || strlen(query) > 253 || strstr(query, "..") || (*query == '.' && query[1]) ||
	    strspn(query, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") !=
		    strlen(query)) {
		keep_note(probe->import, name, IMPORT_LOST, "not a name: . is asked for");
		query = ".";
	}
	keep_check_add(probe, "query: %s, record: %s", keep_quoted(probe->import, query), record);
}

/* "Ab12f 3 456": bytes, an odd digit stands for one; NULL: something else, or half a byte that
 * does not count. */
static const char *hex_bytes(struct probe *probe, const struct keep_node *node)
{
	char *ret = arena_strdup(probe->import->arena, "");
	size_t bytes = 0;

	for (size_t i = 1; i < node->count; i++) {
		const char *at = keep_word(node, i);

		while (*at) {
			size_t digits = isxdigit((unsigned char)at[1]) ? 2 : 1;

			if (!isxdigit((unsigned char)*at) || ++bytes > 250)
				return NULL;
			ret = arena_printf(probe->import->arena, "%s\\\\x%s%.*s", ret,
					   digits == 1 ? "0" : "", (int)digits, at);
			at += digits;
		}
	}
	return ret;
}

static void take_udp(struct probe *probe)
{
	const struct keep_node *payload = keep_find(probe->node, "payload");
	const struct keep_node *reply = keep_find(probe->node, "require_reply");
	const char *send = payload ? hex_bytes(probe, payload) : NULL;
	const char *receive = reply ? hex_bytes(probe, reply) : NULL;

	if (!reply) {
		keep_note(probe->import, probe->node, IMPORT_LOST,
			  "a datagram that nobody answers says nothing: an echo (icmp) is written");
		probe->type = "icmp";
		probe->check.port = 0;
		return;
	}
	probe->type = "udp";
	if (!send || !*send) {
		keep_note(probe->import, payload ? payload : probe->node, IMPORT_DIFFERS,
			  "a byte of zero is sent: set send");
		send = "\\\\x00";
	}
	keep_check_add(probe, "send: \"%s\"", send);
	if (!receive)
		keep_note(probe->import, reply, IMPORT_LOST, "any answer will do");
	else if (*receive)
		keep_check_add(probe, "receive: \"%s\"", receive);
}

static void take_smtp(struct probe *probe)
{
	probe->type = "tcp";
	if (!keep_find(probe->node, "connect_port") && !probe->backend->port)
		probe->check.port = SMTP_PORT;
	keep_note(probe->import, probe->node, IMPORT_LOST,
		  "a TCP connection is made, no mail is begun; a program (exec) could");
	for (const struct keep_node *at = probe->node->children; at; at = at->next) {
		if (keep_is(at, "host"))
			keep_note(probe->import, at, IMPORT_LOST, "not looked into");
	}
}

static void take_silent(struct probe *probe)
{
	keep_note(probe->import, probe->node, IMPORT_LOST, "not there: an echo (icmp) is written");
	probe->type = "icmp";
	probe->check.port = 0;
}

static void take_ping(struct probe *probe)
{
	probe->type = "icmp";
	probe->check.port = 0;
}

static void take_tcp(struct probe *probe)
{
	probe->type = "tcp";
	if (probe->check.port)
		return;
	keep_note(probe->import, probe->node, IMPORT_LOST,
		  "has no port: an echo (icmp) is written");
	take_ping(probe);
}

/* --- all --- */

static const struct {
	const char *name;
	void (*take)(struct probe *probe);
	const char *knows; /* its own statements, that take() looks at */
} takers[] = {
	{"HTTP_GET", keep_http, " url enable_sni "},
	{"SSL_GET", keep_http, " url enable_sni "},
	{"MISC_CHECK", take_misc, " misc_path misc_timeout "},
	{"DNS_CHECK", take_dns, " type name "},
	{"UDP_CHECK", take_udp, " payload require_reply "},
	{"SMTP_CHECK", take_smtp, " host "},
	{"TCP_CHECK", take_tcp, " "},
	{"PING_CHECK", take_ping, " "},
	{"BFD_CHECK", take_silent, " name "},
	{"FILE_CHECK", take_silent, " track_file dynamic weight "},
};

static void take_common(struct probe *probe, const char *knows)
{
	for (const struct keep_node *at = probe->node->children; at; at = at->next) {
		const char *name = arena_printf(probe->import->arena, " %s ", keep_word(at, 0));
		uint64_t port;

		if (strstr(knows, name) || keep_scope_take(probe->import, &probe->scope, at))
			continue;
		if (!keep_is(at, "connect_port"))
			note_rest(probe, at);
		else if (import_number(keep_word(at, 1), UINT16_MAX, &port) && port)
			probe->check.port = (uint16_t)port;
		else
			keep_note(probe->import, at, IMPORT_LOST, "not a port");
	}
}

static struct import_check take(struct probe *probe)
{
	size_t kind = 0;

	while (!keep_is(probe->node, takers[kind].name))
		kind++;
	probe->check.place = probe->node->place;
	take_common(probe, takers[kind].knows);
	takers[kind].take(probe);
	if (!probe->check.port && strcmp(probe->type, "exec") != 0 &&
	    strcmp(probe->type, "icmp") != 0) {
		keep_note(probe->import, probe->node, IMPORT_LOST,
			  "has no port: an echo (icmp) is written");
		probe->type = "icmp";
		probe->rest = arena_strdup(probe->import->arena, "");
	}
	probe->check.text = arena_printf(probe->import->arena, "type: %s%s, %s", probe->type,
					 probe->rest, times_text(probe));
	return probe->check;
}

struct import_check keep_check(struct import *import, const struct keep_node *server,
			       const struct import_backend *backend, struct keep_scope scope)
{
	const struct keep_node *best = NULL;
	struct probe probe;

	for (const struct keep_node *at = server->children; at; at = at->next) {
		if (keep_is_check(at) && (!best || rank_of(at) < rank_of(best)))
			best = at;
	}
	if (!best)
		return (struct import_check){0};
	for (const struct keep_node *at = server->children; at; at = at->next) {
		if (at != best && keep_is_check(at))
			keep_note(import, at, IMPORT_LOST,
				  "a pool has one check: the most telling one is written");
	}
	probe = (struct probe){.import = import,
			       .node = best,
			       .backend = backend,
			       .scope = scope,
			       .check.port = backend->port,
			       .rest = arena_strdup(import->arena, ""),
			       .delay_ms = 1000,
			       .retry = 1};
	return take(&probe);
}
