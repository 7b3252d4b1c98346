/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Another balancer's configuration as a services file: what `weir import` does. A reader
 * (keepalived.c, ipvs.c) says what there is, in the other's terms; settle.c makes Weir's of it;
 * write.c is the file. What has no counterpart, or works in another way here, becomes a note with
 * its place; nothing is left out without one. All of it lives in one arena. No output, and no I/O
 * but by the caller's function that reads an included file. One thread.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/arena.h"
#include "base/err.h"
#include "conf/conf.h"

enum {
	IMPORT_NOTES_MAX = 10000,  /* kept; the rest is counted */
	IMPORT_LINES_MAX = 200000, /* of all files, with what definitions and sequences make */
	IMPORT_ENDS_MAX = 4 * CONF_VIPS_MAX, /* addresses with a port, of all services */
};

enum import_kind {
	IMPORT_LOST,     /* there is nothing like it */
	IMPORT_DIFFERS,  /* it is there, and works in another way */
	IMPORT_NEEDLESS, /* there is no need for it */
};

struct import_place {
	const char *file;
	int line, column;
};

struct import_service;

struct import_note {
	struct import_note *next;
	struct import_place place;
	enum import_kind kind;
	const char *what, *text; /* the other's words, plain ASCII; what becomes of it */
	const struct import_service *service; /* NULL: of none */
};

/* Where a service listens. */
struct import_end {
	struct import_end *next;
	struct addr vip;
	struct conf_listen listen;
};

/* A check as the file will have it; text is all but the port: "type: http, path: /". */
struct import_check {
	const char *text; /* NULL: there is none */
	uint16_t port;    /* 0: none is named */
	struct import_place place;
};

struct import_way {
	enum conf_forward forward; /* what the other's is here */
	bool nat;                  /* the other translates addresses, which has no counterpart */
};

struct import_backend {
	struct import_backend *next;
	struct import_place place;
	struct addr address;
	uint16_t port; /* as there; 0: any */
	uint64_t weight;
	bool sorry; /* serves when too few others do */
	struct import_way way;
	struct import_check check;
	/* set by settle.c */
	const char *name;
	bool keeps_port; /* its port is to be written */
};

struct import_service {
	struct import_service *next;
	struct import_place place;
	const char *what; /* its head, in the other's words */
	const char *name; /* NULL: by its address */
	uint8_t proto;
	uint32_t mark; /* a firewall mark, in place of ends; 0: none */
	struct import_end *ends, **ends_tail;
	struct import_backend *backends, **backends_tail;
	size_t backend_count;
	const char *scheduler;
	struct import_place scheduler_place;
	bool by_port;    /* a hash that counts the source's port too */
	bool one_packet; /* each datagram by itself */
	bool persistent;
	uint8_t granularity4, granularity6; /* bits of the source; 0: all */
	uint64_t quorum;                    /* in weight; 0: not given */
	struct import_place quorum_place;
	/* set by settle.c */
	bool left_out; /* it cannot be written; a note says why */
	enum conf_forward forward;
	const char *policy;
	const char *pool; /* the pool's name */
	bool shares_pool; /* of an earlier service */
	struct import_check check;
	uint64_t backup_below, min_usable; /* 0: as by default */
};

/* What a firewall mark stands for, as the operator says. */
struct import_mark {
	struct import_mark *next;
	uint32_t mark;
	struct import_end *ends;
};

/* An interface that the other one has its addresses at. */
struct import_interface {
	struct import_interface *next;
	const char *name;
};

/* An address that VRRP moves. */
struct import_vip {
	struct import_vip *next;
	struct import_place place;
	struct addr addr;
	const char *what;
};

struct import {
	struct arena *arena;
	const char *from; /* "keepalived" or "ipvs" */
	struct import_service *services, **services_tail;
	struct import_note *notes, **notes_tail, *last_note;
	size_t note_count, notes_dropped, end_count;
	struct import_interface *interfaces;
	struct import_vip *vips, **vips_tail;
	struct import_mark *marks;
	const struct import_service *now; /* whose notes are made */
};

struct import *import_new(const char *from);
void import_free(struct import *import);

/* "1=198.51.100.10,tcp/80,tcp/443". 0, or -EINVAL. */
int import_add_mark(struct import *import, const char *text, struct err *err);

/* A note of the service that is `now`; `what` is made plain. */
void import_note(struct import *import, struct import_place place, enum import_kind kind,
		 const char *what, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Anybody's bytes as plain ASCII, cut when long. */
const char *import_plain(struct import *import, const char *text, size_t length);

struct import_service *import_service_add(struct import *import, struct import_place place);
/* -ENOSPC: there are too many. */
int import_end_add(struct import *import, struct import_service *service, const struct addr *vip,
		   struct conf_listen listen);
struct import_backend *import_backend_add(struct import *import, struct import_service *service,
					  struct import_place place);
/* A digit string of the range; false: it is none. */
bool import_number(const char *text, uint64_t max, uint64_t *ret);

/* From ipvsadm -Sn. 0, or -EINVAL and the place. */
int import_ipvs(struct import *import, const char *text, size_t length, const char *file,
		struct err *err);

/*
 * Reads what `include FILE` names, a path or a pattern, from a file in `directory`: calls `take`
 * for each. 0, or what take returned, or -errno.
 */
struct import_files {
	void *context;
	int (*include)(void *context, const char *directory, const char *pattern,
		       int (*take)(void *taker, const char *file, const char *text, size_t length),
		       void *taker);
	const char *config_id; /* of lines that begin with @; NULL: none is known */
};
int import_keepalived(struct import *import, const char *text, size_t length, const char *file,
		      const struct import_files *files, struct err *err);

/* After all that is read; once. */
void import_settle(struct import *import);
/* The services file, for free(); NULL: out of memory. `interface` NULL: what was found, or eth0. */
char *import_write(const struct import *import, const char *interface);
const char *import_kind_name(enum import_kind kind);
