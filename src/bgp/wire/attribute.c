/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is wrong with one path attribute, and what that costs (RFC 7606 sections 3 and 7, RFC 6793
 * section 6, RFC 8092 section 5). A table has what an attribute's head can tell, functions the
 * rest.
 */
#include "bgp/wire/attribute.h"

enum { WELL_KNOWN = FLAG_TRANSITIVE, OPTIONAL = FLAG_OPTIONAL };

enum {
	INTERNAL_ONLY = 1, /* from an external peer it is discarded, whatever it says */
};

struct rule {
	uint8_t known; /* 1 */
	uint8_t flags; /* of those two that tell its class */
	uint8_t unit;  /* its length is a multiple of this; 0: is looked at elsewhere */
	uint8_t count; /* and that many times exactly; 0: any */
	uint8_t special;
	enum verdict worst; /* for what is wrong with its flags or its length */
	const char *why;
};

#define DISCARD ATTRIBUTE_DISCARD
#define TAW     ATTRIBUTE_WITHDRAW /* treat as withdraw */
#define BOTH    (FLAG_OPTIONAL | FLAG_TRANSITIVE)

static const struct rule rules[] = {
	[ATTRIBUTE_ORIGIN] = {1, WELL_KNOWN, 1, 1, 0, TAW, "ORIGIN is malformed"},
	[ATTRIBUTE_AS_PATH] = {1, WELL_KNOWN, 0, 0, 0, TAW, "AS_PATH is malformed"},
	[ATTRIBUTE_NEXT_HOP] = {1, WELL_KNOWN, 4, 1, 0, TAW, "NEXT_HOP is malformed"},
	[ATTRIBUTE_MED] = {1, OPTIONAL, 4, 1, 0, TAW, "MULTI_EXIT_DISC is malformed"},
	[ATTRIBUTE_LOCAL_PREF] = {1, WELL_KNOWN, 4, 1, INTERNAL_ONLY, TAW,
				  "LOCAL_PREF is malformed"},
	[ATTRIBUTE_ATOMIC_AGGREGATE] = {1, WELL_KNOWN, 0, 0, 0, DISCARD,
					"ATOMIC_AGGREGATE is malformed"},
	[ATTRIBUTE_AGGREGATOR] = {1, BOTH, 0, 0, 0, DISCARD, "AGGREGATOR is malformed"},
	[ATTRIBUTE_COMMUNITIES] = {1, BOTH, 4, 0, 0, TAW, "COMMUNITIES is malformed"},
	[ATTRIBUTE_ORIGINATOR_ID] = {1, OPTIONAL, 4, 1, INTERNAL_ONLY, TAW,
				     "ORIGINATOR_ID is malformed"},
	[ATTRIBUTE_CLUSTER_LIST] = {1, OPTIONAL, 4, 0, INTERNAL_ONLY, TAW,
				    "CLUSTER_LIST is malformed"},
	[ATTRIBUTE_EXTENDED_COMMUNITIES] = {1, BOTH, 8, 0, 0, TAW,
					    "EXTENDED COMMUNITIES is malformed"},
	[ATTRIBUTE_AS4_PATH] = {1, BOTH, 0, 0, 0, DISCARD, "AS4_PATH is malformed"},
	[ATTRIBUTE_AS4_AGGREGATOR] = {1, BOTH, 8, 1, 0, DISCARD, "AS4_AGGREGATOR is malformed"},
	[ATTRIBUTE_IPV6_COMMUNITIES] = {1, BOTH, 20, 0, 0, TAW,
					"IPv6 EXTENDED COMMUNITIES is malformed"},
	[ATTRIBUTE_LARGE_COMMUNITY] = {1, BOTH, 12, 0, 0, TAW, "LARGE_COMMUNITY is malformed"},
};

/*
 * Segments of a type, a count and that many AS. Those of a confederation (RFC 5065 section 5) and
 * AS 0 (RFC 7607) have no place in what we are sent.
 */
static bool as_path_fits(struct reader value, size_t bytes)
{
	while (value.left) {
		uint8_t type = read8(&value);
		uint8_t count = read8(&value);

		if ((type != AS_SET && type != AS_SEQUENCE) || count == 0)
			return false;
		for (size_t i = 0; i < count; i++)
			if (read_number(&value, bytes) == 0)
				return false;
	}
	return !value.over;
}

static bool value_fits(const struct wire_session *session, const struct attribute *attribute)
{
	struct reader value = attribute->value;

	switch (attribute->type) {
	case ATTRIBUTE_ORIGIN: return read8(&value) <= ORIGIN_INCOMPLETE;
	case ATTRIBUTE_AS_PATH: return as_path_fits(value, session->as4 ? 4 : 2);
	case ATTRIBUTE_ATOMIC_AGGREGATE: return value.left == 0;
	case ATTRIBUTE_AGGREGATOR: return value.left == (session->as4 ? 8 : 6);
	case ATTRIBUTE_AS4_PATH: return value.left && as_path_fits(value, 4);
	default: return true;
	}
}

static bool length_fits(const struct rule *rule, size_t length)
{
	if (rule->unit == 0)
		return true;
	if (rule->count)
		return length == (size_t)rule->unit * rule->count;
	return length && length % rule->unit == 0;
}

enum verdict attribute_check(const struct wire_session *session, const struct attribute *attribute,
			     const char **ret_why)
{
	const struct rule *rule = &rules[0];

	if (attribute->type < sizeof(rules) / sizeof(rules[0]))
		rule = &rules[attribute->type];
	if (!rule->known)
		return attribute->flags & FLAG_OPTIONAL ? ATTRIBUTE_FINE
							: ATTRIBUTE_UNKNOWN_WELL_KNOWN;
	*ret_why = rule->why;
	if (rule->special & INTERNAL_ONLY && !session->internal) {
		*ret_why = "an attribute of internal sessions came from outside";
		return DISCARD;
	}
	/* Four-byte AS in an attribute of their own have no meaning beside four-byte AS. */
	if (session->as4 && (attribute->type == ATTRIBUTE_AS4_PATH ||
			     attribute->type == ATTRIBUTE_AS4_AGGREGATOR)) {
		*ret_why = "an attribute of two-byte AS came between four-byte ones";
		return DISCARD;
	}
	if ((attribute->flags & BOTH) != rule->flags)
		return rule->worst;
	if (!length_fits(rule, attribute->value.left) || !value_fits(session, attribute))
		return rule->worst;
	return ATTRIBUTE_FINE;
}
