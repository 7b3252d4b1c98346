/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Passes every packet. A veth device receives what its peer sends by XDP_TX only while it has a
 * native program of its own; without one every such frame counts as a transmit error.
 */
#include <linux/bpf.h>

#define SECTION(name) __attribute__((section(name), used))

int pass(struct xdp_md *ctx);

SECTION("xdp") int pass(struct xdp_md *ctx)
{
	(void)ctx;
	return XDP_PASS;
}

char pass_license[] SECTION("license") = "Dual BSD/GPL";
