/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir scaffold`: a first file for this host. find.c looks at the host, write.c puts what it found
 * and what was asked for into words; neither changes anything. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "conf/conf.h"
#include "host/card/card.h"
#include "host/host.h"

enum { SCAFFOLD_MAX = 16 }; /* of each kind that is asked for */

/* The texts are of the command line, each a right one of its kind. */
struct scaffold {
	bool agent;
	const char *interfaces[SCAFFOLD_MAX], *vips[SCAFFOLD_MAX], *backends[SCAFFOLD_MAX];
	const char *balancers[SCAFFOLD_MAX], *listens[SCAFFOLD_MAX];
	size_t interface_count, vip_count, backend_count, balancer_count, listen_count;
};

struct scaffold_host {
	char name[CONF_NAME_MAX + 1];
	struct card *cards;
	struct host_address *addresses;
	size_t card_count, address_count;
	struct host_gateway gateways[2]; /* IPv4, IPv6 */
	const struct card *chosen[SCAFFOLD_MAX];
	size_t chosen_count;
};

/* The interfaces that were asked for, or that of a default route, or all that are up and could
 * have packets come in. */
int scaffold_find(const struct scaffold *wanted, struct scaffold_host *ret, struct err *err);
void scaffold_host_fini(struct scaffold_host *host);

void scaffold_write_node(FILE *out, const struct scaffold *wanted,
			 const struct scaffold_host *host);
void scaffold_write_agent(FILE *out, const struct scaffold *wanted,
			  const struct scaffold_host *host);
