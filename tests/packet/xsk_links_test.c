// SPDX-License-Identifier: BSD-2-Clause
/*
 * Workers of engine af_xdp and the interfaces that they are at: queues that have none, or cannot
 * have one, links that go and come back under the same name or number, a queue that another socket
 * has, and workers that are behind. As root, over a veth.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/time.h"
#include "engine/dp_state.h"
#include "engine/xsk/port.h"
#include "engine/xsk/xsk.h"
#include "tests/lib/frame/frame.h"
#include "tests/lib/run/xsk_lab.h"
#include "tests/lib/world/world.h"

enum { PACKET_MAX = WORLD_MTU - 80, FLOWS = 200 };

static void open_lab(uint32_t queues, uint32_t workers)
{
	if (geteuid() != 0)
		skip();
	xsk_lab_open(queues, workers, PACKET_MAX);
}

/* A socket of the test's own in the place of the first worker, which ends: it takes nothing. */
static void take_queue(struct xsk_port *ret)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct err err;

	xsk_close(xsk_lab.dp);
	while (xsk_port_open("v0", 0, ret, &err) == -EBUSY && time_now_ms() < end_ms)
		sched_yield();
	assert_non_null(ret->socket);
}

static void give_frames_to(struct xsk_port *port)
{
	const uint32_t first = 0;
	int fd = xsk_port_fd(port);

	assert_int_equal(bpf_map_update_elem(bpf_map__fd(xsk_lab.dp->skel->maps.sockets), &first,
					     &fd, BPF_ANY),
			 0);
}

/* Where there are more queues than workers the kernel forwards what comes at the others. */
static void test_more_queues(void **state)
{
	uint64_t received;
	struct frame frame;

	(void)state;
	open_lab(4, 2);
	for (uint16_t port = 1; port <= FLOWS; port++) {
		const struct frame_spec spec = {
			.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .sport = port};

		frame_build(&spec, &frame);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		xsk_lab_wait_for_count("a flow", VERDICT_FORWARDED, port, 0);
	}
	/* By the hash of so many flows, each queue gets some. */
	received = xsk_lab_figures().received;
	assert_in_range(received, 1, FLOWS - 1);
	xsk_lab_close();
}

/* Each of many flows' frames leaves. */
static void pass_flows(void)
{
	static uint8_t bytes[FRAME_MAX];
	struct frame frame;

	for (uint16_t port = 1; port <= FLOWS; port++) {
		const struct frame_spec spec = {
			.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4, .sport = port};

		frame_build(&spec, &frame);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)),
				 frame.length + 20);
	}
}

/* A queue that receives and does not send is no worker's. */
static void test_queues_that_send(void **state)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_seen seen;
	struct err err;

	(void)state;
	open_lab(4, 4);
	pass_flows();
	assert_true(xsk_see(xsk_lab.dp, 3, &seen));
	assert_int_equal(xsk_lab_figures().sent, FLOWS);
	/* The kernel refuses that while there are sockets. */
	xsk_close(xsk_lab.dp);
	while (system("ethtool -L v0 tx 2 2>/dev/null") && time_now_ms() < end_ms)
		sched_yield();
	assert_int_equal(xsk_open(xsk_lab.dp, 4, &err), 0);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	assert_int_equal(xsk_count(xsk_lab.dp), 2);
	pass_flows();
	assert_in_range(xsk_lab_figures().sent, 1, FLOWS - 1);
	/* Its successor has fewer of them. */
	xsk_lab.queues = 1;
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	xsk_lab_link();
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_true(xsk_see(xsk_lab.dp, 0, &seen));
	assert_false(xsk_see(xsk_lab.dp, 1, &seen));
	pass_flows();
	assert_int_equal(xsk_lab_figures().sent, FLOWS);
	xsk_lab_close();
}

/* One frame through a worker. */
static void pass_one(void)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t before = xsk_lab_figures().received;
	struct frame frame;

	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	xsk_lab_wait_for_count("one", VERDICT_FORWARDED,
			       dp_verdict_count(xsk_lab.dp, VERDICT_FORWARDED).packets, before + 1);
}

/* An interface goes down and up; it is deleted, and one of its name made. */
static void test_links(void **state)
{
	struct err err;

	(void)state;
	open_lab(1, 1);
	pass_one();
	xsk_lab_shell("ip link set v0 down && ip link set v0 up");
	xsk_lab_wait_up("v0", "v1");
	pass_one();
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_int_equal(xsk_lab_figures().received, 0);
	xsk_lab_link();
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	assert_int_equal(xsk_lab_figures().received, 1);
	xsk_lab_close();
}

