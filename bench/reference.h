/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The yardstick at work (reference.bpf.c says what it is): loaded, and its tables filled. What
 * fails ends the program. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reference_spec {
	uint32_t flows; /* entries of the LRU hash */
	uint32_t vips;
	bool ipv6, quic, gue;
};

struct reference;

/* VIPs are 198.18.0.0 and on, or 2001:db8:b:: and on, port 80 of TCP and UDP. */
struct reference *reference_open(const struct reference_spec *spec);
void reference_close(struct reference *reference);
int reference_program_fd(const struct reference *reference);
/* No balancers: the least that one does, an outer header; and a cache line read, of 32 MiB. */
int reference_smallest_fd(const struct reference *reference);
int reference_line_fd(const struct reference *reference);
/* What its flows take of the kernel's memory. */
size_t reference_flow_memory(const struct reference *reference);
