/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A configuration read and checked for a daemon that runs, on a thread beside its loop, and what it
 * is known by: digests of its normal form, so that comments and the order of keys do not matter.
 */
#pragma once

#include <stdbool.h>
#include <uv.h>

#include "base/err.h"
#include "conf/conf.h"
#include "weir/balancer/built.h"

enum { LOAD_DIGEST_MAX = 17 }; /* sixteen digits */

/* Equal ones are equal configurations. */
struct load_digest {
	char shared[LOAD_DIGEST_MAX]; /* of what all nodes of a fleet share */
	char whole[LOAD_DIGEST_MAX];
};

/* 0 or -ENOMEM. Any thread. */
int load_digest_of(const struct conf *conf, struct load_digest *ret);

struct load {
	uv_work_t work;
	const char *file;
	const struct conf *running; /* stays until `done` */
	struct conf *conf;          /* what was read: the receiver's. NULL: errors */
	struct err_list errors;
	struct load_digest digest;
	struct built built; /* the receiver's, too */
	uint64_t took_ns;
	void (*done)(struct load *load);
	void *arg;
};

/* Reads `load->file`; `done` comes on the loop's thread. One at a time a struct. 0 or -errno. */
int load_start(uv_loop_t *loop, struct load *load);
