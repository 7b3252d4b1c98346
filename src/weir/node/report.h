/* SPDX-License-Identifier: BSD-2-Clause */
/* Parts of what `weir status` shows, for who wants but some; each a new reference. The loop's
 * thread. */
#pragma once

#include <jansson.h>

#include "weir/node/app_state.h"

/* All but services, pools and what is announced. */
json_t *report_node(const struct app *app);
/* By its place in the configuration. */
json_t *report_service(const struct app *app, size_t at);
/* The same, without its backends. */
json_t *report_pool(const struct app *app, size_t at);
json_t *report_backend(const struct app_backend *backend);
json_t *report_verdicts(const struct app *app);
json_t *report_flows(const struct app *app);
json_t *report_split(const struct app *app);
