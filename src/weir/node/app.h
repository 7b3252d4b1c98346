/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The balancer's daemon: introduces the rooms to each other. Health and next hops go into the
 * balancer, which writes the data plane's tables; the control socket shows all of it.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/err.h"
#include "conf/conf.h"

/* Runs until SIGTERM, SIGINT or a request to stop, then detaches and unpins; or until one to be
 * restarted: then all stays at work, and the process is to be called again. 0, or -errno with
 * nothing attached that was not attached before. */
int app_run(const struct conf *conf, const char *file, bool *ret_again, struct err *err);

/* What a node can be asked for beside what all daemons can, tables of a struct app; NULL ends. */
struct daemon_op;
extern const struct daemon_op *const app_ops[];

/* Of a struct app: its state as JSON, documented in weir(8); a new reference. (report.c) */
json_t *app_report(void *arg);
