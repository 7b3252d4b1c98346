// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The yardstick: a balancer's packet path in the plain way. The VIP in the kernel's hash table, by
 * address, port and protocol, and again for every port; the flow in the kernel's LRU hash, by
 * its whole tuple; a new one by the VIP's Maglev table, and recorded; the backend's record; IP in
 * IP or GUE around the packet, with the checksum summed up for each packet; counters of the VIP and
 * the backend. UDP flows end after half a minute, a SYN begins one anew, a QUIC connection id names
 * its server. Nothing of it is shared with Weir. Fragments and IPv4 options are passed on.
 */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "bench/reference_abi.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { TTL = 64, GUE_PORT = 6080 };
#define UDP_END_NS 30000000000ULL

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REFERENCE_VIPS);
	__type(key, struct reference_vip_key);
	__type(value, struct reference_vip);
} vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct reference_tuple);
	__type(value, struct reference_flow);
} flows SEC(".maps");

#define ARRAY(name, kind, record, entries)    \
	struct {                              \
		__uint(type, kind);           \
		__uint(max_entries, entries); \
		__type(key, __u32);           \
		__type(value, record);        \
	} name SEC(".maps")

/* Of all VIPs together; mappable, because they are many. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, REFERENCE_SLOTS);
	__type(key, __u32);
	__type(value, __u64);
} slots SEC(".maps");

ARRAY(backends, BPF_MAP_TYPE_ARRAY, struct reference_backend, REFERENCE_BACKENDS);
ARRAY(servers, BPF_MAP_TYPE_ARRAY, __u32, REFERENCE_SERVERS);
ARRAY(nodes, BPF_MAP_TYPE_ARRAY, struct reference_node, 1);
ARRAY(vip_counts, BPF_MAP_TYPE_PERCPU_ARRAY, struct reference_count, REFERENCE_VIPS);
ARRAY(backend_counts, BPF_MAP_TYPE_PERCPU_ARRAY, struct reference_count, REFERENCE_BACKENDS);

/* A packet as parsed. */
struct seen {
	struct reference_tuple tuple;
	bool is6, is_syn;
	__u8 tos;
	__u16 length;  /* with its IP header */
	__u8 *payload; /* of UDP */
	__u8 *end;
};

static __always_inline void count(void *map, __u32 index, __u32 bytes)
{
	struct reference_count *counts = bpf_map_lookup_elem(map, &index);

	if (counts) {
		counts->packets++;
		counts->bytes += bytes;
	}
}

/* --- parsing --- */

static __always_inline int parse_ports(struct seen *seen, void *l4)
{
	struct tcphdr *tcp = l4;
	struct udphdr *udp = l4;

	if (seen->tuple.proto == IPPROTO_TCP) {
		if ((__u8 *)(tcp + 1) > seen->end)
			return -1;
		seen->tuple.sport = tcp->source;
		seen->tuple.dport = tcp->dest;
		seen->is_syn = tcp->syn;
		return 0;
	}
	if (seen->tuple.proto != IPPROTO_UDP || (__u8 *)(udp + 1) > seen->end)
		return -1;
	seen->tuple.sport = udp->source;
	seen->tuple.dport = udp->dest;
	seen->payload = (__u8 *)(udp + 1);
	return 0;
}

static __always_inline int parse4(struct seen *seen, struct iphdr *ip)
{
	if ((__u8 *)(ip + 1) > seen->end || ip->ihl != 5 || ip->frag_off & bpf_htons(0x3fff))
		return -1;
	seen->tuple.src.word[0] = ip->saddr;
	seen->tuple.dst.word[0] = ip->daddr;
	seen->tuple.proto = ip->protocol;
	seen->tos = ip->tos;
	seen->length = bpf_ntohs(ip->tot_len);
	return parse_ports(seen, ip + 1);
}

static __always_inline int parse6(struct seen *seen, struct ipv6hdr *ip)
{
	if ((__u8 *)(ip + 1) > seen->end)
		return -1;
	__builtin_memcpy(&seen->tuple.src, &ip->saddr, sizeof(seen->tuple.src));
	__builtin_memcpy(&seen->tuple.dst, &ip->daddr, sizeof(seen->tuple.dst));
	seen->tuple.proto = ip->nexthdr;
	seen->tos = (__u8)(ip->priority << 4 | ip->flow_lbl[0] >> 4);
	seen->length = (__u16)(bpf_ntohs(ip->payload_len) + sizeof(*ip));
	seen->is6 = true;
	return parse_ports(seen, ip + 1);
}

/* --- choosing --- */

static __always_inline struct reference_vip *find_vip(const struct seen *seen)
{
	struct reference_vip_key key = {
		.addr = seen->tuple.dst, .port = seen->tuple.dport, .proto = seen->tuple.proto};
	struct reference_vip *vip = bpf_map_lookup_elem(&vips, &key);

	if (vip)
		return vip;
	key.port = 0;
	return bpf_map_lookup_elem(&vips, &key);
}

