/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Health checks: probes of backends on the event loop, with `rise` and `fall` counting
 * consecutive results. A check begins UNKNOWN (or as the caller says) and its first result
 * decides at once; from then on `fall` failures in a row take it down and `rise` successes bring
 * it up. Checks that probe the same share one probe, however many they are. Probes are spread over
 * the interval, one that outlasts its timeout failed, and no two of the same are under way. All
 * calls and callbacks on the loop's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

#include "base/addr.h"
#include "base/err.h"

enum health_state { HEALTH_UNKNOWN, HEALTH_HEALTHY, HEALTH_UNHEALTHY };

enum health_type {
	HEALTH_TCP,   /* a connection that is established */
	HEALTH_HTTP,  /* a status, and perhaps a text in the body */
	HEALTH_HTTPS, /* the same in TLS */
	HEALTH_UDP,   /* an answer to a datagram */
	HEALTH_DNS,   /* an answer to a question */
	HEALTH_ICMP,  /* an answer to an echo request */
	HEALTH_EXEC,  /* a program that exits with 0 */
	HEALTH_TYPES
};

/* Texts that a type may have; length 0: not given. */
enum health_text {
	HEALTH_PATH,      /* http: what is asked for; from '/' on */
	HEALTH_HOST,      /* http: the Host header; the address by default */
	HEALTH_BODY,      /* http: what the body must contain */
	HEALTH_SNI,       /* https: the name that is asked for, and must be certified; HEALTH_HOST
			   * by default, else the address */
	HEALTH_CA_FILE,   /* https: whom to believe; the host's authorities by default */
	HEALTH_CERT_FILE, /* https: our own certificate, and its key */
	HEALTH_KEY_FILE,
	HEALTH_SEND,    /* udp: the datagram */
	HEALTH_RECEIVE, /* udp: what the answer must contain */
	HEALTH_QUERY,   /* dns: the name, with or without the dot at the end */
	HEALTH_COMMAND, /* exec: its words, each with a zero byte at its end */
	HEALTH_TEXTS
};

enum {
	HEALTH_TEXT_MAX = 4096, /* bytes of a text */
	HEALTH_STATUS_MIN = 100,
	HEALTH_STATUS_MAX = 599,
	HEALTH_JITTER_MAX = 50,
	HEALTH_ERROR_MAX = 160, /* a reason, with the final zero; longer ones are cut */
};

struct health_bytes {
	const void *data;
	size_t length;
};

struct health_spec {
	enum health_type type;
	struct addr address;
	uint16_t port; /* host order; none for icmp, and for exec if the program needs none */
	uint32_t interval_ms, timeout_ms; /* 1 or more */
	uint32_t fast_interval_ms;        /* while undecided; 0: the same */
	uint8_t jitter;                   /* percent of the interval, up and down */
	uint32_t rise, fall;              /* 1 or more */
	enum health_state initial;
	struct health_bytes texts[HEALTH_TEXTS]; /* copied */
	uint64_t statuses[8];                    /* http: see health_expect */
	bool head;                               /* http: HEAD, not GET */
	bool insecure;                           /* https: any certificate will do */
	uint16_t record;                         /* dns: the type of record (RFC 1035) */
	uint32_t way; /* for health_set_way's callback; 0: as any packet of this host */
};

struct health_status {
	enum health_state state;
	uint64_t since_ns;   /* of the last change, monotonic */
	uint64_t latency_ns; /* of the last success */
	uint64_t successes, failures;
	uint64_t not_run; /* this host lacked what a probe needs; changes no state */
	char last_error[HEALTH_ERROR_MAX]; /* "" after a success; what failed, in words */
};

/* Why probes fail, in kinds; the words are in a check's last_error. */
enum health_reason {
	HEALTH_REASON_TIMEOUT, /* nothing decided in time */
	HEALTH_REASON_CONNECT, /* refused, or no way there */
	HEALTH_REASON_ANSWER,  /* another answer than expected, or a connection that ended */
	HEALTH_REASONS
};

/* Of all checks together. */
struct health_sums {
	size_t checks, probes; /* probes are fewer where checks share one */
	uint64_t started;      /* probes since health_open */
	uint64_t not_run;      /* of them: this host lacked what they need */
	uint64_t failed[HEALTH_REASONS];
};

struct health; /* all checks of a daemon */
struct health_check;

/* Called after a change of state; the check's status is the new one. It may remove any check. */
typedef void health_changed(void *arg, struct health_check *check, enum health_state state);

/* Prepares a socket, before it is connected, so that its packets take a way. Returns an errno. */
typedef int health_prepare(void *arg, uint32_t way, int fd, const struct addr *to);

int health_open(uv_loop_t *loop, struct health **ret);
/* Before a check with a way is added. */
void health_set_way(struct health *health, health_prepare *prepare, void *arg);
/* Makes an HTTP status one that counts as healthy; -EINVAL: there is none such. */
int health_expect(struct health_spec *spec, unsigned status);
/* Starts probing at once. 0 or -errno; *ret stays valid until health_remove or health_close. */
int health_add(struct health *health, const struct health_spec *spec, health_changed *changed,
	       void *arg, struct health_check **ret);
void health_remove(struct health_check *check);
const struct health_status *health_status(const struct health_check *check);
struct health_sums health_sums(const struct health *health);
/* "timeout", "connect", "answer". */
const char *health_reason_name(enum health_reason reason);
/* "http", as it is written in the file. */
const char *health_type_name(enum health_type type);
/* Ends every probe and frees; the loop must run on until its handles are closed. */
void health_close(struct health *health);
