/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which probe a packet is of is told by its source port, which the socket has for itself before it
 * connects. A port's entry stays until another probe gets the port: what a socket sends when it is
 * closed is read only afterwards.
 */
#include "weir/probing/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/native.h"
#include "net/tun/tun.h"
#include "slow/send.h"

enum {
	BURST = 256, /* packets in one go */
	PORTS = 65536,
	IP4_HEADER = 20,
	IP6_HEADER = 40,
	BACKEND_BITS = 14,
	BACKEND_MASK = (1 << BACKEND_BITS) - 1,
};
_Static_assert(ABI_BACKENDS <= 1 << BACKEND_BITS, "a way holds a backend's record");

enum { TCP, UDP, PROTOS };

struct tunnel {
	uv_poll_t poll;
	struct tun tun;
	struct native *native; /* over the engine's tables */
	const struct dp_tables *tables;
	int socket;
	struct tunnel_counts counts;
	uint32_t ways[2][PROTOS][PORTS]; /* by family, protocol, source port; 0: nobody's */
	uint8_t buffer[NATIVE_HEADROOM + ETH_HLEN + TUN_PACKET_MAX];
};

uint32_t tunnel_way(uint32_t service, uint32_t backend)
{
	return (service << BACKEND_BITS | backend) + 1;
}

/* --- packets --- */

struct packet {
	bool ip4;
	int proto; /* TCP, UDP */
	uint16_t sport, dport;
};

/* As the kernel makes them for sockets without options: no extension headers, no fragments. */
static bool read_packet(const uint8_t *bytes, size_t length, struct packet *ret)
{
	size_t at;
	uint8_t proto;

	if (length < IP4_HEADER)
		return false;
	ret->ip4 = bytes[0] >> 4 == 4;
	at = ret->ip4 ? (size_t)(bytes[0] & 0xf) * 4 : IP6_HEADER;
	if (length < at + 4 || (!ret->ip4 && bytes[0] >> 4 != 6))
		return false;
	proto = ret->ip4 ? bytes[9] : bytes[6];
	if (proto != IPPROTO_TCP && proto != IPPROTO_UDP)
		return false;
	ret->proto = proto == IPPROTO_TCP ? TCP : UDP;
	ret->sport = (uint16_t)(bytes[at] << 8 | bytes[at + 1]);
	ret->dport = (uint16_t)(bytes[at + 2] << 8 | bytes[at + 3]);
	return true;
}

static int send_packet(struct tunnel *tunnel, const struct packet *packet, size_t length)
{
	uint32_t way = tunnel->ways[packet->ip4][packet->proto][packet->sport] - 1;
	uint32_t service = way >> BACKEND_BITS, record = way & BACKEND_MASK;
	const struct abi_backend *backend = &tunnel->tables->backends[record];
	struct native_frame frame = {tunnel->buffer, NATIVE_HEADROOM, ETH_HLEN + length};
	struct ethhdr eth = {.h_proto = htons(packet->ip4 ? ETH_P_IP : ETH_P_IPV6)};
	const struct abi_slow slow = {
		.length = (uint32_t)frame.length,
		.service = service,
		.backend = record,
		/* Spreads over outer sources and ports as flows are. */
		.hash = (uint64_t)packet->sport * 0x9e3779b97f4a7c15ULL,
		.sport = htons(packet->sport),
		.dport = htons(packet->dport),
		.mode = tunnel->tables->services[service].mode,
	};
	int ret;

	if (!backend->ifindex)
		return -ENETUNREACH;
	memcpy(tunnel->buffer + frame.at, &eth, sizeof(eth));
	ret = native_wrap(tunnel->native, &slow, &frame);
	if (ret)
		return ret;
	return slow_send(tunnel->socket, backend->ifindex, frame.buffer + frame.at, frame.length);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct tunnel *tunnel = poll->data;
	uint8_t *bytes = tunnel->buffer + NATIVE_HEADROOM + ETH_HLEN;

	(void)status;
	(void)events;
	for (int i = 0; i < BURST; i++) {
		ssize_t length = read(tunnel->tun.fd, bytes, TUN_PACKET_MAX);
		struct packet packet;

		if (length <= 0)
			break;
		if (!read_packet(bytes, (size_t)length, &packet) ||
		    !tunnel->ways[packet.ip4][packet.proto][packet.sport])
			tunnel->counts.foreign++;
		else if (send_packet(tunnel, &packet, (size_t)length))
			tunnel->counts.failed++;
		else
			tunnel->counts.packets++;
	}
}

