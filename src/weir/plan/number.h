/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of a command line: 400, 10M, 25G, 2.5G. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* With k, M, G or T, decimal, and a fraction before such a letter. False: it is none, or more than
 * 64 bits hold. */
bool number_parse(const char *text, uint64_t *ret);
