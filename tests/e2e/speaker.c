// SPDX-License-Identifier: BSD-2-Clause
/*
 * The BGP speaker alone, for bgp.sh: does what it is told a line at a time, and keeps a file of
 * JSON that says how everything is.
 *
 *   speaker CONTROL STATUS ASN ROUTER_ID HOLD RESTART [restarting]
 *
 * CONTROL is a FIFO that is held open by who writes; its end is a restart's stop:
 *   peer ADDRESS ASN [key=WORD] [gtsm] [hops=N] [passive] [local=ADDRESS] [extended]
 *   remove ADDRESS
 *   announce PREFIX [med=N] [prepend=N] [community=A:B] [large=A:B:C]
 *   withdraw PREFIX
 *   many N, none N       announces, withdraws 10.N.N.N/32 for so many
 *   ready, shutdown on|off, lost ADDRESS, stop planned|restart
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/time.h"
#include "bgp/speaker.h"

enum { PEERS = 8, LINE = 512, STATUS_MS = 20, WORDS = 16 };

struct router {
	struct addr address;
	struct bgp_peer *peer; /* NULL: this place is free */
	unsigned int calls;    /* of `changed` */
};

static uv_loop_t loop;
static struct bgp *bgp;
static struct router routers[PEERS];
static const char *status_file;
static uv_poll_t control;
static uv_timer_t status_timer;
static char input[LINE * 4];
static size_t input_length;
static uint64_t lag_ms, last_ms; /* the longest that the loop was held up */

static void die(const char *what)
{
	fprintf(stderr, "speaker: %s\n", what);
	exit(2);
}

static void on_changed(void *arg, struct bgp_peer *peer, enum bgp_peer_state state)
{
	struct router *router = arg;
	char text[ADDR_TEXT_MAX];

	(void)peer;
	router->calls++;
	fprintf(stderr, "%llu %s %s\n", (unsigned long long)time_now_ms(),
		addr_format(&router->address, text), bgp_peer_state_name(state));
}

static struct router *router_of(const char *text)
{
	struct addr address = {0};

	if (text && addr_parse(text, &address))
		die(text);
	for (int i = 0; i < PEERS; i++)
		if (text ? addr_equal(&routers[i].address, &address) && routers[i].peer
			 : !routers[i].peer)
			return &routers[i];
	die("no such router");
	return NULL;
}

/* The value of the word `name=value` or "" of the word `name`; NULL: it is another word. */
static const char *option(const char *word, const char *name)
{
	size_t length = strlen(name);

	if (strncmp(word, name, length))
		return NULL;
	return word[length] == '=' ? word + length + 1 : word[length] ? NULL : "";
}

static void peer(char **words, int count)
{
	struct router *router = router_of(NULL);
	struct bgp_peer_spec spec = {.asn = (uint32_t)strtoul(words[2], NULL, 10)};
	struct err err;
	const char *value;

	addr_parse(words[1], &spec.address);
	for (int i = 3; i < count; i++) {
		if ((value = option(words[i], "key")))
			spec.password = value;
		if ((value = option(words[i], "hops")))
			spec.hops = (uint8_t)atoi(value);
		if ((value = option(words[i], "local")))
			addr_parse(value, &spec.local);
		spec.gtsm |= option(words[i], "gtsm") != NULL;
		spec.passive |= option(words[i], "passive") != NULL;
		spec.extended_next_hop |= option(words[i], "extended") != NULL;
	}
	router->address = spec.address;
	if (bgp_add_peer(bgp, &spec, on_changed, router, &router->peer, &err))
		die(err.text);
}

static void announce(char **words, int count)
{
	struct bgp_route route = {0};
	uint32_t communities[WORDS], a, b, c;
	struct bgp_large large[WORDS];
	const char *value;

	prefix_parse(words[1], &route.prefix);
	route.communities = communities;
	route.large_communities = large;
	for (int i = 2; i < count; i++) {
		if ((value = option(words[i], "med"))) {
			route.med = (uint32_t)strtoul(value, NULL, 10);
			route.has_med = true;
		}
		if ((value = option(words[i], "prepend")))
			route.prepend = (uint8_t)atoi(value);
		if ((value = option(words[i], "community")) && sscanf(value, "%u:%u", &a, &b) == 2)
			communities[route.community_count++] = a << 16 | b;
		if ((value = option(words[i], "large")) &&
		    sscanf(value, "%u:%u:%u", &a, &b, &c) == 3)
			large[route.large_community_count++] = (struct bgp_large){a, b, c};
	}
	if (bgp_announce(bgp, &route))
		die("bgp_announce");
}

static void many(uint32_t count, bool announced)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bgp_route route = {
			.prefix = {addr_from4(htonl(0x0a000000 + i)), 32},
		};

		if (announced ? bgp_announce(bgp, &route) : bgp_withdraw(bgp, &route.prefix))
			die("many");
	}
}

static void on_stopped(void *arg)
{
	(void)arg;
	fprintf(stderr, "stopped\n");
	bgp_close(bgp);
	uv_close((uv_handle_t *)&control, NULL);
	uv_close((uv_handle_t *)&status_timer, NULL);
}

static void stop(const char *how)
{
	bgp_stop(bgp, strcmp(how, "planned") ? BGP_STOP_RESTART : BGP_STOP_PLANNED, on_stopped,
		 NULL);
}

static void withdraw(const char *text)
{
	struct prefix prefix;

	if (prefix_parse(text, &prefix) || bgp_withdraw(bgp, &prefix))
		die("withdraw");
}

static void remove_router(const char *text)
{
	struct router *router = router_of(text);

	bgp_remove_peer(router->peer);
	router->peer = NULL;
}

