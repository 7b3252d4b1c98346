/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small text by HTTP, asked for now and then from hosts that may answer anything: what comes is
 * bounded in bytes and in time, no redirect is followed, no proxy asked, and each request has a
 * connection of its own. All calls and callbacks on the loop's thread, none of which waits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"

struct fetches; /* all that are under way */
struct fetch;

struct fetch_spec {
	struct addr address;
	uint16_t port;       /* host order */
	const char *path;    /* from '/' on */
	uint32_t timeout_ms; /* of all of it */
	size_t body_max;     /* bytes; one that is longer is an error */
};

/*
 * Ends the fetch: a body of status 200, which is gone after the call, or `error` in words, and no
 * body. Never called from within fetch_start. It may start and cancel others.
 */
typedef void fetch_done(void *arg, const char *error, const char *body, size_t length);

/* 0 or -ENOMEM. */
int fetches_open(uv_loop_t *loop, struct fetches **ret);
/* Ends all of them, without a call. The loop must run on until its handles are closed. */
void fetches_close(struct fetches *fetches);
/* 0 or -ENOMEM. *ret is valid until its `done`, or its end by the caller. */
int fetch_start(struct fetches *fetches, const struct fetch_spec *spec, fetch_done *done, void *arg,
		struct fetch **ret);
void fetch_cancel(struct fetch *fetch);
