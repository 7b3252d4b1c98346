/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/agent/told.h"

#include <assert.h>
#include <netinet/in.h>
#include <string.h>

#include "base/addr.h"

enum { OPTIONS_MOST = 8, GENEVE_PORT = 6081, GUE_PORT = 6080 };

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

/* 4 or 16 bytes; returns how many. */
static size_t put_addr(uint8_t *at, const char *text)
{
	struct addr addr;
	size_t length;

	if (addr_parse(text, &addr) != 0)
		assert(!"an address that a row gave");
	length = addr_is4(&addr) ? 4 : 16;
	memcpy(at, addr.bytes + 16 - length, length);
	return length;
}

/* --- what stands between the outer IP header and the packet --- */

static size_t put_ours(uint8_t *at, const struct told *told, uint16_t vip_port)
{
	size_t addr, extra = told->shape == TOLD_WORDS3 ? 4 : 0;

	frame_put(at, 2, 0xff57);
	at[2] = 1;
	frame_put(at + 4, 2, vip_port);
	frame_put(at + 6, 2, told->port);
	addr = put_addr(at + 8, told->vip);
	at[3] = (uint8_t)((4 + addr + extra) / 4);
	return 8 + addr + extra;
}

static size_t put_other(uint8_t *at, uint8_t type, uint8_t words)
{
	frame_put(at, 2, 0x0102);
	at[2] = type;
	at[3] = words;
	memset(at + 4, 0xab, words * 4U);
	return 4 + words * 4U;
}

static size_t put_options(uint8_t *at, const struct told *told)
{
	size_t length = 0, others = 0;

	if (told->shape == TOLD_NO_OPTION)
		return 0;
	if (told->shape == TOLD_AFTER)
		others = 2;
	if (told->shape == TOLD_LAST)
		others = OPTIONS_MOST - 1;
	if (told->shape == TOLD_TOO_MANY)
		others = OPTIONS_MOST;
	for (size_t i = 0; i < others; i++)
		length += put_other(at + length, 0x01, (uint8_t)(i % 2));
	if (told->shape == TOLD_LONGEST)
		length += put_other(at, 0x02, 31);
	if (told->shape == TOLD_TWICE)
		length += put_ours(at, told, 1);
	length += put_ours(at + length, told, told->vip_port);
	if (told->shape == TOLD_BEFORE)
		length += put_other(at + length, 0x7f, 3);
	if (told->shape == TOLD_CRITICAL)
		length += put_other(at + length, 0x82, 1);
	return length;
}

static size_t put_between(uint8_t *at, const struct told *told, bool inner4)
{
	size_t options;

	frame_put(at, 2, 51000);
	if (told->mode == TOLD_GUE0) {
		frame_put(at + 2, 2, GUE_PORT);
		at[8] = told->words;
		at[9] = inner4 ? 4 : 41;
		memset(at + 12, 0xcd, told->words * 4U);
		return 12 + told->words * 4U;
	}
	frame_put(at + 2, 2, GENEVE_PORT);
	options = put_options(at + 16, told);
	at[8] = (uint8_t)(options / 4);
	frame_put(at + 10, 2, inner4 ? 0x0800 : 0x86dd);
	return 16 + options;
}

static size_t put_outer(uint8_t *at, const struct told *told, size_t length)
{
	if (!strchr(told->from, ':')) {
		at[0] = 0x45;
		at[1] = told->outer_tos;
		frame_put(at + 2, 2, (uint32_t)(20 + length));
		at[8] = 64;
		at[9] = IPPROTO_UDP;
		put_addr(at + 12, told->from);
		put_addr(at + 16, told->to);
		frame_put(at + 10, 2, frame_checksum(at, 20, 0));
		return 20;
	}
	frame_put(at, 4, 6U << 28 | (uint32_t)told->outer_tos << 20);
	frame_put(at + 4, 2, (uint32_t)length);
	at[6] = IPPROTO_UDP;
	at[7] = 64;
	put_addr(at + 8, told->from);
	put_addr(at + 24, told->to);
	return 40;
}

static void build_tunnel(const struct told *told, const struct frame *inner, struct frame *ret)
{
	const uint8_t *ip = inner->bytes + FRAME_ETH;
	bool inner4 = ip[0] >> 4 == 4;
	size_t packet = inner4 ? get16(ip + 2) : 40U + get16(ip + 4), between, outer;
	uint8_t shim[512] = {0};

	between = put_between(shim, told, inner4);
	frame_put(shim + 4, 2, (uint32_t)(between + packet));
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->bytes, inner->bytes, 12);
	frame_put(ret->bytes + 12, 2, strchr(told->from, ':') ? 0x86dd : 0x0800);
	outer = put_outer(ret->bytes + FRAME_ETH, told, between + packet);
	memcpy(ret->bytes + FRAME_ETH + outer, shim, between);
	ret->ip = FRAME_ETH;
	ret->l4 = FRAME_ETH + outer + between;
	memcpy(ret->bytes + ret->l4, ip, inner->length - FRAME_ETH);
	ret->length = ret->l4 + inner->length - FRAME_ETH;
}

