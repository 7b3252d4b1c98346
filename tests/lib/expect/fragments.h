/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold of pieces of datagrams, by a reading of their headers that is the tests' own. */
#pragma once

#include <stdbool.h>

#include "engine/tables.h"

/* A frame that may hold anything; `later`: a piece, but not the first. */
bool expect_is_piece(const uint8_t *frame, size_t length, bool *ret_later);

/*
 * That a verdict about pieces is about one, and that a piece went only where its service takes
 * them. NULL, or what is wrong.
 */
const char *expect_pieces(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			  const struct dp_result *result);
