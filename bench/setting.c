// SPDX-License-Identifier: BSD-2-Clause
#include "bench/setting.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* By IPv4, IPv6, IPv4 into a VLAN; in transition, and with backends that keep no flows;
	 * those of many VIPs follow. */
	POOL_MOVING = 3,
	POOL_KEEPLESS,
	POOLS,
	LIST_PREFIXES = 1000,
	IFINDEX = 1, /* of the loopback, which a test run comes in at */
	LINE_MAX = 48,
};

#define BALANCERS "10.7.0"

const struct bench_row bench_rows[] = {
#include "bench/rows.h"
};
const size_t bench_row_count = sizeof(bench_rows) / sizeof(bench_rows[0]);
_Static_assert(sizeof(bench_rows) / sizeof(bench_rows[0]) <= (size_t)BENCH_ROWS_MAX,
	       "a VIP's last byte is its row");

void bench_die(const char *what, int error)
{
	fprintf(stderr, "packet_bench: %s: %s\n", what, strerror(error < 0 ? -error : error));
	exit(1);
}

static struct addr parse(const char *text)
{
	struct addr addr;

	if (addr_parse(text, &addr))
		bench_die(text, EINVAL);
	return addr;
}

static const char *vip_text(size_t row, bool ipv6, char text[LINE_MAX])
{
	snprintf(text, LINE_MAX, ipv6 ? "2001:db8:b::%zx" : "198.18.0.%zu", row + 1);
	return text;
}

/* The range that holds such a VIP is 198.19.ROW.0/24. */
static const char *dst_text(size_t row, char text[LINE_MAX])
{
	const struct bench_row *of = &bench_rows[row];

	if (of->kind == KIND_RANGE)
		snprintf(text, LINE_MAX, "198.19.%zu.7", row);
	else if (of->vips)
		snprintf(text, LINE_MAX, "198.20.%zu.0", row);
	else
		vip_text(row, of->inner6, text);
	return text;
}

static void fill_backend(struct dp_tables *tables, uint32_t pool, uint32_t at)
{
	struct abi_backend *backend = &tables->backends[1 + pool * BENCH_POOL_BACKENDS + at];
	struct dp_nexthop hop = {.ifindex = IFINDEX,
				 .mtu = 1500,
				 .src_mac = {2, 0, 0, 0, 0, 1},
				 .dst_mac = {2, 0, 0, 0, 0, 2},
				 .on_link = true,
				 .tags = {pool == 2 ? 0x81000064 : 0}};
	char text[LINE_MAX];
	struct addr addr;

	snprintf(text, sizeof(text), pool == 1 ? "2001:db8:9::%x" : "10.9.%2$u.%1$u", at + 1, pool);
	addr = parse(text);
	backend->identity = 1000 + pool * BENCH_POOL_BACKENDS + at;
	backend->generation = 1;
	backend->flags = ABI_BACKEND_UP | (pool == POOL_KEEPLESS ? 0 : ABI_BACKEND_KEEP);
	dp_tables_set_tunnel(backend, &addr);
	dp_tables_set_nexthop(backend, &hop);
}

static uint64_t word_of(uint32_t pool, uint32_t current, uint32_t other)
{
	if (pool != POOL_MOVING && pool != POOL_KEEPLESS)
		return abi_slot(current, 0, other);
	return abi_slot(current, other, other) | ABI_SLOT_TRANSITION;
}

static void fill_pools(struct dp_tables *tables)
{
	for (uint32_t pool = 0; pool < POOLS + BENCH_VIPS_MAX; pool++) {
		uint32_t first = 1 + pool * BENCH_POOL_BACKENDS;

		for (uint32_t i = 0; i < BENCH_POOL_BACKENDS; i++)
			fill_backend(tables, pool, i);
		for (uint32_t i = 0; i < BENCH_POOL_SLOTS; i++)
			/* The doubt makes variant 0 of what would else be GUE's variant 1. */
			tables->slots[pool * BENCH_POOL_SLOTS + i] =
				word_of(pool, first + i % BENCH_POOL_BACKENDS,
					first + (i + 1) % BENCH_POOL_BACKENDS) |
				ABI_SLOT_DOUBT;
	}
}

