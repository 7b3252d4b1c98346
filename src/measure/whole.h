/* SPDX-License-Identifier: BSD-2-Clause */
/* What whole.bpf.c is told of the frame that it makes whole. */
#pragma once

#include <linux/types.h>

enum {
	MEASURE_HEADERS = 96,  /* bytes that are written anew; no frame is shorter */
	MEASURE_PORT_AT = 128, /* the port's offset is below it: a power of two */
	MEASURE_PORT = 20000,  /* the first source port */
	MEASURE_PORT_BITS =
		14, /* so many of a flow's number are in its port, others in its source */
	MEASURE_MOVE = 20,
};

struct measure_whole {
	__u32 length;
	__u32 head;       /* how far the measured program moves the start forth */
	__u32 port_at;    /* where the source port stands; 0: there is none */
	__u32 flows_mask; /* flows less one, a power of two less one */
	__u32 scatter;    /* not 0: any of so many flows in place of one after the other */
	__u32 source_at;  /* where the source address's last two bytes stand; 0: left alone */
	__u32 vip_at;     /* the same of the destination's */
	__u32 vip_first;  /* what stands there for the first VIP; others follow it */
	__u32 vips;       /* how many there are */
	__u32 first;      /* the first round's flow */
	__u32 round;      /* the next one, from 0 */
	__u32 begin;      /* at which the time begins */
	__u32 last;       /* at which the time ends */
	__u64 begin_ns;
	__u64 end_ns;
	__u64 headers[MEASURE_HEADERS / 8];
};
