/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk through the flow table beside the packets that use it, in pieces, so that the loop is not
 * held up: which slots in transition have a live entry that names another backend than the slot's
 * word does, and how many live flows each backend has. Belongs to the balancer. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "engine/tables.h"

struct survey {
	const struct dp_tables *tables;
	uint64_t *elsewhere; /* a bit a slot */
	uint32_t *counting;  /* flows by backend's record, so far */
	uint32_t *flows;     /* and of the last walk that came to its end */
	uint32_t next;       /* bucket */
	enum survey_stage {
		SURVEY_RESTS,
		SURVEY_BEGINS, /* pools are told */
		SURVEY_WALKS,
		SURVEY_ENDS, /* pools are told */
	} stage;
	size_t pool; /* that is told next */
};

/* 0 or -ENOMEM. */
int survey_init(struct survey *survey, const struct dp_tables *tables);
void survey_fini(struct survey *survey);

/* About how many live entries there are: from so many buckets, spread evenly. */
uint64_t survey_estimate(const struct dp_tables *tables, uint32_t buckets, uint64_t now_ms);
