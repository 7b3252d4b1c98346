/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From who is to serve a slot to its word: who serves it by now, what begins with a change of that,
 * and the store. Belongs to pool.c.
 */
#pragma once

#include "hash/overlay.h"
#include "pool/state.h"

/* Where the words of changed slots go; `slots` NULL: nowhere. */
struct writing {
	struct pool *pool;
	uint64_t *slots;
	uint64_t now_ms;
	uint32_t stored;
	bool starts; /* the pool comes to know its members */
	bool found;  /* the pages of words have been gone through */
	bool plain;  /* a change of owner asks for nothing but a transition */
};

/* Brings the word of a place's slot to what is known of it; its other owner stays. */
void words_store(struct writing *writing, uint32_t place);
/* All words, whatever is in them. */
void words_store_all(struct writing *writing);
/* Those of slots that no member can have. */
void words_store_nobodys(struct writing *writing);
/* For transition.h, which tells of slots whose words change; `arg` is the writing. */
void words_store_told(void *arg, const uint32_t *places, size_t count);
/* For the overlay and the ring, which tell who is to serve: an overlay_answers, and an
 * overlay_answer. */
void words_serve(void *arg, const struct overlay_change *changes, size_t count,
		 const struct overlay_change *next);
void words_serve_one(void *arg, uint32_t slot, uint32_t owner, uint32_t other);
