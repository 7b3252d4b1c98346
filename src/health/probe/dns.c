/* SPDX-License-Identifier: BSD-2-Clause */
/* The DNS probe: a question in UDP that must be answered without an error, and with a record. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "health/probe/datagram.h"
#include "health/probe/dns_wire.h"
#include "health/spec.h"

static void judge(const struct health_spec *spec, const struct datagram *question,
		  const struct datagram *answer, struct datagram_verdict *verdict)
{
	unsigned code = 0;
	const char *name;

	(void)spec;
	verdict->result = PROBE_FAILED;
	switch (dns_judge(question->bytes, question->length, answer->bytes, answer->length,
			  &code)) {
	case DNS_ANSWERED: verdict->result = PROBE_SUCCEEDED; break;
	case DNS_FOREIGN: verdict->result = PROBE_RUNNING; break;
	case DNS_BAD: strcpy(verdict->error, "the answer is not DNS, or cut"); break;
	case DNS_EMPTY: strcpy(verdict->error, "the answer has no record"); break;
	case DNS_ERROR:
		name = dns_code_name(code);
		snprintf(verdict->error, sizeof(verdict->error), "the answer is %s",
			 name ? name : "an error");
	}
}

static enum probe_result start(const struct probe_order *order, struct probe **ret,
			       const char **ret_error)
{
	uint8_t bytes[DNS_QUESTION_MAX];
	/* The socket is connected; the id only tells a late answer to another question. */
	uint16_t id = (uint16_t)(time_now_ns() / 1000);
	int length =
		dns_question(spec_text(order->spec, HEALTH_QUERY), order->spec->record, id, bytes);
	const struct datagram question = {bytes, (size_t)length};

	return datagram_start(order, &question, judge, ret, ret_error);
}

static bool is_valid(const struct health_spec *spec)
{
	const struct health_bytes *query = &spec->texts[HEALTH_QUERY];
	uint8_t bytes[DNS_QUESTION_MAX];
	char name[DNS_NAME_MAX + 2];

	if (query->length >= sizeof(name) || !spec->record)
		return false;
	memcpy(name, query->length ? query->data : "", query->length);
	name[query->length] = '\0';
	return dns_question(name, spec->record, 0, bytes) > 0;
}

const struct probe_type probe_dns = {
	.name = "dns",
	.start = start,
	.cancel = datagram_cancel,
	.is_valid = is_valid,
	.has_port = true,
	.has_ways = true,
};