static void obey(char *line)
{
	char *words[WORDS] = {0}, *rest = line;
	int count = 0;

	while (count < WORDS && (words[count] = strtok_r(count ? NULL : line, " ", &rest)))
		count++;
	if (count == 0)
		return;
	if (!strcmp(words[0], "ready"))
		bgp_ready(bgp);
	else if (count < 2)
		die(words[0]);
	else if (!strcmp(words[0], "peer"))
		peer(words, count);
	else if (!strcmp(words[0], "remove"))
		remove_router(words[1]);
	else if (!strcmp(words[0], "announce"))
		announce(words, count);
	else if (!strcmp(words[0], "withdraw"))
		withdraw(words[1]);
	else if (!strcmp(words[0], "many") || !strcmp(words[0], "none"))
		many((uint32_t)atoi(words[1]), *words[0] == 'm');
	else if (!strcmp(words[0], "shutdown"))
		bgp_set_graceful_shutdown(bgp, !strcmp(words[1], "on"));
	else if (!strcmp(words[0], "lost"))
		bgp_peer_lost(router_of(words[1])->peer, "BFD is down");
	else if (!strcmp(words[0], "stop"))
		stop(words[1]);
	else
		die(words[0]);
}

static void on_control(uv_poll_t *poll, int status, int events)
{
	ssize_t got = read(0, input + input_length, sizeof(input) - input_length - 1);
	char *line = input, *end;

	(void)status;
	(void)events;
	if (got == 0) {
		uv_poll_stop(poll);
		stop("restart");
		return;
	}
	if (got < 0)
		return;
	input_length += (size_t)got;
	input[input_length] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		obey(line);
		line = end + 1;
	}
	input_length = strlen(line);
	memmove(input, line, input_length + 1);
}

static void quote(FILE *file, const char *text)
{
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			fputc('\\', file);
		fputc((unsigned char)*text < ' ' ? '?' : *text, file);
	}
	fputc('"', file);
}

static void write_router(FILE *file, struct router *router)
{
	const struct bgp_peer_status *status = bgp_peer_status(router->peer);
	char text[ADDR_TEXT_MAX];

	fprintf(file, "\"%s\": {\"state\": \"%s\", \"calls\": %u, \"error\": ",
		addr_format(&router->address, text), bgp_peer_state_name(status->state),
		router->calls);
	quote(file, status->last_error);
	fprintf(file, ", \"local\": \"%s\"", addr_format(&status->local_address, text));
#define FIELD(name) fprintf(file, ", \"" #name "\": %llu", (unsigned long long)status->name)
	FIELD(router_id);
	FIELD(hold_s);
	FIELD(ipv4);
	FIELD(ipv6);
	FIELD(graceful_restart);
	FIELD(prefixes);
	FIELD(pending);
	FIELD(ups);
	FIELD(downs);
	FIELD(attempts);
	FIELD(messages_in);
	FIELD(messages_out);
	FIELD(updates_in);
	FIELD(updates_out);
	FIELD(notifications_in);
	FIELD(notifications_out);
	FIELD(refreshes_in);
	FIELD(routes_dropped);
	FIELD(malformed);
	FIELD(collisions);
#undef FIELD
	fprintf(file, "}");
}

static long resident_kib(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");

	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void on_status(uv_timer_t *timer)
{
	const struct bgp_status *status = bgp_status(bgp);
	uint64_t now_ms = time_now_ms();
	char next[LINE];
	FILE *file;
	bool more = false;

	(void)timer;
	if (last_ms && now_ms - last_ms > lag_ms)
		lag_ms = now_ms - last_ms;
	last_ms = now_ms;
	snprintf(next, sizeof(next), "%s.new", status_file);
	file = fopen(next, "w");
	if (!file)
		die(next);
	fprintf(file, "{\"routes\": %u, \"strangers\": %llu, \"refused\": %llu, ", status->routes,
		(unsigned long long)status->strangers, (unsigned long long)status->refused);
	fprintf(file, "\"kib\": %ld, \"lag_ms\": %llu, \"listen\": ", resident_kib(),
		(unsigned long long)lag_ms);
	quote(file, status->listen_error);
	fprintf(file, ", \"peers\": {");
	for (int i = 0; i < PEERS; i++) {
		if (!routers[i].peer)
			continue;
		fprintf(file, more ? ", " : "");
		write_router(file, &routers[i]);
		more = true;
	}
	fprintf(file, "}}\n");
	fclose(file);
	rename(next, status_file);
}

int main(int argc, char **argv)
{
	struct bgp_spec spec = {.restarting = argc == 8, .stop_text = "back at noon"};
	struct err err = {0};
	struct in_addr id;
	int fd;

	if (argc < 7 || inet_pton(AF_INET, argv[4], &id) != 1)
		die("usage: speaker CONTROL STATUS ASN ROUTER_ID HOLD RESTART [restarting]");
	status_file = argv[2];
	spec.asn = (uint32_t)strtoul(argv[3], NULL, 10);
	spec.router_id = ntohl(id.s_addr);
	spec.hold_s = (uint32_t)atoi(argv[5]);
	spec.restart_s = (uint32_t)atoi(argv[6]);
	fd = open(argv[1], O_RDONLY);
	if (fd < 0 || dup2(fd, 0))
		die(argv[1]);
	close(fd);
	uv_loop_init(&loop);
	if (bgp_open(&loop, &spec, &bgp, &err))
		die(err.text);
	uv_poll_init(&loop, &control, 0);
	uv_poll_start(&control, UV_READABLE, on_control);
	uv_timer_init(&loop, &status_timer);
	uv_timer_start(&status_timer, on_status, 0, STATUS_MS);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop) ? 3 : 0;
}
