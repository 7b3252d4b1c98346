/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows of one's own over a table that may not be written: which here cannot be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>

#include "engine/live/own_flows.h"

enum { BUCKETS = 1024 };

static struct abi_bucket *others;
static struct own_flows *own;

static int begin(void **state)
{
	(void)state;
	others = mmap(NULL, sizeof(*others) * BUCKETS, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (others == MAP_FAILED)
		return -1;
	for (uint32_t i = 0; i < BUCKETS; i++)
		others[i].flows[i % ABI_BUCKET_FLOWS] = (struct abi_flow){i + 1, 2 * i + 1};
	mprotect(others, sizeof(*others) * BUCKETS, PROT_READ);
	return own_flows_new(others, BUCKETS, &own);
}

static int end(void **state)
{
	(void)state;
	own_flows_free(own);
	return munmap(others, sizeof(*others) * BUCKETS);
}

static void test_copies(void **state)
{
	(void)state;
	own_flows_begin(own);
	for (uint32_t i = 0; i < BUCKETS; i++) {
		struct abi_bucket *bucket = own_flows_bucket(own, i);

		assert_memory_equal(bucket, &others[i], sizeof(*bucket));
		bucket->flows[0].pin = 7;
		assert_ptr_equal(own_flows_bucket(own, i), bucket);
		assert_int_equal(own_flows_bucket(own, i)->flows[0].pin, 7);
	}
	assert_null(own_flows_bucket(own, BUCKETS));
	assert_null(own_flows_before(own, BUCKETS));
}

/* What a run met, whatever it made of it; the next one meets that. */
static void test_before(void **state)
{
	const uint32_t at = 33;
	uint64_t pin = others[at].flows[1].pin;

	(void)state;
	own_flows_begin(own);
	own_flows_bucket(own, at)->flows[1].pin = pin + 1;
	assert_int_equal(own_flows_before(own, at)->flows[1].pin, pin);
	assert_int_equal(own_flows_bucket(own, at)->flows[1].pin, pin + 1);
	own_flows_begin(own);
	own_flows_bucket(own, at)->flows[1].pin = pin + 2;
	assert_int_equal(own_flows_before(own, at)->flows[1].pin, pin + 1);
	own_flows_begin(own);
	assert_int_equal(own_flows_before(own, at)->flows[1].pin, pin + 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_copies, begin, end),
		cmocka_unit_test_setup_teardown(test_before, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
