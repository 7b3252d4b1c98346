// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/run/xsk_lab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"
#include "pkt/ctx.h"
#include "tests/lib/world/world.h"

struct xsk_lab xsk_lab;

/* A small shell may have an `ip` of its own, which knows too little. */
void xsk_lab_shell(const char *command)
{
	pid_t child = fork();
	int status;

	assert_return_code(child, errno);
	if (child == 0) {
		execlp("bash", "bash", "-c", command, NULL);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		fail_msg("failed (status %#x): %s", (unsigned)status, command);
}

void xsk_lab_wait_up(const char *one, const char *other)
{
	char command[256];

	snprintf(command, sizeof(command),
		 "for i in {1..1000}; do ip -o link show %s | grep -q 'state UP' && "
		 "ip -o link show %s | grep -q 'state UP' && exit 0; sleep 0.01; done; exit 1",
		 one, other);
	xsk_lab_shell(command);
}

static int open_end(const char *interface)
{
	struct sockaddr_ll end = {
		.sll_family = AF_PACKET,
		.sll_protocol = PKT_BE16(ETH_P_ALL),
		.sll_ifindex = (int)if_nametoindex(interface),
	};
	const int on = 1;
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_return_code(fd, errno);
	setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &on, sizeof(on));
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof(on));
	assert_return_code(bind(fd, (struct sockaddr *)&end, sizeof(end)), errno);
	return fd;
}

/* The kernel takes the outer tag off a frame, and tells of it beside. */
static size_t put_tag_back(const struct msghdr *message, uint8_t *bytes, size_t length)
{
	for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at;
	     at = CMSG_NXTHDR((struct msghdr *)message, at)) {
		struct tpacket_auxdata aux;
		uint16_t tag[2];

		if (at->cmsg_type != PACKET_AUXDATA)
			continue;
		memcpy(&aux, CMSG_DATA(at), sizeof(aux));
		if (!(aux.tp_status & TP_STATUS_VLAN_VALID))
			continue;
		tag[0] = PKT_BE16(aux.tp_vlan_tpid);
		tag[1] = PKT_BE16(aux.tp_vlan_tci);
		memmove(bytes + 16, bytes + 12, length - 12);
		memcpy(bytes + 12, tag, sizeof(tag));
		return length + sizeof(tag);
	}
	return length;
}

size_t xsk_lab_receive(int fd, uint8_t *bytes, size_t room)
{
	struct pollfd poller = {.fd = fd, .events = POLLIN};
	uint8_t control[256];
	struct iovec part = {bytes, room - 4};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control,
				 .msg_controllen = sizeof(control)};
	ssize_t length;

	if (poll(&poller, 1, XSK_LAB_WAIT_MS) != 1)
		return 0;
	length = recvmsg(fd, &message, 0);
	return length < 0 ? 0 : put_tag_back(&message, bytes, (size_t)length);
}

/* veth takes what is sent by XDP_TX only where the other end has a program too: one that passes. */
void xsk_lab_link(void)
{
	char command[384], number[32] = "";
	uint32_t queues = xsk_lab.queues;

	if (xsk_lab.number)
		snprintf(number, sizeof(number), "index %u", xsk_lab.number);
	snprintf(command, sizeof(command),
		 "ip link add v0 %s numrxqueues %u numtxqueues %u type veth peer name v1 "
		 "numrxqueues %u numtxqueues %u && ethtool -L v0 rx %u tx %u && "
		 "ethtool -L v1 rx %u tx %u",
		 number, queues, queues, queues, queues, queues, queues, queues, queues);
	xsk_lab_shell(command);
	xsk_lab_shell("ip link set v0 up && ip link set v1 up");
	xsk_lab_wait_up("v0", "v1");
	snprintf(command, sizeof(command),
		 "ip link set dev v1 xdpdrv obj "
		 "$(dirname $(readlink -f /proc/%d/exe))/../lib/pass.bpf.o sec xdp",
		 (int)getpid());
	xsk_lab_shell(command);
	xsk_lab.far_fd = open_end("v1");
}

void xsk_lab_lead(void)
{
	struct dp_tables *tables = dp_tables(xsk_lab.dp);
	uint32_t here = if_nametoindex("v0"), away = if_nametoindex("v2");

	for (uint32_t i = 1; i < WORLD_BACKENDS; i++) {
		struct abi_backend *backend = &tables->backends[i];

		if (backend->ifindex == WORLD_AWAY_IFINDEX)
			backend->ifindex = away;
		else if (backend->ifindex && backend->ifindex != away)
			backend->ifindex = here;
	}
}

void xsk_lab_open(uint32_t queues, uint32_t workers, uint32_t packet_max)
{
	const struct dp_options options = {
		.flow_entries = WORLD_FLOWS, .features = (uint32_t)ABI_HAS_ALL, .steers = true};
	struct err err;

	assert_return_code(unshare(CLONE_NEWNET), errno);
	xsk_lab_shell("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6");
	xsk_lab_shell("ip link add v2 type veth peer name v3 && ip link set v2 up && "
		      "ip link set v3 up");
	xsk_lab_wait_up("v2", "v3");
	xsk_lab.queues = queues;
	xsk_lab.number = 0;
	xsk_lab_link();
	xsk_lab.away_fd = open_end("v3");
	if (dp_open(&options, &xsk_lab.dp, &err) ||
	    dp_attach(xsk_lab.dp, "v0", LINK_XDP_NATIVE, &err) ||
	    xsk_open(xsk_lab.dp, workers, &err) || xsk_look(xsk_lab.dp, &err))
		fail_msg("%s", err.text);
	world_fill(dp_tables(xsk_lab.dp));
	xsk_lab_lead();
	xsk_set_packet_max(xsk_lab.dp, packet_max);
}

void xsk_lab_close(void)
{
	dp_close(xsk_lab.dp);
	close(xsk_lab.far_fd);
	close(xsk_lab.away_fd);
}

struct xsk_figures xsk_lab_figures(void)
{
	struct xsk_figures sum = {0};

	for (uint32_t i = 0; i < xsk_count(xsk_lab.dp); i++) {
		struct xsk_seen seen;

		if (!xsk_see(xsk_lab.dp, i, &seen))
			continue;
		sum.received += seen.figures.received;
		sum.sent += seen.figures.sent;
		sum.redirected += seen.figures.redirected;
		sum.refused += seen.figures.refused;
		sum.late += seen.figures.late;
		sum.ring_full += seen.figures.ring_full;
		sum.other += seen.figures.other;
	}
	return sum;
}

void xsk_lab_wait_for_count(const char *name, uint32_t verdict, uint64_t verdicts,
			    uint64_t received)
{
	uint64_t end_ms = time_now_ms() + XSK_LAB_WAIT_MS;

	while (dp_verdict_count(xsk_lab.dp, verdict).packets < verdicts ||
	       xsk_lab_figures().received < received) {
		if (time_now_ms() > end_ms)
			fail_msg("%s: it is not counted", name);
		sched_yield();
	}
	assert_int_equal(dp_verdict_count(xsk_lab.dp, verdict).packets, verdicts);
}
