/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the checks of values against each other share. A value that was refused before is empty
 * (a listen without a protocol, no pool), and is passed over. Texts live as long as the reading.
 */
#pragma once

#include "conf/room.h"

/* --- entries.c --- */

/* A thing that must be the only one of its kind, as a text to sort by. */
struct entry {
	const char *key;
	const char *owner; /* 'backend "b1"' */
	const void *at;    /* the stored value */
	struct conf_place place;
	size_t index; /* of what it belongs to, in its list */
};

struct entries {
	struct entry *list;
	size_t count;
};

struct entries entries_new(struct reader *reader, size_t most);
/* NULL: no key, or the value at `at` was not written. */
struct entry *entries_add(const struct reader *reader, struct entries *entries, const char *key,
			  const void *at);
void entries_sort(struct entries *entries);
/* Sorts, and leaves one of those that are the same thing in the same place of the file. */
void entries_drop_repeated(struct entries *entries);
/* Of sorted ones. */
const struct entry *entries_find(const struct entries *entries, const char *key);
/* `what` is that of which `owner` is to have one of its own. Sorts. */
void entries_refuse_twins(struct reader *reader, struct entries *entries, const char *what);

const char *verify_address(struct reader *reader, const struct addr *addr);
const char *verify_prefix(struct reader *reader, const struct prefix *prefix);
const char *verify_label(struct reader *reader, const char *kind, const char *name);
/* A name for a message; "?" where it was refused. */
const char *verify_name(const char *name);
/* `what` is "VIP". */
void verify_prefixes_once(struct reader *reader, const struct prefix *list, size_t count,
			  const char *what);

/* --- pools.c --- */

void verify_pools(struct reader *reader, const struct conf *conf);

/* --- checks.c --- */

/* Resolves their ports, when services have their pools. */
void verify_checks(struct reader *reader, struct conf *conf);

/* --- services.c --- */

/* Resolves the pools' names. */
void verify_services(struct reader *reader, struct conf *conf);
bool verify_any6(const struct prefix *list, size_t count);

/* --- announce.c --- */

/* BGP's values, and what services that share a VIP say of it; after verify_services. */
void verify_announce(struct reader *reader, const struct conf *conf);

/* --- listens.c --- */

/* Listens and VIPs of all services beside each other, and the backends' addresses. */
void verify_listens(struct reader *reader, const struct conf *conf);

/* --- ports.c --- */

/* Whether the mode carries the VIP's port beside the packet. */
bool verify_changes_ports(enum conf_forward forward);
/* What a service alone says of its backends' ports. */
void verify_ports(struct reader *reader, const struct conf_service *service);

/* Two listens of different services on one VIP. */
struct neighbours {
	const struct conf_service *a, *b;
	const struct conf_listen *listen_a, *listen_b;
	const char *vip; /* begins with its text, which a space ends */
};

/* That two listens of a VIP do not meet in one port of a backend; of pairs whose pools and listens
 * are the same the first in the file is told. Sorts. */
void verify_ways_back(struct reader *reader, const struct conf *conf, struct neighbours *list,
		      size_t count);
