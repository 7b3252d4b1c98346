/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/own_flows.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

/* A run asks for two buckets, of each of a flow's slots. */
enum { BEFORE_MAX = 32, TRIES_MAX = 100 };

struct own_flows {
	const struct abi_bucket *flows;
	uint32_t buckets;
	struct abi_bucket *copies;
	uint8_t *is_copied;
	size_t before_count;
	struct {
		uint32_t index;
		struct abi_bucket bucket;
	} before[BEFORE_MAX];
};

/* What is never touched takes no memory. */
static void *reserve(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

static size_t copies_size(const struct own_flows *own)
{
	return own->buckets * sizeof(*own->copies);
}

int own_flows_new(const struct abi_bucket *flows, uint32_t buckets, struct own_flows **ret)
{
	struct own_flows *own = calloc(1, sizeof(*own));

	if (!own)
		return -ENOMEM;
	own->flows = flows;
	own->buckets = buckets;
	own->copies = reserve(copies_size(own));
	own->is_copied = reserve(buckets);
	if (!own->copies || !own->is_copied) {
		own_flows_free(own);
		return -ENOMEM;
	}
	*ret = own;
	return 0;
}

void own_flows_free(struct own_flows *own)
{
	if (!own)
		return;
	if (own->copies)
		munmap(own->copies, copies_size(own));
	if (own->is_copied)
		munmap(own->is_copied, own->buckets);
	free(own);
}

void own_flows_begin(struct own_flows *own)
{
	own->before_count = 0;
}

/* As a reader of the packet path takes it (flow/flow.h); one that never rests is none. */
static struct abi_flow copy_flow(const struct abi_flow *flow)
{
	struct abi_flow copy;

	for (int i = 0; i < TRIES_MAX; i++) {
		copy.pin = __atomic_load_n(&flow->pin, __ATOMIC_ACQUIRE);
		copy.key = __atomic_load_n(&flow->key, __ATOMIC_ACQUIRE);
		if (__atomic_load_n(&flow->pin, __ATOMIC_ACQUIRE) == copy.pin)
			return copy;
	}
	return (struct abi_flow){0};
}

static bool has_before(const struct own_flows *own, uint32_t index, size_t *ret)
{
	for (size_t i = 0; i < own->before_count; i++) {
		if (own->before[i].index != index)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

struct abi_bucket *own_flows_bucket(struct own_flows *own, uint32_t index)
{
	struct abi_bucket *copy = index < own->buckets ? &own->copies[index] : NULL;
	size_t at;

	if (!copy)
		return NULL;
	for (size_t i = 0; i < ABI_BUCKET_FLOWS && !own->is_copied[index]; i++)
		copy->flows[i] = copy_flow(&own->flows[index].flows[i]);
	own->is_copied[index] = 1;
	if (own->before_count < BEFORE_MAX && !has_before(own, index, &at)) {
		own->before[own->before_count].index = index;
		own->before[own->before_count++].bucket = *copy;
	}
	return copy;
}

struct abi_bucket *own_flows_before(struct own_flows *own, uint32_t index)
{
	struct abi_bucket *copy = own_flows_bucket(own, index);
	size_t at;

	return copy && has_before(own, index, &at) ? &own->before[at].bucket : copy;
}
