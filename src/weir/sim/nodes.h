/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Weir's nodes for sim/run.h: each is what `weir run` is between the network and its timers, the
 * balancer with its pools and tables, and under it the packet path's native engine with a flow
 * table of the configured size. Of a packet only the choice of its backend is run. One thread.
 */
#pragma once

#include "conf/conf.h"
#include "sim/fleet.h"
#include "sim/run.h"

struct sim_nodes;

struct sim_nodes_spec {
	const struct conf *conf; /* must outlive the nodes */
	const struct conf_service *service;
	uint8_t proto;  /* of flows */
	uint32_t cores; /* of a node: that many times its insert limit */
	uint64_t seed;  /* of the nodes' secrets */
	uint32_t nodes; /* at most */
};

/* What the file has of the service's pool, into an empty fleet. False: too many. */
bool sim_nodes_fleet(const struct conf *conf, const struct conf_service *service,
		     struct sim_fleet *ret);
/* The identities of those that events add. */
void sim_nodes_identify(struct sim_fleet *fleet);

/* 0 or -ENOMEM. `fleet` is read whenever something changes. */
int sim_nodes_new(const struct sim_nodes_spec *spec, const struct sim_fleet *fleet,
		  struct sim_nodes **ret);
void sim_nodes_free(struct sim_nodes *nodes);
struct sim_weir sim_nodes_weir(struct sim_nodes *nodes);

/* Bytes of a node. */
uint64_t sim_nodes_memory(const struct conf *conf, uint32_t table_size);
/* What its file or tables refuse; empty: nothing. */
const char *sim_nodes_error(const struct sim_nodes *nodes);

/* How the flow tables fared so far, all nodes together. */
struct sim_nodes_stats {
	uint64_t recorded, skipped, evicted;
};
struct sim_nodes_stats sim_nodes_stats(const struct sim_nodes *nodes);
