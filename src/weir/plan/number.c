/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/plan/number.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum { DIGITS_MAX = 15 };

bool number_parse(const char *text, uint64_t *ret)
{
	static const char letters[] = "kMGT";
	uint64_t value = 0, factor = 1;
	size_t digits = 0;
	const char *letter;

	for (; isdigit((unsigned char)*text) && digits < DIGITS_MAX; text++, digits++)
		value = value * 10 + (uint64_t)(*text - '0');
	if (!digits || isdigit((unsigned char)*text))
		return false;
	letter = strchr(letters, text[strcspn(text, letters)]);
	for (const char *at = letters; letter && *letter && at <= letter; at++)
		factor *= 1000;
	if (*text == '.' && !isdigit((unsigned char)text[1]))
		return false;
	if (__builtin_mul_overflow(value, factor, &value))
		return false;
	for (text += *text == '.'; isdigit((unsigned char)*text); text++) {
		factor /= 10;
		if (!factor)
			return false;
		if (__builtin_add_overflow(value, (uint64_t)(*text - '0') * factor, &value))
			return false;
	}
	if (*text && (!strchr(letters, *text) || text[1]))
		return false;
	*ret = value;
	return true;
}
