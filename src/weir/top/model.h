/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir top` knows and how it stands on the screen, without a screen: answers of a node in,
 * lines of text out. Names from outside are cleaned when they come in, so that nothing in a line
 * can speak to a terminal. No I/O.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum {
	TOP_NAME_MAX = 128,
	TOP_FILTER_MAX = 64,
	TOP_WIDTH_MAX = 512,
	TOP_HEIGHT_MAX = 256,
	TOP_WIDTH_MIN = 40, /* smaller screens see a part of it */
	TOP_HEIGHT_MIN = 8,
	TOP_ENDS_MAX = 128, /* verdicts that are known of */
};

/* --- figures --- */

struct top_meter {
	uint64_t packets, bytes;
	bool has_rate; /* not at first, and not when it counts anew */
	double packets_s, bits_s;
};

/* One reading more of the meter, `ns` after the one before; 0: there was none. */
void top_meter_read(struct top_meter *meter, uint64_t packets, uint64_t bytes, uint64_t ns);

/* A service, or a backend. */
struct top_row {
	char name[TOP_NAME_MAX];
	char about[TOP_NAME_MAX]; /* its pool; its address */
	char state[32];           /* of a backend */
	struct top_meter meter;
	uint32_t usable, backends; /* of a service's pool */
	double share;              /* of a backend, in percent */
	uint64_t flows;            /* the same: remembered */
};

struct top_list {
	struct top_row *rows;
	size_t count, room;
	uint64_t clock_ns; /* of the last reading; 0: none */
	size_t *order;     /* places of those that are shown */
	size_t shown;
};

enum top_sort { TOP_PACKETS, TOP_BITS, TOP_TOTAL, TOP_USABLE, TOP_NAME, TOP_SORTS };
const char *top_sort_name(enum top_sort sort);
/* False: there is none of that name. */
bool top_sort_find(const char *name, enum top_sort *ret);

/* Those whose name or pool or address has the text, in that order; equal ones by name. */
void top_list_order(struct top_list *list, enum top_sort sort, bool reverse, const char *filter);
/* 0 or -ENOMEM; new rows are zero. */
int top_list_resize(struct top_list *list, size_t count);
void top_list_fini(struct top_list *list);

/* "0", "12.3", "1.24k", "35.0M": at most six letters. Returns `ret`. */
enum { TOP_NUMBER_MAX = 24 };
const char *top_number(double value, char ret[TOP_NUMBER_MAX]);
/* "12s", "3m04s", "5h07m", "12d03h" */
const char *top_time(double seconds, char ret[TOP_NUMBER_MAX]);
/* Into `room` bytes, printable ASCII alone: all else becomes a question mark. */
void top_clean(const char *text, char *ret, size_t room);

/* --- all of it --- */

struct top_end {
	char name[40], action[16];
	struct top_meter meter;
};

struct top_node {
	char name[TOP_NAME_MAX], version[32], xdp[96];
	uint64_t clock_ns; /* of the last answer; 0: none yet */
	uint64_t generation;
	bool refused;
	double uptime_s;
	struct top_end ends[TOP_ENDS_MAX];
	size_t end_count;
	uint64_t flows_used, flows_entries, moving_slots, services, backends, usable;
	bool has_routing;
	uint64_t vips, announced, routers, routers_up;
};

struct top {
	struct top_node node;
	struct top_list services;
	int64_t names_generation;  /* whose names these are; -1: none */
	uint64_t names_started_ns; /* and of which daemon */
	struct top_list backends;  /* of `service` */
	char service[TOP_NAME_MAX], pool[TOP_NAME_MAX];
	bool inside; /* the backends are shown, not the services */
	bool gone;   /* there is no such service any more */
	uint64_t backends_total;
	enum top_sort sort;
	bool reverse;
	char filter[TOP_FILTER_MAX]; /* of what is shown; the other's is in `filter_outside` */
	char filter_outside[TOP_FILTER_MAX];
	bool typing;  /* the filter */
	bool follows; /* the selected row by name, wherever it goes */
	char selected_name[TOP_NAME_MAX];
	size_t selected, first; /* places in the order */
	size_t page;            /* rows that were shown last */
	char notice[160];       /* what is wrong; "" */
	double interval_s;
};

void top_init(struct top *top);
void top_fini(struct top *top);

/* --- take.c --- */

/* The question, a new reference. */
json_t *top_question(const struct top *top);
/* 0; -EAGAIN: names are missing, ask again; -EPROTO: that is no answer; -ENOMEM. */
int top_take(struct top *top, const json_t *answer);

/* --- keys.c --- */

/* Keys beside letters, which stand for themselves. */
enum top_key {
	TOP_KEY_UP = 0x1000,
	TOP_KEY_DOWN,
	TOP_KEY_PAGE_UP,
	TOP_KEY_PAGE_DOWN,
	TOP_KEY_HOME,
	TOP_KEY_END,
	TOP_KEY_ENTER,
	TOP_KEY_ESCAPE,
	TOP_KEY_BACK, /* rubs out a letter */
};

enum top_action { TOP_STAYS, TOP_DRAW, TOP_ASK, TOP_QUIT };
enum top_action top_press(struct top *top, int key);
/* Orders what is shown anew, and keeps the selection where it belongs. */
void top_settle(struct top *top);

/* --- render.c --- */

enum top_style { TOP_PLAIN, TOP_STRONG, TOP_HEAD, TOP_SELECTED };

struct top_line {
	char text[TOP_WIDTH_MAX + 1];
	enum top_style style;
};

/* Fills `height` lines (TOP_HEIGHT_MAX at most) of `width` letters at most. */
void top_render(struct top *top, struct top_line *lines, size_t width, size_t height);
/* What --once --json prints, `limit` rows: a new reference. */
json_t *top_to_json(struct top *top, size_t limit);
