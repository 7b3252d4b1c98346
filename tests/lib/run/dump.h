/* SPDX-License-Identifier: BSD-2-Clause */
/* The packet table as a capture, for dissectors that others wrote. */
#pragma once

#include <stddef.h>

/*
 * Runs every row natively and writes, of those whose frame leaves, the frame as it came and then as
 * it left: to `directory`/frames.pcap, and what each record is to `directory`/frames.list: `in` or
 * `out`, the mode (`-` for an answer of the node's own), the row's name, with tabs between. With
 * `damage` above 0 one bit of that byte, counted from the IP header, is another in all that left:
 * so a dissector that finds nothing wrong is found out. 0 or -1.
 */
int dump_rows(const char *directory, size_t damage);
