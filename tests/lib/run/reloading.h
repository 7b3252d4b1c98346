/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A balancer over the native engine's tables that gets one configuration after the other, for the
 * tests of that. Fails the test where it cannot. One at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "engine/native.h"
#include "weir/balancer/balancer.h"

extern struct reloading {
	struct native *native;
	struct dp_tables *tables;
	struct conf *conf;
	struct balancer *balancer;
	uint64_t now_ms;
	unsigned fresh;   /* records that got a new owner with the last one */
	int inserts_left; /* of prefixes, until there is no memory for them; negative: for ever */
	bool builds_late; /* pools are not built before (weir/balancer/built.h) */
} reloading;

/* For cmocka: tables with nothing in them, and their end. */
int reloading_set_up(void **state);
int reloading_tear_down(void **state);

/* The first configuration; all of its backends are well. */
void reloading_begin(const char *text);
/* Another one in its place: 0, or what balancer_prepare says. */
int reloading_try(const char *text, struct err *err);
void reloading_reload(const char *text);
/* The daemon is killed; the next one starts with another file over what is in the tables. */
void reloading_restart(const char *text);
/* Whoever is not known yet is well. */
void reloading_all_well(void);
