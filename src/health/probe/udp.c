/* SPDX-License-Identifier: BSD-2-Clause */
/* The UDP probe: what is sent must be answered, and the answer contain what is expected. */
#include <stdio.h>
#include <string.h>

#include "base/plural.h"
#include "health/probe/datagram.h"

static void judge(const struct health_spec *spec, const struct datagram *question,
		  const struct datagram *answer, struct datagram_verdict *verdict)
{
	const struct health_bytes *wanted = &spec->texts[HEALTH_RECEIVE];

	(void)question;
	if (!wanted->length ||
	    memmem(answer->bytes, answer->length, wanted->data, wanted->length)) {
		verdict->result = PROBE_SUCCEEDED;
		return;
	}
	verdict->result = PROBE_FAILED;
	snprintf(verdict->error, sizeof(verdict->error),
		 "an answer of %zu %s does not contain what is expected", answer->length,
		 plural(answer->length, "byte", "bytes"));
}

static enum probe_result start(const struct probe_order *order, struct probe **ret,
			       const char **ret_error)
{
	const struct health_bytes *text = &order->spec->texts[HEALTH_SEND];
	const struct datagram question = {(uint8_t *)(uintptr_t)text->data, text->length};

	return datagram_start(order, &question, judge, ret, ret_error);
}

static bool is_valid(const struct health_spec *spec)
{
	return spec->texts[HEALTH_SEND].length > 0;
}

const struct probe_type probe_udp = {
	.name = "udp",
	.start = start,
	.cancel = datagram_cancel,
	.is_valid = is_valid,
	.has_port = true,
	.has_ways = true,
};
