/* SPDX-License-Identifier: BSD-2-Clause */
/* The balancers in front of this node, whose tunnels are taken off, in the packet path's tables. */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "engine/tables.h"

/* Under running packets: who is believed before and after is so all the while. */
int tiers_write(const struct conf_node *node, struct dp_tables *tables, struct err *err);
