/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Longest-prefix match in plain memory: the native engine's twin of the kernel's LPM trie, for the
 * prefixes of dp/abi.h. A sorted array of prefixes and their values. One writer; a reader beside a
 * writer is not allowed for (the native engine has one thread).
 */
#pragma once

#include <stdint.h>

#include "dp/abi.h"

struct prefixes;

int prefixes_new(struct prefixes **ret);
void prefixes_free(struct prefixes *prefixes);

/* As dp_tables' functions of these names (engine/tables.h); `prefixes` is a struct prefixes. */
int prefixes_set(void *prefixes, const struct abi_prefix *prefix, uint32_t value);
int prefixes_next(const void *prefixes, const struct abi_prefix *after, struct abi_prefix *ret,
		  uint32_t *ret_value);

/* The value of the longest prefix in the table that holds the address; 0: there is none. */
uint32_t prefixes_find(const struct prefixes *prefixes, uint32_t table,
		       const struct pkt_addr *addr);
