/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the node's tables were made of, kept in a file of its own for a start with empty ones. The
 * start goes on whatever becomes of the file. The loop's thread.
 */
#pragma once

#include "weir/node/app_state.h"

/* From its file, and brought to what is configured now. */
void history_load(struct app *app);
/* A balancer_start's, for tables that are empty. */
void history_prepare(struct app *app, size_t at, struct pool *pool);
/* Brought to another configuration, in place of history_load; then it is to be saved. */
void history_turn(struct app *app);
/* The tables are written. Any thread, while no other has it. */
void history_save(struct app *app);
