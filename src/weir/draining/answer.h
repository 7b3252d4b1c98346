/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an agent answers at /api/v1/connections, judged as something from outside: how many
 * established connections a pool's VIPs have on that host, or why that is not known. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"

/* The longest answer that is read: more than an agent with as many VIPs as it may have says. */
enum { ANSWER_MAX = 512 * 1024 };

/*
 * The sum over `vips`, addresses and prefixes, sorted by answer_sort; an agent counts by the VIPs
 * of its own file, which may hold these or be part of them. 0, or -EINVAL and the reason: no such
 * answer, numbers that cannot be, the agent's own error, a VIP that it does not have, or a count
 * that is not whole.
 */
int answer_read(const char *body, size_t length, const struct prefix *vips, size_t count,
		uint64_t *ret, struct err *err);
void answer_sort(struct prefix *vips, size_t count);
