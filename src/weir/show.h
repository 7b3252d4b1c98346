/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How things are called outside, in words and in JSON, by every command and both daemons. Each
 * json_t is a new reference. Any thread.
 */
#pragma once

#include <jansson.h>

#include "bpf/links.h"
#include "conf/conf.h"
#include "dp/abi.h"
#include "dp/verdict.h"
#include "pool/pool.h"

const char *show_tracking(enum conf_tracking tracking);
/* In the file of overrides too (weir/operate/overrides.c): under another name none is read. */
const char *show_admin(enum pool_admin admin);
const char *show_health(enum pool_health health);

/* A name of a list such as VERDICTS, which is in capitals, as it is used outside. */
struct show_label {
	char text[32];
};
struct show_label show_label(const char *name);

/* What a packet comes to, and what decided: numbers of enum verdict (below VERDICT_COUNT) and enum
 * why (below WHY_COUNT). */
struct show_label show_verdict(uint32_t verdict);
const char *show_verdict_help(uint32_t verdict);
/* "pass", "drop", "tx", "redirect" or "aborted". */
const char *show_verdict_action(uint32_t verdict);
struct show_label show_why(uint32_t why);
/* By its name outside, or in capitals. */
bool show_find_verdict(const char *name, enum verdict *ret);

/* A file's name may hold any bytes, a JSON text may not: those are question marks. */
json_t *show_bytes(const char *bytes);
json_t *show_strings(const char *const *strings, size_t count);
json_t *show_prefixes(const struct prefix *prefixes, size_t count);
json_t *show_vips(const struct prefix *vips, size_t count);
/* ["tcp/80", ...] */
json_t *show_listens(const struct conf_service *service);
/* Adds to an object what the file says of the service beside its VIPs and pool. */
void show_settings(json_t *object, const struct conf_service *service);
/* [{"vip": ..., "listen": "tcp/443", "to": 8443}, ...] */
json_t *show_forwards(const enum conf_forward *forwards, size_t count);
json_t *show_ports(const struct conf_port *ports, size_t count);
/* {"packets": ..., "bytes": ...} */
json_t *show_count(struct abi_count count);
/* How XDP is attached to each interface. */
json_t *show_links(const struct links *links);
