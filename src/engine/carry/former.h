/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tables that an earlier daemon left pinned, opened to be read: for carry.h. One thread.
 */
#pragma once

#include <bpf/libbpf.h>

#include "engine/carry/carry.h"

struct former;

/*
 * 0, or -errno and why what the tables in `dir` hold cannot be carried: some are missing, their
 * records are not of our shape, or are too many.
 */
int former_open(const char *dir, struct former **ret, struct err *err);
void former_close(struct former *former);
const struct carry_old *former_tables(const struct former *former);
/*
 * Copies what the cores counted in the map that is pinned as `name` to `map`, whose counters nobody
 * writes yet; where the map is not there or of another size, nothing.
 */
void former_copy_counts(const struct former *former, const char *name, const struct bpf_map *map);
