/* SPDX-License-Identifier: BSD-2-Clause */
/* How long a packet may be that fits every path, whatever service it is for: pure. */
#pragma once

#include "conf/conf.h"

/* The most that a service's forwarding adds to a packet. */
uint32_t limit_overhead(const struct conf *conf);
