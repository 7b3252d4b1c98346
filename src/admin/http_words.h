/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a request is parsed here and not by the library: pure functions over zero-ended text from
 * outside. Any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Whether a Host header names the machine itself by its loopback: an address or `localhost`, with
 * or without a port. */
bool http_host_is_local(const char *host);
/* Whether an Accept header ranks application/openmetrics-text above text/plain, or as high. */
bool http_accept_openmetrics(const char *accept);
/* Whether an If-None-Match header has the tag, which is in its quotes, or is `*`. */
bool http_tag_matches(const char *header, const char *etag);
/* Decimal digits alone, `max` at most. 0 or -EINVAL. */
int http_number_parse(const char *text, uint64_t max, uint64_t *ret);
