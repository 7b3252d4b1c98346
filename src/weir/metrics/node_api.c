/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/metrics/node.h"

const struct http_route node_api_routes[] = {{.path = "/api/v1/none"}};
const size_t node_api_route_count = 0;
