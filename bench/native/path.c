/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The packet path's steps, one by one and as a whole. Each row has frames of its own, which differ
 * in their source port, parsed and with their backends chosen before: so a step can be called
 * alone. Everything is in the cache but for what the row before had there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/native/native.h"
#include "bench/native/world.h"
#include "bench/setting.h"
#include "engine/native.h"

enum {
	SHOTS = 64, /* a power of two */
	HEADROOM = 128,
	/* An odd number of cache lines, so that frames do not meet in the same sets. */
	ROOM = 35 * 64,
	WHOLE = 96, /* bytes that a step may write over */
	FLOW_ENTRIES = 1024 * 1024,
	CLOCK_NS = 1000000000,
};

struct shot {
	uint8_t buffer[ROOM];
	uint8_t as_it_came[WHOLE];
	size_t length;
	struct pkt pkt;
};

const struct dp_tables *path_tables(void)
{
	static struct native *native;
	int error = native ? 0 : native_new(FLOW_ENTRIES, &native);

	if (error)
		bench_die("tables", error);
	if (!world.tables) {
		world.tables = native_tables(native);
		bench_fill(native_tables(native));
		world.tables->node->clock_ns = CLOCK_NS;
	}
	return world.tables;
}

/* What the last step said that says anything. */
static int last;

static struct pkt_ctx ctx_of(struct shot *shot)
{
	return (struct pkt_ctx){
		.head = shot->buffer,
		.data = shot->buffer + HEADROOM,
		.data_end = shot->buffer + HEADROOM + shot->length,
		.ingress_ifindex = 1,
	};
}

static inline void say(int verdict)
{
	last = verdict;
	keep((uint64_t)verdict);
}

static void make_whole(struct shot *shot)
{
	memcpy(shot->buffer + HEADROOM, shot->as_it_came, WHOLE);
}

/* What the steps before know of the packet. */
static void walk(struct shot *shot)
{
	struct pkt_ctx ctx = ctx_of(shot);
	struct pkt *pkt = &shot->pkt;
	struct abi_vip *vip;

	pkt->frame_length = (uint32_t)shot->length;
	if (pkt_parse_ip(&ctx, pkt) != PKT_PARSED)
		bench_die("a frame", EINVAL);
	vip = find_vip(pkt);
	if (find_has_ports(pkt) && vip && find_listener(&ctx, pkt, vip) == PKT_ON)
		choose_backend(&ctx, pkt);
	if (env_service(pkt->service)->flags & ABI_SERVICE_MSS && pkt->tcp_flags & PKT_TCP_SYN)
		pkt->seldom |= PKT_SELDOM_MSS;
}

static size_t setting_of(const char *name)
{
	for (size_t i = 0; i < bench_row_count; i++) {
		if (strcmp(bench_rows[i].name, name) == 0)
			return i;
	}
	bench_die(name, ENOENT);
}

static void *prepare(const struct native_row *row)
{
	struct shot *shots = aligned_alloc(64, SHOTS * sizeof(*shots));
	size_t setting = setting_of(row->setting);
	struct frame frame;

	if (!shots)
		bench_die(row->name, ENOMEM);
	memset(shots, 0, SHOTS * sizeof(*shots));
	path_tables();
	bench_build(setting, &frame);
	for (uint32_t i = 0; i < SHOTS; i++) {
		if (bench_has_ports(&bench_rows[setting]))
			frame_put(frame.bytes + frame.l4, 2, 20000 + i * 7);
		shots[i].length = frame.length;
		memcpy(shots[i].buffer + HEADROOM, frame.bytes, frame.length);
		memcpy(shots[i].as_it_came, frame.bytes, WHOLE);
		walk(&shots[i]);
	}
	/* Twice around, so that what one call leaves behind would show in the next. */
	last = row->verdict;
	row->run(shots, 2 * SHOTS + 1);
	if (last != row->verdict)
		bench_die(row->name, EPROTO);
	return shots;
}

/* A run over the shots of a row. Within, `shot` and its `ctx` are at hand. */
#define RUN(name, ...)                                                       \
	static void name(void *data, uint32_t count)                         \
	{                                                                    \
		for (uint32_t i = 0; i < count; i++) {                       \
			struct shot *shot = (struct shot *)data + i % SHOTS; \
			struct pkt_ctx ctx = ctx_of(shot);                   \
                                                                             \
			keep((uint64_t)&ctx);                                \
			__VA_ARGS__                                          \
		}                                                            \
	}

