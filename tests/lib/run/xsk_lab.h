/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine af_xdp on a veth, in a network namespace of its own: v0, where frames for the world of
 * world.h come in, with v1 at its other end; and v2 with v3, where WORLD_AWAY's leave. For cmocka
 * tests, as root, one at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/dp.h"
#include "engine/xsk/xsk.h"

enum { XSK_LAB_WAIT_MS = 10000 };

struct xsk_lab {
	struct dp *dp;
	int far_fd, away_fd; /* packet sockets at v1 and v3 */
	uint32_t queues;     /* of v0 */
	uint32_t number;     /* that it is to have; 0: any */
};
extern struct xsk_lab xsk_lab;

/* `workers` at v0, which has so many queues; packets up to that length are theirs. */
void xsk_lab_open(uint32_t queues, uint32_t workers, uint32_t packet_max);
void xsk_lab_close(void);
/* The pair of v0 and v1, made anew. */
void xsk_lab_link(void);
/* Leads the world's backends to these interfaces. */
void xsk_lab_lead(void);
void xsk_lab_shell(const char *command);
/* Returns when both ends of the pair may send: until its state is known, the kernel drops. */
void xsk_lab_wait_up(const char *one, const char *other);
/* The next frame at one of the sockets; 0: none came in time. */
size_t xsk_lab_receive(int fd, uint8_t *bytes, size_t room);
/* Of all workers. */
struct xsk_figures xsk_lab_figures(void);
/*
 * What leaves nowhere is seen by its counters: waits until that verdict has so many packets, and no
 * more, and workers have received so many frames. `name` is for the message.
 */
void xsk_lab_wait_for_count(const char *name, uint32_t verdict, uint64_t verdicts,
			    uint64_t received);