static __always_inline __u32 hash_of(const struct reference_tuple *tuple)
{
	const __u32 *words = (const __u32 *)tuple;
	__u32 hash = 0x9e3779b9;

	for (__u32 i = 0; i < sizeof(*tuple) / sizeof(*words); i++) {
		hash = (hash ^ words[i]) * 0x85ebca6b;
		hash ^= hash >> 15;
	}
	hash *= 0xc2b2ae35;
	return hash ^ hash >> 16;
}

static __always_inline __u64 *by_slot(const struct seen *seen, const struct reference_vip *vip)
{
	__u32 slot = vip->number * REFERENCE_SLOTS + hash_of(&seen->tuple) % REFERENCE_SLOTS;

	return bpf_map_lookup_elem(&slots, &slot);
}

/* The layout that has 16 bits of server id behind two bits of version. */
static __always_inline __u32 *by_cid(const struct seen *seen)
{
	__u8 *cid = seen->payload + 1;
	__u32 id;

	if (!seen->payload || cid + 3 > seen->end || seen->payload[0] & 0x80 || cid[0] >> 6 != 1)
		return 0;
	id = (__u32)(cid[0] & 0x3f) << 10 | (__u32)cid[1] << 2 | cid[2] >> 6;
	return bpf_map_lookup_elem(&servers, &id);
}

/* By its entry, or by its slot, which is recorded then. */
static __always_inline int by_flow(const struct seen *seen, const struct reference_vip *vip,
				   __u32 *ret)
{
	struct reference_flow *known = 0, fresh = {};
	bool is_udp = seen->tuple.proto == IPPROTO_UDP;
	__u64 now = is_udp ? bpf_ktime_get_ns() : 0;
	__u64 *slot;

	if (!seen->is_syn)
		known = bpf_map_lookup_elem(&flows, &seen->tuple);
	if (known && is_udp && now - known->seen_ns > UDP_END_NS)
		known = 0;
	if (known) {
		if (is_udp)
			known->seen_ns = now;
		*ret = known->backend;
		return 0;
	}
	slot = by_slot(seen, vip);
	if (!slot)
		return -1;
	*ret = fresh.backend = (__u32)*slot;
	fresh.seen_ns = now;
	bpf_map_update_elem(&flows, &seen->tuple, &fresh, BPF_ANY);
	return 0;
}

/* --- sending --- */

static __always_inline __u16 sum_of(const __u16 *words)
{
	__u32 sum = 0;

	for (__u32 i = 0; i < sizeof(struct iphdr) / sizeof(*words); i++)
		sum += words[i];
	sum = (sum & 0xffff) + (sum >> 16);
	return (__u16) ~(sum + (sum >> 16));
}

static __always_inline void write_outer4(struct iphdr *ip, const struct seen *seen,
					 const struct reference_node *node,
					 const struct reference_backend *backend, bool gue)
{
	__u32 spread = seen->tuple.src.word[0] ^ seen->tuple.sport;
	__u32 added = sizeof(*ip) + (gue ? sizeof(struct udphdr) : 0);

	ip->version = 4;
	ip->ihl = 5;
	ip->tos = seen->tos;
	ip->tot_len = bpf_htons((__u16)(seen->length + added));
	ip->id = 0;
	ip->frag_off = 0;
	ip->ttl = TTL;
	ip->protocol = gue ? IPPROTO_UDP : IPPROTO_IPIP;
	ip->check = 0;
	ip->saddr = gue ? node->source4 : node->source4 | (spread & bpf_htonl(0xffff));
	ip->daddr = backend->addr.word[0];
	ip->check = sum_of((const __u16 *)ip);
}

static __always_inline void write_outer6(struct ipv6hdr *ip, const struct seen *seen,
					 const struct reference_node *node,
					 const struct reference_backend *backend, bool gue)
{
	struct reference_addr source = node->source6;

	if (!gue)
		source.word[3] = seen->tuple.src.word[3] ^ seen->tuple.sport;
	ip->version = 6;
	ip->priority = seen->tos >> 4;
	ip->flow_lbl[0] = (__u8)(seen->tos << 4);
	ip->flow_lbl[1] = ip->flow_lbl[2] = 0;
	ip->payload_len = bpf_htons((__u16)(seen->length + (gue ? sizeof(struct udphdr) : 0)));
	ip->nexthdr = gue ? IPPROTO_UDP : IPPROTO_IPV6;
	ip->hop_limit = TTL;
	__builtin_memcpy(&ip->saddr, &source, sizeof(source));
	__builtin_memcpy(&ip->daddr, &backend->addr, sizeof(backend->addr));
}

static __always_inline void write_udp(struct udphdr *udp, const struct seen *seen)
{
	__u32 hash = hash_of(&seen->tuple);

	udp->source = bpf_htons((__u16)(hash | 0xc000));
	udp->dest = bpf_htons(GUE_PORT);
	udp->len = bpf_htons((__u16)(seen->length + sizeof(*udp)));
	udp->check = 0;
}

