/* SPDX-License-Identifier: BSD-2-Clause */
/* The services of world.h that have a policy, and the ids that lead to their backends. */
#pragma once

#include "engine/tables.h"

#define WORLD_CID_VIP4    "198.51.100.201"
#define WORLD_CID_VIP6    "2001:db8:10::201"
#define WORLD_KATRAN_VIP4 "198.51.100.202"
#define WORLD_KATRAN_VIP6 "2001:db8:10::202"
#define WORLD_LABEL_VIP4  "198.51.100.203"
#define WORLD_LABEL_VIP6  "2001:db8:10::203"

/* What leads to WORLD_CID2; the last one in both services, by no more than four bytes. */
enum {
	WORLD_CID_CONFIG = 3,
	WORLD_CID_LENGTH = 2,
	WORLD_ID16 = 0x1234,
	WORLD_ID24 = 0x345678,
	WORLD_ID_UNKEPT = 0x0bad, /* to WORLD_CID3, in WORLD_CID */
};
#define WORLD_ID32 0x89abcdefU

/* Policies and server ids: a part of world_fill. */
void world_fill_policies(struct dp_tables *tables);
