/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a daemon shows on its admin port: metrics, whether it lives and is ready, and routes of its
 * own. A port that cannot be had is an error in the log, tried again every few seconds: packets
 * come first. A scrape is made in pieces of a few milliseconds between the loop's other work, and
 * given to all that asked meanwhile. The loop's thread.
 */
#pragma once

#include <jansson.h>
#include <uv.h>

#include "admin/http.h"
#include "bpf/links.h"
#include "conf/conf.h"
#include "weir/metrics/text.h"

enum {
	EXPORTER_ROUTES_MAX = 32, /* of the daemon */
	EXPORTER_PIECE_NS = 2 * 1000 * 1000,
};

struct scrape {
	struct metrics_text text;
	void *app; /* the daemon's */
	const struct links *links;
	void *notes; /* what its `prepare` made, for free() */
};

struct family {
	const char *name; /* without _total */
	enum metric_type type;
	const char *help;
	size_t (*count)(const struct scrape *scrape);     /* how many `at` there are; NULL: one */
	void (*sample)(struct scrape *scrape, size_t at); /* none, one or several samples */
};

struct family_list {
	const struct family *families;
	size_t count;
};

struct exporter_spec {
	uv_loop_t *loop;
	void *app;
	const struct links *links; /* the daemon's, for metrics_link_families */
	const struct family_list *lists;
	size_t list_count;
	bool (*prepare)(struct scrape *scrape); /* false: out of memory. NULL: nothing to do */
	/* Another number when what `at` means is another: a scrape then begins anew. */
	uint64_t (*generation)(const void *app);
	/* {"ready": ..., "reasons": [...], ...}; a new reference. */
	json_t *(*ready)(void *app);
	const struct http_route *routes; /* copied; with `arg` NULL they get `app` */
	size_t route_count;
};

struct exporter;

/* 0 or -ENOMEM. Nothing is listened for yet. */
int exporter_open(const struct exporter_spec *spec, struct exporter **ret);
/* Listens there from now on, and nowhere else; the same again is nothing. */
void exporter_listen(struct exporter *exporter, const struct conf_endpoint *endpoint);
/* {"listen": ..., "error": ...} for status; a new reference. NULL is null. */
json_t *exporter_report(const struct exporter *exporter);
/* Before what it shows goes. Frees when the loop has closed its handles. NULL is none. */
void exporter_close(struct exporter *exporter);

/* Answers with the JSON, whose reference it takes; NULL: 503. */
void exporter_reply_json(struct http_exchange *exchange, unsigned status, json_t *json);

/* --- process.c: what every daemon has --- */

extern const struct family_list metrics_process_families;

/* --- links.c --- */

extern const struct family_list metrics_link_families;

/* --- exporter.c: of the loop and the port itself; the scrape's exporter is given beside --- */

struct exporter_self {
	const struct metrics_histogram *lag;
	struct http_counts http;
	uint64_t scrapes;
	uint64_t scrape_ns; /* of the loop's time, of the last one */
};
void metrics_put_self(struct metrics_text *text, const struct exporter_self *self);
