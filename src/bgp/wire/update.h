/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UPDATE messages (RFC 4271 section 4.3, 4760, 1997, 8092, 6793, 8950, 4724, 7606). Formatting is
 * for what we announce. Parsing validates a message whole and counts what it says: Weir learns no
 * routes, so that they are dropped. Pure, as wire.h.
 */
#pragma once

#include "base/addr.h"
#include "bgp/wire/wire.h"

enum {
	WIRE_PREPEND_MAX = 254,     /* our own AS and these are one segment */
	WIRE_COMMUNITIES_MAX = 256, /* of a path */
	WIRE_LARGE_MAX = 64,        /* large communities of a path */
};

enum { WIRE_GRACEFUL_SHUTDOWN = 0xffff0000u }; /* the community of RFC 8326 */

/* RFC 8092: who says it, and two numbers of theirs. */
struct wire_large {
	uint32_t global;
	uint32_t local1;
	uint32_t local2;
};

/* What the routes of one UPDATE have in common. Lists are the caller's, kept in their order. */
struct wire_path {
	struct addr next_hop; /* of the prefixes' family; IPv6 for IPv4 needs session->next_hop6 */
	struct addr link_local; /* a second IPv6 next hop, of one link (RFC 2545); all zero: none */
	const uint32_t *communities;
	size_t community_count;
	const struct wire_large *large;
	size_t large_count;
	uint32_t med;
	uint32_t local_pref; /* is sent on internal sessions alone */
	bool has_med;
	uint8_t prepend; /* our AS so many times more; external sessions alone */
};

/*
 * As many of `prefixes` as one message takes, from the first up to one of another family;
 * `ret_taken` (1 at least) says how many. Returns the message's length; -EINVAL: no prefix, or a
 * limit above is broken; -EAFNOSUPPORT: the session has not that family, or not with this next
 * hop.
 */
int wire_update_announce(const struct wire_session *session, const struct wire_path *path,
			 const struct prefix *prefixes, size_t count, uint8_t *message,
			 size_t *ret_taken);
/* The same for routes that go. */
int wire_update_withdraw(const struct wire_session *session, const struct prefix *prefixes,
			 size_t count, uint8_t *message, size_t *ret_taken);
/* That was all, for now (RFC 4724 section 2). */
int wire_update_end_of_rib(enum wire_family family, uint8_t *message);

/* What became of an UPDATE that is wrong but costs no session, the worst last (RFC 7606). */
enum wire_treatment {
	WIRE_TAKEN,          /* nothing was wrong */
	WIRE_DISCARDED,      /* an attribute was, and was left out */
	WIRE_AS_IF_WITHDRAWN /* its routes count as withdrawn */
};

struct wire_update {
	uint32_t announced4, announced6; /* routes */
	uint32_t withdrawn4, withdrawn6; /* with those WIRE_AS_IF_WITHDRAWN */
	uint32_t foreign;                /* MP attributes of families that the session has not */
	bool end_of_rib4, end_of_rib6;
	enum wire_treatment treatment;
	uint8_t attribute; /* the type of the one at fault; 0: none, or a missing list end */
	const char *why;   /* of the treatment, a constant; NULL: WIRE_TAKEN */
};

/* -EPROTO: the session must end with `ret_fault`. */
int wire_update_parse(const struct wire_session *session, const uint8_t *message, size_t length,
		      struct wire_update *ret, struct wire_notice *ret_fault);