static void fill_service(struct dp_tables *tables, size_t row)
{
	struct abi_service *service = &tables->services[row + 1];
	uint32_t pool = bench_rows[row].tagged ? 2 : bench_rows[row].outer6 ? 1 : 0;

	if (bench_rows[row].moving)
		pool = bench_rows[row].keepless ? POOL_KEEPLESS : POOL_MOVING;
	service->table =
		abi_table(pool * BENCH_POOL_SLOTS, bench_rows[row].empty ? 0 : BENCH_POOL_SLOTS);
	service->mode = (uint8_t)bench_rows[row].mode;
	service->flags = bench_rows[row].flags;
	service->policy = bench_rows[row].policy;
	service->source_prefix4 = 24;
	service->source_prefix6 = 56;
	service->access = ABI_LIST_ACCESS + (bench_rows[row].kind == KIND_DENIED);
	service->mss = 1400;
	service->cid_length = 2;
	service->rate_gap = bench_rows[row].kind == KIND_LIMITED ? 1ULL << 60 : 1;
	service->identity = 100 + row;
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		const uint64_t listens[] = {
			abi_listen(80, 80, IPPROTO_TCP, (uint32_t)row + 1),
			abi_listen(80, 80, IPPROTO_UDP, (uint32_t)row + 1),
			abi_listen(0, UINT16_MAX, ABI_PROTO_ANY, (uint32_t)row + 1),
		};
		size_t count = bench_rows[row].kind == KIND_OTHER ? 3 : 2;
		char text[LINE_MAX];
		struct addr vip = parse(vip_text(row, ipv6, text));
		int error = dp_tables_set_vip(tables, &vip, listens, count);

		if (bench_rows[row].kind != KIND_NOT_VIP && error)
			bench_die(text, error);
		if (bench_rows[row].kind == KIND_NOT_VIP)
			dp_tables_set_vip(tables, &vip, NULL, 0);
	}
}

/* 198.20.ROW.0 and on, each with a service that differs from the row's in its pool. */
static void fill_many(struct dp_tables *tables, size_t row)
{
	uint32_t first = BENCH_ROWS_MAX + 1;

	for (size_t i = 0; i < row; i++)
		first += bench_rows[i].vips;
	for (uint32_t i = 0; i < bench_rows[row].vips; i++) {
		uint64_t listen = abi_listen(80, 80, IPPROTO_TCP, first + i);
		struct abi_service *service = &tables->services[first + i];
		char text[LINE_MAX];
		struct addr vip;

		*service = tables->services[row + 1];
		service->table = abi_table((POOLS + i) * BENCH_POOL_SLOTS, BENCH_POOL_SLOTS);
		snprintf(text, sizeof(text), "198.20.%zu.%u", row, i);
		vip = parse(text);
		if (dp_tables_set_vip(tables, &vip, &listen, 1))
			bench_die(text, ENOSPC);
	}
}

static void fill_range(struct dp_tables *tables, size_t row)
{
	uint64_t listen = abi_listen(80, 80, IPPROTO_TCP, (uint32_t)row + 1);
	struct prefix prefix;
	char text[LINE_MAX];
	int error;

	snprintf(text, sizeof(text), "198.19.%zu.0/24", row);
	if (prefix_parse(text, &prefix))
		bench_die(text, EINVAL);
	error = dp_tables_set_range(tables, ABI_VIPS + (uint32_t)row, &prefix, &listen, 1);
	if (error)
		bench_die(text, error);
}

/* The client's network, and many others. */
static void fill_list(struct dp_tables *tables)
{
	for (uint32_t i = 0; i < LIST_PREFIXES; i++) {
		struct abi_prefix prefix = {.table = abi_prefix_table(ABI_LIST_ACCESS, 1)};
		char text[LINE_MAX];
		struct addr addr;
		int error;

		snprintf(text, sizeof(text), "203.0.%u.0", 113 + i % 143);
		if (i >= 143)
			snprintf(text, sizeof(text), "100.%u.%u.0", i / 256, i % 256);
		addr = parse(text);
		prefix.addr = dp_addr(&addr);
		prefix.length = 32 + 96 + 24;
		error = tables->set_prefix(tables->prefixes, &prefix, ABI_ACCESS_ALLOW);
		if (error)
			bench_die("a prefix", error);
	}
}

/* Another balancer's outer sources. */
static void fill_balancers(struct dp_tables *tables)
{
	struct abi_prefix key;
	struct prefix prefix;
	int error;

	if (prefix_parse(BALANCERS ".0/24", &prefix))
		bench_die(BALANCERS, EINVAL);
	key = dp_prefix(ABI_LIST_BALANCERS, &prefix);
	error = tables->set_prefix(tables->prefixes, &key, 1);
	if (error)
		bench_die(BALANCERS, error);
}

