/* SPDX-License-Identifier: BSD-2-Clause */
#include "admin/http_words.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/addr.h"

/* --- Host --- */

static bool is_port(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits >= 1 && digits <= 5 && text[digits] == '\0';
}

bool http_host_is_local(const char *host)
{
	char name[ADDR_TEXT_MAX];
	bool bracketed = *host == '[';
	const char *begin = host + bracketed;
	size_t length = strcspn(begin, bracketed ? "]" : ":");
	const char *rest = begin + length + bracketed;
	struct addr addr;

	if (length == 0 || length >= sizeof(name) || (bracketed && begin[length] != ']'))
		return false;
	if (*rest && (*rest != ':' || !is_port(rest + 1)))
		return false;
	memcpy(name, begin, length);
	name[length] = '\0';
	if (!bracketed && strcasecmp(name, "localhost") == 0)
		return true;
	return addr_parse(name, &addr) == 0 && addr_is4(&addr) != bracketed &&
	       addr_is_loopback(&addr);
}

/* --- Accept --- */

enum { Q_ONE = 1000 };

/* The quality of a media range's parameters, in thousandths (RFC 9110, 12.4.2). */
static int quality(const char *text, size_t length)
{
	int value = 0, unit = Q_ONE;

	for (size_t i = 0; i < length; i++) {
		if (i == 1 && text[i] == '.')
			continue;
		if (!isdigit((unsigned char)text[i]) || i > 4)
			return 0;
		value += (text[i] - '0') * unit;
		unit /= 10;
	}
	return length && value <= Q_ONE ? value : 0;
}

/* One media range: its quality if it is `type`, else -1. */
static int range_quality(const char *text, size_t length, const char *type)
{
	size_t name = strcspn(text, "; \t,");
	int q = Q_ONE;

	if (name != strlen(type) || strncasecmp(text, type, name) != 0)
		return -1;
	for (size_t at = name; at < length;) {
		size_t part;

		at += strspn(text + at, "; \t");
		if (at >= length)
			break;
		part = strcspn(text + at, "; \t,");
		if (part >= 2 && (text[at] == 'q' || text[at] == 'Q') && text[at + 1] == '=')
			q = quality(text + at + 2, part - 2);
		at += part;
	}
	return q;
}

static int best_quality(const char *accept, const char *type)
{
	int best = -1;

	while (*accept) {
		size_t length;
		int q;

		accept += strspn(accept, " \t,");
		length = strcspn(accept, ",");
		q = range_quality(accept, length, type);
		if (q > best)
			best = q;
		accept += length;
	}
	return best;
}

bool http_accept_openmetrics(const char *accept)
{
	int open = best_quality(accept, "application/openmetrics-text");
	int plain = best_quality(accept, "text/plain");

	return open > 0 && open >= plain;
}

/* --- If-None-Match --- */

bool http_tag_matches(const char *header, const char *etag)
{
	size_t length = strlen(etag);

	while (*header) {
		size_t part;

		header += strspn(header, " \t,");
		if (strncmp(header, "W/", 2) == 0)
			header += 2;
		part = strcspn(header, ", \t");
		if ((part == length && memcmp(header, etag, length) == 0) ||
		    (part == 1 && *header == '*'))
			return true;
		header += part;
	}
	return false;
}

/* --- numbers --- */

int http_number_parse(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return -EINVAL;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*text - '0'), &value))
			return -EINVAL;
	}
	if (value > max)
		return -EINVAL;
	*ret = value;
	return 0;
}
