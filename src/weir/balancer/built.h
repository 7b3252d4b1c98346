/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What bringing a configuration in takes long for and needs no more for than the two files, done
 * before, beside the loop: who goes on as whom is found, pools are built, and checks compared. Any
 * thread, one at a time.
 */
#pragma once

#include "conf/conf.h"
#include "pool/pool.h"
#include "weir/lineage/lineage.h"

struct built {
	struct pool **pools; /* in the configuration's order; NULL: it is not built, or taken */
	uint64_t **words;    /* of those that have begun, for free(); or NULL */
	bool *checks_same;   /* as those of the running pool that goes on as it */
	size_t count;        /* 0: there was no memory, nor is there a lineage */
	const struct conf *running; /* from which they go on */
	struct lineage lineage;
};

/*
 * Builds those that the running configuration has not got in the same way, as far as memory goes:
 * what is missing is built later. Those that are new as a whole have begun, too, with nobody.
 */
void built_make(const struct conf *conf, const struct conf *running, uint64_t now_ms,
		struct built *ret);
/*
 * The caller's from now on, with its members' records; NULL: there is none. *ret_words are its
 * slots' words, if it has begun and they are known, for free(); of records they have the members'
 * places, counted from 1: built_word.
 */
struct pool *built_take(struct built *built, size_t at, const uint32_t *records,
			uint64_t **ret_words);
/* Such a word as it is for packets. */
uint64_t built_word(uint64_t word, const uint32_t *records);
void built_free(struct built *built);