void bench_fill(struct dp_tables *tables)
{
	struct abi_node *node = tables->node;
	struct addr source4 = parse("100.64.1.0"), source6 = parse("2001:db8:f::");

	node->slot_seed = 1;
	node->source4 = dp_addr(&source4);
	node->source6 = dp_addr(&source6);
	node->source4_vary = htonl(0xff);
	node->source6_vary = htonl(0xffffffff);
	node->insert_limit = node->reply_limit = node->slow_limit = UINT32_MAX;
	node->established_ticks = node->handshake_ticks = node->closing_ticks = 7200;
	node->udp_ticks = node->fragment_ticks = 7200;
	fill_pools(tables);
	fill_list(tables);
	fill_balancers(tables);
	for (size_t i = 0; i < bench_row_count; i++) {
		fill_service(tables, i);
		fill_many(tables, i);
		if (bench_rows[i].kind == KIND_RANGE)
			fill_range(tables, i);
	}
}

uint32_t bench_features(const struct bench_row *row)
{
	uint32_t features = row->mode == TUNNEL_GUE0 ? ABI_HAS_SECOND : 0;

	if (row->inner6)
		features |= ABI_HAS_IPV6;
	if (row->kind == KIND_RANGE)
		features |= ABI_HAS_RANGES;
	if (row->kind == KIND_TUNNELED)
		features |= ABI_HAS_DECAP;
	if (row->flags & (ABI_SERVICE_TRACK | ABI_SERVICE_TRANSITION))
		features |= ABI_HAS_TRACK;
	if (row->flags & ABI_SERVICE_SPECIAL)
		features |= ABI_HAS_SPECIAL;
	if (row->flags & ABI_SERVICE_FRAGMENTS)
		features |= ABI_HAS_FRAGMENT | ABI_HAS_TRACK;
	return features;
}

static void put_in_tunnel(struct frame *frame)
{
	struct addr src = parse(BALANCERS ".1"), dst = parse("198.18.255.1");
	struct frame_tunnel tunnel = {.mode = FRAME_IPIP, .outer4 = true};
	struct frame inner = *frame;

	memcpy(tunnel.src, &src.bytes[12], 4);
	memcpy(tunnel.dst, &dst.bytes[12], 4);
	frame_encapsulate(inner.bytes, inner.length, &tunnel, frame);
	frame->l4 += inner.l4 - inner.ip;
}

void bench_build(size_t at, struct frame *ret)
{
	const struct bench_row *row = &bench_rows[at];
	char vip[LINE_MAX];
	struct frame_spec spec = {
		.src = row->inner6 ? "2001:db8:c::5" : "203.0.113.5",
		.dst = dst_text(at, vip),
		.payload = 64,
		.vlans = row->vlans,
		.frag = row->inner6 ? 0 : 0x4000,
	};
	struct frame_spec quote = {.src = spec.dst, .dst = spec.src, .sport = 80, .dport = 20000};

	switch (row->kind) {
	case KIND_UDP: spec.proto = IPPROTO_UDP; break;
	case KIND_FRAGMENT: spec.frag = 0x2000; break;
	case KIND_LATER: spec.frag = 8; break;
	case KIND_ERROR:
		spec.proto = IPPROTO_ICMP;
		spec.icmp_type = 3;
		spec.quote = &quote;
		break;
	case KIND_EXTENSIONS:
		spec.extensions[0] = FRAME_EXT_HOP;
		spec.extensions[1] = FRAME_EXT_DESTINATION;
		break;
	case KIND_ECHO: spec.proto = row->inner6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP; break;
	case KIND_TOO_BIG: spec.payload = row->inner6 ? 1440 : 1460; break;
	case KIND_OTHER: spec.proto = IPPROTO_GRE; break;
	case KIND_SPLIT:
		spec.payload = 1460;
		spec.frag = 0;
		break;
	case KIND_NOT_IP:
		spec.dst = NULL;
		spec.payload = 100;
		break;
	case KIND_SYN:
		spec.tcp_flags = FRAME_SYN;
		spec.tcp_options = 20;
		spec.mss = 1460;
		break;
	default: break;
	}
	frame_build(&spec, ret);
	if (row->kind == KIND_TUNNELED)
		put_in_tunnel(ret);
}

bool bench_has_ports(const struct bench_row *row)
{
	switch (row->kind) {
	case KIND_TCP:
	case KIND_UDP:
	case KIND_SYN:
	case KIND_RANGE:
	case KIND_TUNNELED:
	case KIND_DENIED:
	case KIND_LIMITED:
	case KIND_EXTENSIONS: return true;
	default: return false;
	}
}
