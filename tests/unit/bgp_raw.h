/* SPDX-License-Identifier: BSD-2-Clause */
/* Side `a`, and a router at 127.0.0.9, AS 65009, that is a bare socket. */
#pragma once

#include <errno.h>
#include <unistd.h>

#include "bgp/wire/wire.h"
#include "bgp_sides.h"

static int raw = -1;

static int connect_raw(int from, int to)
{
	struct sockaddr_storage local, peer;
	struct addr from_addr = addr_of(from), to_addr = addr_of(to);
	socklen_t local_length = addr_sockaddr(&from_addr, 0, &local);
	socklen_t peer_length = addr_sockaddr(&to_addr, BGP_PORT, &peer);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&local, local_length), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&peer, peer_length), 0);
	return fd;
}

static void say(const uint8_t *message, int length)
{
	assert_true(length > 0);
	assert_int_equal(send(raw, message, (size_t)length, MSG_NOSIGNAL), length);
}

static inline void say_open(uint16_t hold_s)
{
	struct wire_open open = {
		.asn = 65009,
		.router_id = 9,
		.hold_s = hold_s,
		.as4 = true,
		.ipv4 = true,
		.graceful = true,
	};
	uint8_t message[WIRE_MAX];

	say(message, wire_open_format(&open, message));
	say(message, wire_keepalive_format(message));
}

static uint8_t heard[WIRE_MAX];
static int heard_length;
static enum wire_type heard_type;

/* The next message of that type; those before it are dropped. */
static bool hears(void *arg)
{
	enum wire_type wanted = *(enum wire_type *)arg;
	struct wire_notice fault;
	ssize_t got;

	for (;;) {
		got = recv(raw, heard, sizeof(heard), MSG_PEEK | MSG_DONTWAIT);
		if (got <= 0)
			return false;
		heard_length = wire_frame(heard, (size_t)got, &heard_type, &fault);
		if (heard_length <= 0)
			return false;
		recv(raw, heard, (size_t)heard_length, 0);
		if (heard_type == wanted)
			return true;
	}
}

static bool raw_closed(void *arg)
{
	ssize_t got = recv(raw, heard, sizeof(heard), MSG_DONTWAIT);

	(void)arg;
	return got == 0 || (got < 0 && errno != EAGAIN);
}

static void hear(enum wire_type type)
{
	assert_true(loop_until(&loop, hears, &type));
}

static void begin_raw(struct bgp_spec *spec)
{
	struct bgp_peer_spec peer = peer_of(1, 9);

	peer.passive = true;
	open_side(&a, spec);
	add_peer(&a, &peer);
	raw = connect_raw(9, 1);
}

static int end_raw(void **state)
{
	if (raw >= 0)
		close(raw);
	raw = -1;
	return tear_down(state);
}
