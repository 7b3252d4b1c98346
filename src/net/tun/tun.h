/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A device whose other end is this process (tun), to which the host's own packets with a mark go:
 * a rule of routing sends what has the mark into a table of its own, whose only route is the
 * device, IPv4 and IPv6. Nothing else on the host changes. The kernel takes device and routes away
 * when the descriptor is closed, also by a death; the rules then lead nowhere, and the next
 * tun_open takes them away. The loop's thread.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

enum {
	TUN_MTU = 1280,        /* the least of IPv6: room for a tunnel around it everywhere */
	TUN_MARK = 0x57450000, /* the upper half of the mark and the table; below it the device */
	TUN_PRIORITY = 100,    /* of the rule: after the host's own addresses */
	TUN_PACKET_MAX = 65536,
};

struct tun {
	int fd; /* read(2) gives an IP packet at a time; never waits */
	uint32_t ifindex;
	uint32_t mark; /* for SO_MARK */
};

/* The device is named after `pattern`, "weir%d". 0, or -errno with nothing left. */
int tun_open(const char *pattern, struct tun *ret, struct err *err);
void tun_close(struct tun *tun);
