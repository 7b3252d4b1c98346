/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another configuration in place of the one that runs: its file is followed, read and checked
 * beside the loop, and brought in at one moment, or refused whole. The loop's thread.
 */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

struct reload;

/* Begins to follow the daemon's file. 0, or -errno and err. */
int reload_open(struct app *app, struct err *err);
/* Reads the file now, whether or not it has changed. */
void reload_now(struct app *app);
/* Requests: reload, reload_result, configuration; of a struct app. */
extern const struct daemon_op reload_ops[];
/* Which configuration runs, and what was refused; a new reference. */
json_t *reload_report(const struct app *app);
/* The same, to be counted. Before reload_open it is generation 0. */
struct reload_facts {
	uint64_t generation, since_ns;
	const char *digest; /* of what nodes share */
	uint64_t applied, unchanged, refused;
	uint64_t took_ns; /* bringing in what runs, on the loop; 0: it is the start's */
	bool is_refused;  /* the file as it is now */
};
struct reload_facts reload_facts(const struct app *app);
/* Before the loop ends. */
void reload_close(struct app *app);
/* When it has ended. */
void reload_free(struct app *app);
