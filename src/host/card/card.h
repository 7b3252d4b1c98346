/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each network interface of the caller's network namespace is and how it is set: by
 * rtnetlink and ethtool's ioctl, for /sys may be another namespace's. It changes nothing. Any
 * thread.
 */
#pragma once

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum card_native { CARD_UNTOLD, CARD_NATIVE, CARD_NOT_NATIVE };

struct card {
	char name[IF_NAMESIZE];
	char kind[16];           /* of a device that is not a card: vlan, bridge, veth ...; "" */
	char driver[32];         /* "": it does not say */
	char below[IF_NAMESIZE]; /* what it lies on, where that is here; "" */
	uint32_t ifindex;
	uint32_t mtu;
	uint32_t queues, queues_max; /* for receiving; 0: it does not say */
	bool queues_apart;           /* those for sending are others, set beside them */
	uint32_t xdp_id;             /* of the program that is attached; 0: none */
	bool xdp_generic;            /* and in that mode */
	bool up, loopback;
	bool has_vlans;          /* devices of kind vlan lie on it */
	bool lro;                /* receives joined segments from the card */
	bool gro_hw;             /* the same by another way of the card's */
	bool rx_vlan;            /* the card takes VLAN tags off */
	enum card_native native; /* can the driver run XDP? Kernels before 6.3 do not tell */
};

/* All of them, or the first 4096; free() *ret. */
int card_list(struct card **ret, size_t *ret_count, struct err *err);
