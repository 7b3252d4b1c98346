/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a DNS server answers a probe. The input is the record's type, the length of the name that
 * was asked for, the name, and the answer, which gets the question's id and, where the first byte
 * says so, its question. The answer is in memory of its very length, so that a byte read beyond it
 * is found; what must hold is said below.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "health/probe/dns_wire.h"

enum { HEAD = 4, ID = 0x1234, FITS = 1 };

#define check(right)                                                                    \
	do {                                                                            \
		if (!(right)) {                                                         \
			fprintf(stderr, "dns_fuzz: line %d does not hold\n", __LINE__); \
			abort();                                                        \
		}                                                                       \
	} while (0)

static void judge(const uint8_t *question, size_t question_length, const uint8_t *answer,
		  size_t length)
{
	unsigned code = 0;
	enum dns_answer found = dns_judge(question, question_length, answer, length, &code);

	check(found != DNS_ERROR || (code && code <= 15));
	if (found == DNS_ANSWERED || found == DNS_EMPTY || found == DNS_ERROR)
		check(answer[0] == question[0] && answer[1] == question[1]);
	if (found == DNS_ANSWERED || found == DNS_EMPTY)
		check(length >= question_length && (answer[3] & 15) == 0);
	/* Less of it is never better: but for what says itself that it is cut. */
	if (found == DNS_ANSWERED && !(answer[2] & 2)) {
		size_t cut = question_length;
		uint8_t *copy = malloc(cut);

		memcpy(copy, answer, cut);
		check(dns_judge(question, question_length, copy, cut, &code) == DNS_BAD);
		free(copy);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char name[DNS_NAME_MAX + 4];
	uint8_t question[DNS_QUESTION_MAX], *answer;
	size_t name_length, length;
	int question_length;

	if (size < HEAD)
		return 0;
	name_length = bytes[3] < size - HEAD ? bytes[3] : size - HEAD;
	memcpy(name, bytes + HEAD, name_length);
	name[name_length] = '\0';
	question_length = dns_question(name, (uint16_t)(bytes[1] << 8 | bytes[2]), ID, question);
	check(question_length <= DNS_QUESTION_MAX);
	if (question_length < 0)
		return 0;
	bytes += HEAD + name_length;
	length = size - HEAD - name_length;
	answer = malloc(length + 1);
	memcpy(answer, bytes, length);
	if (bytes[-(ptrdiff_t)(HEAD + name_length)] & FITS && length >= (size_t)question_length) {
		memcpy(answer, question, 2);
		memcpy(answer + DNS_HEADER, question + DNS_HEADER,
		       (size_t)question_length - DNS_HEADER);
	}
	answer = realloc(answer, length ? length : 1);
	judge(question, (size_t)question_length, answer, length);
	free(answer);
	return 0;
}
