/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/log_json.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { TAIL = 4 }; /* what ends it at any place: "}, a newline and the zero of a print */

struct line {
	char *text;
	size_t used;
};

static bool put(struct line *line, const char *text, size_t length)
{
	if (line->used + length + TAIL > LOG_JSON_MAX)
		return false;
	memcpy(line->text + line->used, text, length);
	line->used += length;
	return true;
}

static bool put_text(struct line *line, const char *text)
{
	return put(line, text, strlen(text));
}

/* How many bytes the character at `at` has in UTF-8; 0: it is none. */
static size_t character(const char *at, const char *end)
{
	uint8_t first = (uint8_t)*at;
	size_t length = first < 0x80                    ? 1
			: first >= 0xc2 && first < 0xe0 ? 2
			: first >= 0xe0 && first < 0xf0 ? 3
			: first >= 0xf0 && first < 0xf5 ? 4
							: 0;

	if (!length || length > (size_t)(end - at))
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (((uint8_t)at[i] & 0xc0) != 0x80)
			return 0;
	}
	/* Longer than need be, a half of a pair, or beyond the last one. */
	if ((first == 0xe0 && (uint8_t)at[1] < 0xa0) || (first == 0xed && (uint8_t)at[1] > 0x9f) ||
	    (first == 0xf0 && (uint8_t)at[1] < 0x90) || (first == 0xf4 && (uint8_t)at[1] > 0x8f))
		return 0;
	return length;
}

static bool put_byte(struct line *line, unsigned byte)
{
	char text[8];

	snprintf(text, sizeof(text), "\\u%04x", byte & 0xff);
	return put_text(line, text);
}

/* One character of what log_quote made, or as it is; moves `at`. */
static bool put_character(struct line *line, const char **at, const char *end)
{
	size_t length = character(*at, end);
	const char *from = *at;
	unsigned byte;

	if (end - from >= 4 && from[0] == '\\' && from[1] == 'x' && isxdigit(from[2]) &&
	    isxdigit(from[3]) && sscanf(from + 2, "%2x", &byte) == 1) {
		*at += 4;
		return put_byte(line, byte);
	}
	if (end - from >= 2 && from[0] == '\\' && (from[1] == '"' || from[1] == '\\')) {
		*at += 2;
		return put(line, from, 2);
	}
	*at += length ? length : 1;
	if (!length)
		return put_text(line, "\xef\xbf\xbd");
	if ((unsigned char)*from < 0x20 || *from == '"' || *from == '\\' || *from == 0x7f)
		return put_byte(line, (unsigned char)*from);
	return put(line, from, length);
}

static bool put_string(struct line *line, const char *at, const char *end)
{
	bool all = put_text(line, "\"");

	while (all && at < end)
		all = put_character(line, &at, end);
	/* There is always room for it. */
	line->text[line->used++] = '"';
	return all;
}

/* As JSON has numbers: no leading zero, no bare point. */
static bool is_number(const char *at, const char *end)
{
	at += at < end && *at == '-';
	if (at == end || !isdigit((unsigned char)*at) ||
	    (*at == '0' && at + 1 < end && isdigit((unsigned char)at[1])))
		return false;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	if (at == end)
		return true;
	if (*at++ != '.' || at == end)
		return false;
	while (at < end && isdigit((unsigned char)*at))
		at++;
	return at == end;
}

/* The end of a value: of its quotes, or the next blank. */
static const char *value_end(const char *at)
{
	if (*at != '"')
		return at + strcspn(at, " ");
	for (at++; *at && *at != '"'; at++)
		at += *at == '\\' && at[1];
	return at;
}

static bool put_pair(struct line *line, const char *key, const char *equals, const char *end)
{
	bool quoted = equals[1] == '"';
	const char *value = equals + 1 + quoted;
	size_t before = line->used;
	bool fits = put_text(line, ",") && put_string(line, key, equals) && put_text(line, ":") &&
		    line->used + 2 + TAIL <= LOG_JSON_MAX;

	if (fits && !quoted && is_number(value, end))
		fits = put(line, value, (size_t)(end - value));
	else if (fits)
		return put_string(line, value, end);
	if (!fits)
		line->used = before;
	return fits;
}

static void put_pairs(struct line *line, const char *at)
{
	bool fits = true;

	while (fits && *at) {
		size_t length = strcspn(at, "= ");
		const char *end;

		if (at[length] != '=') {
			at += length + (at[length] == ' ');
			continue;
		}
		end = value_end(at + length + 1);
		fits = put_pair(line, at, at + length, end);
		at = end + (*end == '"');
		at += *at == ' ';
	}
}

size_t log_json(const struct log_parts *parts, char *ret)
{
	struct line line = {.text = ret};
	struct tm tm = {0};
	char time[32], part[64];

	gmtime_r(&parts->time.tv_sec, &tm);
	strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(part, sizeof(part), "{\"time\":\"%s.%03ldZ\",", time,
		 parts->time.tv_nsec / 1000000);
	put_text(&line, part);
	snprintf(part, sizeof(part), "\"level\":\"%s\",\"msg\":", parts->level);
	put_text(&line, part);
	if (put_string(&line, parts->message, parts->message + strlen(parts->message)))
		put_pairs(&line, parts->fields);
	ret[line.used++] = '}';
	ret[line.used++] = '\n';
	return line.used;
}
