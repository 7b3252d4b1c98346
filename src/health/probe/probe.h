/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a kind of check is made of. A probe is one attempt: the type starts it, and it ends once,
 * by calling `done`, or by being cancelled, after which it calls nothing. The type owns the probe's
 * memory and descriptors and frees them as the loop allows. Timeouts are the caller's.
 */
#pragma once

#include <uv.h>

#include "health/health.h"

enum probe_result {
	PROBE_RUNNING,
	PROBE_SUCCEEDED,
	PROBE_FAILED,  /* another answer than expected, or none */
	PROBE_REFUSED, /* the same: no connection came about */
	PROBE_LATE,    /* the same: within the timeout nothing was decided */
	PROBE_NOT_RUN, /* this host lacked descriptors, ports or memory: it says nothing */
};

/* `error` says what failed, "" after a success; it is gone after the call. */
typedef void probe_done(void *arg, enum probe_result result, const char *error);

struct probe_order {
	uv_loop_t *loop;
	const struct health_spec *spec; /* outlives the probe */
	void **shared;                  /* the type's own, one a struct health; NULL at first */
	health_prepare *prepare;        /* for a spec with a way */
	void *prepare_arg;
	probe_done *done;
	void *arg;
};

struct probe; /* each type's own */

struct probe_type {
	const char *name;
	/* PROBE_RUNNING: *ret is the probe, and `done` will be called, never from within start.
	 * Else that was all, and *ret_error is as for `done`. */
	enum probe_result (*start)(const struct probe_order *order, struct probe **ret,
				   const char **ret_error);
	void (*cancel)(struct probe *probe);
	/* What `shared` holds, when no probe is left; NULL: nothing. */
	void (*close)(void *shared);
	/* Whether it can be done; NULL: always. The texts' lengths are right already. */
	bool (*is_valid)(const struct health_spec *spec);
	bool has_port;
	bool has_ways; /* sockets of its own, prepared by socket_prepare */
};

extern const struct probe_type probe_tcp, probe_http, probe_https, probe_udp, probe_dns, probe_icmp,
	probe_exec;