/* --- sockets --- */

/* The address that this host has towards another, with port 0; its length, or -errno. */
static int own_address(const struct addr *to, struct sockaddr_storage *ret)
{
	struct sockaddr_storage address;
	socklen_t length = addr_sockaddr(to, 9, &address); /* nothing is sent */
	int fd = socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0), code = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&address, length) ||
	    getsockname(fd, (struct sockaddr *)ret, &length))
		code = -errno;
	close(fd);
	if (ret->ss_family == AF_INET)
		((struct sockaddr_in *)ret)->sin_port = 0;
	else
		((struct sockaddr_in6 *)ret)->sin6_port = 0;
	return code ? code : (int)length;
}

static uint16_t port_of(const struct sockaddr_storage *address)
{
	return ntohs(address->ss_family == AF_INET
			     ? ((const struct sockaddr_in *)address)->sin_port
			     : ((const struct sockaddr_in6 *)address)->sin6_port);
}

/* The backend knows the way to the host that it gets tunnels from, if they are of one family. */
static struct addr towards(const struct tunnel *tunnel, uint32_t way, const struct addr *to)
{
	const struct abi_backend *backend = &tunnel->tables->backends[(way - 1) & BACKEND_MASK];
	struct addr addr = addr_from_bytes(AF_INET6, &backend->addr);

	return addr_is4(&addr) == addr_is4(to) && !addr_is_none(&addr) ? addr : *to;
}

int tunnel_prepare(void *arg, uint32_t way, int fd, const struct addr *to)
{
	struct tunnel *tunnel = arg;
	struct addr other = towards(tunnel, way, to);
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(int);
	int type = 0, size = own_address(&other, &own);

	if (size < 0)
		return EADDRNOTAVAIL; /* ours: no way there, so no address */
	if (setsockopt(fd, SOL_SOCKET, SO_MARK, &tunnel->tun.mark, sizeof(tunnel->tun.mark)) ||
	    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) ||
	    bind(fd, (struct sockaddr *)&own, (socklen_t)size))
		return errno;
	length = sizeof(own);
	if (getsockname(fd, (struct sockaddr *)&own, &length))
		return errno;
	tunnel->ways[own.ss_family == AF_INET][type == SOCK_STREAM ? TCP : UDP][port_of(&own)] =
		way;
	return 0;
}

/* --- beginning and end --- */

static void close_parts(struct tunnel *tunnel)
{
	native_free(tunnel->native);
	if (tunnel->socket >= 0)
		close(tunnel->socket);
	tun_close(&tunnel->tun);
}

static int open_parts(struct tunnel *tunnel, struct err *err)
{
	int ret = slow_send_open(&tunnel->socket);

	if (ret)
		return err_set(err, ret, "no packet socket: %s", strerror(-ret));
	ret = native_borrow(tunnel->tables, &tunnel->native);
	return ret ? err_set(err, ret, "out of memory") : 0;
}

int tunnel_open(uv_loop_t *loop, const struct dp_tables *tables, struct tunnel **ret,
		struct err *err)
{
	struct tunnel *tunnel = calloc(1, sizeof(*tunnel));
	int code;

	if (!tunnel)
		return err_set(err, -ENOMEM, "out of memory");
	tunnel->socket = -1;
	tunnel->tables = tables;
	code = tun_open("weir%d", &tunnel->tun, err);
	if (code) {
		free(tunnel);
		return code;
	}
	code = open_parts(tunnel, err);
	if (!code) {
		code = uv_poll_init(loop, &tunnel->poll, tunnel->tun.fd);
		if (code)
			err_set(err, code, "cannot watch a tun device: %s", uv_strerror(code));
	}
	if (code) {
		close_parts(tunnel);
		free(tunnel);
		return code;
	}
	tunnel->poll.data = tunnel;
	uv_poll_start(&tunnel->poll, UV_READABLE, on_readable);
	*ret = tunnel;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void tunnel_close(struct tunnel *tunnel)
{
	if (!tunnel)
		return;
	uv_close((uv_handle_t *)&tunnel->poll, on_closed);
	close_parts(tunnel);
}

struct tunnel_counts tunnel_counts(const struct tunnel *tunnel)
{
	return tunnel ? tunnel->counts : (struct tunnel_counts){0};
}
