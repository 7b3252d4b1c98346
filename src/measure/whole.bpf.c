// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What makes a frame whole again before each round of a test run. The kernel gives a program that
 * is run many times the frame as the round before left it; one that encapsulates would meet its
 * own tunnel. So what the kernel runs is this: it moves the frame's start and end back, writes its
 * headers, with another source port if flows are to differ, and goes on into the program that is
 * measured by a tail call, which costs a jump. What that takes alone is measured beside, by
 * targets that do nothing, or move the frame's start and nothing else.
 */
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "measure/whole.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct measure_whole);
} frames SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} target SEC(".maps");

static __always_inline struct measure_whole *frame_now(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&frames, &zero);
}

static __always_inline __u32 length_of(const struct xdp_md *ctx)
{
	return (__u32)((__u64)(long)ctx->data_end - (__u64)(long)ctx->data);
}

static __always_inline int move_back(struct xdp_md *ctx, const struct measure_whole *frame)
{
	if (length_of(ctx) == frame->length)
		return 0;
	if (bpf_xdp_adjust_head(ctx, (int)frame->head))
		return -1;
	if (length_of(ctx) == frame->length)
		return 0;
	return bpf_xdp_adjust_tail(ctx, (int)(frame->length - length_of(ctx)));
}

/* Not from the first round: the first ones find cold what other rows have displaced. Seen from
 * within: a test run's own setting up takes far longer than what is measured, and the mean that it
 * tells is in whole nanoseconds. */
static __always_inline void keep_time(struct measure_whole *frame)
{
	if (frame->round == frame->begin)
		frame->begin_ns = bpf_ktime_get_ns();
	else if (frame->round == frame->last)
		frame->end_ns = bpf_ktime_get_ns();
	frame->round++;
}

static __always_inline void put_short(__u8 *data, const __u8 *end, __u32 at, __u32 value)
{
	__u8 *place = data + (at & (MEASURE_PORT_AT - 1));

	if (place + sizeof(__u16) <= end)
		*(__u16 *)place = bpf_htons((__u16)value);
}

/* As good as any order, and no two numbers give the same. */
static __always_inline __u32 mix(__u32 number)
{
	number *= 0x9e3779b1;
	number = (number ^ number >> 15) * 0x85ebca6b;
	number = (number ^ number >> 13) * 0xc2b2ae35;
	return number ^ number >> 16;
}

static __always_inline __u32 flow_of(const struct measure_whole *frame)
{
	__u32 number = frame->first + frame->round;

	if (frame->scatter)
		return (__u32)((__u64)mix(number) * frame->scatter >> 32);
	return number & frame->flows_mask;
}

/* Which flow it is, and for which of the row's VIPs: a flow's is always the same. */
static __always_inline void vary(const struct measure_whole *frame, __u8 *data, const __u8 *end)
{
	__u32 flow = flow_of(frame);

	if (frame->port_at)
		put_short(data, end, frame->port_at,
			  MEASURE_PORT + (flow & ((1 << MEASURE_PORT_BITS) - 1)));
	if (frame->source_at)
		put_short(data, end, frame->source_at, flow >> MEASURE_PORT_BITS);
	if (frame->vip_at)
		put_short(data, end, frame->vip_at,
			  frame->vip_first +
				  (__u32)((__u64)(flow * 0x9e3779b1) * frame->vips >> 32));
}

SEC("xdp")
int measure_frame(struct xdp_md *ctx)
{
	struct measure_whole *frame = frame_now();
	__u8 *data, *end;

	if (!frame || move_back(ctx, frame))
		return XDP_ABORTED;
	keep_time(frame);
	data = (void *)(long)ctx->data;
	end = (void *)(long)ctx->data_end;
	if (data + MEASURE_HEADERS > end)
		return XDP_ABORTED;
	for (__u32 i = 0; i < MEASURE_HEADERS / sizeof(__u64); i++)
		((__u64 *)data)[i] = frame->headers[i];
	vary(frame, data, end);
	bpf_tail_call_static(ctx, &target, 0);
	return XDP_ABORTED;
}

SEC("xdp")
int measure_nothing(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

/* One move forth, so that move_back makes another. */
SEC("xdp")
int measure_move(struct xdp_md *ctx)
{
	return bpf_xdp_adjust_head(ctx, -MEASURE_MOVE) ? XDP_ABORTED : XDP_PASS;
}
