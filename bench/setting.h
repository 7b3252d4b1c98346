/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is measured, and in what world: the rows, each a kind of packet and a service of its own;
 * tables that have all of these services; the frame of a row. What goes wrong ends the program.
 */
#pragma once

#include <stdbool.h>

#include "../tests/lib/frame/frame.h"
#include "engine/tables.h"
#include "tunnel/mode.h"

enum kind {
	KIND_TCP,
	KIND_UDP,
	KIND_SYN,
	KIND_FRAGMENT,
	KIND_LATER,
	KIND_ERROR,
	KIND_EXTENSIONS,
	KIND_ECHO,
	KIND_TOO_BIG,
	KIND_NOT_VIP,
	KIND_NOT_IP,
	KIND_OTHER,    /* neither TCP nor UDP, for a service of any protocol */
	KIND_RANGE,    /* for a VIP that is a prefix */
	KIND_TUNNELED, /* in the tunnel of another balancer */
	KIND_DENIED,   /* by the access list */
	KIND_LIMITED,  /* by the packet rate limit */
	KIND_SPLIT,    /* too big, and given to the daemon */
};

enum {
	BENCH_ROWS_MAX = 128, /* a VIP's last byte is its row */
	BENCH_POOL_SLOTS = 16381,
	BENCH_POOL_BACKENDS = 16,
	BENCH_FLOWS = 1024,
	BENCH_VIPS_MAX = 64, /* of one row */
};

struct bench_row {
	const char *name;
	enum kind kind;
	enum tunnel_mode mode;
	bool outer6, inner6, tagged;
	bool moving;    /* its slots are in transition */
	bool keepless;  /* and their backends keep no flows, so that none gets an entry */
	uint8_t vlans;  /* tags of the frame */
	uint32_t flags; /* enum abi_service_flags */
	uint8_t policy; /* enum abi_policy */
	bool empty;     /* no backend */
	uint32_t flows; /* a power of two; 0: BENCH_FLOWS */
	uint32_t vips;  /* a power of two, each with a service and a pool of its own; 0: one */
	uint32_t head;  /* how far its answer moves the frame's start; else by what it grows */
};

extern const struct bench_row bench_rows[];
extern const size_t bench_row_count;

/* What a configuration with this row's service alone needs: enum abi_feature. */
uint32_t bench_features(const struct bench_row *row);
void bench_fill(struct dp_tables *tables);
void bench_build(size_t row, struct frame *ret);
/* Has it a source port that may differ from packet to packet? */
bool bench_has_ports(const struct bench_row *row);
void bench_die(const char *what, int error) __attribute__((noreturn));
