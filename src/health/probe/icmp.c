/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ICMP probe: an echo request that is answered (RFC 792; RFC 4443, section 4). A raw socket
 * gets every answer that comes to the host, so all probes share one for each family; the sequence
 * number says which of them is meant, and a secret in the data that it is ours.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/filter.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "health/probe/socket.h"

#ifndef ICMP_FILTER
#define ICMP_FILTER 1 /* linux/icmp.h, which does not go with netinet's */
#endif

enum {
	SEQUENCES = 65536,
	BURST = 256, /* answers looked at in one go */
};

struct echo {
	uint8_t type, code;
	uint16_t checksum;
	uint16_t id, sequence;
	uint64_t secret[2];
};
_Static_assert(sizeof(struct echo) == 24, "an echo has no holes");

/* One family's socket. */
struct channel {
	struct pinger *pinger;
	uv_poll_t poll;
	int fd; /* -1: not open */
};

struct pinger {
	struct channel channels[2]; /* IPv4, IPv6 */
	unsigned open;
	uint64_t secret[2];
	uint16_t id, next;
	struct probe *waiting[SEQUENCES];
};

struct probe {
	struct probe_order order;
	struct pinger *pinger;
	uint16_t sequence;
};

static uint16_t checksum(const void *data, size_t length)
{
	const uint16_t *words = data;
	uint32_t sum = 0;

	for (size_t i = 0; i < length / 2; i++)
		sum += words[i];
	sum = (sum >> 16) + (sum & 0xffff);
	return (uint16_t) ~(sum + (sum >> 16));
}

static void cancel(struct probe *probe)
{
	probe->pinger->waiting[probe->sequence] = NULL;
	free(probe);
}

/* --- answers --- */

/* Past an IPv4 header, which a raw socket leaves there; NULL: too short for an echo. */
static const uint8_t *payload(const uint8_t *bytes, size_t length, bool ip4)
{
	size_t header = 0;

	if (ip4 && length >= sizeof(struct iphdr))
		header = (size_t)(bytes[0] & 0xf) * 4;
	return length >= header + sizeof(struct echo) ? bytes + header : NULL;
}

static void take(struct pinger *pinger, const uint8_t *bytes, const struct addr *from, bool ip4)
{
	struct echo echo;
	struct probe *probe;
	struct probe_order order;

	memcpy(&echo, bytes, sizeof(echo));
	if (echo.type != (ip4 ? ICMP_ECHOREPLY : ICMP6_ECHO_REPLY) || echo.id != pinger->id ||
	    memcmp(echo.secret, pinger->secret, sizeof(echo.secret)) != 0)
		return;
	probe = pinger->waiting[ntohs(echo.sequence)];
	if (!probe || !addr_equal(&probe->order.spec->address, from))
		return;
	order = probe->order;
	cancel(probe);
	order.done(order.arg, PROBE_SUCCEEDED, "");
}

static struct addr sender(const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET)
		return addr_from4(((const struct sockaddr_in *)from)->sin_addr.s_addr);
	return addr_from_bytes(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct channel *channel = poll->data;
	bool ip4 = channel == &channel->pinger->channels[0];
	uint8_t bytes[256];

	(void)events;
	/* What is told of an answer may close the channel. */
	for (int i = 0; i < BURST && channel->fd >= 0; i++) {
		struct sockaddr_storage from = {0};
		socklen_t size = sizeof(from);
		ssize_t length = recvfrom(channel->fd, bytes, sizeof(bytes), 0,
					  (struct sockaddr *)&from, &size);
		const uint8_t *at;
		struct addr address;

		if (length < 0)
			break;
		at = payload(bytes, (size_t)length, ip4);
		address = sender(&from);
		if (at)
			take(channel->pinger, at, &address, ip4);
	}
	/* An error of the socket was taken by reading; libuv has stopped watching it. */
	if (status < 0 && channel->fd >= 0)
		uv_poll_start(poll, UV_READABLE, on_event);
}

/* --- sockets --- */

/*
 * Answers to other programs' questions, of which there may be many, must not fill the queue of
 * ours: only those with our id come in. (What is behind an IPv4 header is found by its length.)
 */
