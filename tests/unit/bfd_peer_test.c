/* SPDX-License-Identifier: BSD-2-Clause */
/* A BFD session on real sockets, and a peer whose every byte the test writes. */
#include "tests/unit/bfd_ends.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bfd/socket.h"

struct script {
	int in, out;
	struct bfd_packet heard;
	struct sockaddr_in from;
};

/* A socket of the peer's, whose packets have TTL 255. */
static int script_socket(const char *address, uint16_t port)
{
	struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons(port)};
	int on = 1, ttl = 255, fd;

	own.sin_addr.s_addr = inet_addr(address);
	pairs_enter(true);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	pairs_enter(false);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)), 0);
	return fd;
}

static struct script script_open(void)
{
	return (struct script){.in = script_socket("0.0.0.0", BFD_PORT_DIRECT),
			       .out = script_socket("0.0.0.0", 0)};
}

static void script_close(struct script *script)
{
	close(script->in);
	close(script->out);
}

static void script_send(struct script *script, const void *bytes, size_t length)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons(BFD_PORT_DIRECT),
				 .sin_addr.s_addr = htonl(0x0a000001)};

	assert_int_equal(sendto(script->out, bytes, length, 0, (struct sockaddr *)&to, sizeof(to)),
			 length);
}

/* The next packet that comes within the wait. */
static void script_hear(struct script *script)
{
	struct pollfd ready = {.fd = script->in, .events = POLLIN};
	socklen_t length = sizeof(script->from);
	uint8_t bytes[64];
	ssize_t got;

	assert_int_equal(poll(&ready, 1, LOOP_WAIT_MS), 1);
	got = recvfrom(script->in, bytes, sizeof(bytes), 0, (struct sockaddr *)&script->from,
		       &length);
	assert_int_equal(got, BFD_PACKET_LENGTH);
	assert_int_equal(bfd_packet_parse(bytes, (size_t)got, &script->heard), BFD_PACKET_OK);
	assert_int_equal(bytes[1] & 0x0f, 0); /* C, A, D, M */
	assert_in_range(ntohs(script->from.sin_port), 49152, 65535);
}

static void script_say(struct script *script, enum bfd_state state, bool final)
{
	struct bfd_packet packet = {
		.state = state,
		.final = final,
		.multiplier = LONG,
		.own = 77,
		.your = state == BFD_DOWN ? 0 : script->heard.own,
		.send_us = 1000000,
		.receive_us = 50000,
	};
	uint8_t bytes[BFD_PACKET_LENGTH];

	bfd_packet_format(&packet, bytes);
	script_send(script, bytes, sizeof(bytes));
}

static struct script script_up(void)
{
	struct script script = script_open();
	struct bfd_spec spec = spec_of("10.0.0.1", "10.0.0.2");

	add(&here, &spec);
	script_hear(&script);
	assert_int_equal(script.heard.state, BFD_DOWN);
	script_say(&script, BFD_DOWN, false);
	while (script.heard.state != BFD_INIT)
		script_hear(&script);
	assert_int_equal(script.heard.your, 77);
	script_say(&script, BFD_UP, false);
	while (script.heard.state != BFD_UP)
		script_hear(&script);
	assert_true(script.heard.poll);
	script_say(&script, BFD_UP, true);
	while (script.heard.poll)
		script_hear(&script);
	return script;
}

static void test_what_goes_out(void **state)
{
	struct script script = script_up();
	uint16_t port = script.from.sin_port;
	union {
		struct cmsghdr header;
		char bytes[64];
	} control;
	struct msghdr message = {.msg_control = &control, .msg_controllen = sizeof(control)};

	(void)state;
	assert_int_equal(script.heard.send_us, 50000);
	assert_int_equal(script.heard.receive_us, 50000);
	assert_int_equal(script.heard.multiplier, LONG);
	assert_true(recvmsg(script.in, &message, 0) >= 0);
	assert_int_equal(control.header.cmsg_type, IP_TTL);
	assert_int_equal(*(int *)CMSG_DATA(&control.header), 255);
	script_hear(&script);
	assert_int_equal(script.from.sin_port, port); /* one for the session's life */
	script_close(&script);
}

