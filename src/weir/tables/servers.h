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

/* Has the table room for every id of the configuration, beside those that are there? Nothing is
 * written. 0, -ENOSPC or -ENOMEM. */
int servers_check(const struct balancer *balancer, const struct dp_tables *tables, struct err *err);
/* Every id of the configuration, for which there is room; before the services, which lead to
 * them. */
void servers_write(const struct balancer *balancer, struct dp_tables *tables);
/* Takes away the others, which an earlier configuration left; at the end. `keys` is room for
 * ABI_BACKENDS. */
void servers_drop_old(const struct balancer *balancer, struct dp_tables *tables, uint64_t *keys);
