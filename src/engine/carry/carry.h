/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tables of one layout hold, carried over to tables of another: records and slots as they are
 * and at the same places, flows by their entries. Both layouts must have ABI_SHAPE, which is the
 * caller's to see to; how many records each table has may differ. VIPs, access lists and server ids
 * are left out: the configuration says them anew. Plain memory, no I/O. One thread; packets may
 * change the old flows meanwhile, and the new ones.
 */
#pragma once

#include "engine/tables.h"

/* Tables of before, and how large they are. */
struct carry_old {
	const struct abi_node *node;
	const struct abi_service *services;
	const struct abi_backend *backends;
	const uint64_t *slots;
	const struct abi_bucket *flows;
	uint32_t service_count, backend_count, slot_count;
	uint32_t flow_buckets; /* a power of two */
};

/* All but flows, into tables that nothing was written to. 0, or -ENOSPC: it does not fit, and err
 * says what. */
int carry_records(const struct carry_old *old, struct dp_tables *tables, struct err *err);

struct carry_flows {
	const struct carry_old *old;
	struct dp_tables *tables;
	uint32_t *seen;   /* of each old entry: what was carried of it */
	uint64_t carried; /* entries */
	uint64_t lost;    /* live ones that found no place, or gave theirs to others */
};

/* 0 or -ENOMEM. */
int carry_flows_init(struct carry_flows *flows, const struct carry_old *old,
		     struct dp_tables *tables);
void carry_flows_fini(struct carry_flows *flows);
/*
 * Carries what is new or has changed since the last pass; so the first may take its time (some
 * microseconds a live entry, where the number of buckets differs), and the last, when nothing
 * writes to the old table any more, is short. What packets have changed in the new table stays.
 */
void carry_flows_pass(struct carry_flows *flows, uint64_t now_ns);
