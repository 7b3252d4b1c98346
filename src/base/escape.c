/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/escape.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static unsigned digit(char letter)
{
	return isdigit((unsigned char)letter)
		       ? (unsigned)(letter - '0')
		       : (unsigned)(tolower((unsigned char)letter) - 'a' + 10);
}

long escape_decode(const char *text, void *bytes)
{
	uint8_t *at = bytes;

	while (*text) {
		if (*text != '\\') {
			*at++ = (uint8_t)*text++;
		} else if (text[1] == '\\') {
			*at++ = '\\';
			text += 2;
		} else if (text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
			   isxdigit((unsigned char)text[3])) {
			*at++ = (uint8_t)(digit(text[2]) << 4 | digit(text[3]));
			text += 4;
		} else {
			return -EINVAL;
		}
	}
	return at - (uint8_t *)bytes;
}

void escape_controls(char *text)
{
	uint8_t *at = (uint8_t *)text;

	for (; *at; at++) {
		bool is_c1 = at[0] == 0xc2 && at[1] >= 0x80 && at[1] < 0xa0;

		if (*at >= 0x20 && *at != 0x7f && !is_c1)
			continue;
		*at = '?';
		if (is_c1)
			*++at = '?';
	}
}
