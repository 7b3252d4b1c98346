/* SPDX-License-Identifier: BSD-2-Clause */
/* Path attributes: their numbers, and what is wrong with one that came (attribute.c). */
#pragma once

#include "bgp/wire/bytes.h"
#include "bgp/wire/update.h"

enum {
	FLAG_OPTIONAL = 0x80,
	FLAG_TRANSITIVE = 0x40,
	FLAG_PARTIAL = 0x20,
	FLAG_EXTENDED = 0x10, /* the length has two bytes */
};

enum {
	ATTRIBUTE_ORIGIN = 1,
	ATTRIBUTE_AS_PATH,
	ATTRIBUTE_NEXT_HOP,
	ATTRIBUTE_MED,
	ATTRIBUTE_LOCAL_PREF,
	ATTRIBUTE_ATOMIC_AGGREGATE,
	ATTRIBUTE_AGGREGATOR,
	ATTRIBUTE_COMMUNITIES,
	ATTRIBUTE_ORIGINATOR_ID,
	ATTRIBUTE_CLUSTER_LIST,
	ATTRIBUTE_MP_REACH = 14,
	ATTRIBUTE_MP_UNREACH,
	ATTRIBUTE_EXTENDED_COMMUNITIES,
	ATTRIBUTE_AS4_PATH,
	ATTRIBUTE_AS4_AGGREGATOR,
	ATTRIBUTE_IPV6_COMMUNITIES = 25, /* RFC 5701 */
	ATTRIBUTE_LARGE_COMMUNITY = 32,
};

enum { ORIGIN_IGP, ORIGIN_EGP, ORIGIN_INCOMPLETE };
enum { AS_SET = 1, AS_SEQUENCE = 2 };
enum { SAFI_UNICAST = 1 };

/* One attribute of a message; `whole` has its head too, as a NOTIFICATION's data wants it. */
struct attribute {
	struct reader whole;
	struct reader value;
	uint8_t flags;
	uint8_t type;
};

/* What becomes of one. */
enum verdict {
	ATTRIBUTE_FINE,
	ATTRIBUTE_DISCARD,
	ATTRIBUTE_WITHDRAW,
	ATTRIBUTE_UNKNOWN_WELL_KNOWN, /* costs the session */
};

/* Not of the MP ones. `ret_why`: a constant, unless it is fine. */
enum verdict attribute_check(const struct wire_session *session, const struct attribute *attribute,
			     const char **ret_why);
