/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's two programs: what comes in (XDP, decap.h) and the SYN-ACKs that leave (tc egress,
 * clamp.h). The maps, and what those ask of their world. Nothing is decided here.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "decap/abi_agent.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Set before load; another configuration is another program. */
const volatile struct agent_limits mss_limits = {};

/* Of both tables the value is the IP version of the key. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGENT_VIPS);
	__type(key, struct pkt_addr);
	__type(value, __u8);
} agent_vips SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, AGENT_BALANCERS);
	__type(key, struct agent_prefix);
	__type(value, __u8);
} balancers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AGENT_VERDICT_COUNT);
	__type(key, __u32);
	__type(value, struct abi_count);
} verdict_counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, AGENT_CLAMP_COUNT);
	__type(key, __u32);
	__type(value, struct abi_count);
} clamp_counts SEC(".maps");

static __always_inline int env_vip(const struct pkt_addr *addr)
{
	__u8 *version = bpf_map_lookup_elem(&agent_vips, addr);

	return version ? *version : 0;
}

static __always_inline int env_balancer(const struct pkt_addr *addr)
{
	struct agent_prefix key = {.length = 128, .addr = *addr};
	__u8 *version = bpf_map_lookup_elem(&balancers, &key);

	return version ? *version : 0;
}

/* A core's own record, and neither program interrupts itself on a core: plain additions do. */
static __always_inline void count(void *map, __u32 index, __u32 bytes)
{
	struct abi_count *record = bpf_map_lookup_elem(map, &index);

	if (record) {
		record->packets += 1;
		record->bytes += bytes;
	}
}

struct pkt;
static __always_inline void env_count(const struct pkt *pkt, __u32 verdict);

#include "decap/clamp.h"
#include "decap/decap.h"

static __always_inline void env_count(const struct pkt *pkt, __u32 verdict)
{
	count(&verdict_counts, verdict, pkt->frame_length);
}

/* Not static: libbpf places only global symbols in read-only data. */
const __u8 agent_actions[AGENT_VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
	AGENT_VERDICTS(ACTION)
#undef ACTION
};

SEC("xdp")
int weir_decap(struct xdp_md *ctx)
{
	struct pkt pkt = {};
	int verdict = decap(ctx, &pkt);

	return (__u32)verdict < AGENT_VERDICT_COUNT ? agent_actions[verdict] : XDP_ABORTED;
}

/* A skb's headers need not be linear; the helper copies from wherever the bytes are. */
static __always_inline int read_options(struct __sk_buff *skb, struct clamp *clamp)
{
	__u32 size = clamp->mss.size;

	if (!size)
		return 1;
	if (size > L4_MSS_OPTIONS_MAX)
		return 0;
	/* Linux 6.1's verifier does not conclude from the first test that the size is not 0. */
	size = (size - 1) & (CLAMP_ROOM - 1);
	asm volatile("" : "+r"(size));
	return bpf_skb_load_bytes(skb, clamp->options_at, clamp->options, size + 1) == 0;
}

static __always_inline void write_mss(struct __sk_buff *skb, const struct clamp *clamp)
{
	__u32 at = clamp_mss_at(clamp);
	__be16 mss = PKT_BE16(clamp->mss.limit);

	if (bpf_skb_store_bytes(skb, at, &mss, sizeof(mss), 0))
		return;
	/* The helper leaves a sum alone that the device has yet to complete. */
	bpf_l4_csum_replace(skb, clamp->checksum_at, l4_mss_csum(clamp->mss.mss, at),
			    l4_mss_csum(clamp->mss.limit, at), sizeof(mss));
}

/* Always TC_ACT_UNSPEC: filters after this one, of others, have their say too. */
SEC("tc")
int weir_clamp(struct __sk_buff *skb)
{
	struct pkt_cursor cursor = {(void *)(long)skb->data, (void *)(long)skb->data_end};
	struct agent_limits limits = {.mss4 = mss_limits.mss4, .mss6 = mss_limits.mss6};
	struct clamp clamp = {};
	int found;

	if (!clamp_wanted(cursor, &limits, &clamp))
		return TC_ACT_UNSPEC;
	found = read_options(skb, &clamp) ? clamp_walk(&clamp) : AGENT_CLAMP_UNREADABLE;
	if (found == AGENT_CLAMP_CLAMPED)
		write_mss(skb, &clamp);
	count(&clamp_counts, (__u32)found, skb->len);
	return TC_ACT_UNSPEC;
}
