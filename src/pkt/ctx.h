/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The frame at hand, in either world: an XDP context in BPF, a buffer with headroom natively.
 * What the packet path needs of a world beyond this, its includer supplies as env_... functions
 * (dp/forward.h). A stage is one step of the path: in BPF a global function, verified by itself,
 * so no packet pointer crosses a call; natively a plain static one.
 *
 * Headers may stand at any address: the kernel's machines do not mind, but C does, so natively
 * the header types of cursor.h are declared loose. In BPF that would make single-byte loads.
 */
#pragma once

#include <linux/types.h>

#ifdef __bpf__

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define PKT_LOOSE
#define pkt_ctx    xdp_md
#define PKT_INLINE static __always_inline
#define PKT_STAGE  __attribute__((noinline))

/* From here on the compiler knows nothing of the number's value. */
#define pkt_hide(number) __asm__ volatile("" : "+r"(number))

PKT_INLINE void *pkt_data(const struct pkt_ctx *ctx)
{
	return (void *)(long)ctx->data;
}

PKT_INLINE void *pkt_data_end(const struct pkt_ctx *ctx)
{
	return (void *)(long)ctx->data_end;
}

/* Moves the frame's start by `bytes` (negative: grows it). 0 or a negative number. */
PKT_INLINE int pkt_adjust_head(struct pkt_ctx *ctx, int bytes)
{
	return bpf_xdp_adjust_head(ctx, bytes);
}

/* Moves the frame's end by `bytes`, 0 or negative. 0 or a negative number. */
PKT_INLINE int pkt_adjust_tail(struct pkt_ctx *ctx, int bytes)
{
	return bpf_xdp_adjust_tail(ctx, bytes);
}

#else

#define PKT_LOOSE  __attribute__((aligned(1)))
#define PKT_INLINE static inline
#define PKT_STAGE  static

#define pkt_hide(number) ((void)(number))

struct pkt_ctx {
	__u8 *head; /* where the buffer begins */
	__u8 *data;
	__u8 *data_end;
	__u32 ingress_ifindex;
};

PKT_INLINE void *pkt_data(const struct pkt_ctx *ctx)
{
	return ctx->data;
}

PKT_INLINE void *pkt_data_end(const struct pkt_ctx *ctx)
{
	return ctx->data_end;
}

PKT_INLINE int pkt_adjust_head(struct pkt_ctx *ctx, int bytes)
{
	if (bytes < 0 ? ctx->data - ctx->head < -bytes : ctx->data_end - ctx->data < bytes + 14)
		return -1;
	ctx->data += bytes;
	return 0;
}

PKT_INLINE int pkt_adjust_tail(struct pkt_ctx *ctx, int bytes)
{
	if (bytes > 0 || ctx->data_end - ctx->data < 14 - bytes)
		return -1;
	ctx->data_end += bytes;
	return 0;
}

#endif

/*
 * What a stage returns for "go on"; everything else is a verdict. PKT_PIECE: its service is known,
 * and it is a piece of a datagram (choose/fragment.h). PKT_AGAIN: nothing is known (dp/plain.h), it
 * is to begin anew. PKT_CHOSEN: its backend is known too, what is left is to wrap it. That is not
 * done where it is found: calls go eight deep at most, and their stacks together are half a
 * kilobyte.
 */
enum {
	PKT_ON = -1,
	PKT_CHOSEN = -2,
	PKT_PIECE = -3,
	PKT_AGAIN = -4,
};

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define PKT_BE16(value) ((__be16)__builtin_bswap16((__u16)(value)))
#define PKT_BE32(value) ((__be32)__builtin_bswap32((__u32)(value)))
#define PKT_HOST16(be)  ((__u16)__builtin_bswap16((__u16)(be)))
#define PKT_HOST32(be)  ((__u32)__builtin_bswap32((__u32)(be)))
#else
#error "Weir runs on little-endian machines (x86-64, arm64)"
#endif

/* Copies a constant number of bytes; the compiler makes moves of it. */
#define pkt_copy(to, from, size) __builtin_memcpy(to, from, size)