RUN(run_nothing, ;)
RUN(run_whole, make_whole(shot);)
RUN(run_parse, {
	struct pkt pkt = {0};

	keep((uint64_t)&pkt);
	if (pkt_parse_ip(&ctx, &pkt) == PKT_PARSED)
		keep(pkt_parse_l4(&ctx, &pkt));
})
RUN(run_hash, {
	const struct pkt *pkt = &shot->pkt;

	keep(pkt_hash_tuple(&pkt->src, &pkt->dst, pkt->sport, pkt->dport, pkt->proto,
			    env_node()->slot_seed));
})
RUN(run_vip, {
	const struct abi_vip *vip = find_vip(&shot->pkt);

	keep(vip ? find_service(vip, &shot->pkt) : 0);
})
RUN(run_slot, keep(choose_slot(&shot->pkt) && choose_is_settled(&shot->pkt));)
RUN(run_choose, say(choose_backend(&ctx, &shot->pkt));)
RUN(run_wrap, say(wrap(&ctx, &shot->pkt));)
RUN(run_wrap_whole, {
	make_whole(shot);
	say(wrap(&ctx, &shot->pkt));
})
RUN(run_clamp, {
	make_whole(shot);
	say(wrap_clamp(&ctx, &shot->pkt));
})
RUN(run_echo, {
	make_whole(shot);
	say(reply_echo(&ctx, &shot->pkt));
})
RUN(run_empty, {
	make_whole(shot);
	say(reply_empty(&ctx, &shot->pkt));
})
RUN(run_forward, {
	struct pkt pkt = {0};

	make_whole(shot);
	keep((uint64_t)&pkt);
	say(forward(&ctx, &pkt));
})

#define ENDS(row_name, function, of, end)                                             \
	{                                                                             \
		.name = row_name, .prepare = prepare, .run = function, .setting = of, \
		.verdict = end                                                        \
	}
#define ROW(row_name, function, of) ENDS(row_name, function, of, PKT_ON)
#define FLOOR(row_name, function)                                                              \
	{                                                                                      \
		.name = row_name, .prepare = prepare, .run = function, .setting = "ipip 4in4", \
		.verdict = PKT_ON, .when = NATIVE_TIMED                                        \
	}
#define WRAP(mode, families) \
	ENDS("encapsulation, " mode " " families, run_wrap, mode " " families, VERDICT_FORWARDED)
#define PATH(row_name, of) ENDS("whole path, " row_name, run_forward, of, VERDICT_FORWARDED)

const struct native_row path_rows[] = {
	FLOOR("floor: the loop alone", run_nothing),
	FLOOR("floor: the loop, the frame made whole", run_whole),
	ROW("parse, tcp over ipv4", run_parse, "ipip 4in4"),
	ROW("parse, udp over ipv4", run_parse, "udp"),
	ROW("parse, tcp over ipv6", run_parse, "ipip 6in6"),
	ROW("hash of the flow, ipv4", run_hash, "ipip 4in4"),
	ROW("hash of the flow, ipv6", run_hash, "ipip 6in6"),
	ROW("vip and service, ipv4", run_vip, "ipip 4in4"),
	ROW("vip and service, ipv6", run_vip, "ipip 6in6"),
	ROW("slot, settled", run_slot, "ipip 4in4"),
	ROW("backend of a known flow, tracked", run_choose, "ipip 4in4 tracked"),
	ROW("backend of a known flow in transition", run_choose, "slot in transition, known flow"),
	WRAP("ipip", "4in4"),
	WRAP("ipip", "6in6"),
	WRAP("ipip", "4in6"),
	WRAP("ipip", "6in4"),
	WRAP("gre", "4in4"),
	WRAP("gre", "6in6"),
	WRAP("gue", "4in4"),
	WRAP("gue", "6in6"),
	WRAP("gue variant 0", "4in4"),
	WRAP("gue variant 0", "6in6"),
	WRAP("geneve", "4in4"),
	WRAP("geneve", "6in6"),
	ENDS("encapsulation, ipopt 4in4, made whole", run_wrap_whole, "ipopt 4in4",
	     VERDICT_FORWARDED),
	ENDS("encapsulation, ipopt 6in6, made whole", run_wrap_whole, "ipopt 6in6",
	     VERDICT_FORWARDED),
	WRAP("l2dsr", "4in4"),
	ROW("mss of a syn clamped, made whole", run_clamp, "syn, mss clamped"),
	ENDS("icmp: too big, ipv4, made whole", run_wrap_whole, "too big, ipv4",
	     VERDICT_TOO_BIG_ANSWERED),
	ENDS("icmp: too big, ipv6, made whole", run_wrap_whole, "too big, ipv6",
	     VERDICT_TOO_BIG_ANSWERED),
	ENDS("icmp: echo, ipv4, made whole", run_echo, "echo, ipv4", VERDICT_ECHO_ANSWERED),
	ENDS("icmp: echo, ipv6, made whole", run_echo, "echo, ipv6", VERDICT_ECHO_ANSWERED),
	ENDS("icmp: port unreachable, made whole", run_empty, "no backend, udp: icmp",
	     VERDICT_REJECTED),
	ENDS("tcp reset, made whole", run_empty, "no backend, tcp: reset", VERDICT_REJECTED),
	PATH("ipip 4in4", "ipip 4in4"),
	PATH("ipip 6in6", "ipip 6in6"),
	PATH("udp, ipip 4in4", "udp"),
	PATH("gue 4in4", "gue 4in4"),
	PATH("geneve 4in4", "geneve 4in4"),
	PATH("ipip 4in4, tracked", "ipip 4in4 tracked"),
	PATH("ipip 4in4, in transition", "slot in transition, known flow"),
	PATH("syn, mss clamped", "syn, mss clamped"),
	ENDS("whole path, no vip", run_forward, "no vip, ipv4", VERDICT_NOT_VIP),
	{0},
};
