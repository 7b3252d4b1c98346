/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a simulation has found, as a table or as JSON, on standard output. Rows of the table are
 * printed as they come.
 */
#pragma once

#include <stdbool.h>

#include "sim/run.h"
#include "weir/sim/nodes.h"

/* What it is about. */
struct sim_print {
	const struct sim_spec *spec;
	const struct conf_service *service;
	const struct sim_nodes *nodes;
	uint64_t memory; /* bytes */
	bool json;
	struct json_t *rows; /* of JSON */
	struct sim_counts total[SIM_SCHEMES];
};

void sim_print_begin(struct sim_print *print);
void sim_print_row(struct sim_print *print, const struct sim_row *row);
/* 0, or -ENOMEM: there is no JSON. `seconds`: of a processor, that it took. */
int sim_print_end(struct sim_print *print, double seconds);
/* Releases what was made; without sim_print_end when the run failed. */
void sim_print_fini(struct sim_print *print);
