/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services' access lists in the packet path's tables. A list that changes is built aside, under
 * the service's other number, and then the service points at it: no packet meets half of one. Used
 * while a configuration is brought into the tables; belongs to the balancer. One thread.
 */
#pragma once

#include "base/err.h"
#include "conf/conf.h"
#include "engine/tables.h"

struct access {
	struct dp_tables *tables;
	struct dp_held *old; /* of all lists, as they were before; sorted */
	size_t old_count;
};

/* Does the service refuse anyone? Who does not has no list. */
bool access_is_limited(const struct conf_service *service);

/* Whether both have the same list, written in the same order. */
bool access_same(const struct conf_service *one, const struct conf_service *two);

/* Reads the lists as they are, and takes away those that no service has. */
int access_init(struct access *access, struct dp_tables *tables, struct err *err);
void access_fini(struct access *access);
/*
 * Builds the service's list where it is another than before, for no packet to meet yet. *ret_list
 * is its number, for the record's `access` beside ABI_SERVICE_ACCESS; 0: it needs none.
 */
int access_build(struct access *access, const struct conf_service *service, uint32_t record,
		 uint32_t *ret_list, struct err *err);
/* Is there such a list as the next call takes away? */
bool access_is_left(const struct access *access);
/* Takes away the lists that no service has any more; after dp_tables_wait no packet meets them. */
void access_drop(struct access *access);
