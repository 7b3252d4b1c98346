/* SPDX-License-Identifier: BSD-2-Clause */
/* What differs between two configurations of a node, and what must not between two nodes. Any
 * thread; no I/O. */
#pragma once

#include "conf/conf.h"

/* One value that is another than before: "pools[web].backends[b1].weight", and both as they are
 * written. NULL: it is not there; of a whole element of a list the other one is "". */
struct conf_change {
	const char *path, *before, *after;
};
typedef void conf_told(void *arg, const struct conf_change *change);
/* Tells of each; NULL: none. Returns how many there are. Lists of mappings are the same in any
 * order. */
size_t conf_diff(const struct conf *before, const struct conf *after, conf_told *told, void *arg);
/* Whether the pools' backends are checked in the same way. */
bool conf_check_same(const struct conf_pool *before, const struct conf_pool *after);
bool conf_service_same(const struct conf_service *before, const struct conf_service *after);
/* As conf_format, of what all nodes of a fleet share: all but node, bgp and source. */
char *conf_format_shared(const struct conf *conf);
/* And the rest. */
char *conf_format_own(const struct conf *conf);
