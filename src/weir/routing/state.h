/* SPDX-License-Identifier: BSD-2-Clause */
/* What the routers are; shared by routers.c, which changes them, and report.c, which shows them. */
#pragma once

#include <net/if.h>

#include "base/log.h"
#include "bfd/bfd.h"
#include "weir/routing/routers.h"

struct router {
	struct conf_peer conf; /* without what points elsewhere */
	char *password_file;   /* NULL: none */
	char interface[IF_NAMESIZE];
	struct addr next_hop4, next_hop6;
	struct bgp_peer *peer;
	struct bfd_session *session; /* NULL: no BFD */
	struct log_limit log;        /* a router that flaps must not fill the log */
};

struct routers {
	uv_loop_t *loop;
	struct bgp_spec spec;
	struct bgp *bgp;
	struct bfd *bfd; /* NULL: no router has it */
	struct router *list[CONF_PEERS_MAX];
	size_t count;
};
