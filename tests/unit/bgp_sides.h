/* SPDX-License-Identifier: BSD-2-Clause */
/* Two speakers for unit tests, in one loop, on the loopback of a network namespace of the test's
 * own. For one test program, which includes it once. */
#pragma once

#include <arpa/inet.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/loop.h"
#include "bgp/speaker.h"

/* A speaker at 127.0.0.N, AS 65000 + N, whose only peer is the other one. */
struct side {
	int number;
	struct bgp *bgp;
	struct bgp_peer *peer;
	unsigned int calls;
	enum bgp_peer_state state; /* as called back */
	bool stopped;
	bool closes, removes; /* in the callback */
};

static uv_loop_t loop;
static struct side a, b;

static int open_world(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET)) {
		print_message("network namespaces need root\n");
		return -1;
	}
	return system("ip link set lo up");
}

static int set_up(void **state)
{
	(void)state;
	memset(&a, 0, sizeof(a));
	memset(&b, 0, sizeof(b));
	a.number = 1;
	b.number = 2;
	return uv_loop_init(&loop);
}

static void close_side(struct side *side)
{
	if (side->bgp)
		bgp_close(side->bgp);
	side->bgp = NULL;
	side->peer = NULL;
}

/* The loop ends by itself: no handle is left. */
static int tear_down(void **state)
{
	(void)state;
	close_side(&a);
	close_side(&b);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

static struct addr addr_of(int number)
{
	return addr_from4(htonl(0x7f000000 + (uint32_t)number));
}

static struct bgp_spec spec_of(int number)
{
	return (struct bgp_spec){
		.asn = 65000 + (uint32_t)number,
		.router_id = (uint32_t)number,
		.stop_text = "back at noon",
	};
}

/* From `from`, for a peer at `to`. */
static struct bgp_peer_spec peer_of(int from, int to)
{
	return (struct bgp_peer_spec){
		.address = addr_of(to),
		.local = addr_of(from),
		.asn = 65000 + (uint32_t)to,
	};
}

static void on_changed(void *arg, struct bgp_peer *peer, enum bgp_peer_state state)
{
	struct side *side = arg;

	if (peer != side->peer)
		return;
	side->calls++;
	side->state = state;
	if (side->removes && state == BGP_PEER_ESTABLISHED) {
		bgp_remove_peer(peer);
		side->peer = NULL;
	}
	if (side->closes && state == BGP_PEER_ESTABLISHED)
		close_side(side);
}

static void open_side(struct side *side, const struct bgp_spec *spec)
{
	struct err err;

	assert_int_equal(bgp_open(&loop, spec, &side->bgp, &err), 0);
}

static void add_peer(struct side *side, const struct bgp_peer_spec *spec)
{
	struct err err;

	assert_int_equal(bgp_add_peer(side->bgp, spec, on_changed, side, &side->peer, &err), 0);
}

static struct bgp_route route(uint32_t number)
{
	return (struct bgp_route){.prefix = {addr_from4(htonl(0x0a000000 + number)), 32}};
}

static inline void announce(struct side *side, uint32_t from, uint32_t count)
{
	for (uint32_t i = from; i < from + count; i++) {
		struct bgp_route made = route(i);

		assert_int_equal(bgp_announce(side->bgp, &made), 0);
	}
}

static inline bool is_told(void *arg)
{
	struct side *side = arg;
	const struct bgp_peer_status *status = bgp_peer_status(side->peer);

	return status->state == BGP_PEER_ESTABLISHED && !status->pending;
}
