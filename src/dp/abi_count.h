/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is counted under a verdict, by each core for itself. */
#pragma once

#include <linux/types.h>

struct abi_count {
	__u64 packets;
	__u64 bytes; /* of the frame as it came */
};
