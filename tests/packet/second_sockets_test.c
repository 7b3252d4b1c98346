/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second chance by the kernel's own sockets: in a network namespace of its own the test has a
 * listener, connections, one that waits (TIME_WAIT), one that is pending and a SYN cookie, each of
 * both families, dual-stack and not, and asks the program about segments with numbers that are
 * right for them and numbers that are not. Needs root.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/if_packet.h>
#include <linux/tcp.h>
#include <net/ethernet.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../lib/agent/agents.h"
#include "../lib/agent/tunnels.h"
#include "../lib/frame/frame.h"
#include "base/addr.h"
#include "engine/agent/agent_dp.h"

enum {
	STRANGER_PORT = 40001,
	SILENT_PORT = 40002, /* of a client that does not answer */
	FAR = 1 << 30,
	WAIT_MS = 5000,
};

struct family {
	const char *name, *vip, *client, *silent; /* `silent` is nobody's address */
	const char *balancer, *peer, *host, *other;
	uint16_t port; /* of the client that connects: some wait for the rest of the test */
	int socket;    /* the client's */
	int listener;  /* the server's */
	bool is4;
};

static const struct family families[] = {
	{"IPv4", TUNNEL_VIP4, "203.0.113.5", "203.0.113.77", TUNNEL_LB4, "10.0.1.13", "10.0.1.11",
	 "10.0.1.12", 40010, AF_INET, AF_INET, true},
	{"IPv4, dual-stack", TUNNEL_VIP4, "203.0.113.5", "203.0.113.77", TUNNEL_LB4, "10.0.1.13",
	 "10.0.1.11", "10.0.1.12", 40020, AF_INET, AF_INET6, true},
	{"IPv6, dual-stack", TUNNEL_VIP6, "2001:db8:c::5", "2001:db8:c::77", TUNNEL_LB6,
	 "2001:db8:1::13", "2001:db8:1::11", "2001:db8:1::12", 40030, AF_INET6, AF_INET6, false},
};

struct segment {
	uint8_t flags;
	uint32_t seq, ack;
	uint16_t port; /* the client's; 0: the family's */
	bool quoted;   /* in an error; `seq` is the server's */
	bool hop, weak, silent;
	int line; /* of the test */
};

/* --- asking the program --- */

static void parse(const char *text, uint8_t *ret)
{
	struct addr addr;

	assert_int_equal(addr_parse(text, &addr), 0);
	memcpy(ret, addr.bytes + (addr_is4(&addr) ? 12 : 0), addr_is4(&addr) ? 4 : 16);
}

static void build_inner(const struct family *of, const struct segment *segment, struct frame *ret)
{
	const struct frame_spec quoted = {
		.src = of->vip,
		.dst = segment->silent ? of->silent : of->client,
		.sport = 80,
		.dport = segment->port ? segment->port : of->port,
		.patches = {{FRAME_AT_L4, 4, 4, segment->seq}},
	};
	struct frame_spec spec = {
		.src = segment->silent ? of->silent : of->client,
		.dst = of->vip,
		.sport = segment->port ? segment->port : of->port,
		.tcp_flags = segment->flags,
		.patches = {{FRAME_AT_L4, 4, 4, segment->seq}, {FRAME_AT_L4, 8, 4, segment->ack}},
	};

	if (segment->quoted)
		spec = (struct frame_spec){
			.src = "203.0.113.254",
			.dst = of->vip,
			.proto = of->is4 ? IPPROTO_ICMP : IPPROTO_ICMPV6,
			.icmp_type = of->is4 ? 3 : 1,
			.quote = &quoted,
		};
	if (segment->quoted && !of->is4)
		spec.src = "2001:db8:c::fe";
	frame_build(&spec, ret);
}

static enum agent_verdict run(uint8_t *frame, size_t length, size_t capacity)
{
	struct abi_count before[AGENT_VERDICT_COUNT];
	int verdict = -1;
	uint32_t action;

	for (int i = 0; i < AGENT_VERDICT_COUNT; i++)
		before[i] = agent_dp_verdict_count(agents_kernel, (enum agent_verdict)i);
	assert_int_equal(
		agent_dp_run(agents_kernel, AGENT_DP_DECAP, frame, &length, capacity, &action), 0);
	for (int i = 0; i < AGENT_VERDICT_COUNT; i++) {
		if (agent_dp_verdict_count(agents_kernel, (enum agent_verdict)i).packets !=
		    before[i].packets)
			verdict = i;
	}
	assert_true(verdict >= 0);
	return (enum agent_verdict)verdict;
}

