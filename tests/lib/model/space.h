/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * All states that actions lead to from a first one, breadth first: histories that lead to the same
 * state go on as one. For cmocka tests: what goes wrong fails the test, and the history that led
 * there is told. A state is a number of bytes without holes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct space {
	const char *name;
	size_t size;      /* of a state */
	uint32_t actions; /* by number */
	/* In a row at most; the environment's MODEL_DEEPER, so many as no test has time for, adds
	 * to it. */
	unsigned int depth;
	/* Makes of a state the one after the action, if it can happen there, and returns NULL, or
	 * what went wrong. */
	const char *(*act)(void *state, uint32_t action, bool *ret_done);
	const char *(*say)(uint32_t action, char text[32]);
};

void space_search(const struct space *space, const void *first);
