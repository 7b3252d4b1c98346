// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/replies.h"

#include <netinet/in.h>

#include "dp/verdict.h"
#include "tests/lib/expect/expect.h"
#include "tests/lib/frame/answer.h"
#include "tests/lib/frame/frame.h"

enum { IPV4_HEADER = 20, IPV6_HEADER = 40 };

static size_t packet_length(const uint8_t *ip)
{
	return ip[0] >> 4 == 4 ? (size_t)(ip[2] << 8 | ip[3])
			       : IPV6_HEADER + (size_t)(ip[4] << 8 | ip[5]);
}

void expect_find_l4(const uint8_t *frame, size_t length, struct expect_l4 *ret)
{
	const uint8_t *ip = frame + FRAME_ETH;

	*ret = (struct expect_l4){0};
	if (ip[0] >> 4 == 4) {
		ret->at = FRAME_ETH + (size_t)(ip[0] & 15) * 4;
		ret->proto = ip[9];
		ret->later = (ip[6] & 0x1f) != 0 || ip[7] != 0;
		return;
	}
	ret->at = FRAME_ETH + IPV6_HEADER;
	ret->proto = ip[6];
	while (ret->at + 8 <= length && !ret->later) {
		const uint8_t *header = frame + ret->at;

		if (ret->proto == IPPROTO_FRAGMENT) {
			ret->later = header[2] != 0 || (header[3] & 0xf8) != 0;
			ret->at += 8;
		} else if (ret->proto == IPPROTO_HOPOPTS || ret->proto == IPPROTO_ROUTING ||
			   ret->proto == IPPROTO_DSTOPTS) {
			ret->at += 8 + (size_t)header[1] * 8;
		} else {
			return;
		}
		ret->proto = header[0];
	}
}

/* Whether a RST or an ICMP error may be sent about the packet at all. */
static bool may_be_told(const uint8_t *frame, size_t length, const struct expect_l4 *l4)
{
	bool ipv4 = frame[12] == 0x08;

	if (l4->later || l4->proto == (ipv4 ? IPPROTO_ICMP : IPPROTO_ICMPV6))
		return false;
	if (l4->proto == IPPROTO_TCP && l4->at + 14 <= length && frame[l4->at + 13] & FRAME_RST)
		return false;
	return expect_may_be_answered(frame);
}

const char *expect_rejected(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			    const struct dp_result *result, const uint8_t *out)
{
	uint32_t flags = tables->services[result->trace.service].flags;
	struct frame expected;
	struct expect_l4 l4;

	if (!(flags & ABI_SERVICE_REJECT) || flags & ABI_SERVICE_PASS)
		return "rejected, against its service";
	if (result->trace.backend)
		return "rejected, and has a backend";
	expect_find_l4(frame, length, &l4);
	if (!may_be_told(frame, length, &l4))
		return "rejected, and must not be answered";
	if (l4.proto == IPPROTO_TCP)
		answer_reset(frame, l4.at, &expected);
	else
		answer_no_port(frame, &expected);
	return expect_same(result, out, &expected);
}

static const char *check_empty(uint32_t verdict, uint32_t flags, bool told)
{
	if (verdict == VERDICT_EMPTY_PASSED)
		return flags & ABI_SERVICE_PASS ? NULL : "passed, against its service";
	if (flags & ABI_SERVICE_PASS)
		return "not passed, against its service";
	return flags & ABI_SERVICE_REJECT && told ? "its sender was not told" : NULL;
}

/* IPv4 whose sender did not forbid to cut it. */
static const char *check_uncut(uint32_t verdict, uint32_t flags)
{
	bool cut = flags & ABI_SERVICE_NODF_FRAGMENT;

	if (verdict == VERDICT_TOO_BIG)
		return cut ? "not given to the daemon" : NULL;
	return cut ? NULL : "given to the daemon, against its service";
}

const char *expect_untold(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			  const struct dp_result *result)
{
	const uint8_t *ip = frame + FRAME_ETH;
	uint32_t flags = tables->services[result->trace.service].flags;
	uint32_t verdict = result->trace.verdict;
	bool ipv4 = frame[12] == 0x08, df = !ipv4 || ip[6] & 0x40, told;
	struct expect_l4 l4;

	expect_find_l4(frame, length, &l4);
	told = may_be_told(frame, length, &l4);
	if (verdict == VERDICT_EMPTY || verdict == VERDICT_EMPTY_PASSED)
		return check_empty(verdict, flags, told);
	if (!df)
		return check_uncut(verdict, flags);
	if (verdict != VERDICT_TOO_BIG)
		return "given to the daemon, and must not be cut";
	/* A RST of that size is told like any packet. */
	if (!told || !(flags & ABI_SERVICE_TOO_BIG) || (!ipv4 && packet_length(ip) <= 1280))
		return NULL;
	/* Paths below 68 bytes are a test's own. */
	return ipv4 && tables->backends[result->trace.backend].mtu < 200
		       ? NULL
		       : "its sender was not told what fits";
}
