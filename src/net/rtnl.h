/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The wire of rtnetlink, for this room alone: questions that the local kernel answers while we
 * wait (it does so inside the send, so a wait is microseconds, and RTNL_WAIT_MS at most), and the
 * stream of its notifications on a socket of its own. Structs in, structs out; no state but the
 * two sockets. 0 or -errno throughout; a kernel that refuses gives its own errno.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"

enum {
	RTNL_WAIT_MS = 1000,
	RTNL_NAME_MAX = 16,
	RTNL_PROTOCOL = 87, /* marks neighbour entries that we made (NDA_PROTOCOL) */
};

struct rtnl_route {
	uint8_t type;   /* RTN_UNICAST, RTN_LOCAL ... */
	bool tunnelled; /* a lightweight tunnel: more than an Ethernet header is to be written */
	uint32_t ifindex;
	uint32_t mtu;        /* of the route itself; 0: none set */
	struct addr gateway; /* of either family; none: the destination is on the link */
	struct addr source;  /* none: no address to send from */
};

struct rtnl_link {
	uint32_t ifindex;
	uint32_t flags; /* IFF_* */
	uint32_t mtu;
	uint16_t type; /* ARPHRD_* */
	bool stacked;  /* over other devices, with no way for a driver to send by it */
	uint32_t vlan; /* of a VLAN's device: its tag, TPID << 16 | TCI; 0: it is none */
	uint32_t over; /* of a VLAN's device: the interface that the tagged frame goes to */
	uint8_t mac[6];
	char name[RTNL_NAME_MAX];
};

struct rtnl_neigh {
	uint32_t ifindex;
	struct addr addr;
	uint16_t state; /* NUD_*; 0: not known */
	uint8_t flags;  /* NTF_* */
	uint8_t protocol;
	bool managed;
	bool has_mac;
	uint8_t mac[6];
};

enum rtnl_kind {
	RTNL_NEIGH,
	RTNL_NEIGH_GONE,
	RTNL_LINK,
	RTNL_LINK_GONE,
	RTNL_ROUTE, /* a prefix's routes changed */
	RTNL_RULES, /* anything else that can change what a lookup gives: addresses, rules */
};

struct rtnl_event {
	enum rtnl_kind kind;
	struct rtnl_neigh neigh;
	struct rtnl_link link;
	struct prefix prefix;
};

typedef void rtnl_event_handler(void *arg, const struct rtnl_event *event);

struct mnl_socket;
struct nlmsghdr;

struct rtnl {
	struct mnl_socket *query;
	struct mnl_socket *events;
	uint32_t sequence;
};

int rtnl_open(struct rtnl *ret);
void rtnl_close(struct rtnl *rtnl);
int rtnl_events_fd(const struct rtnl *rtnl);
/* Reads what is there, a bounded part of it. -ENOBUFS: notifications were lost. */
int rtnl_events_read(struct rtnl *rtnl, rtnl_event_handler *handler, void *arg);

int rtnl_route_get(struct rtnl *rtnl, const struct addr *to, struct rtnl_route *ret);
int rtnl_link_get(struct rtnl *rtnl, uint32_t ifindex, struct rtnl_link *ret);
/* A message about a link, whole. -EPROTO: it says nothing of a link's own. */
int rtnl_link_parse(const struct nlmsghdr *message, struct rtnl_link *ret);
/* `key` names interface and address. -ENOENT: no such entry. */
int rtnl_neigh_get(struct rtnl *rtnl, const struct rtnl_neigh *key, struct rtnl_neigh *ret);

/* Every entry of the kernel's tables, some perhaps more than once; by a socket of its own: `each`
 * may use another. */
int rtnl_neigh_each(void (*each)(void *arg, const struct rtnl_neigh *neigh), void *arg);

enum rtnl_ask {
	RTNL_ASK_MANAGED, /* resolve, and keep resolved from now on */
	RTNL_ASK_ONCE,    /* resolve; takes MANAGED back from an entry that has it */
};
/* Makes the entry if need be. `neigh` as last read: its flags are kept. */
int rtnl_neigh_ask(struct rtnl *rtnl, const struct rtnl_neigh *neigh, enum rtnl_ask ask);
int rtnl_neigh_delete(struct rtnl *rtnl, const struct rtnl_neigh *neigh);