static enum agent_verdict ask(const struct family *of, const struct segment *segment)
{
	struct frame_tunnel tunnel = {.mode = FRAME_GUE0,
				      .outer4 = of->is4,
				      .sport = 50000,
				      .other_family = of->is4 ? 4 : 6,
				      .src_mac = FRAME_CLIENT_MAC,
				      .dst_mac = FRAME_NODE_MAC};
	static struct frame inner, arrived;
	uint8_t *gue;

	build_inner(of, segment, &inner);
	parse(segment->hop ? of->peer : of->balancer, tunnel.src);
	parse(of->host, tunnel.dst);
	parse(segment->hop ? of->host : of->other, tunnel.other);
	frame_encapsulate(inner.bytes, inner.length, &tunnel, &arrived);
	gue = arrived.bytes + FRAME_ETH + (of->is4 ? 20 : 40) + 8;
	gue[5] = segment->hop;
	gue[6] = segment->weak;
	return run(arrived.bytes, arrived.length, sizeof(arrived.bytes));
}

#define MUST(of, wanted, ...)                                                                 \
	do {                                                                                  \
		enum agent_verdict said =                                                     \
			ask(of, &(struct segment){__VA_ARGS__, .line = __LINE__});            \
                                                                                              \
		if (said != AGENT_##wanted)                                                   \
			fail_msg("%s, line %d: %d, should be " #wanted, (of)->name, __LINE__, \
				 said);                                                       \
	} while (0)

/* --- sockets --- */

static void endpoint(int family, const char *text, uint16_t port, struct sockaddr_storage *ret,
		     socklen_t *ret_length)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;
	struct sockaddr_in *in4 = (struct sockaddr_in *)ret;

	memset(ret, 0, sizeof(*ret));
	ret->ss_family = (sa_family_t)family;
	if (family == AF_INET) {
		in4->sin_port = htons(port);
		*ret_length = sizeof(*in4);
		assert_true(!text || inet_pton(AF_INET, text, &in4->sin_addr) == 1);
	} else {
		in6->sin6_port = htons(port);
		*ret_length = sizeof(*in6);
		assert_true(!text || inet_pton(AF_INET6, text, &in6->sin6_addr) == 1);
	}
}

static int bound(int family, const char *text, uint16_t port)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
	struct sockaddr_storage at;
	socklen_t length;

	assert_true(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	endpoint(family, text, port, &at, &length);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	return fd;
}

static int listen_for(const struct family *of)
{
	int fd = bound(of->listener, NULL, 80);

	assert_int_equal(listen(fd, 16), 0);
	return fd;
}

static int connect_from(const struct family *of)
{
	int fd = bound(of->socket, of->client, of->port);
	struct sockaddr_storage to;
	socklen_t length;

	endpoint(of->socket, of->vip, 80, &to, &length);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, length), 0);
	return fd;
}

static int accept_from(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	assert_true(fd >= 0);
	return fd;
}

/* What is expected of the client, and behind what is written for it. */
static uint32_t number(int fd, int queue)
{
	uint32_t number;
	socklen_t length = sizeof(number);
	int on = TCP_REPAIR_ON, off = TCP_REPAIR_OFF_NO_WP;

	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR_QUEUE, &queue, sizeof(queue)), 0);
	assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_QUEUE_SEQ, &number, &length), 0);
	assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &off, sizeof(off)), 0);
	/* Which that took back. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	return number;
}

static void wait_for_end(int fd)
{
	struct pollfd asked = {.fd = fd, .events = POLLIN};
	char byte;

	assert_int_equal(poll(&asked, 1, WAIT_MS), 1);
	assert_int_equal(read(fd, &byte, 1), 0);
}

/* --- what they make of segments --- */

static void check_nobody(const struct family *of)
{
	MUST(of, HANDED_ON, FRAME_SYN, 1, 0);
	MUST(of, HANDED_ON, FRAME_ACK, 1, 1);
	MUST(of, TAKEN, FRAME_ACK, 1, 1, .hop = true);
	MUST(of, UNCLAIMED, FRAME_ACK, 1, 1, .hop = true, .weak = true);
	MUST(of, HANDED_ON, .seq = 1, .quoted = true);
}

