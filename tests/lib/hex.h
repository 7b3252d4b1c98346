/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes from hex text, as tables of tests have them. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Blanks are skipped; a digit's partner must follow it. Returns the number of bytes. */
static inline size_t hex_bytes(const char *text, uint8_t *bytes)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;

	for (; *text; text++) {
		if (*text == ' ')
			continue;
		bytes[length++] = (uint8_t)((strchr(digits, text[0]) - digits) * 16 +
					    (strchr(digits, text[1]) - digits));
		text++;
	}
	return length;
}
