// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/expect/modes.h"

#include <arpa/inet.h>
#include <string.h>

#include "tests/lib/expect/fragments.h"
#include "tests/lib/frame/place.h"
#include "tests/lib/frame/shim.h"

uint32_t expect_overhead(enum frame_mode mode, bool outer4, bool inner4)
{
	struct frame_tunnel tunnel = {.mode = mode, .outer4 = outer4};

	if (mode == FRAME_L2DSR)
		return 0;
	if (mode == FRAME_IPOPT)
		return (uint32_t)shim_option_length(inner4);
	return (outer4 ? 20U : 40U) + (uint32_t)shim_length(&tunnel, inner4);
}

/* Who else has the slot: of a change the other side of it, else the third of the word's owners. */
static void tell_other(const struct dp_tables *tables, const struct abi_trace *trace,
		       struct frame_tunnel *ret)
{
	uint32_t first = (uint32_t)tables->services[trace->service].table;
	uint64_t word = tables->slots[first + trace->slot];
	uint32_t owners[3] = {word & 0xfffff, word >> 20 & 0xfffff, word >> 40 & 0xfffff};
	uint32_t other = owners[0] != trace->backend ? owners[0]
			 : word >> 60 & 1            ? owners[1]
						     : owners[2];
	struct addr addr;

	if (other == 0 || other == trace->backend ||
	    !(tables->backends[other].flags & ABI_BACKEND_KEEP))
		return;
	addr = dp_addr_back(&tables->backends[other].addr);
	if (addr_is4(&addr) != ret->outer4)
		return;
	ret->other_family = ret->outer4 ? 4 : 6;
	memcpy(ret->other, ret->outer4 ? addr.bytes + 12 : addr.bytes, ret->outer4 ? 4 : 16);
}

void expect_told(const struct dp_tables *tables, const struct abi_trace *trace,
		 const uint8_t *frame, size_t length, struct frame_tunnel *ret)
{
	size_t link = frame_link_length(frame, length);
	const uint8_t *ip = frame + link;
	size_t packet = ip[0] >> 4 == 4 ? (size_t)(ip[2] << 8 | ip[3])
					: 40 + (size_t)(ip[4] << 8 | ip[5]);
	bool later, piece = expect_is_piece(frame, length, &later);
	uint16_t port = ntohs(tables->backends[trace->backend].port);

	ret->vip_port = place_vip_port(ip, packet);
	ret->port = ret->vip_port && port ? port : ret->vip_port;
	/* The other pieces would not go there with this one. */
	if (ret->mode == FRAME_GUE0 && !piece)
		tell_other(tables, trace, ret);
}
