/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is left of a path's MTU for a client's packet, whatever service it is for: how many bytes
 * forwarding adds at most. Pure.
 */
#pragma once

#include "conf/conf.h"

/* The most bytes that any service's mode adds to an IP packet, by the families that its VIPs and
 * its pool's backends have. */
uint32_t limit_overhead(const struct conf *conf);
