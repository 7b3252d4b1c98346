/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's two programs: what comes in (XDP, decap.h) and what the VIPs' servers send (tc
 * egress: clamp.h, leaving.h). The maps, and what those ask of their world. Nothing is decided
 * here.
 */
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_helpers.h>

#include "decap/abi_agent.h"
#include "second/packet.h"
#include "second/sockets.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { AF_INET = 2, AF_INET6 = 10, LOOPBACK_IFINDEX = 1 };

/* Set before load; another configuration is another program. */
const volatile struct agent_limits mss_limits = {};
const volatile enum agent_takes takes = AGENT_TAKES_ALL;
/* Network namespaces whose sockets are the host's too, as ids of the interface's namespace. */
const volatile __u32 space_count = 0;
const volatile __s32 spaces[SECOND_SPACES] = {};

/* Whether there is any port to change: what leaves is not looked at before. Never goes back. */
__u32 ports_known SEC(".data.ports");

/* Of both tables the value is the IP version of the key. */
#define PREFIXES(name, entries)                       \
	struct {                                      \
		__uint(type, BPF_MAP_TYPE_LPM_TRIE);  \
		__uint(map_flags, BPF_F_NO_PREALLOC); \
		__uint(max_entries, entries);         \
		__type(key, struct agent_prefix);     \
		__type(value, __u8);                  \
	} name SEC(".maps")

PREFIXES(agent_vips, AGENT_VIPS);
PREFIXES(balancers, AGENT_BALANCERS);
PREFIXES(peers, AGENT_PEERS);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGENT_PORTS);
	__type(key, struct agent_port);
	__type(value, struct agent_other_port);
} other_ports SEC(".maps");

/* Who was handed something; emptied by the daemon, which keeps the way there known. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, AGENT_OTHERS);
	__type(key, struct pkt_addr);
	__type(value, __u8);
} others SEC(".maps");

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

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct abi_count);
} port_counts SEC(".maps");

static __always_inline int version_of(void *map, const struct pkt_addr *addr)
{
	struct agent_prefix key = {.length = 128, .addr = *addr};
	__u8 *version = bpf_map_lookup_elem(map, &key);

	return version ? *version : 0;
}

#define env_vip(addr)      version_of(&agent_vips, addr)
#define env_balancer(addr) version_of(&balancers, addr)
#define env_peer(addr)     version_of(&peers, addr)
#define env_spaces()       (1 + space_count)
#define env_takes(mode)    ((takes & (1 << (mode))) != 0)
#define env_port(key)      ((struct agent_other_port *)bpf_map_lookup_elem(&other_ports, key))

static __always_inline int env_learn_port(const struct agent_port *key, __be16 port)
{
	struct agent_other_port value = {.port = port};

	if (bpf_map_update_elem(&other_ports, key, &value, BPF_ANY))
		return -1;
	ports_known = 1;
	return 0;
}

static __always_inline void env_socket(struct xdp_md *ctx, const struct pkt *pkt,
				       const struct second *second, __u32 space,
				       struct accept_socket *ret)
{
	struct sockets_place place = {BPF_F_CURRENT_NETNS, second->ip};

	if (space)
		place.netns = (__u64)spaces[(space - 1) & (SECOND_SPACES - 1)];
	sockets_find(ctx, pkt, &second->segment, &place, ret);
}

/*
 * The kernel answers only for interfaces that forward, which a backend's do not. The loopback,
 * which the agent lets do so, is where what the host itself sends comes from. No answer: there is
 * no neighbour yet.
 */
static __always_inline int env_route(struct xdp_md *ctx, const struct second *second, __u8 version,
				     struct second_way *ret)
{
	struct bpf_fib_lookup fib = {.l4_protocol = IPPROTO_UDP, .ifindex = LOOPBACK_IFINDEX};
	struct pkt_addr other = second->other; /* for 6.1 a key stands on the stack */
	__u8 used = 1;

	bpf_map_update_elem(&others, &other, &used, BPF_NOEXIST);
	fib.family = version == 4 ? AF_INET : AF_INET6;
	if (version == 4)
		fib.ipv4_dst = second->other.word[3];
	else
		pkt_copy(fib.ipv6_dst, second->other.word, sizeof(fib.ipv6_dst));
	if (bpf_fib_lookup(ctx, &fib, sizeof(fib), 0) != BPF_FIB_LKUP_RET_SUCCESS)
		return 0;
	pkt_copy(ret->to, fib.dmac, ETH_ALEN);
	pkt_copy(ret->from, fib.smac, ETH_ALEN);
	ret->ifindex = fib.ifindex;
	return 1;
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
#include "decap/leaving.h"

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
	struct second second = {};
	int verdict = decap(ctx, &pkt, &second);

	if (second.ifindex && second.ifindex != ctx->ingress_ifindex)
		return (int)bpf_redirect(second.ifindex, 0);
	return (__u32)verdict < AGENT_VERDICT_COUNT ? agent_actions[verdict] : XDP_ABORTED;
}

/* A skb's headers need not be linear; the helper copies from wherever the bytes are. */
static __always_inline int read_options(struct __sk_buff *skb, struct clamp *clamp)
{
	__u32 size = clamp->mss.size;

	if (!size)
		return 1;
	if (size > PKT_TCP_OPTIONS_MAX)
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

static __always_inline void clamp_syn_ack(struct __sk_buff *skb)
{
	struct pkt_cursor cursor = {(void *)(long)skb->data, (void *)(long)skb->data_end};
	struct agent_limits limits = {.mss4 = mss_limits.mss4, .mss6 = mss_limits.mss6};
	struct clamp clamp = {};
	int found;

	if (!clamp_wanted(cursor, &limits, &clamp))
		return;
	found = read_options(skb, &clamp) ? clamp_walk(&clamp) : AGENT_CLAMP_UNREADABLE;
	if (found == AGENT_CLAMP_CLAMPED)
		write_mss(skb, &clamp);
	count(&clamp_counts, (__u32)found, skb->len);
}

/* From the VIP's port, as the client knows it. */
static __always_inline void answer_port(struct __sk_buff *skb)
{
	struct pkt_cursor cursor = {(void *)(long)skb->data, (void *)(long)skb->data_end};
	struct leaving leaving = {};
	struct agent_other_port *known;
	__u64 flags = sizeof(__be16);
	__be16 port;

	if (!leaving_read(cursor, &leaving))
		return;
	known = env_port(&leaving.key);
	if (!known || known->port == leaving.key.port)
		return;
	port = known->port;
	/* A UDP datagram without a checksum has none afterwards. */
	if (leaving.key.proto == IPPROTO_UDP)
		flags |= BPF_F_MARK_MANGLED_0;
	if (bpf_skb_store_bytes(skb, leaving.port_at, &port, sizeof(port), 0))
		return;
	bpf_l4_csum_replace(skb, leaving.checksum_at, leaving.key.port, port, flags);
	count(&port_counts, 0, skb->len);
}

/* Always TC_ACT_UNSPEC: filters after this one, of others, have their say too. */
SEC("tc")
int weir_clamp(struct __sk_buff *skb)
{
	clamp_syn_ack(skb);
	if (takes & AGENT_TAKES_PORTS && ports_known)
		answer_port(skb);
	return TC_ACT_UNSPEC;
}
