/* SPDX-License-Identifier: BSD-2-Clause */
/* A pool's check, as the file says; a part of conf.h. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CONF_STATUS_MIN = 100, /* of HTTP */
	CONF_STATUS_MAX = 599,
};

enum conf_check_type {
	CONF_CHECK_TCP,
	CONF_CHECK_NONE,
	CONF_CHECK_HTTP,
	CONF_CHECK_HTTPS,
	CONF_CHECK_UDP,
	CONF_CHECK_DNS,
	CONF_CHECK_ICMP,
	CONF_CHECK_EXEC,
};
enum conf_check_via { CONF_VIA_NODE, CONF_VIA_TUNNEL };
enum conf_check_method { CONF_METHOD_GET, CONF_METHOD_HEAD };
enum conf_check_initial { CONF_INITIAL_UNKNOWN, CONF_INITIAL_HEALTHY, CONF_INITIAL_UNHEALTHY };
enum conf_record {
	CONF_RECORD_A,
	CONF_RECORD_AAAA,
	CONF_RECORD_NS,
	CONF_RECORD_SOA,
	CONF_RECORD_MX,
	CONF_RECORD_TXT,
};

struct conf_check {
	enum conf_check_type type;
	enum conf_check_via via;
	enum conf_check_initial initial;
	uint16_t port; /* set in a loaded configuration unless the type is none or icmp */
	uint32_t interval_ms, fast_interval_ms, timeout_ms, rise, fall;
	uint8_t jitter; /* percent */

	/* http and https; texts are NULL where they are not given */
	const char *path, *host;
	enum conf_check_method method;
	uint16_t *expect; /* none: 200 alone */
	size_t expect_count;
	const char *body; /* as send */

	/* https */
	const char *sni, *ca_file, *cert_file, *key_file;
	bool insecure;

	/* udp; the bytes are those of escape_decode (base/escape.h) */
	const char *send, *receive;

	/* dns */
	const char *query;
	enum conf_record record;

	/* exec */
	const char **command;
	size_t command_count;
};

/* As it is written in the file: "http". */
const char *conf_check_name(enum conf_check_type type);
