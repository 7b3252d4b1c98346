// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/links.h"

#include <netinet/in.h>
#include <string.h>

#include "tests/lib/world/world.h"

enum { IP4_HEADER = 20, IP6_HEADER = 40, TCP_HEADER = 20, MACS = 12 };

/* Where the first piece of a TCP segment has its header; 0: it is none. */
static size_t find_tcp4(const uint8_t *frame, size_t ip)
{
	if (frame[ip + 9] != IPPROTO_TCP || frame[ip + 7] || frame[ip + 6] & 0x1f)
		return 0;
	return ip + (size_t)(frame[ip] & 15) * 4;
}

static size_t find_tcp6(const uint8_t *frame, size_t length, size_t ip)
{
	size_t at = ip + IP6_HEADER;
	uint8_t proto = frame[ip + 6];

	while (at + 8 <= length) {
		size_t here = at;

		if (proto == IPPROTO_TCP)
			return at;
		if (proto == IPPROTO_FRAGMENT && (frame[at + 2] || frame[at + 3] & 0xf8))
			return 0;
		if (proto != IPPROTO_HOPOPTS && proto != IPPROTO_ROUTING &&
		    proto != IPPROTO_DSTOPTS && proto != IPPROTO_FRAGMENT)
			return 0;
		at += proto == IPPROTO_FRAGMENT ? 8 : 8 * (size_t)(frame[at + 1] + 1);
		proto = frame[here];
	}
	return 0;
}

/* Where the MSS stands; 0: nowhere. RFC 9293, section 3.1: kind, length, value. */
static size_t find_mss(const uint8_t *frame, size_t tcp)
{
	size_t at = tcp + TCP_HEADER, end = tcp + (size_t)(frame[tcp + 12] >> 4) * 4;

	while (at < end && frame[at] != 0) {
		if (frame[at] == 1) {
			at++;
			continue;
		}
		if (at + 1 == end || frame[at + 1] < 2 || at + frame[at + 1] > end)
			return 0;
		if (frame[at] == 2)
			return frame[at + 1] == 4 ? at + 2 : 0;
		at += frame[at + 1];
	}
	return 0;
}

/* A 16-bit value as it counts in a sum over words from `tcp` on, most significant byte first. */
static uint32_t weigh(uint16_t value, size_t at, size_t tcp)
{
	return (at - tcp) % 2 ? (uint32_t)(value & 0xff) << 8 | value >> 8 : value;
}

void expect_links_clamp(const struct abi_service *service, const uint8_t *frame, size_t length,
			struct frame *ret)
{
	size_t ip = frame_link_length(frame, length), tcp, at;
	uint16_t mss, check;
	uint32_t sum;

	ret->length = length;
	memcpy(ret->bytes, frame, length);
	if (!(service->flags & ABI_SERVICE_MSS))
		return;
	tcp = frame[ip] >> 4 == 4 ? find_tcp4(frame, ip) : find_tcp6(frame, length, ip);
	if (!tcp || tcp + TCP_HEADER > length || !(frame[tcp + 13] & FRAME_SYN))
		return;
	at = find_mss(frame, tcp);
	if (!at)
		return;
	mss = (uint16_t)(frame[at] << 8 | frame[at + 1]);
	if (mss <= service->mss)
		return;
	/* RFC 1624, equation 3. */
	check = (uint16_t)(frame[tcp + 16] << 8 | frame[tcp + 17]);
	sum = (0xffffU - check) + (0xffffU - weigh(mss, at, tcp)) + weigh(service->mss, at, tcp);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	frame_put(ret->bytes + tcp + 16, 2, 0xffff - sum);
	frame_put(ret->bytes + at, 2, service->mss);
}

void expect_links_tag(const struct abi_backend *backend, struct frame *frame)
{
	size_t size = 4 * (size_t)(!!backend->tags[0] + !!backend->tags[1]);

	memmove(frame->bytes + MACS + size, frame->bytes + MACS, frame->length - MACS);
	memcpy(frame->bytes + MACS, backend->tags, size);
	frame->length += size;
}

uint32_t expect_links_kept(const struct abi_backend *backend, size_t tags)
{
	return backend->tags[0] || backend->ifindex != WORLD_IFINDEX ? 0 : (uint32_t)tags;
}
