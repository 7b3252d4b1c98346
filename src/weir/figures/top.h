/* SPDX-License-Identifier: BSD-2-Clause */
/* What `weir top` asks for, again and again: counters of all services, or of one pool's backends,
 * with as little beside as will do. */
#pragma once

#include "weir/node/app_state.h"

enum { TOP_BACKENDS_MAX = 1000 }; /* of one answer */

/* The request {"op": "top", "generation": the one whose names are known, "service": whose backends
 * are asked for in place of the services}; of a struct app. */
extern const struct daemon_op top_ops[];