static void only_ours(int fd, uint16_t id, bool ip4)
{
	struct sock_filter code[] = {
		BPF_STMT(ip4 ? BPF_LDX | BPF_B | BPF_MSH : BPF_LDX | BPF_IMM, 0),
		BPF_STMT(BPF_LD | BPF_H | BPF_IND, offsetof(struct echo, id)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ntohs(id), 0, 1),
		BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
		BPF_STMT(BPF_RET | BPF_K, 0),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(code[0]), .filter = code};

	setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

static void only_answers(int fd, bool ip4)
{
	uint32_t filter4 = ~(1U << ICMP_ECHOREPLY);
	struct icmp6_filter filter6;

	ICMP6_FILTER_SETBLOCKALL(&filter6);
	ICMP6_FILTER_SETPASS(ICMP6_ECHO_REPLY, &filter6);
	if (ip4)
		setsockopt(fd, SOL_RAW, ICMP_FILTER, &filter4, sizeof(filter4));
	else
		setsockopt(fd, IPPROTO_ICMPV6, ICMP6_FILTER, &filter6, sizeof(filter6));
}

/* Returns an errno. */
static int open_channel(uv_loop_t *loop, struct channel *channel, bool ip4)
{
	int fd = socket(ip4 ? AF_INET : AF_INET6, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC,
			ip4 ? IPPROTO_ICMP : (int)IPPROTO_ICMPV6);
	int code;

	if (fd < 0)
		return errno;
	only_answers(fd, ip4);
	only_ours(fd, channel->pinger->id, ip4);
	code = uv_poll_init(loop, &channel->poll, fd);
	if (code) {
		close(fd);
		return -code;
	}
	channel->fd = fd;
	channel->poll.data = channel;
	channel->pinger->open++;
	uv_poll_start(&channel->poll, UV_READABLE, on_event);
	return 0;
}

static struct pinger *pinger_new(void)
{
	struct pinger *pinger = calloc(1, sizeof(*pinger));

	if (!pinger)
		return NULL;
	for (int i = 0; i < 2; i++)
		pinger->channels[i] = (struct channel){.pinger = pinger, .fd = -1};
	if (getrandom(pinger->secret, sizeof(pinger->secret), GRND_NONBLOCK) < 0)
		pinger->secret[0] = uv_hrtime();
	pinger->id = (uint16_t)pinger->secret[0];
	return pinger;
}

static void on_closed(uv_handle_t *handle)
{
	struct channel *channel = handle->data;

	if (--channel->pinger->open == 0)
		free(channel->pinger);
}

static void close_all(void *shared)
{
	struct pinger *pinger = shared;

	if (!pinger->open)
		free(pinger);
	else
		for (int i = 0; i < 2; i++) {
			struct channel *channel = &pinger->channels[i];

			if (channel->fd < 0)
				continue;
			uv_close((uv_handle_t *)&channel->poll, on_closed);
			close(channel->fd);
			channel->fd = -1;
		}
}

/* --- questions --- */

/* Returns an errno. */
static int send_echo(const struct probe *probe, const struct channel *channel, bool ip4)
{
	const struct pinger *pinger = probe->pinger;
	struct echo echo = {
		.type = ip4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST,
		.id = pinger->id,
		.sequence = htons(probe->sequence),
		.secret = {pinger->secret[0], pinger->secret[1]},
	};
	struct sockaddr_storage to;
	socklen_t length = addr_sockaddr(&probe->order.spec->address, 0, &to);

	if (ip4) /* of IPv6 the kernel does it */
		echo.checksum = checksum(&echo, sizeof(echo));
	return sendto(channel->fd, &echo, sizeof(echo), 0, (struct sockaddr *)&to, length) < 0
		       ? errno
		       : 0;
}

/* NULL: no memory, or as many probes as there are numbers. */
static struct probe *probe_new(const struct probe_order *order, struct pinger *pinger)
{
	struct probe *probe;
	int tries = 0;

	while (pinger->waiting[pinger->next] && ++tries < SEQUENCES)
		pinger->next++;
	if (pinger->waiting[pinger->next])
		return NULL;
	probe = malloc(sizeof(*probe));
	if (!probe)
		return NULL;
	*probe = (struct probe){*order, pinger, pinger->next++};
	pinger->waiting[probe->sequence] = probe;
	return probe;
}

static enum probe_result start(const struct probe_order *order, struct probe **ret,
			       const char **ret_error)
{
	bool ip4 = addr_is4(&order->spec->address);
	struct pinger *pinger = *order->shared ? *order->shared : pinger_new();
	struct channel *channel;
	struct probe *probe;
	int code = 0;

	*order->shared = pinger;
	if (!pinger)
		return socket_verdict(ENOMEM, ret_error);
	channel = &pinger->channels[ip4 ? 0 : 1];
	if (channel->fd < 0)
		code = open_channel(order->loop, channel, ip4);
	if (code) {
		*ret_error = uv_strerror(-code);
		return PROBE_NOT_RUN;
	}
	probe = probe_new(order, pinger);
	if (!probe)
		return socket_verdict(ENOMEM, ret_error);
	code = send_echo(probe, channel, ip4);
	if (code) {
		cancel(probe);
		return socket_verdict(code, ret_error);
	}
	*ret = probe;
	return PROBE_RUNNING;
}

const struct probe_type probe_icmp = {
	.name = "icmp", .start = start, .cancel = cancel, .close = close_all};
