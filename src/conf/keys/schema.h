/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration's table: a row for every key of weir.yaml(5) and of the agent's file, with
 * type, range, default, help, and what of it works. The parser, the defaults, the printer, the
 * manual's list of keys and the JSON schema are all made from these rows. Constant data.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CONF_KEYS_MAX = 256 }; /* rows at most */

enum conf_file { CONF_FILE_NODE, CONF_FILE_AGENT };

enum conf_type {
	CONF_TYPE_MAP,
	CONF_TYPE_TEXT,      /* `max` bytes at most; in a list 1024 */
	CONF_TYPE_NAME,      /* CONF_NAME_MAX letters at most */
	CONF_TYPE_POOL,      /* the name of a pool of this file */
	CONF_TYPE_INTERFACE, /* a network interface's name */
	CONF_TYPE_CHOICE,    /* one of `choices`; with `max`, a number of the range too */
	CONF_TYPE_BOOL,      /* `choices` are false and true */
	CONF_TYPE_NUMBER,
	CONF_TYPE_STATUS,   /* of HTTP: 100 to 599 */
	CONF_TYPE_COUNT,    /* a number that may have a suffix k, M, G, Ki, Mi, Gi */
	CONF_TYPE_MTU,      /* a number of the range, or 0 for the interface's */
	CONF_TYPE_DURATION, /* milliseconds; written 500ms, 2s, 5m, 2h */
	CONF_TYPE_ADDRESS,  /* unicast, and neither loopback nor link-local */
	CONF_TYPE_ROUTER,   /* unicast, and no loopback */
	CONF_TYPE_VIP,      /* the same, or a prefix of such addresses */
	CONF_TYPE_PREFIX,
	CONF_TYPE_PREFIX4,
	CONF_TYPE_PREFIX6,
	CONF_TYPE_LISTEN,          /* tcp/80, tcp/8000-8099, tcp/any, any */
	CONF_TYPE_LISTEN_ONE,      /* tcp/80 alone */
	CONF_TYPE_COMMUNITY,       /* 65010:100 */
	CONF_TYPE_LARGE_COMMUNITY, /* 65010:1:2 */
	CONF_TYPE_ENDPOINT,        /* 127.0.0.1:9700, [::1]:9700, off */
	CONF_TYPE_TABLE_SIZE,      /* auto, stored as 0, or 1 to 131071; Maglev allows but few */
};

struct conf_key {
	const char *path; /* "pools[].check.type": [] stands for the elements of a list */
	enum conf_type type;
	enum conf_file file;
	bool list;            /* of values, or of mappings where the type is CONF_TYPE_MAP */
	bool required;        /* in the mapping that holds it */
	uint64_t min, max;    /* of the value; of a list: how many elements */
	const char *choices;  /* "native|generic|auto" */
	const char *works;    /* NULL: all; "": nothing of it; else "a|b", the values that do;
				* of a list: its only elements, or "[]" */
	const char *fallback; /* the default as one would write it; NULL: none, or see `absent` */
	const char *absent;   /* what the default is, in words, where it depends on something */
	const char *help;     /* half a sentence: no capital, no full stop */

	/* Where it is stored: in the struct of the nearest list's element, else of the file. */
	size_t offset, width; /* width 0: nowhere; of a list: an element's */
	size_t count_offset;  /* of a list */
	size_t place_offset;  /* of a list of mappings: the element's struct conf_place */

	/* Whether it means anything in a struct where the others are known; NULL: always. Where it
	 * does not it may not be written, and `with` says beside what it may. */
	bool (*means)(const void *source);
	const char *with;
};

/* All rows; a mapping's row comes before those of its keys. */
size_t conf_key_count(void);
const struct conf_key *conf_key(size_t row);
/* The rows directly in `parent`, itself a row (NULL: in the file's outermost mapping), by their
 * places: the first, and the one after another. CONF_KEY_END: none. */
#define CONF_KEY_END SIZE_MAX
size_t conf_key_first(const struct conf_key *parent, enum conf_file file);
size_t conf_key_next(size_t row);
/* The key itself: the path's last part. */
const char *conf_key_name(const struct conf_key *key);
/* The same of a row. */
const char *conf_row_name(size_t row);
/* Is it directly in `parent` (NULL: in the file's outermost mapping)? */
bool conf_key_is_in(const struct conf_key *key, const struct conf_key *parent, enum conf_file file);
bool conf_key_works(const struct conf_key *key);
/* What may be written, in words: "a whole number from 1 to 65535". Returns `text`. */
const char *conf_key_expected(const struct conf_key *key, char *text, size_t size);

/* The manual's list of keys, as mdoc or as plain text. For free(); NULL when out of memory. */
char *conf_keys_manual(bool mdoc);
