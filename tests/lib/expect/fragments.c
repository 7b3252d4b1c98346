// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/fragments.h"

#include <string.h>

#include "dp/verdict.h"
#include "tests/lib/frame/frame.h"

enum { HOP = 0, ROUTING = 43, FRAGMENT = 44, OPTIONS = 60 };

/* RFC 8200: a chain of headers, each naming the next one. The first fragment header counts. */
static uint16_t offset_of_ip6(const uint8_t *ip, size_t length)
{
	uint8_t next = ip[6];
	size_t at = 40;

	while (at + 8 <= length) {
		if (next == FRAGMENT)
			return (uint16_t)(ip[at + 2] << 8 | ip[at + 3]) & 0xfff9;
		if (next != HOP && next != ROUTING && next != OPTIONS)
			return 0;
		next = ip[at];
		at += 8 + (size_t)ip[at + 1] * 8;
	}
	return 0;
}

bool expect_is_piece(const uint8_t *frame, size_t length, bool *ret_later)
{
	size_t link = frame_link_length(frame, length);
	const uint8_t *ip = frame + link;
	uint16_t bits;

	*ret_later = false;
	if (length < link + 20)
		return false;
	if (ip[-2] == 0x08 && ip[-1] == 0x00) {
		bits = (uint16_t)(ip[6] << 8 | ip[7]) & 0x3fff;
		*ret_later = (bits & 0x1fff) != 0;
		return bits != 0;
	}
	if (ip[-2] != 0x86 || ip[-1] != 0xdd || length < link + 40)
		return false;
	bits = offset_of_ip6(ip, length - link);
	*ret_later = (bits & 0xfff8) != 0;
	return bits != 0;
}

/* Services of which one is not the other's, among all listens of the address: 2 stands for more. */
static int count_services(const struct dp_tables *tables, const uint8_t *frame, size_t length)
{
	const uint8_t *ip = frame + frame_link_length(frame, length);
	struct addr to = {.bytes = {[10] = 0xff, [11] = 0xff}};
	const uint64_t *listens;
	uint32_t first = 0;

	if (ip[0] >> 4 == 4)
		memcpy(to.bytes + 12, ip + 16, 4);
	else
		memcpy(to.bytes, ip + 24, 16);
	listens = dp_tables_vip(tables, &to);
	/* A VIP that is a prefix is not looked for here. */
	if (!listens)
		return 2;
	for (int i = 0; i < ABI_VIP_LISTENS && listens[i]; i++) {
		if (first && (uint32_t)(listens[i] >> 40) != first)
			return 2;
		first = (uint32_t)(listens[i] >> 40);
	}
	return 1;
}

const char *expect_pieces(const struct dp_tables *tables, const uint8_t *frame, size_t length,
			  const struct dp_result *result)
{
	uint32_t verdict = result->trace.verdict;
	bool later, piece = expect_is_piece(frame, length, &later);
	uint32_t flags = tables->services[result->trace.service].flags;

	if (verdict == VERDICT_FRAGMENT && !piece)
		return "dropped as a fragment, and is none";
	if (verdict == VERDICT_FRAGMENT && flags & ABI_SERVICE_FRAGMENTS)
		return "dropped as a fragment, and its service takes them";
	if (verdict == VERDICT_FRAGMENT_EARLY && !later)
		return "dropped as a later fragment, and is none";
	if (verdict == VERDICT_FRAGMENT_EARLY && count_services(tables, frame, length) < 2)
		return "dropped as a later fragment, and can be of one service only";
	if (result->trace.why == WHY_FRAGMENT && !piece)
		return "went with other fragments, and is none";
	if ((verdict == VERDICT_FORWARDED || verdict == VERDICT_REDIRECTED) && piece &&
	    !(flags & ABI_SERVICE_FRAGMENTS))
		return "a fragment left, and its service takes none";
	return NULL;
}
