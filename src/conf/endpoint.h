/* SPDX-License-Identifier: BSD-2-Clause */
/* An address with a port, as node.admin has it: a part of conf.h. */
#pragma once

#include <stdint.h>

#include "base/addr.h"

/* Where something is listened for; port 0: nowhere. */
struct conf_endpoint {
	struct addr address; /* 0.0.0.0 and :: are any of their family */
	uint16_t port;
};

/* "127.0.0.1:9700" or "off", into CONF_ENDPOINT_TEXT_MAX bytes; returns `text`. */
enum { CONF_ENDPOINT_TEXT_MAX = 64 };
const char *conf_endpoint_format(const struct conf_endpoint *endpoint, char *text);
