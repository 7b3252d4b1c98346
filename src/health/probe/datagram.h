/* SPDX-License-Identifier: BSD-2-Clause */
/* A question in UDP and its answer: what the UDP and the DNS probe are made of. */
#pragma once

#include "health/probe/probe.h"

enum { DATAGRAM_MAX = 8192 }; /* of an answer; the rest is not looked at */

struct datagram {
	uint8_t *bytes;
	size_t length;
};

/* PROBE_RUNNING: it is no answer to this question, and the probe waits on. */
struct datagram_verdict {
	enum probe_result result;
	char error[HEALTH_ERROR_MAX];
};

/* What an answer says, of which the verdict is PROBE_RUNNING and "" before. */
typedef void datagram_judge(const struct health_spec *spec, const struct datagram *question,
			    const struct datagram *answer, struct datagram_verdict *verdict);

/* As struct probe_type's start; the question is copied. */
enum probe_result datagram_start(const struct probe_order *order, const struct datagram *question,
				 datagram_judge *judge, struct probe **ret, const char **ret_error);
void datagram_cancel(struct probe *probe);
