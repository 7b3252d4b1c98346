// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/policy.h"

#include <string.h>

/* What is hashed: words of eight bytes, each the number that a little-endian machine reads. */
struct key {
	uint8_t bytes[40];
	size_t length;
};

static void append(struct key *key, const void *bytes, size_t length)
{
	memcpy(key->bytes + key->length, bytes, length);
	key->length += length;
}

static void append16(struct key *key, uint16_t number)
{
	const uint8_t bytes[2] = {(uint8_t)(number >> 8), (uint8_t)number};

	append(key, bytes, 2);
}

static uint64_t mix(uint64_t hash, unsigned int right, uint64_t factor)
{
	return (hash ^ (hash >> right)) * factor;
}

static uint64_t hash_key(const struct key *key, uint64_t hash)
{
	for (size_t at = 0; at < key->length; at += 8) {
		uint64_t word = 0;

		for (size_t i = 0; i < 8 && at + i < key->length; i++)
			word += (uint64_t)key->bytes[at + i] << 8 * i;
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
		hash ^= hash >> 32;
	}
	hash = mix(hash, 29, 0xbf58476d1ce4e5b9ULL);
	hash = mix(hash, 32, 0x94d049bb133111ebULL);
	return hash ^ hash >> 31;
}

static void keep_bits(uint8_t *addr, size_t size, unsigned int bits)
{
	for (size_t i = 0; i < 8 * size; i++) {
		if (i >= bits)
			addr[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	}
}

/* The source alone: an IPv4 address as IPv6 maps it, and the destination as ::. */
static void append_source(struct key *key, const struct expect_flow *flow, unsigned int bits)
{
	static const uint8_t none[16], mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t source[16];

	memcpy(source, flow->src, 16);
	keep_bits(source, flow->ipv6 ? 16 : 4, bits);
	if (!flow->ipv6)
		append(key, mapped, 12);
	append(key, source, flow->ipv6 ? 16 : 4);
	append(key, none, 16);
}

static void append_pair(struct key *key, const struct expect_flow *flow)
{
	append(key, flow->src, flow->ipv6 ? 16 : 4);
	append(key, flow->dst, flow->ipv6 ? 16 : 4);
}

static void append_ports(struct key *key, uint16_t sport, uint16_t dport, uint8_t proto)
{
	append16(key, sport);
	append16(key, dport);
	append(key, &proto, 1);
}

static void append_label(struct key *key, uint32_t label)
{
	const uint8_t bytes[5] = {(uint8_t)label, (uint8_t)(label >> 8), (uint8_t)(label >> 16)};

	append(key, bytes, 5);
}

uint32_t expect_slot(const struct expect_flow *flow, enum abi_policy policy, unsigned int prefix,
		     uint64_t seed, uint32_t slots)
{
	struct key key = {.length = 0};
	bool by_source = policy == ABI_POLICY_SOURCE || policy == ABI_POLICY_SOURCE_PREFIX;

	if (by_source)
		append_source(&key, flow, policy == ABI_POLICY_SOURCE ? 128 : prefix);
	else
		append_pair(&key, flow);
	if (by_source || policy == ABI_POLICY_2TUPLE)
		append_ports(&key, 0, 0, 0);
	else if (policy == ABI_POLICY_3TUPLE)
		append_ports(&key, 0, 0, flow->proto);
	else if (policy == ABI_POLICY_4TUPLE)
		append_ports(&key, 0, flow->dport, flow->proto);
	else if (policy == ABI_POLICY_FLOW_LABEL && flow->ipv6 && flow->label)
		append_label(&key, flow->label);
	else
		append_ports(&key, flow->sport, flow->dport, flow->proto);
	return (uint32_t)((unsigned __int128)(hash_key(&key, seed) >> 32) * slots >> 32);
}

static uint64_t number(const uint8_t *at, size_t length)
{
	uint64_t value = 0;

	while (length-- > 0)
		value = value << 8 | *at++;
	return value;
}

/* RFC 9000, section 17.2, and RFC 9369, section 3.2: the types of packets to a client's peer. */
static bool has_own_id(uint32_t version, unsigned int type)
{
	enum { INITIAL_1 = 0, ZERO_RTT_1 = 1, INITIAL_2 = 1, ZERO_RTT_2 = 2 };

	if (version == 0x6b3343cf)
		return type != INITIAL_2 && type != ZERO_RTT_2;
	if (version != 1 && (version & 0xffffff00) != 0xff000000)
		return false;
	return type != INITIAL_1 && type != ZERO_RTT_1;
}

uint32_t expect_quic(const uint8_t *payload, size_t length, enum abi_cid layout,
		     unsigned int config, unsigned int id_length)
{
	bool is_long = length > 0 && payload[0] & 0x80;
	size_t at = is_long ? 6 : 1, cid_length = 20;
	const uint8_t *cid = payload + at;

	if (length < at + 8)
		return 0;
	if (is_long) {
		if (!has_own_id((uint32_t)number(payload + 1, 4), payload[0] >> 4 & 3))
			return 0;
		cid_length = payload[5];
	}
	if (layout == ABI_CID_QUIC_LB)
		return cid_length >= 1 + id_length + 4 && cid[0] >> 5 == config
			       ? (uint32_t)number(cid + 1, id_length)
			       : 0;
	if (cid_length < 8 || cid[0] < 0x40)
		return 0;
	if (cid[0] < 0x80)
		return (uint32_t)(number(cid, 3) >> 6) & 0xffff;
	return (uint32_t)number(cid + 1, cid[0] < 0xc0 ? 3 : 4);
}

uint32_t expect_tcp_option(const uint8_t *options, size_t length)
{
	size_t at = 0;

	while (at < length && options[at] != 0) {
		size_t left = length - at;

		if (options[at] == 1) {
			at++;
			continue;
		}
		if (left < 2 || options[at + 1] < 2 || options[at + 1] > left)
			return 0;
		if (options[at] == 183) {
			const uint8_t *id = options + at + 2;

			return options[at + 1] == 6 ? (uint32_t)(id[0] | id[1] << 8 | id[2] << 16) |
							      (uint32_t)id[3] << 24
						    : 0;
		}
		at += options[at + 1];
	}
	return 0;
}
