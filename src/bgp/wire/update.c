/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * UPDATE messages of the peer: validated whole, counted and dropped (RFC 4271 section 6.3 as
 * revised by RFC 7606). What ends the session is only what leaves in doubt which routes a message
 * is about.
 */
#include <errno.h>

#include "bgp/wire/attribute.h"

enum { TYPES = 256 };

struct parse {
	const struct wire_session *session;
	struct wire_update *update;
	struct wire_notice *fault;
	uint32_t reached; /* routes that were announced, also of foreign families */
	bool seen[TYPES];
	size_t attributes;
};

static void treat(struct wire_update *update, enum wire_treatment treatment, uint8_t type,
		  const char *why)
{
	if (treatment <= update->treatment)
		return;
	update->treatment = treatment;
	update->attribute = type;
	update->why = why;
}

/* Section 5.3: false if a prefix is longer than its family's or than what is left. */
static bool count_prefixes(struct reader list, size_t bits_max, uint32_t *count)
{
	*count = 0;
	while (list.left) {
		uint8_t bits = read8(&list);

		if (bits > bits_max)
			return false;
		read_bytes(&list, (bits + 7u) / 8);
		++*count;
	}
	return !list.over;
}

static int optional_fault(const struct parse *parse, const struct attribute *attribute)
{
	return notice_fault_data(parse->fault, WIRE_ERR_UPDATE << 8 | WIRE_OPTIONAL_ATTRIBUTE,
				 attribute->whole.at, attribute->whole.left);
}

/* RFC 2545: one or two of IPv6; RFC 8950: the same for IPv4, if that was agreed. */
static bool next_hop_fits(const struct wire_session *session, uint16_t family, size_t length)
{
	if (length == 16 || length == 32)
		return family == WIRE_IPV6 || session->next_hop6;
	return length == 4 && family == WIRE_IPV4;
}

/* True: it is one of ours; else its prefixes have a shape that we do not know. */
static bool is_ours(const struct wire_session *session, uint16_t family, uint8_t safi)
{
	if (safi != SAFI_UNICAST)
		return false;
	return family == WIRE_IPV4 ? session->ipv4 : family == WIRE_IPV6 && session->ipv6;
}

static int take_reach(struct parse *parse, const struct attribute *attribute)
{
	struct wire_update *update = parse->update;
	struct reader value = attribute->value;
	uint16_t family = read16(&value);
	uint8_t safi = read8(&value);
	struct reader next_hop = read_part(&value, read8(&value));
	uint32_t count;

	read8(&value);
	if (value.over)
		return optional_fault(parse, attribute);
	if (!is_ours(parse->session, family, safi)) {
		update->foreign++;
		parse->reached++;
		return 0;
	}
	if (!next_hop_fits(parse->session, family, next_hop.left) ||
	    !count_prefixes(value, family == WIRE_IPV4 ? 32 : 128, &count))
		return optional_fault(parse, attribute);
	*(family == WIRE_IPV4 ? &update->announced4 : &update->announced6) += count;
	parse->reached += count;
	return 0;
}

/* Without prefixes, and with nothing beside it, it ends a family's routes (RFC 4724 section 2). */
static int take_unreach(struct parse *parse, const struct attribute *attribute)
{
	struct wire_update *update = parse->update;
	struct reader value = attribute->value;
	uint16_t family = read16(&value);
	uint8_t safi = read8(&value);
	uint32_t count;

	if (value.over)
		return optional_fault(parse, attribute);
	if (!is_ours(parse->session, family, safi)) {
		update->foreign++;
		return 0;
	}
	if (!count_prefixes(value, family == WIRE_IPV4 ? 32 : 128, &count))
		return optional_fault(parse, attribute);
	*(family == WIRE_IPV4 ? &update->withdrawn4 : &update->withdrawn6) += count;
	if (count == 0)
		*(family == WIRE_IPV4 ? &update->end_of_rib4 : &update->end_of_rib6) = true;
	return 0;
}

static int take_mp(struct parse *parse, const struct attribute *attribute)
{
	/* Section 3 (g): which of two would count? */
	if (parse->seen[attribute->type])
		return notice_fault(parse->fault, WIRE_ERR_UPDATE, WIRE_BAD_ATTRIBUTES);
	/* Section 3 (c): its routes can still be read. */
	if ((attribute->flags & (FLAG_OPTIONAL | FLAG_TRANSITIVE)) != FLAG_OPTIONAL)
		treat(parse->update, WIRE_AS_IF_WITHDRAWN, attribute->type,
		      "an MP attribute has the flags of another");
	return attribute->type == ATTRIBUTE_MP_REACH ? take_reach(parse, attribute)
						     : take_unreach(parse, attribute);
}

