// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/world/policy.h"

#include <assert.h>

#include "engine/servers.h"
#include "tests/lib/world/world.h"

static void set_id(struct dp_tables *tables, uint32_t service, uint32_t id, uint32_t backend)
{
	uint32_t first = (uint32_t)tables->services[service].table;
	int result = dp_servers_set(tables, first, id, backend);

	assert(result == 0);
	(void)result;
}

void world_fill_policies(struct dp_tables *tables)
{
	struct abi_service *services = tables->services;

	for (uint32_t s = 1; s < WORLD_SERVICES; s++)
		services[s].policy = ABI_POLICY_5TUPLE;
	services[WORLD_CID].policy = ABI_POLICY_QUIC_CID;
	services[WORLD_CID].cid = ABI_CID_QUIC_LB;
	services[WORLD_CID].cid_config = WORLD_CID_CONFIG;
	services[WORLD_CID].cid_length = WORLD_CID_LENGTH;
	services[WORLD_CID].flags |= ABI_SERVICE_POLICY | ABI_SERVICE_SERVER_ID;
	services[WORLD_KATRAN].policy = ABI_POLICY_QUIC_CID;
	services[WORLD_KATRAN].cid = ABI_CID_KATRAN;
	services[WORLD_KATRAN].flags |= ABI_SERVICE_POLICY;
	services[WORLD_LABEL].policy = ABI_POLICY_FLOW_LABEL;
	services[WORLD_LABEL].flags |= ABI_SERVICE_POLICY;
	tables->backends[WORLD_CID3].flags &= ~(uint32_t)ABI_BACKEND_KEEP;
	set_id(tables, WORLD_CID, 1, WORLD_CID1);
	set_id(tables, WORLD_CID, WORLD_ID16, WORLD_CID2);
	set_id(tables, WORLD_CID, WORLD_ID32, WORLD_CID2);
	set_id(tables, WORLD_CID, WORLD_ID_UNKEPT, WORLD_CID3);
	set_id(tables, WORLD_KATRAN, WORLD_ID16, WORLD_CID2);
	set_id(tables, WORLD_KATRAN, WORLD_ID24, WORLD_CID2);
	set_id(tables, WORLD_KATRAN, WORLD_ID32, WORLD_CID2);
}
