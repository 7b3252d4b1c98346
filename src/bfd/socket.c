/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filter is a classic BPF program that the kernel runs on each datagram before it queues it:
 * the TTL, then the source against each peer. It is made anew when a session comes or goes. It
 * needs no privilege, and 256 IPv6 peers fit into half of what the kernel takes (4096 steps).
 */
#include "bfd/socket.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	PORT_FIRST = 49152, /* RFC 5881 section 4 */
	PORT_COUNT = 65536 - PORT_FIRST,
	PORT_TRIES = 64,
	TTL = 255,
	TOS = 0xc0, /* CS6, as routing protocols have it */
	QUEUE_BYTES = 1 << 20,
	STEPS_HEAD = 3, /* of the filter: the TTL */
	STEPS_PEER = 9, /* four words compared, and a verdict */
	STEPS_MAX = STEPS_HEAD + BFD_SESSIONS_MAX * STEPS_PEER + 1,
	TTL4 = 8, /* offsets in the IP header */
	SOURCE4 = 12,
	TTL6 = 7,
	SOURCE6 = 8,
};

/* --- the filter --- */

struct program {
	struct sock_filter steps[STEPS_MAX];
	unsigned short count;
};

static void load(struct program *program, unsigned size, unsigned offset)
{
	program->steps[program->count++] = (struct sock_filter)BPF_STMT(
		BPF_LD | size | BPF_ABS, (unsigned)SKF_NET_OFF + offset);
}

static void verdict(struct program *program, bool pass)
{
	program->steps[program->count++] =
		(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, pass ? UINT32_MAX : 0);
}

static uint32_t word_at(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       bytes[3];
}

/* A word that differs jumps over the rest of this peer. */
static void admit_peer(struct program *program, int family, const struct addr *peer)
{
	unsigned words = family == AF_INET ? 1 : 4;
	const uint8_t *bytes = peer->bytes + (family == AF_INET ? 12 : 0);

	for (unsigned i = 0; i < words; i++) {
		uint8_t rest = (uint8_t)(2 * (words - 1 - i) + 1);

		load(program, BPF_W, (family == AF_INET ? SOURCE4 : SOURCE6) + 4 * i);
		program->steps[program->count++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, word_at(bytes + 4 * i), 0, rest);
	}
	verdict(program, true);
}

int bfd_listener_admit(int fd, int family, const struct bfd_peers *peers)
{
	struct program program = {.count = 0};
	struct sock_fprog whole;

	if (peers->count > BFD_SESSIONS_MAX)
		return -ENOSPC;
	load(&program, BPF_B, family == AF_INET ? TTL4 : TTL6);
	program.steps[program.count++] =
		(struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, peers->ttl_min, 1, 0);
	verdict(&program, false);
	for (size_t i = 0; i < peers->count; i++)
		admit_peer(&program, family, &peers->addresses[i]);
	verdict(&program, false);
	whole = (struct sock_fprog){.len = program.count, .filter = program.steps};
	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof(whole)) ? -errno : 0;
}

/* --- listening --- */

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

/* Both options of a socket of IPv6, whose second one alone is for what it sends. */
static int set_family(int fd, int family, int option4, int option6, int value)
{
	return family == AF_INET ? set(fd, IPPROTO_IP, option4, value)
				 : set(fd, IPPROTO_IPV6, option6, value);
}

/* The port of any address: a session's own may come and go. */
static int bind_to(int fd, int family, const struct addr *local, uint16_t port)
{
	struct sockaddr_storage storage = {.ss_family = (sa_family_t)family};
	struct sockaddr_in6 *any6 = (struct sockaddr_in6 *)&storage;
	struct sockaddr_in *any4 = (struct sockaddr_in *)&storage;
	socklen_t length = family == AF_INET ? sizeof(*any4) : sizeof(*any6);

	if (local && !addr_is_none(local))
		length = addr_sockaddr(local, port, &storage);
	else if (family == AF_INET)
		any4->sin_port = htons(port);
	else
		any6->sin6_port = htons(port);
	return bind(fd, (struct sockaddr *)&storage, length) ? -errno : 0;
}

int bfd_listener_open(int family, uint16_t port)
{
	const struct bfd_peers nobody = {.count = 0};
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, QUEUE_BYTES))
		set(fd, SOL_SOCKET, SO_RCVBUF, QUEUE_BYTES);
	error = set_family(fd, family, IP_RECVTTL, IPV6_RECVHOPLIMIT, 1);
	if (!error && family == AF_INET6)
		error = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!error)
		error = bfd_listener_admit(fd, family, &nobody);
	if (!error)
		error = bind_to(fd, family, NULL, port);
	if (!error)
		return fd;
	close(fd);
	return error;
}

uint32_t bfd_listener_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = {0};
	socklen_t length = sizeof(info);

	getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &length);
	return info[SK_MEMINFO_DROPS];
}

struct slot {
	struct sockaddr_storage from;
	struct iovec part;
	char control[CMSG_SPACE(sizeof(int))];
};

static uint8_t ttl_of(struct msghdr *header)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(header);
	int ttl;

	if (!control || control->cmsg_len < CMSG_LEN(sizeof(ttl)))
		return 0;
	if (!(control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TTL) &&
	    !(control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_HOPLIMIT))
		return 0;
	memcpy(&ttl, CMSG_DATA(control), sizeof(ttl));
	return (uint8_t)ttl;
}

static struct addr source_of(const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET)
		return addr_from4(((const struct sockaddr_in *)from)->sin_addr.s_addr);
	return addr_from_bytes(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr);
}

static uint32_t scope_of(const struct sockaddr_storage *from)
{
	return from->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)from)->sin6_scope_id : 0;
}

size_t bfd_listener_receive(int fd, struct bfd_datagram batch[BFD_BATCH])
{
	struct mmsghdr messages[BFD_BATCH] = {0};
	struct slot slots[BFD_BATCH];
	int count;

	for (int i = 0; i < BFD_BATCH; i++) {
		slots[i].part = (struct iovec){batch[i].bytes, sizeof(batch[i].bytes)};
		messages[i].msg_hdr = (struct msghdr){
			.msg_name = &slots[i].from,
			.msg_namelen = sizeof(slots[i].from),
			.msg_iov = &slots[i].part,
			.msg_iovlen = 1,
			.msg_control = slots[i].control,
			.msg_controllen = sizeof(slots[i].control),
		};
	}
	count = recvmmsg(fd, messages, BFD_BATCH, MSG_DONTWAIT | MSG_TRUNC, NULL);
	for (int i = 0; i < count; i++) {
		batch[i].from = source_of(&slots[i].from);
		batch[i].scope = scope_of(&slots[i].from);
		batch[i].ttl = ttl_of(&messages[i].msg_hdr);
		batch[i].length = messages[i].msg_len;
	}
	return count > 0 ? (size_t)count : 0;
}

/* --- sending --- */

int bfd_sender_open(int family, const struct addr *local, uint32_t chance)
{
	int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	error = set_family(fd, family, IP_TTL, IPV6_UNICAST_HOPS, TTL);
	if (!error)
		error = set_family(fd, family, IP_TOS, IPV6_TCLASS, TOS);
	for (uint32_t i = 0; !error && i < PORT_TRIES; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (chance + i) % PORT_COUNT);
		int failed = bind_to(fd, family, local, port);

		if (!failed)
			return fd;
		if (failed != -EADDRINUSE || i == PORT_TRIES - 1)
			error = failed;
	}
	close(fd);
	return error;
}
