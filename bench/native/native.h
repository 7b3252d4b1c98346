/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of Weir to be timed, or their instructions counted, each as a row of native_bench.c: a
 * run calls one so many times, over data that prepare made. One thread; what goes wrong ends the
 * program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum native_when {
	NATIVE_BOTH,
	NATIVE_TIMED,   /* of no interest by its instructions, or another's code */
	NATIVE_COUNTED, /* timed elsewhere, or in no need of it */
};

struct native_row {
	const char *name;
	const char *base; /* another row, which it is seen as a multiple of; NULL: none */
	void *(*prepare)(const struct native_row *row);
	void (*run)(void *data, uint32_t count);
	const char *setting; /* of packets: the row of bench/rows.h that they are of */
	int verdict;         /* of packets: what becomes of them */
	uint32_t count;      /* of a sample; 0: the usual */
	uint32_t fill;       /* of a flow table: per cent */
	enum native_when when;
};

/* Each ends with a row without a name. */
extern const struct native_row path_rows[], fill_rows[], build_rows[];

/* The tables of bench/setting.h, the same ones for all; flow entries of fill_rows apart. */
struct dp_tables;
const struct dp_tables *path_tables(void);

/*
 * Flow tables of that many entries, for prepare to fill, before any is prepared: as many as a node
 * has when times are taken, and few when instructions are counted.
 */
void fill_set_size(uint32_t entries);
/* The flows that the filled tables have lost, in per cent of those given to them. */
double fill_lost(uint32_t fill);
