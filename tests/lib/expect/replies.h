/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What must hold of packets that the node refuses, gives to its daemon, or is silent about: parts
 * of expect.c, which takes VLAN tags off before. NULL, or what is wrong (static memory).
 */
#pragma once

#include "engine/tables.h"

/* Where the transport header of an IP frame stands, and whose it is. */
struct expect_l4 {
	size_t at;
	uint8_t proto;
	bool later; /* a piece that is not the first: it has none */
};
void expect_find_l4(const uint8_t *frame, size_t length, struct expect_l4 *ret);

/* Verdict rejected; `out` is the frame afterwards. */
const char *expect_rejected(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			    const struct dp_result *result, const uint8_t *out);
/* Verdicts empty, empty_passed, too_big, too_big_split, split_limited: was that its service's
 * will, and was nobody to be told? */
const char *expect_untold(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			  const struct dp_result *result);