/* --- ipopt: an option directly after the IP header --- */

static void build_option(const struct told *told, const struct frame *inner, struct frame *ret)
{
	bool is4 = inner->bytes[FRAME_ETH] >> 4 == 4;
	size_t at = FRAME_ETH + (is4 ? 20U : 40U), size = is4 ? 8 : 24;
	uint8_t *ip, option[24] = {0x9a, 8};

	*ret = *inner;
	ip = ret->bytes + FRAME_ETH;
	if (is4) {
		frame_put(option + 2, 2, told->vip_port);
		put_addr(option + 4, told->vip);
		ip[0] += 2;
		frame_put(ip + 2, 2, get16(ip + 2) + 8U);
	} else {
		option[0] = ip[6];
		option[1] = 2;
		option[2] = 0x1b;
		option[3] = 18;
		frame_put(option + 4, 2, told->vip_port);
		put_addr(option + 6, told->vip);
		option[22] = 1;
		ip[6] = IPPROTO_DSTOPTS;
		frame_put(ip + 4, 2, get16(ip + 4) + 24U);
	}
	memmove(ret->bytes + at + size, ret->bytes + at, ret->length - at);
	memcpy(ret->bytes + at, option, size);
	ret->length += size;
	ret->l4 += size;
	if (is4) {
		frame_put(ip + 10, 2, 0);
		frame_put(ip + 10, 2, frame_checksum(ip, (ip[0] & 0xfU) * 4, 0));
	}
}

void told_build(const struct told *told, const struct frame *inner, struct frame *ret)
{
	if (told->mode == TOLD_IPOPT)
		build_option(told, inner, ret);
	else
		build_tunnel(told, inner, ret);
}

/* --- checksums, by a full sum --- */

struct sum {
	uint8_t *at;     /* of the transport's; NULL: none, or not within the frame */
	uint16_t right;  /* what should stand there, if 0 stood there now */
	uint16_t stands; /* what does */
	uint8_t proto;
};

/* Steps over extension headers of 8 bytes. */
static uint8_t *transport(uint8_t *ip, uint8_t *ret_proto)
{
	uint8_t *at = ip + 40;

	if (ip[0] >> 4 == 4) {
		*ret_proto = ip[9];
		return ip + (ip[0] & 0xf) * 4;
	}
	for (*ret_proto = ip[6]; *ret_proto == IPPROTO_HOPOPTS || *ret_proto == IPPROTO_ROUTING ||
				 *ret_proto == IPPROTO_FRAGMENT || *ret_proto == IPPROTO_DSTOPTS;
	     at += 8)
		*ret_proto = at[0];
	return at;
}

static struct sum sum_of(struct frame *frame)
{
	uint8_t *ip = frame->bytes + FRAME_ETH, *l4;
	bool is4 = ip[0] >> 4 == 4;
	size_t packet = is4 ? get16(ip + 2) : 40U + get16(ip + 4), length;
	struct sum ret = {0};
	uint32_t pseudo = 0;

	l4 = transport(ip, &ret.proto);
	length = packet - (size_t)(l4 - ip);
	if (ret.proto == IPPROTO_TCP)
		ret.at = l4 + 16;
	else if (ret.proto == IPPROTO_UDP)
		ret.at = l4 + 6;
	else if (ret.proto == IPPROTO_ICMP || ret.proto == IPPROTO_ICMPV6)
		ret.at = l4 + 2;
	if (!ret.at)
		return ret;
	if (ret.proto != IPPROTO_ICMP)
		pseudo = ret.proto + (uint32_t)length +
			 (uint16_t)~frame_checksum(ip + (is4 ? 12 : 8), is4 ? 8 : 32, 0);
	ret.stands = get16(ret.at);
	frame_put(ret.at, 2, 0);
	ret.right = frame_checksum(l4, length, pseudo);
	frame_put(ret.at, 2, ret.stands);
	if (ret.proto == IPPROTO_UDP && !ret.right)
		ret.right = 0xffff;
	return ret;
}

void told_finish(struct frame *frame)
{
	uint8_t *ip = frame->bytes + FRAME_ETH;
	struct sum sum = sum_of(frame);

	if (sum.at)
		frame_put(sum.at, 2, sum.right);
	if (ip[0] >> 4 != 4)
		return;
	frame_put(ip + 10, 2, 0);
	frame_put(ip + 10, 2, frame_checksum(ip, (ip[0] & 0xfU) * 4, 0));
}

bool told_is_right(const struct frame *frame)
{
	static struct frame copy;
	uint8_t *ip = copy.bytes + FRAME_ETH;
	struct sum sum;

	copy = *frame;
	sum = sum_of(&copy);
	if (ip[0] >> 4 == 4 && frame_checksum(ip, (ip[0] & 0xfU) * 4, 0) != 0)
		return false;
	return !sum.at || sum.stands == sum.right || (sum.proto == IPPROTO_UDP && !sum.stands);
}
