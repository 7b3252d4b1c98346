// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What stands around the workers of engine af_xdp when they are measured: who sends, who counts
 * what arrives, and the least that a program can do to give frames to a socket.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

enum { FRAME = 64, SPORT_AT = 34, PORTS = 1024 };

/* The frame that is sent, each time from another one of PORTS source ports, so that all of a pool's
 * backends and as many flows are met. */
__u8 template[FRAME];
__u32 sent;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} socket SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} arrived SEC(".maps");

SEC("xdp")
int bench_give(struct xdp_md *ctx)
{
	return (int)bpf_redirect_map(&socket, ctx->rx_queue_index, XDP_DROP);
}

/* One core runs it, so `sent` needs no atomic. */
SEC("xdp")
int bench_send(struct xdp_md *ctx)
{
	__u8 *frame = (void *)(long)ctx->data;
	__u16 port = (__u16)(1024 + sent++ % PORTS);

	if (frame + FRAME > (__u8 *)(long)ctx->data_end)
		return XDP_ABORTED;
	__builtin_memcpy(frame, template, FRAME);
	frame[SPORT_AT] = (__u8)(port >> 8);
	frame[SPORT_AT + 1] = (__u8)port;
	return XDP_TX;
}

SEC("xdp")
int bench_count(struct xdp_md *ctx)
{
	const __u32 first = 0;
	__u64 *count = bpf_map_lookup_elem(&arrived, &first);

	(void)ctx;
	if (count)
		*count += 1;
	return XDP_DROP;
}