static __always_inline int send(struct xdp_md *ctx, const struct seen *seen,
				const struct reference_backend *backend, bool gue)
{
	__u32 zero = 0, outer = backend->is6 ? sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	struct reference_node *node = bpf_map_lookup_elem(&nodes, &zero);
	struct ethhdr *eth;
	__u8 *end;

	if (!node || bpf_xdp_adjust_head(ctx, -(int)(outer + (gue ? sizeof(struct udphdr) : 0))))
		return XDP_DROP;
	eth = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if ((__u8 *)(eth + 1) + sizeof(struct ipv6hdr) + sizeof(struct udphdr) > end)
		return XDP_DROP;
	__builtin_memcpy(eth->h_dest, node->dst_mac, sizeof(node->dst_mac));
	__builtin_memcpy(eth->h_source, node->src_mac, sizeof(node->src_mac));
	if (backend->is6) {
		eth->h_proto = bpf_htons(ETH_P_IPV6);
		write_outer6((struct ipv6hdr *)(eth + 1), seen, node, backend, gue);
		if (gue)
			write_udp((void *)(eth + 1) + sizeof(struct ipv6hdr), seen);
	} else {
		eth->h_proto = bpf_htons(ETH_P_IP);
		write_outer4((struct iphdr *)(eth + 1), seen, node, backend, gue);
		if (gue)
			write_udp((void *)(eth + 1) + sizeof(struct iphdr), seen);
	}
	return XDP_TX;
}

SEC("xdp")
int reference(struct xdp_md *ctx)
{
	struct seen seen = {.end = (void *)(long)ctx->data_end};
	struct ethhdr *eth = (void *)(long)ctx->data;
	struct reference_backend *backend;
	struct reference_vip *vip;
	__u32 *server = 0, chosen;
	int bad;

	if ((__u8 *)(eth + 1) > seen.end)
		return XDP_PASS;
	if (eth->h_proto == bpf_htons(ETH_P_IP))
		bad = parse4(&seen, (struct iphdr *)(eth + 1));
	else if (eth->h_proto == bpf_htons(ETH_P_IPV6))
		bad = parse6(&seen, (struct ipv6hdr *)(eth + 1));
	else
		return XDP_PASS;
	if (bad)
		return XDP_PASS;
	vip = find_vip(&seen);
	if (!vip)
		return XDP_PASS;
	if (vip->flags & REFERENCE_QUIC)
		server = by_cid(&seen);
	if (server)
		chosen = *server;
	else if (by_flow(&seen, vip, &chosen))
		return XDP_DROP;
	backend = bpf_map_lookup_elem(&backends, &chosen);
	if (!backend)
		return XDP_DROP;
	count(&vip_counts, vip->number, seen.length);
	count(&backend_counts, chosen, seen.length);
	return send(ctx, &seen, backend, vip->flags & REFERENCE_GUE);
}

/* The least that can be done: an outer header, always the same one but for its length. */
SEC("xdp")
int smallest(struct xdp_md *ctx)
{
	struct reference_backend backend = {};
	struct reference_node node = {};
	struct seen seen = {};
	struct ethhdr *eth;
	__u64 length = (__u64)(long)ctx->data_end - (__u64)(long)ctx->data;

	if (bpf_xdp_adjust_head(ctx, -(int)sizeof(struct iphdr)))
		return XDP_DROP;
	eth = (void *)(long)ctx->data;
	if ((__u8 *)(eth + 1) + sizeof(struct iphdr) > (__u8 *)(long)ctx->data_end)
		return XDP_DROP;
	seen.length = (__u16)(length - sizeof(*eth));
	__builtin_memcpy(eth->h_dest, node.dst_mac, sizeof(node.dst_mac));
	__builtin_memcpy(eth->h_source, node.src_mac, sizeof(node.src_mac));
	eth->h_proto = bpf_htons(ETH_P_IP);
	write_outer4((struct iphdr *)(eth + 1), &seen, &node, &backend, false);
	return XDP_TX;
}

/* As large as a flow table of two million entries of 16 bytes. */
struct line {
	__u64 words[8];
};
ARRAY(lines, BPF_MAP_TYPE_ARRAY, struct line, REFERENCE_LINES);

/* Reads one cache line, another one for each flow, and no more. */
SEC("xdp")
int one_line(struct xdp_md *ctx)
{
	struct iphdr *ip = (void *)(long)ctx->data + sizeof(struct ethhdr);
	struct udphdr *udp = (void *)(ip + 1);
	struct line *line;
	__u32 index;

	if ((void *)(udp + 1) > (void *)(long)ctx->data_end)
		return XDP_DROP;
	index = (ip->saddr ^ (__u32)udp->source << 7) * 0x9e3779b1;
	index = (index ^ index >> 15) * 0x85ebca6b;
	index = (index ^ index >> 13) & (REFERENCE_LINES - 1);
	line = bpf_map_lookup_elem(&lines, &index);
	return line && line->words[0] == 1 ? XDP_DROP : XDP_TX;
}