static void check_listener(const struct family *of)
{
	MUST(of, DECAPSULATED, FRAME_SYN, 1, 0);
	MUST(of, TAKEN, FRAME_SYN, 1, 0, .hop = true);
	MUST(of, HANDED_ON, FRAME_ACK, 1, 1);
	MUST(of, HANDED_ON, FRAME_SYN | FRAME_ACK, 1, 1);
	MUST(of, HANDED_ON, FRAME_RST, 1, 0);
	MUST(of, UNCLAIMED, FRAME_ACK, 1, 1, .hop = true, .weak = true);
	MUST(of, HANDED_ON, .seq = 1, .quoted = true);
}

static void check_connected(const struct family *of, int server)
{
	uint32_t seq = number(server, TCP_RECV_QUEUE), ack = number(server, TCP_SEND_QUEUE);

	MUST(of, DECAPSULATED, FRAME_ACK, seq, ack);
	MUST(of, DECAPSULATED, FRAME_ACK | FRAME_FIN, seq, ack);
	MUST(of, DECAPSULATED, FRAME_ACK, seq - 1, ack);
	MUST(of, DECAPSULATED, FRAME_ACK | FRAME_PSH, seq, ack - 1);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq, ack + 1);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq, ack - FAR);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq + FAR, ack);
	MUST(of, HANDED_WEAK, FRAME_ACK | FRAME_FIN, seq + FAR, ack);
	MUST(of, DECAPSULATED, FRAME_RST, seq, 0);
	MUST(of, DECAPSULATED, FRAME_RST | FRAME_ACK, seq, ack);
	MUST(of, HANDED_WEAK, FRAME_RST, seq + FAR, 0);
	MUST(of, HANDED_WEAK, FRAME_RST | FRAME_ACK, seq, ack + FAR);
	MUST(of, DECAPSULATED, FRAME_SYN, seq + FAR, 0);
	MUST(of, TAKEN, FRAME_ACK, seq, ack, .hop = true, .weak = true);
	MUST(of, TAKEN, FRAME_ACK, seq + FAR, ack, .hop = true);
	MUST(of, UNCLAIMED, FRAME_ACK, seq + FAR, ack, .hop = true, .weak = true);
	MUST(of, DECAPSULATED, .seq = ack - 1, .quoted = true);
	MUST(of, HANDED_WEAK, .seq = ack + 1, .quoted = true);
	MUST(of, HANDED_WEAK, .seq = ack - FAR, .quoted = true);
	MUST(of, HANDED_ON, FRAME_ACK, seq, ack, .port = STRANGER_PORT);
	MUST(of, HANDED_ON, .seq = ack - 1, .quoted = true, .port = STRANGER_PORT);
}

/* Written, but not sent while the client's window is full: an acknowledgement may yet come. */
static void check_written(const struct family *of, int server)
{
	static const char bytes[65536];
	uint32_t first = number(server, TCP_SEND_QUEUE), end;
	ssize_t sent;

	do
		sent = send(server, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (sent > 0);
	end = number(server, TCP_SEND_QUEUE);
	assert_true(end - first > sizeof(bytes));
	MUST(of, DECAPSULATED, FRAME_ACK, number(server, TCP_RECV_QUEUE), end);
	MUST(of, HANDED_WEAK, FRAME_ACK, number(server, TCP_RECV_QUEUE), end + 1);
}

static void check_waiting(const struct family *of, uint32_t seq, uint32_t ack, bool listens)
{
	MUST(of, DECAPSULATED, FRAME_ACK | FRAME_FIN, seq - 1, ack);
	MUST(of, DECAPSULATED, FRAME_ACK, seq, ack);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq, ack + 1);
	/* The same ports, a second later, at another host. */
	MUST(of, HANDED_WEAK, FRAME_ACK, seq + 15600000, ack + FAR);
	MUST(of, HANDED_WEAK, FRAME_RST, seq + 15600000, 0);
	MUST(of, UNCLAIMED, FRAME_ACK, seq + 15600000, ack + FAR, .hop = true, .weak = true);
	if (listens)
		MUST(of, DECAPSULATED, FRAME_SYN, seq + 15600000, 0);
	else
		MUST(of, HANDED_ON, FRAME_SYN, seq + 15600000, 0);
}

