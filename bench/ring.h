/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes what the program gives to the daemon and never is full: the kernel writes over what is
 * oldest, and wakes nobody. Ends with the process.
 */
#pragma once

void bench_ring_open(int slow_map_fd);
