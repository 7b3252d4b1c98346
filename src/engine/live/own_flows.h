/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A flow table of one's own over another's, for an engine that may change nothing there: a bucket
 * is copied when it is first asked for, and from then on is the copy. Memory is as much as was
 * asked for. What a bucket held before the run that is under way, or was the last, is kept. One
 * thread.
 */
#pragma once

#include <stdint.h>

#include "dp/abi.h"

struct own_flows;

/* `flows` must outlive it. 0 or -ENOMEM. */
int own_flows_new(const struct abi_bucket *flows, uint32_t buckets, struct own_flows **ret);
void own_flows_free(struct own_flows *own);
/* A run begins. */
void own_flows_begin(struct own_flows *own);
struct abi_bucket *own_flows_bucket(struct own_flows *own, uint32_t index);
struct abi_bucket *own_flows_before(struct own_flows *own, uint32_t index);