static void run_life(const struct family *of)
{
	int listener, client, server;
	uint32_t seq, ack;

	check_nobody(of);
	listener = listen_for(of);
	check_listener(of);
	client = connect_from(of);
	server = accept_from(listener);
	check_connected(of, server);
	seq = number(server, TCP_RECV_QUEUE) + 1;
	ack = number(server, TCP_SEND_QUEUE) + 1;
	close(server);
	wait_for_end(client);
	/* FIN_WAIT2, in the shape of TIME_WAIT: the client has not yet said that it is done. */
	MUST(of, DECAPSULATED, FRAME_ACK, seq - 1, ack);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq + FAR, ack);
	close(client);
	check_waiting(of, seq, ack, true);
	close(listener);
	check_waiting(of, seq, ack, false);
}

/* --- a client that does not answer: pending connections and SYN cookies --- */

static int listen_to_link(void)
{
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(ETH_P_ALL));

	assert_true(fd >= 0);
	return fd;
}

static uint32_t get(const uint8_t *at, size_t size)
{
	uint32_t value = 0;

	for (size_t i = 0; i < size; i++)
		value = value << 8 | at[i];
	return value;
}

/* The sequence of the SYN-ACK that the server sends to SILENT_PORT. */
static uint32_t hear_answer(const struct family *of, int link)
{
	size_t l4 = FRAME_ETH + (of->is4 ? 20 : 40);
	struct pollfd asked = {.fd = link, .events = POLLIN};
	uint8_t frame[2048];

	while (poll(&asked, 1, WAIT_MS) == 1) {
		ssize_t length = read(link, frame, sizeof(frame));

		if (length >= (ssize_t)l4 + 20 &&
		    get(frame + 12, 2) == (of->is4 ? 0x800 : 0x86dd) && get(frame + l4, 2) == 80 &&
		    get(frame + l4 + 2, 2) == SILENT_PORT &&
		    frame[l4 + 13] == (FRAME_SYN | FRAME_ACK))
			return get(frame + l4 + 4, 4);
	}
	fail_msg("%s: no answer to a SYN", of->name);
	return 0;
}

static uint32_t knock(const struct family *of, uint32_t seq)
{
	int link = listen_to_link(), raw = socket(of->socket, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW);
	const struct segment segment = {FRAME_SYN, seq, 0, .port = SILENT_PORT, .silent = true};
	static struct frame inner;
	struct sockaddr_storage to;
	socklen_t length;
	uint32_t answer;
	size_t l4, tcp;

	build_inner(of, &segment, &inner);
	endpoint(of->socket, of->vip, 0, &to, &length);
	/* The patched sequence made the checksum wrong. */
	l4 = inner.l4;
	tcp = inner.length - l4;
	frame_put(inner.bytes + l4 + 16, 2, 0);
	frame_put(inner.bytes + l4 + 16, 2,
		  frame_checksum(inner.bytes + (of->is4 ? l4 - 8 : l4 - 32),
				 tcp + (of->is4 ? 8 : 32), IPPROTO_TCP + (uint32_t)tcp));
	assert_int_equal(sendto(raw, inner.bytes + FRAME_ETH, inner.length - FRAME_ETH, 0,
				(struct sockaddr *)&to, length),
			 inner.length - FRAME_ETH);
	answer = hear_answer(of, link);
	close(raw);
	close(link);
	return answer;
}

#define SILENT .port = SILENT_PORT, .silent = true

static void run_pending(const struct family *of)
{
	int listener = listen_for(of);
	uint32_t isn = knock(of, 5000), seq = 5001;

	MUST(of, DECAPSULATED, FRAME_ACK, seq, isn + 1, SILENT);
	MUST(of, DECAPSULATED, FRAME_ACK | FRAME_PSH, seq, isn + 1, SILENT);
	MUST(of, DECAPSULATED, FRAME_SYN, seq - 1, 0, SILENT);
	MUST(of, DECAPSULATED, FRAME_RST, seq, 0, SILENT);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq, isn + 2, SILENT);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq, isn, SILENT);
	MUST(of, HANDED_WEAK, FRAME_ACK, seq + FAR, isn + 1, SILENT);
	MUST(of, HANDED_WEAK, FRAME_RST, seq + FAR, 0, SILENT);
	MUST(of, UNCLAIMED, FRAME_ACK, seq, isn + 2, SILENT, .hop = true, .weak = true);
	MUST(of, DECAPSULATED, .seq = isn, .quoted = true, SILENT);
	MUST(of, HANDED_WEAK, .seq = isn + 5, .quoted = true, SILENT);
	close(listener);
}

