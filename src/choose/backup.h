/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The backup of a flow that was offered two slots (choose/dual.h): an entry under the second slot's
 * number, in the same two buckets as the flow's own. It is believed only beside a first entry that
 * is alive, so it has no state and no time of its own but for who wants its place: packets of the
 * flow renew it, and it gives way as a closing flow does. A part of dp/forward.h, which says what
 * the includer supplies.
 */
#pragma once

#include "choose/transition.h"
#include "dp/abi.h"
#include "flow/entry.h"
#include "flow/flow.h"
#include "pkt/parse.h"

/* Makes `backup` of the flow's two buckets. What it finds under the slot may be no backup. */
PKT_INLINE void backup_look(struct flow *backup, const struct flow *flow, __u32 slot)
{
	*backup = *flow;
	flow_set_slot(backup, slot);
	backup->pin = 0;
	entry_look_both(backup);
}

/* It is of now, as the first is. */
PKT_STAGE int backup_touch(struct flow *flow, __u32 slot)
{
	struct abi_bucket *bucket;
	struct flow backup;
	__u64 pin;

	if (!flow)
		return 0;
	backup_look(&backup, flow, slot);
	bucket = env_bucket(backup.bucket);
	if (flow_pin_state(backup.pin) != FLOW_BACKUP || !bucket)
		return 0;
	pin = (backup.pin & ~(__u64)FLOW_TIME_MASK) | (flow->tick & FLOW_TIME_MASK);
	env_swap(&bucket->flows[backup.place & (ABI_BUCKET_FLOWS - 1)].pin, backup.pin, pin);
	return 0;
}

/*
 * The backend of the flow's backup, if it may have the flow now; else 0. To that backend the flow
 * is a new one, so it must be up. A connection that begins anew chooses anew.
 */
PKT_STAGE int backup_backend(struct pkt *pkt, struct flow *flow, __u32 slot)
{
	struct abi_backend *backend;
	struct flow backup;

	if (!pkt || !flow || !flow->pin || !flow_pin_live(env_node(), flow->pin, flow->tick) ||
	    (pkt->proto == IPPROTO_TCP && entry_begins(pkt)))
		return 0;
	backup_look(&backup, flow, slot);
	if (flow_pin_state(backup.pin) != FLOW_BACKUP)
		return 0;
	backend = env_backend(flow_pin_backend(backup.pin));
	if (!backend || backend->generation != flow_pin_generation(backup.pin) ||
	    !(backend->flags & ABI_BACKEND_UP))
		return 0;
	return (int)flow_pin_backend(backup.pin);
}

/*
 * Records the flow's backup, whose first entry is just made. It takes no place of an entry that
 * lives and half of the insert limit at most: without it no flow goes elsewhere today. Two slots
 * that differ in their high bits alone would take each other's place (flow_worth): there is none.
 */
PKT_STAGE int backup_record(struct flow *flow, __u32 slot, __u32 index)
{
	struct flow backup;

	if (!flow || !((slot ^ flow->slot) & FLOW_KEY_SLOT_MASK) ||
	    !(transition_flags(index) & ABI_BACKEND_UP))
		return 0;
	backup_look(&backup, flow, slot);
	if (backup.pin && flow_pin_state(backup.pin) != FLOW_BACKUP)
		return 0;
	if ((!backup.pin && (!env_may_insert(env_node()->insert_limit / 2, flow->tick) ||
			     !entry_find_place(&backup, 1))) ||
	    !entry_write(&backup, index, FLOW_BACKUP)) {
		env_event(ABI_EVENT_FLOW_SKIPPED);
		return 0;
	}
	env_event(ABI_EVENT_FLOW_NEW);
	return 1;
}
