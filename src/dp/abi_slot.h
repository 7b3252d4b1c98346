/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A slot's word: a part of dp/abi.h, which says how tables are written under running packets. */
#pragma once

#include <linux/types.h>

/*
 * One word decides: bits 0-19 the backend that new flows get (current), 20-39 the one that flows
 * from before a change have (previous; 0: nobody, or whom the service's old table names), 40-59 the
 * slot's other owner: the base owner while another serves in its place, else who would serve in its
 * place. Bit 60: in transition, so flows have entries. Bit 61: for so long already that datagrams
 * without an entry are new flows. Bit 62: other nodes may know flows of it that this one, just come
 * up or long since settled, does not, so packets name the second owner too where the service has a
 * second chance. Bit 63: previous has no flows without an entry that this node would know of, for
 * it was only told who that is, or they would have been silent for too long. What comes without
 * one is from another node, and of the current owner rather: with a second chance that one is asked
 * first.
 */
enum { ABI_INDEX_BITS = 20, ABI_INDEX_MASK = (1 << ABI_INDEX_BITS) - 1 };
#define ABI_SLOT_TRANSITION (1ULL << 60)
#define ABI_SLOT_LATE       (1ULL << 61)
#define ABI_SLOT_DOUBT      (1ULL << 62)
#define ABI_SLOT_ASK        (1ULL << 63)

static inline __u64 abi_slot(__u32 current, __u32 previous, __u32 other)
{
	return (__u64)current | (__u64)previous << 20 | (__u64)other << 40;
}

static inline __u32 abi_slot_current(__u64 slot)
{
	return (__u32)slot & ABI_INDEX_MASK;
}

static inline __u32 abi_slot_previous(__u64 slot)
{
	return (__u32)(slot >> 20) & ABI_INDEX_MASK;
}

static inline __u32 abi_slot_other(__u64 slot)
{
	return (__u32)(slot >> 40) & ABI_INDEX_MASK;
}