static void set_cookies(const char *value)
{
	int fd = open("/proc/sys/net/ipv4/tcp_syncookies", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, value, 1), 1);
	close(fd);
}

static void run_cookie(const struct family *of)
{
	int listener = listen_for(of);
	uint32_t cookie, seq = 7001;

	set_cookies("2");
	cookie = knock(of, 7000);
	MUST(of, DECAPSULATED, FRAME_ACK, seq, cookie + 1, SILENT);
	MUST(of, DECAPSULATED, FRAME_ACK | FRAME_PSH, seq, cookie + 1, SILENT);
	MUST(of, TAKEN, FRAME_ACK, seq, cookie + 1, SILENT, .hop = true, .weak = true);
	MUST(of, HANDED_ON, FRAME_ACK, seq, cookie + FAR, SILENT);
	MUST(of, HANDED_ON, FRAME_ACK, seq + FAR, cookie + 1, SILENT);
	MUST(of, HANDED_ON, FRAME_RST | FRAME_ACK, seq, cookie + 1, SILENT);
	MUST(of, HANDED_ON, FRAME_ACK, seq, cookie + 1, .port = STRANGER_PORT, .silent = true);
	set_cookies("0");
	MUST(of, HANDED_ON, FRAME_ACK, seq, cookie + 1, SILENT);
	set_cookies("1");
	close(listener);
}

/* --- tests --- */

static void need_kernel(void)
{
	if (!agents_kernel)
		skip();
}

static void test_life(void **state)
{
	(void)state;
	need_kernel();
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		run_life(&families[i]);
}

static void test_written(void **state)
{
	(void)state;
	need_kernel();
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		const struct family *of = &families[i];
		int listener = listen_for(of), client = connect_from(of);
		int server = accept_from(listener);
		struct linger cut = {.l_onoff = 1};

		check_written(of, server);
		/* By RST: nothing waits afterwards. */
		setsockopt(server, SOL_SOCKET, SO_LINGER, &cut, sizeof(cut));
		close(server);
		close(client);
		close(listener);
	}
}

static void test_pending(void **state)
{
	(void)state;
	need_kernel();
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		run_pending(&families[i]);
}

static void test_cookie(void **state)
{
	(void)state;
	need_kernel();
	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
		run_cookie(&families[i]);
}

/* A listener of IPv6 alone is none of IPv4's. */
static void test_v6only(void **state)
{
	int fd, on = 1;
	struct sockaddr_storage at;
	socklen_t length;

	(void)state;
	need_kernel();
	fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	endpoint(AF_INET6, NULL, 80, &at, &length);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, length), 0);
	assert_int_equal(listen(fd, 1), 0);
	MUST(&families[0], HANDED_ON, FRAME_SYN, 1, 0, .port = STRANGER_PORT);
	MUST(&families[2], DECAPSULATED, FRAME_SYN, 1, 0, .port = STRANGER_PORT);
	close(fd);
}

static int open_alone(void **state)
{
	/* A busybox's shell would take its own `ip`, which knows too little. */
	static const char setup[] =
		"set -e; /bin/ip link set lo up;"
		"echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter;"
		"echo 0 >/proc/sys/net/ipv4/conf/lo/rp_filter;"
		"/bin/ip addr add " TUNNEL_VIP4
		"/32 dev lo; /bin/ip addr add 203.0.113.5/32 dev lo;"
		"/bin/ip addr add " TUNNEL_VIP6 "/128 dev lo nodad;"
		"/bin/ip addr add 2001:db8:c::5/128 dev lo nodad;"
		"/bin/ip link add silent0 type veth peer name silent1;"
		"/bin/ip link set silent0 up; /bin/ip link set silent1 up;"
		"/bin/ip route add 203.0.113.77 dev silent0; /bin/ip -6 route add 2001:db8:c::77 "
		"dev silent0;"
		"/bin/ip neigh add 203.0.113.77 lladdr 02:00:00:00:00:77 dev silent0;"
		"/bin/ip neigh add 2001:db8:c::77 lladdr 02:00:00:00:00:77 dev silent0";

	if (geteuid() == 0 && (unshare(CLONE_NEWNET) || system(setup)))
		return -1;
	return agents_open(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agents_test_kernel_ran),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_pending),
		cmocka_unit_test(test_cookie),
		cmocka_unit_test(test_v6only),
	};

	return cmocka_run_group_tests_name("second_sockets", tests, open_alone, agents_close);
}
