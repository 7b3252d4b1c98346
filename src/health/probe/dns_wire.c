/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/probe/dns_wire.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

enum {
	LABEL_MAX = 63,
	POINTER = 0xc0,   /* to the rest of a name */
	RECORD_HEAD = 10, /* what a record has between its name and its data */
	CLASS_IN = 1,
	TYPE_CNAME = 5,
	TYPE_ANY = 255,
	FLAG_RESPONSE = 0x80, /* in the third byte of the header */
	FLAG_TRUNCATED = 0x02,
	FLAG_RECURSION = 0x01,
	CODE_MASK = 0x0f, /* in the fourth */
};

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The name's labels; its length, or -EINVAL. */
static int put_name(const char *name, uint8_t *at)
{
	uint8_t *begin = at;
	size_t length = strlen(name);

	if (length && name[length - 1] == '.')
		length--;
	if (length > DNS_NAME_MAX || !*name)
		return -EINVAL;
	for (const char *end = name + length; name < end;) {
		const char *dot = memchr(name, '.', (size_t)(end - name));
		size_t label = (size_t)((dot ? dot : end) - name);

		if (label == 0 || label > LABEL_MAX || dot == end - 1)
			return -EINVAL;
		*at++ = (uint8_t)label;
		memcpy(at, name, label);
		at += label;
		name += label + (dot != NULL);
	}
	*at++ = 0;
	return (int)(at - begin);
}

int dns_question(const char *name, uint16_t record, uint16_t id, uint8_t *ret)
{
	int length;

	memset(ret, 0, DNS_HEADER);
	put16(ret, id);
	ret[2] = FLAG_RECURSION;
	put16(ret + 4, 1); /* questions */
	length = put_name(name, ret + DNS_HEADER);
	if (length < 0)
		return length;
	put16(ret + DNS_HEADER + length, record);
	put16(ret + DNS_HEADER + length + 2, CLASS_IN);
	return DNS_HEADER + length + 4;
}

/* Names have no case, though some servers keep what the question had. */
static int same_question(const uint8_t *a, const uint8_t *b, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		if (tolower(a[i]) != tolower(b[i]))
			return 0;
	}
	return 1;
}

/* Past the name at *at; 0: it is cut. */
static int skip_name(const uint8_t *message, size_t length, size_t *at)
{
	while (*at < length) {
		uint8_t label = message[*at];

		if (label & POINTER) {
			*at += 2;
			return (label & POINTER) == POINTER && *at <= length;
		}
		*at += 1u + label;
		if (label == 0)
			return *at <= length;
	}
	return 0;
}

/* Whether there is a record of what was asked for, or of the name that has it. An answer that is
 * too long for a datagram says so, and need not have it. */
static enum dns_answer judge_records(const uint8_t *answer, size_t length, size_t at,
				     unsigned wanted)
{
	unsigned count = get16(answer + 6);
	int truncated = answer[2] & FLAG_TRUNCATED, found = truncated;

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *head;
		unsigned type;

		if (!skip_name(answer, length, &at) || length - at < RECORD_HEAD)
			return truncated ? DNS_ANSWERED : DNS_BAD;
		head = answer + at;
		type = get16(head);
		at += RECORD_HEAD + get16(head + 8);
		if (at > length)
			return truncated ? DNS_ANSWERED : DNS_BAD;
		found |= type == wanted || type == TYPE_CNAME || wanted == TYPE_ANY;
	}
	return found ? DNS_ANSWERED : DNS_EMPTY;
}

enum dns_answer dns_judge(const uint8_t *question, size_t question_length, const uint8_t *answer,
			  size_t length, unsigned *ret_code)
{
	unsigned code, questions;

	if (length < DNS_HEADER)
		return DNS_BAD;
	if (get16(answer) != get16(question) || !(answer[2] & FLAG_RESPONSE))
		return DNS_FOREIGN;
	code = answer[3] & CODE_MASK;
	questions = get16(answer + 4);
	/* With an error a server may leave the question out. */
	if (questions == 1) {
		if (length < question_length)
			return DNS_BAD;
		if (!same_question(answer + DNS_HEADER, question + DNS_HEADER,
				   question_length - DNS_HEADER))
			return DNS_FOREIGN;
	} else if (questions != 0 || code == 0) {
		return DNS_BAD;
	}
	if (code) {
		*ret_code = code;
		return DNS_ERROR;
	}
	return judge_records(answer, length, question_length,
			     get16(question + question_length - 4));
}

const char *dns_code_name(unsigned code)
{
	static const char *const names[] = {
		[0] = "NOERROR",  [1] = "FORMERR", [2] = "SERVFAIL",
		[3] = "NXDOMAIN", [4] = "NOTIMP",  [5] = "REFUSED",
	};

	return code < sizeof(names) / sizeof(*names) ? names[code] : NULL;
}
