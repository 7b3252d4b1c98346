/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of import_settle, for settle.c alone. */
#pragma once

#include "weir/import/import.h"

/* All addresses that services listen at, sorted: a backend must not be one. */
struct settle_vips {
	const struct addr *list;
	size_t count;
};

/* --- backends.c --- */

/* Whether a host may have it, as a services file sees it. */
bool settle_is_host(const struct addr *addr);
/* Leaves out what cannot be a backend, and what is there twice; names the rest. */
void settle_backends(struct import *import, struct import_service *service,
		     const struct settle_vips *vips);
/* Weights as a services file has them. */
void settle_weights(struct import *import, struct import_service *service);
/* One check for all of them. */
void settle_check(struct import *import, struct import_service *service);

/* --- ends.c --- */

/* Makes several services of one whose addresses do not all have the same ports: the others follow
 * it in the list. */
void settle_ends(struct import *import, struct import_service *service);
