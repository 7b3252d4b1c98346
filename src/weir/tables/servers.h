/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a configuration says of how packets find their backend, in the packet path's tables: each
 * service's policy, and the ids by which packets name backends. Belongs to the balancer, which
 * calls it while it begins. One thread.
 */
#pragma once

#include "weir/balancer/balancer.h"

/* Fills what the policy needs of the record. Returns the flags for it (enum abi_service_flags). */
uint32_t servers_write_policy(const struct conf_service *conf, struct abi_service *service);

/* Every id of the configuration; before the services, which lead to them. 0 or -ENOSPC. */
int servers_write(const struct balancer *balancer, struct dp_tables *tables, struct err *err);
/* Takes away the others, which an earlier daemon left; at the end. 0 or -ENOMEM. */
int servers_drop_old(const struct balancer *balancer, struct dp_tables *tables, struct err *err);
