/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole Ethernet frames out at an interface, by a packet socket (packet(7)), which receives
 * nothing. What is sent so does not meet XDP, which sees what comes in. Never waits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* *ret is a descriptor for close(). 0, or -errno. */
int slow_send_open(int *ret);
/* 0, or -errno: -EAGAIN and -ENOBUFS when the interface is behind. */
int slow_send(int fd, uint32_t ifindex, const uint8_t *frame, size_t length);
