/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a backend's host must be told so that it serves VIPs which others announce: the addresses
 * on the loopback, and sysctls. Each call changes or reads one thing at once; who made a change,
 * and what was there before, is for the caller to remember. In the caller's network namespace.
 * Any thread.
 *
 * IPv6 needs no sysctl: Linux answers neighbour solicitations only for addresses of the interface
 * that they come in at.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"

enum { HOST_SYSCTL_NAME_MAX = 96 };

/* --- addresses --- */

struct host_address {
	struct addr addr;
	uint32_t ifindex;
	uint8_t length; /* of the prefix that is on the link */
};

/* Every address of the host. free() *ret. */
int host_addresses(struct host_address **ret, size_t *ret_count, struct err *err);
/*
 * Full-length, of scope host (IPv4) or deprecated (IPv6), so that the host does not take it as the
 * source of its own connections; no duplicate detection. -EEXIST: the loopback had it already.
 */
int host_loopback_add(const struct addr *addr, struct err *err);
/* -EADDRNOTAVAIL: it was not there. */
int host_loopback_remove(const struct addr *addr, struct err *err);

/* Of the default route; all zero: there is none. (gateway.c) */
struct host_gateway {
	struct addr addr;
	uint32_t ifindex;
};
/* `family` is AF_INET or AF_INET6. */
int host_gateway(int family, struct host_gateway *ret, struct err *err);

/* --- prefixes of which every address is the host's own, as if it were on the loopback --- */

/* Whether the host has that very route; a look through all of its table of local ones. */
int host_local_route_exists(const struct prefix *prefix, bool *ret, struct err *err);
/* `local PREFIX dev lo`, in that table. -EEXIST: the host had it already. */
int host_local_route_add(const struct prefix *prefix, struct err *err);
/* -ESRCH: it was not there. */
int host_local_route_remove(const struct prefix *prefix, struct err *err);

/* --- interfaces --- */

/* -ENODEV: there is none of that name. */
int host_interface_mtu(const char *interface, uint32_t *ret, struct err *err);
/* Of a VLAN's device the one below it, into IF_NAMESIZE bytes. -ENOENT: it is no such device. */
int host_interface_below(const char *interface, char *ret);
int host_interface_is_up(const char *interface, bool *ret, struct err *err);
/* Up, and there is somebody at its link's other end. */
int host_interface_has_carrier(const char *interface, bool *ret, struct err *err);
/* How often its link went up or down. 0 or -errno. (link_changes.c) */
int host_interface_carrier_changes(const char *interface, uint32_t *ret);
/* Are there tc filters on the interface's clsact qdisc, whoever put them there? */
int host_has_filters(const char *interface, bool *ret, struct err *err);

/* Makes the kernel find the neighbour on its way there, as far as a datagram without content does.
 * A failure is no matter: the next one may do. */
void host_nudge(const struct addr *addr);

/* --- sockets --- */

struct host_space;

/* Established TCP connections, by the VIP that is their own end: of this network namespace, and of
 * `spaces` (host/spaces.h). */
enum { HOST_SOCKETS_MAX = 512 * 1024 }; /* that are looked at: some tenths of a second */
struct host_sockets {
	uint64_t *established; /* the caller's, of each VIP */
	uint64_t seen;
	bool is_cut; /* there are more, or may be: the numbers are the least that there are */
};
/* VIPs are not in one another. A space that cannot be asked is not counted, and says why. 0 or
 * -errno. (sockets.c) */
int host_sockets_count(const struct prefix *vips, size_t count, struct host_space *spaces,
		       size_t space_count, struct host_sockets *ret);

/* --- network namespaces --- */

/* The id that the caller's network namespace has for that of /run/netns/NAME; made if need be. */
int host_netns_id(const char *name, int32_t *ret, struct err *err);

/* --- sysctls: names are paths below /proc/sys, as net/ipv4/conf/eth0.1/rp_filter --- */

struct host_sysctl {
	char name[HOST_SYSCTL_NAME_MAX];
	int value;
};

int host_sysctl_read(const char *name, int *ret, struct err *err);
int host_sysctl_write(const char *name, int value, struct err *err);

/*
 * The sysctls that must change, with the values that they need, for `interface` to take VIPs'
 * packets in: at most HOST_SYSCTLS_MAX, those that are right already left out.
 */
enum { HOST_SYSCTLS_MAX = 3 };
int host_sysctls_needed(const char *interface, struct host_sysctl ret[HOST_SYSCTLS_MAX],
			size_t *ret_count, struct err *err);
/*
 * The same for a host that hands packets on: the loopback counts as forwarding, which is what the
 * kernel's routes are asked by. Nothing comes in there that would be forwarded.
 */
enum { HOST_SYSCTLS_ONWARDS = 2 };
int host_sysctls_onwards(struct host_sysctl ret[HOST_SYSCTLS_ONWARDS], size_t *ret_count,
			 struct err *err);
