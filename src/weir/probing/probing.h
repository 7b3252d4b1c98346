/* SPDX-License-Identifier: BSD-2-Clause */
/* What a pool's check in the file is for the room of health. Pure but for memory. */
#pragma once

#include "conf/conf.h"
#include "health/health.h"

/* The spec of one backend's check, and room for those of its texts that the file does not have as
 * they are. Valid while the configuration is and until probing_fini. */
struct probing {
	struct health_spec spec;
	char *bytes;
};

/* The check has a type; with via: tunnel its way is the caller's to set. 0, or -ENOMEM with nothing
 * to release. */
int probing_init(const struct conf *conf, const struct conf_pool *pool,
		 const struct conf_backend *backend, struct probing *ret);
/* Whether a check goes through a tunnel. */
bool probing_needs_tunnel(const struct conf *conf);
void probing_fini(struct probing *probing);
