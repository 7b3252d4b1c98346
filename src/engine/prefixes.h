/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prefixes in plain memory: for the native engine the twin of the kernel's LPM trie, and beside
 * that one what is in it (engine/mirror.h). Sorted arrays of prefixes and their values. One writer;
 * a reader beside a writer is not allowed for.
 */
#pragma once

#include <stdint.h>

#include "dp/abi.h"
#include "engine/tables.h"

struct prefixes;

int prefixes_new(struct prefixes **ret);
void prefixes_free(struct prefixes *prefixes);

/* As dp_tables' functions of these names (engine/tables.h); `prefixes` is a struct prefixes. */
int prefixes_set(void *prefixes, const struct abi_prefix *prefix, uint32_t value);
int prefixes_list(const void *prefixes, uint32_t first, uint32_t last, struct dp_held **ret,
		  size_t *ret_count);
/* Of that very prefix, without bits past its length; 0: it is not there. */
uint32_t prefixes_value(const struct prefixes *prefixes, const struct abi_prefix *prefix);

/* The value of the longest prefix in the table that holds the address; 0: there is none. */
uint32_t prefixes_find(const struct prefixes *prefixes, uint32_t table,
		       const struct pkt_addr *addr);
