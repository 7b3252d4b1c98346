/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp/conn/tcp.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <string.h>
#include <unistd.h>

enum {
	HOPS_MAX = 255,
	BACKLOG = 64,
	SEND_BUFFER = 32 * 1024, /* as it is counted, doubled; what is not sent waits with us */
	CLASS_CONTROL = 0xc0,    /* CS6, internetwork control (RFC 4594) */
	MIN_HOPS6 = 73,          /* IPV6_MINHOPCOUNT of linux/in6.h, which the C library's hides */
};

static int set(int fd, int level, int option, int value)
{
	return setsockopt(fd, level, option, &value, sizeof(value)) ? -errno : 0;
}

static int set_hops(int fd, int family, int hops)
{
	return family == AF_INET ? set(fd, IPPROTO_IP, IP_TTL, hops)
				 : set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, hops);
}

static int set_min_hops(int fd, int family, int hops)
{
	return family == AF_INET ? set(fd, IPPROTO_IP, IP_MINTTL, hops)
				 : set(fd, IPPROTO_IPV6, MIN_HOPS6, hops);
}

static int family_of(const struct addr *addr)
{
	return addr_is4(addr) ? AF_INET : AF_INET6;
}

/* A router on the link is one hop away, and what we send dies behind it. */
static int set_distance(int fd, const struct bgp_peer_spec *spec, bool internal)
{
	int family = family_of(&spec->address);
	int hops = spec->hops ? spec->hops : internal || spec->gtsm ? HOPS_MAX : 1;
	int code = set_hops(fd, family, hops);

	if (!code && spec->gtsm)
		code = set_min_hops(fd, family, HOPS_MAX);
	return code;
}

/* Neither is needed for a session to work. */
static void set_manners(int fd, int family)
{
	set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set(fd, SOL_SOCKET, SO_SNDBUF, SEND_BUFFER);
	if (family == AF_INET)
		set(fd, IPPROTO_IP, IP_TOS, CLASS_CONTROL);
	else
		set(fd, IPPROTO_IPV6, IPV6_TCLASS, CLASS_CONTROL);
}

int tcp_set_key(int fd, const struct addr *peer, const char *password)
{
	struct tcp_md5sig key = {0};
	size_t length = password ? strlen(password) : 0;
	int code;

	if (length > sizeof(key.tcpm_key))
		return -EINVAL;
	addr_sockaddr(peer, 0, (struct sockaddr_storage *)&key.tcpm_addr);
	key.tcpm_keylen = (uint16_t)length;
	memcpy(key.tcpm_key, password ?: "", length);
	code = setsockopt(fd, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof(key)) ? -errno : 0;
	explicit_bzero(&key, sizeof(key));
	return code;
}

static int new_socket(int family)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : fd;
}

static int bind_to(int fd, const struct addr *local, uint16_t port)
{
	struct sockaddr_storage at;
	socklen_t length = addr_sockaddr(local, port, &at);

	return bind(fd, (struct sockaddr *)&at, length) ? -errno : 0;
}

static int connect_to(int fd, const struct bgp_peer_spec *spec)
{
	struct sockaddr_storage to;
	socklen_t length = addr_sockaddr(&spec->address, spec->port ? spec->port : BGP_PORT, &to);
	uint32_t scope = spec->interface ? if_nametoindex(spec->interface) : 0;

	/* It may come and go; each attempt looks for it. */
	if (spec->interface && !scope)
		return -ENODEV;
	if (spec->interface)
		((struct sockaddr_in6 *)&to)->sin6_scope_id = scope;
	if (connect(fd, (struct sockaddr *)&to, length) && errno != EINPROGRESS)
		return -errno;
	return 0;
}

int tcp_connect(const struct bgp_peer_spec *spec, bool internal)
{
	int family = family_of(&spec->address);
	int fd = new_socket(family), code;

	if (fd < 0)
		return fd;
	set_manners(fd, family);
	code = set_distance(fd, spec, internal);
	if (!code && spec->password)
		code = tcp_set_key(fd, &spec->address, spec->password);
	if (!code && !addr_is_none(&spec->local))
		code = bind_to(fd, &spec->local, 0);
	if (!code)
		code = connect_to(fd, spec);
	if (!code)
		return fd;
	close(fd);
	return code;
}

/*
 * Answers leave with the greatest hop limit, as a router with GTSM wants; what is accepted gets
 * its own. The SYN is kept for the look at its hop limit in tcp_adopt.
 */
static int listen_on(int fd, const struct addr *local, int family, uint16_t port)
{
	static const struct addr any4 = {.bytes = {[10] = 0xff, [11] = 0xff}};
	int code = set(fd, SOL_SOCKET, SO_REUSEADDR, 1);

	if (!code && family == AF_INET6)
		code = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	if (!code)
		code = set_hops(fd, family, HOPS_MAX);
	if (!code)
		code = set(fd, IPPROTO_TCP, TCP_SAVE_SYN, 1);
	if (!code)
		code = bind_to(fd, family == AF_INET && addr_is_none(local) ? &any4 : local, port);
	if (!code && listen(fd, BACKLOG))
		code = -errno;
	return code;
}

/* addr_sockaddr makes AF_INET6 of "none", which is in6addr_any. */
int tcp_listen(const struct addr *local, int family, uint16_t port)
{
	int fd = new_socket(family), code;

	if (fd < 0)
		return fd;
	set_manners(fd, family);
	code = listen_on(fd, local, family, port);
	if (!code)
		return fd;
	close(fd);
	return code;
}

static struct addr addr_of(const struct sockaddr_storage *from)
{
	if (from->ss_family == AF_INET)
		return addr_from4(((const struct sockaddr_in *)from)->sin_addr.s_addr);
	return addr_from_bytes(AF_INET6, &((const struct sockaddr_in6 *)from)->sin6_addr);
}

int tcp_accept(int fd, struct addr *ret_peer, uint32_t *ret_scope)
{
	struct sockaddr_storage from = {0};
	socklen_t length = sizeof(from);
	int accepted = accept4(fd, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (accepted < 0)
		return -errno;
	*ret_peer = addr_of(&from);
	*ret_scope = from.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&from)->sin6_scope_id : 0;
	return accepted;
}

/* Of the SYN that made the connection; -errno if the kernel did not keep it. */
static int hops_of_syn(int fd, int family)
{
	uint8_t header[512];
	socklen_t length = sizeof(header);

	if (getsockopt(fd, IPPROTO_TCP, TCP_SAVED_SYN, header, &length))
		return -errno;
	if (length < sizeof(struct iphdr))
		return -ENODATA;
	return family == AF_INET ? ((struct iphdr *)header)->ttl
				 : ((struct ip6_hdr *)header)->ip6_hlim;
}

int tcp_adopt(int fd, const struct bgp_peer_spec *spec, bool internal)
{
	int family = family_of(&spec->address);
	int code = set_distance(fd, spec, internal);

	set_manners(fd, family);
	if (code || !spec->gtsm)
		return code;
	return hops_of_syn(fd, family) == HOPS_MAX ? 0 : -EPERM;
}

int tcp_outcome(int fd)
{
	socklen_t length = sizeof(int);
	int code = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &length))
		return -errno;
	return -code;
}

int tcp_local(int fd, struct addr *ret)
{
	struct sockaddr_storage own = {0};
	socklen_t length = sizeof(own);

	if (getsockname(fd, (struct sockaddr *)&own, &length))
		return -errno;
	*ret = addr_of(&own);
	return 0;
}

void tcp_abort(int fd)
{
	struct linger reset = {.l_onoff = 1};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}
