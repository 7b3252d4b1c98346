/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet that is measured: TCP with an ACK alone to port 80 of a VIP. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct packet {
	bool ipv6;
	uint8_t vip;      /* its address's last byte */
	uint32_t length;  /* of the frame */
	uint32_t port_at; /* set: where its source port stands */
};

/* Writes `length` bytes. */
void packet_build(struct packet *packet, uint8_t *frame);
