/* SPDX-License-Identifier: BSD-2-Clause */
/* DNS messages (RFC 1035, section 4), as much of them as a probe needs. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	DNS_HEADER = 12,
	DNS_NAME_MAX = 253, /* of a name as text, without the dot at the end */
	DNS_QUESTION_MAX = DNS_HEADER + DNS_NAME_MAX + 2 + 4,
	DNS_RECORD_MAX = 255,
};

enum dns_answer {
	DNS_ANSWERED, /* without an error, and with a record of that type (or truncated) */
	DNS_FOREIGN,  /* no answer to this question */
	DNS_BAD,      /* cut, or not a DNS message */
	DNS_ERROR,    /* an error code, in *ret_code */
	DNS_EMPTY,    /* no such record */
};

/* A question for a name's record into DNS_QUESTION_MAX bytes; its length, or -EINVAL: no name. */
int dns_question(const char *name, uint16_t record, uint16_t id, uint8_t *ret);
enum dns_answer dns_judge(const uint8_t *question, size_t question_length, const uint8_t *answer,
			  size_t length, unsigned *ret_code);
/* "NXDOMAIN"; NULL: it has no name here. */
const char *dns_code_name(unsigned code);
