/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BFD's sockets: one to listen a family and kind (direct: UDP 3784, multihop: 4784), and one a
 * session to send, with a source port of its own (RFC 5881 section 4). What comes from no peer, or
 * from beyond the link to a direct session, is dropped by a filter in the kernel, so that a flood
 * from afar does not fill the queue that the sessions live by.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "bfd/wire.h"

enum { BFD_PORT_DIRECT = 3784, BFD_PORT_MULTIHOP = 4784, BFD_BATCH = 64 };

struct bfd_datagram {
	struct addr from;
	uint32_t scope; /* the interface of a link-local address, else 0 */
	uint8_t ttl;    /* or hop limit; 0 if the kernel did not say */
	size_t length;  /* the whole datagram's, of which no more than `bytes` is here */
	uint8_t bytes[BFD_PACKET_LENGTH];
};

/* Whom a listener hears. */
struct bfd_peers {
	const struct addr *addresses;
	size_t count;
	uint8_t ttl_min;
};

/* A descriptor, or -errno. It does not block and hears nobody until bfd_listener_admit. */
int bfd_listener_open(int family, uint16_t port);
int bfd_listener_admit(int fd, int family, const struct bfd_peers *peers);
/* What the kernel dropped there, by the filter or for want of room. */
uint32_t bfd_listener_drops(int fd);
/* As many as are there, BFD_BATCH at most. */
size_t bfd_listener_receive(int fd, struct bfd_datagram batch[BFD_BATCH]);

/* A descriptor, or -errno. `local` may be none. */
int bfd_sender_open(int family, const struct addr *local, uint32_t chance);
