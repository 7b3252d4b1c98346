/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Backends of pools that a configuration has under another name: a pool that is gone and one that
 * is new. Their records are passed on by address and port, so that a new name cuts no flow and
 * forgets neither health nor next hop. Used while a configuration is brought into the tables. One
 * thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/tables.h"

struct heirs {
	struct heir {
		struct pkt_addr addr;
		__be16 port;
		uint32_t record; /* 0: passed on */
	} * list;
	size_t count;
};

/* `pools`: the identities of those that the configuration has; sorted here. 0 or -ENOMEM. */
int heirs_init(struct heirs *heirs, const struct dp_tables *tables, uint64_t *pools, size_t count);
void heirs_fini(struct heirs *heirs);
/* The record of a backend of a pool that is gone; each is passed on once. 0: there is none. */
uint32_t heirs_take(struct heirs *heirs, const struct addr *addr, __be16 port);