/* A second interface has a worker of its own, whose packets leave at the first. */
static void test_two_interfaces(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	struct xsk_seen seen;
	struct frame frame;
	struct err err;

	(void)state;
	open_lab(1, 2);
	assert_int_equal(dp_attach(xsk_lab.dp, "v2", LINK_XDP_NATIVE, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	assert_int_equal(xsk_count(xsk_lab.dp), 2);
	pass_one();
	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.away_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	xsk_lab_wait_for_count("redirected", VERDICT_REDIRECTED, 1, 2);
	assert_true(xsk_see(xsk_lab.dp, 1, &seen));
	assert_string_equal(seen.interface, "v2");
	assert_int_equal(seen.figures.received, 1);
	assert_int_equal(seen.figures.redirected, 1);
	xsk_lab_close();
}

/* An interface is gone and back under its number before anybody looks. */
static void test_same_number(void **state)
{
	struct err err;

	(void)state;
	open_lab(1, 1);
	pass_one();
	/* It is somewhere else for a moment: the program stays at it. */
	xsk_lab.number = if_nametoindex("v0");
	xsk_lab_shell("ip netns add weir-$PPID-away && ip link set v0 netns weir-$PPID-away && "
		      "ip -n weir-$PPID-away link set v0 netns $PPID && "
		      "ip netns del weir-$PPID-away && ip link set v0 up");
	xsk_lab_wait_up("v0", "v1");
	assert_int_equal(if_nametoindex("v0"), xsk_lab.number);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	/* It is deleted, and one made. */
	xsk_lab_shell("ip link del v0");
	close(xsk_lab.far_fd);
	xsk_lab_link();
	assert_int_equal(if_nametoindex("v0"), xsk_lab.number);
	xsk_lab_lead();
	assert_int_equal(dp_reattach(xsk_lab.dp, 0, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 0);
	pass_one();
	xsk_lab_close();
}

/* A queue that another socket has: it is said, the kernel forwards, and then it is to be had. */
static void test_busy_queue(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_port other;
	struct frame frame;
	struct err err;

	(void)state;
	open_lab(1, 1);
	take_queue(&other);
	assert_int_equal(xsk_open(xsk_lab.dp, 1, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 1);
	assert_non_null(strstr(err.text, "v0, queue 0"));
	frame_build(&spec, &frame);
	assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	assert_int_equal(xsk_lab_figures().received, 0);
	xsk_port_close(&other);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	pass_one();
	xsk_lab_close();
}

/* What has come so far, into the ring or not. */
static uint64_t count_come(const struct xsk_port *port)
{
	return *port->rx.producer - *port->rx.consumer + xsk_port_drops(port).ring_full;
}

/*
 * A worker that takes too little: all chunks are used, and what comes then is lost and counted. It
 * counts as one that takes, or the kernel would forward when half a second has passed.
 */
static void test_behind(void **state)
{
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + 3 * XSK_LAB_WAIT_MS;
	struct xsk_port port;
	struct frame frame;

	(void)state;
	open_lab(1, 1);
	take_queue(&port);
	give_frames_to(&port);
	frame_build(&spec, &frame);
	for (uint32_t i = 1; i <= XSK_CHUNKS + FLOWS; i++) {
		__atomic_store_n(&xsk_lab.dp->steering->rings[0].taken, i - 1, __ATOMIC_RELAXED);
		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		while (count_come(&port) < i && time_now_ms() < end_ms)
			sched_yield();
	}
	assert_int_equal(*port.rx.producer - *port.rx.consumer, XSK_CHUNKS);
	assert_int_equal(xsk_port_drops(&port).ring_full, FLOWS);
	assert_int_equal(xsk_port_drops(&port).other, 0);
	xsk_port_close(&port);
	xsk_lab_close();
}

/* One whose socket is there, and takes nothing, as in a process that is stopped: after a while the
 * kernel forwards, and once somebody takes again, it gives. */
static void test_stuck(void **state)
{
	static uint8_t bytes[FRAME_MAX];
	const struct frame_spec spec = {.src = WORLD_CLIENT4, .dst = WORLD_ONE4_VIP4};
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;
	struct xsk_port stuck;
	struct frame frame;
	struct err err;

	(void)state;
	open_lab(1, 1);
	take_queue(&stuck);
	assert_int_equal(xsk_open(xsk_lab.dp, 1, &err), 0);
	assert_int_equal(xsk_look(xsk_lab.dp, &err), 1);
	give_frames_to(&stuck);
	frame_build(&spec, &frame);
	do {
		struct pollfd poller = {.fd = xsk_lab.far_fd, .events = POLLIN};

		assert_int_equal(send(xsk_lab.far_fd, frame.bytes, frame.length, 0), frame.length);
		if (poll(&poller, 1, 10) == 1)
			break;
	} while (time_now_ms() < end_ms);
	assert_int_equal(xsk_lab_receive(xsk_lab.far_fd, bytes, sizeof(bytes)), frame.length + 20);
	assert_true(*stuck.rx.producer > 0);
	pass_flows();
	xsk_port_close(&stuck);
	while (xsk_look(xsk_lab.dp, &err) && time_now_ms() < end_ms)
		sched_yield();
	while (!xsk_lab_figures().sent && time_now_ms() < end_ms)
		pass_flows();
	assert_true(xsk_lab_figures().sent);
	xsk_lab_close();
}

static int say_why(void **state)
{
	(void)state;
	if (geteuid() != 0)
		print_message("skip: AF_XDP needs root\n");
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_more_queues),    cmocka_unit_test(test_queues_that_send),
		cmocka_unit_test(test_links),          cmocka_unit_test(test_same_number),
		cmocka_unit_test(test_two_interfaces), cmocka_unit_test(test_busy_queue),
		cmocka_unit_test(test_behind),         cmocka_unit_test(test_stuck),
	};

	return cmocka_run_group_tests(tests, say_why, NULL);
}