enum counter { OF_SESSION, OF_KERNEL, OF_AUTHENTICATED };

static uint64_t refused(enum counter counter)
{
	struct bfd_refusals refusals;

	bfd_refusals(here.bfd, &refusals);
	switch (counter) {
	case OF_SESSION: return status_of(&here).refused;
	case OF_KERNEL: return refusals.kernel;
	default: return refusals.authenticated;
	}
}

struct wait {
	enum counter counter;
	uint64_t value;
};

static bool has_come(void *arg)
{
	const struct wait *wait = arg;

	return refused(wait->counter) == wait->value;
}

static void send_refused(struct script *script, const void *bytes, size_t length,
			 enum counter counter)
{
	struct wait wait = {counter, refused(counter) + 1};

	script_send(script, bytes, length);
	assert_true(loop_until(&loop, has_come, &wait));
}

static void test_garbage_costs_nothing(void **state)
{
	struct script script = script_up();
	struct bfd_packet packet = {.state = BFD_DOWN, .multiplier = 3, .own = 77};
	uint8_t bytes[300];
	int ttl = 254;

	(void)state;
	for (int i = 0; i < 250; i++) {
		memset(bytes, i, sizeof(bytes));
		script_send(&script, bytes, (size_t)i);
	}
	assert_true(loop_until(&loop, has_come, &(struct wait){OF_SESSION, 250}));

	/* Down, which would end it: by another's discriminator, authenticated, from a hop away. */
	packet.your = script.heard.own + 1;
	bfd_packet_format(&packet, bytes);
	send_refused(&script, bytes, BFD_PACKET_LENGTH, OF_SESSION);
	packet.your = script.heard.own;
	bfd_packet_format(&packet, bytes);
	bytes[1] |= 4;
	send_refused(&script, bytes, BFD_PACKET_LENGTH, OF_AUTHENTICATED);
	bytes[1] &= (uint8_t)~4;
	setsockopt(script.out, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl));
	send_refused(&script, bytes, BFD_PACKET_LENGTH, OF_KERNEL);
	assert_int_equal(status_of(&here).losses, 0);
	script_close(&script);
}

static void test_a_stranger_is_not_heard(void **state)
{
	struct bfd_packet packet = {.state = BFD_DOWN, .multiplier = 3, .own = 77};
	struct script script;
	uint8_t bytes[BFD_PACKET_LENGTH];

	(void)state;
	pairs_run("PEER ip addr add 10.0.0.99/24 dev v1");
	script = script_up();
	close(script.out);
	script.out = script_socket("10.0.0.99", 0);
	packet.your = script.heard.own;
	bfd_packet_format(&packet, bytes);
	send_refused(&script, bytes, sizeof(bytes), OF_KERNEL);
	assert_int_equal(status_of(&here).losses, 0);
	script_close(&script);
	pairs_run("PEER ip addr del 10.0.0.99/24 dev v1");
}

static bool is_down(void *arg)
{
	(void)arg;
	return here.losses && status_of(&here).state == BFD_DOWN;
}

/* Up and down hundreds of times while the loop is away: it is told of one loss. */
static void test_flapping_is_told_in_short(void **state)
{
	struct script script = script_up();

	(void)state;
	for (int i = 0; i < 300; i++) {
		script_say(&script, BFD_DOWN, false);
		script_say(&script, BFD_INIT, false);
		script_hear(&script);
	}
	while (status_of(&here).losses < 300)
		usleep(1000);
	script_say(&script, BFD_DOWN, false);
	assert_true(loop_until(&loop, is_down, NULL));
	assert_in_range(here.losses, 1, 2);
	script_close(&script);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_what_goes_out),
		TEST(test_garbage_costs_nothing),
		TEST(test_a_stranger_is_not_heard),
		TEST(test_flapping_is_told_in_short),
	};

	return cmocka_run_group_tests(tests, open_world, pairs_close);
}