static int take_attribute(struct parse *parse, const struct attribute *attribute)
{
	uint8_t type = attribute->type;
	const char *why = NULL;
	int err = 0;

	if (type == ATTRIBUTE_MP_REACH || type == ATTRIBUTE_MP_UNREACH) {
		err = take_mp(parse, attribute);
	} else if (parse->seen[type]) {
		treat(parse->update, WIRE_DISCARDED, type, "an attribute came twice");
	} else {
		switch (attribute_check(parse->session, attribute, &why)) {
		case ATTRIBUTE_FINE: break;
		case ATTRIBUTE_DISCARD: treat(parse->update, WIRE_DISCARDED, type, why); break;
		case ATTRIBUTE_WITHDRAW:
			treat(parse->update, WIRE_AS_IF_WITHDRAWN, type, why);
			break;
		case ATTRIBUTE_UNKNOWN_WELL_KNOWN:
			err = notice_fault_data(parse->fault,
						WIRE_ERR_UPDATE << 8 | WIRE_UNKNOWN_WELL_KNOWN,
						attribute->whole.at, attribute->whole.left);
		}
	}
	parse->seen[type] = true;
	parse->attributes++;
	return err;
}

/* False: the list ends within one (section 4), which costs its routes, not the session. */
static bool next_attribute(struct reader *list, struct attribute *ret)
{
	const uint8_t *from = list->at;
	uint16_t length;

	ret->flags = read8(list);
	ret->type = read8(list);
	length = ret->flags & FLAG_EXTENDED ? read16(list) : read8(list);
	ret->value = read_part(list, length);
	ret->whole = (struct reader){.at = from, .left = (size_t)(list->at - from)};
	return !list->over;
}

static int take_attributes(struct parse *parse, struct reader *list)
{
	while (list->left) {
		struct attribute attribute;
		int err;

		if (!next_attribute(list, &attribute)) {
			treat(parse->update, WIRE_AS_IF_WITHDRAWN, 0,
			      "the attribute list ends within an attribute");
			return 0;
		}
		err = take_attribute(parse, &attribute);
		if (err)
			return err;
	}
	return 0;
}

/* Section 3 (d): routes need these. */
static void check_mandatory(struct parse *parse, bool classic)
{
	static const char *const why[] = {
		[ATTRIBUTE_ORIGIN] = "ORIGIN is missing",
		[ATTRIBUTE_AS_PATH] = "AS_PATH is missing",
		[ATTRIBUTE_NEXT_HOP] = "NEXT_HOP is missing",
	};
	uint8_t last = classic ? ATTRIBUTE_NEXT_HOP : ATTRIBUTE_AS_PATH;

	for (uint8_t type = ATTRIBUTE_ORIGIN; parse->reached && type <= last; type++)
		if (!parse->seen[type])
			treat(parse->update, WIRE_AS_IF_WITHDRAWN, type, why[type]);
}

/* IPv4 by RFC 4271's fields. */
static int take_classic(struct parse *parse, struct reader withdrawn, struct reader announced)
{
	uint32_t gone, come;

	if (!count_prefixes(withdrawn, 32, &gone) || !count_prefixes(announced, 32, &come))
		return notice_fault(parse->fault, WIRE_ERR_UPDATE, WIRE_BAD_NETWORK);
	parse->reached += come;
	if (!parse->session->ipv4) {
		parse->update->foreign += gone + come > 0;
		return 0;
	}
	parse->update->withdrawn4 += gone;
	parse->update->announced4 += come;
	return 0;
}

static void find_end(struct parse *parse, const struct reader *withdrawn,
		     const struct reader *announced)
{
	struct wire_update *update = parse->update;
	size_t others = withdrawn->left + announced->left;

	if (others || parse->attributes != 1)
		update->end_of_rib4 = update->end_of_rib6 = false;
	if (others == 0 && parse->attributes == 0 && update->treatment == WIRE_TAKEN)
		update->end_of_rib4 = parse->session->ipv4;
}

int wire_update_parse(const struct wire_session *session, const uint8_t *message, size_t length,
		      struct wire_update *ret, struct wire_notice *ret_fault)
{
	struct reader body = message_body(message, length);
	struct wire_update update = {0};
	struct parse parse = {.session = session, .update = &update, .fault = ret_fault};
	struct reader withdrawn = read_part(&body, read16(&body));
	struct reader list = read_part(&body, read16(&body));
	int err;

	if (body.over)
		return notice_fault(ret_fault, WIRE_ERR_UPDATE, WIRE_BAD_ATTRIBUTES);
	err = take_classic(&parse, withdrawn, body);
	if (!err)
		err = take_attributes(&parse, &list);
	if (err)
		return err;
	/* Section 5.2: routes that cannot be found cannot count as withdrawn. */
	if (update.treatment == WIRE_AS_IF_WITHDRAWN && parse.reached == 0)
		return notice_fault(ret_fault, WIRE_ERR_UPDATE, WIRE_BAD_ATTRIBUTES);
	check_mandatory(&parse, body.left > 0);
	find_end(&parse, &withdrawn, &body);
	if (update.treatment == WIRE_AS_IF_WITHDRAWN) {
		update.withdrawn4 += update.announced4;
		update.withdrawn6 += update.announced6;
		update.announced4 = update.announced6 = 0;
	}
	*ret = update;
	return 0;
}
