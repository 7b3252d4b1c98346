/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel's TCP sockets as accept.h wants to know them, for programs in the kernel alone. What
 * is read of them is found by the kernel's own description of its types (CO-RE), each field by
 * itself and without a lock: accept.h allows for numbers that move meanwhile.
 */
#pragma once

#include "pkt/parse.h"
#include "second/accept.h"

/* Of the kernel's types what is read here. */
#define SOCKETS_TYPE __attribute__((preserve_access_index))
struct tcp_sock {
	__u32 rcv_nxt, rcv_wnd, snd_una, write_seq, max_window;
} SOCKETS_TYPE;
struct sock_common {
	__u32 skc_tw_rcv_nxt, skc_tw_snd_nxt;
} SOCKETS_TYPE;
struct inet_timewait_sock {
	struct sock_common __tw_common;
} SOCKETS_TYPE;
struct tcp_timewait_sock {
	struct inet_timewait_sock tw_sk;
	__u32 tw_rcv_wnd;
} SOCKETS_TYPE;
struct tcp_request_sock {
	__u32 snt_isn, rcv_nxt;
} SOCKETS_TYPE;
#undef SOCKETS_TYPE

enum { SOCKETS_PENDING_WINDOW = 65535 }; /* before the scale is agreed upon there is no more */

struct sockets_place {
	__u64 netns;
	__u32 ip; /* where the packet's IP header stands, from the frame's start */
};

PKT_INLINE struct bpf_sock *sockets_lookup(struct pkt_ctx *ctx, const struct pkt *pkt, __be16 sport,
					   __u64 netns)
{
	struct bpf_sock_tuple tuple = {};

	if (pkt->version == 4) {
		tuple.ipv4.saddr = pkt->src.word[3];
		tuple.ipv4.daddr = pkt->dst.word[3];
		tuple.ipv4.sport = sport;
		tuple.ipv4.dport = pkt->dport;
		return bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv4), netns, 0);
	}
	pkt_copy(tuple.ipv6.saddr, pkt->src.word, sizeof(tuple.ipv6.saddr));
	pkt_copy(tuple.ipv6.daddr, pkt->dst.word, sizeof(tuple.ipv6.daddr));
	tuple.ipv6.sport = sport;
	tuple.ipv6.dport = pkt->dport;
	return bpf_skc_lookup_tcp(ctx, &tuple, sizeof(tuple.ipv6), netns, 0);
}

/* Port 0 is no client's, so only a listener can be found. */
PKT_INLINE int sockets_listens(struct pkt_ctx *ctx, const struct pkt *pkt, __u64 netns)
{
	struct bpf_sock *socket = sockets_lookup(ctx, pkt, 0, netns);
	int listens = socket && socket->state == BPF_TCP_LISTEN;

	if (socket)
		bpf_sk_release(socket);
	return listens;
}

PKT_INLINE int sockets_cookie(const struct pkt_ctx *ctx, const struct pkt *pkt,
			      struct bpf_sock *socket, __u32 ip_at)
{
	struct pkt_cursor at_tcp = pkt_cursor(ctx, pkt->l4), at_ip = pkt_cursor(ctx, ip_at);
	struct tcphdr *tcp = pkt_take(&at_tcp, struct tcphdr);
	void *ip;

	if (!tcp)
		return 0;
	if (pkt->version == 4) {
		ip = pkt_take(&at_ip, struct iphdr);
		return ip && bpf_tcp_check_syncookie(socket, ip, sizeof(struct iphdr), tcp,
						     sizeof(*tcp)) == 0;
	}
	ip = pkt_take(&at_ip, struct ipv6hdr);
	return ip &&
	       bpf_tcp_check_syncookie(socket, ip, sizeof(struct ipv6hdr), tcp, sizeof(*tcp)) == 0;
}

PKT_INLINE void sockets_read_pending(struct bpf_sock *socket, struct accept_socket *ret)
{
	struct tcp_request_sock *request = bpf_skc_to_tcp_request_sock(socket);

	if (!request)
		return;
	ret->kind = ACCEPT_PENDING;
	ret->rcv_nxt = request->rcv_nxt;
	ret->rcv_window = SOCKETS_PENDING_WINDOW;
	ret->snd_una = request->snt_isn;
	ret->snd_end = ret->snd_una + 1;
}

PKT_INLINE void sockets_read_waiting(struct bpf_sock *socket, struct accept_socket *ret)
{
	struct tcp_timewait_sock *waiting = bpf_skc_to_tcp_timewait_sock(socket);

	if (!waiting)
		return;
	ret->kind = ACCEPT_WAITING;
	ret->rcv_nxt = waiting->tw_sk.__tw_common.skc_tw_rcv_nxt;
	ret->rcv_window = waiting->tw_rcv_wnd;
	ret->snd_una = waiting->tw_sk.__tw_common.skc_tw_snd_nxt;
	ret->snd_end = ret->snd_una;
}

/* write_seq and not snd_nxt, which moves after a segment left: its answer may be here before. */
PKT_INLINE void sockets_read_connected(struct bpf_sock *socket, struct accept_socket *ret)
{
	struct tcp_sock *connected = bpf_skc_to_tcp_sock(socket);

	if (!connected)
		return;
	ret->kind = ACCEPT_CONNECTED;
	ret->rcv_nxt = connected->rcv_nxt;
	ret->rcv_window = connected->rcv_wnd;
	ret->snd_una = connected->snd_una;
	ret->snd_end = connected->write_seq;
	ret->snd_window = connected->max_window;
}

/* *ret must be zero, and stays so where there is no socket. */
PKT_INLINE void sockets_find(struct pkt_ctx *ctx, const struct pkt *pkt,
			     const struct accept_segment *segment,
			     const struct sockets_place *place, struct accept_socket *ret)
{
	struct bpf_sock *socket = sockets_lookup(ctx, pkt, pkt->sport, place->netns);
	__u32 state;

	if (!socket)
		return;
	state = socket->state;
	if (state == BPF_TCP_LISTEN) {
		ret->kind = ACCEPT_LISTENER;
		if (!segment->quoted && segment->flags & PKT_TCP_ACK)
			ret->cookie = (__u8)sockets_cookie(ctx, pkt, socket, place->ip);
	} else if (state == BPF_TCP_NEW_SYN_RECV) {
		sockets_read_pending(socket, ret);
	} else if (state == BPF_TCP_TIME_WAIT) {
		sockets_read_waiting(socket, ret);
	} else {
		sockets_read_connected(socket, ret);
	}
	bpf_sk_release(socket);
	if (ret->kind == ACCEPT_WAITING && segment->flags & PKT_TCP_SYN)
		ret->listens = (__u8)sockets_listens(ctx, pkt, place->netns);
}
