/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine af_xdp in the daemon: workers started once all is at work, tried again where a queue is
 * not to be had yet, and started anew where an interface came back; and which packets are short
 * enough for them. The loop's thread. With engine xdp there is nothing to do, and nothing is done.
 */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

struct workers;

enum privileges workers_privileges(const struct conf *conf);
/* Before the data plane is opened: has this kernel AF_XDP sockets? 0, or -errno and err. */
int workers_check(const struct conf *conf, struct err *err);
/* After the program is attached and the tables are filled. A worker that cannot be started is no
 * failure: the kernel forwards, and it is tried again. 0, or -ENOMEM or the like, and err. */
int workers_open(struct app *app, struct err *err);
/* The kernel forwards from now on. The loop has to run until what this closes is closed. */
void workers_close(struct app *app);

/* Before packets may meet a path with that MTU (bytes, of the outer packet), or that configuration:
 * from then on the kernel gets what might not fit. */
void workers_expect_mtu(struct app *app, uint32_t mtu);
void workers_expect_conf(struct app *app, const struct conf *conf);

/* How many queues lacked their worker at the last look. */
uint32_t workers_missing(const struct app *app);
/* As it is written in the file. */
const char *workers_engine(const struct conf *conf);
/* null with engine xdp. */
json_t *workers_report(const struct app *app);
