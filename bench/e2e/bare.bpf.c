// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The least that can be done to a packet that is to go to one of two servers in IP in IP: any IPv4
 * packet for one address, by a bit of its source port, back to where it came from. No parsing, no
 * tables, no flows, no counters. What it costs the machine is what the links cost, in
 * bench/e2e_bench.sh.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>

#include "pkt/ctx.h"

#define SECTION(name)    __attribute__((section(name), used))
#define ADDR(a, b, c, d) ((__be32)((a) | (b) << 8 | (c) << 16 | (__u32)(d) << 24))

enum { WORDS = sizeof(struct iphdr) / 2 };

struct inner {
	struct ethhdr eth;
	struct iphdr ip;
	__be16 sport;
} __attribute__((packed));

static __always_inline __u16 checksum(const struct iphdr *ip)
{
	const __u16 *words = (const __u16 *)ip;
	__u32 sum = 0;

	for (int i = 0; i < WORDS; i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16)~sum;
}

int bare(struct xdp_md *ctx);

SECTION("xdp") int bare(struct xdp_md *ctx)
{
	struct inner *inner = (void *)(long)ctx->data;
	void *end = (void *)(long)ctx->data_end;
	struct iphdr outer = {.version = 4,
			      .ihl = 5,
			      .ttl = 64,
			      .protocol = IPPROTO_IPIP,
			      .frag_off = PKT_BE16(0x4000),
			      .saddr = ADDR(100, 64, 5, 1)};
	struct ethhdr eth;
	struct inner *out;

	if ((void *)(inner + 1) > end || inner->eth.h_proto != PKT_BE16(ETH_P_IP) ||
	    inner->ip.daddr != ADDR(198, 51, 100, 12))
		return XDP_PASS;
	outer.tot_len = PKT_BE16(PKT_HOST16(inner->ip.tot_len) + sizeof(outer));
	/* A client takes even ports first. */
	outer.daddr = inner->sport & PKT_BE16(2) ? ADDR(10, 0, 1, 11) : ADDR(10, 0, 1, 12);
	outer.check = checksum(&outer);
	__builtin_memcpy(eth.h_dest, inner->eth.h_source, ETH_ALEN);
	__builtin_memcpy(eth.h_source, inner->eth.h_dest, ETH_ALEN);
	eth.h_proto = PKT_BE16(ETH_P_IP);
	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(outer)))
		return XDP_DROP;
	out = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((void *)(out + 1) > end)
		return XDP_DROP;
	out->eth = eth;
	__builtin_memcpy(&out->ip, &outer, sizeof(outer));
	return XDP_TX;
}

char bare_license[] SECTION("license") = "Dual BSD/GPL";
