/* SPDX-License-Identifier: BSD-2-Clause */
/* UPDATE messages of our own: routes that come, routes that go, and that those were all. */
#include <assert.h>
#include <errno.h>

#include "bgp/wire/attribute.h"
#include "bgp/wire/update.h"

enum {
	/* All but the MP attribute, with every list at its limit. */
	ATTRIBUTES_MAX = 4 + (4 + 2 + 2 * 255) + 7 + 7 + 7 + (4 + 4 * WIRE_COMMUNITIES_MAX) +
			 (4 + 2 + 4 * 255) + (4 + 12 * WIRE_LARGE_MAX),
	MP_HEAD = 4 + 5 + 32, /* of MP_REACH_NLRI, before its prefixes */
	PREFIX_MAX = 1 + 16,
};

/* One prefix has room whatever the path is. */
static_assert(WIRE_HEADER + 4 + ATTRIBUTES_MAX + MP_HEAD + PREFIX_MAX <= WIRE_MAX, "no room");

static void write_head(struct writer *writer, uint8_t flags, uint8_t type, size_t length)
{
	if (length > UINT8_MAX)
		flags |= FLAG_EXTENDED;
	write8(writer, flags);
	write8(writer, type);
	write_number(writer, (uint32_t)length, flags & FLAG_EXTENDED ? 2 : 1);
}

static void write_number_attribute(struct writer *writer, uint8_t flags, uint8_t type,
				   uint32_t value)
{
	write_head(writer, flags, type, 4);
	write32(writer, value);
}

static void write_sequence(struct writer *writer, size_t count, uint32_t asn, size_t bytes)
{
	write8(writer, AS_SEQUENCE);
	write8(writer, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		write_number(writer, asn, bytes);
}

/* Section 5.1.2 b; an AS that has no room in two bytes stands whole in AS4_PATH (RFC 6793). */
static void write_as_path(struct writer *writer, const struct wire_session *session,
			  const struct wire_path *path)
{
	size_t count = 1u + path->prepend, bytes = session->as4 ? 4 : 2;
	uint32_t asn = session->asn;

	if (session->internal) {
		write_head(writer, FLAG_TRANSITIVE, ATTRIBUTE_AS_PATH, 0);
		return;
	}
	if (!session->as4 && asn > UINT16_MAX)
		asn = WIRE_AS_TRANS;
	write_head(writer, FLAG_TRANSITIVE, ATTRIBUTE_AS_PATH, 2 + count * bytes);
	write_sequence(writer, count, asn, bytes);
}

static void write_as4_path(struct writer *writer, const struct wire_session *session,
			   const struct wire_path *path)
{
	size_t count = 1u + path->prepend;

	if (session->internal || session->as4 || session->asn <= UINT16_MAX)
		return;
	write_head(writer, FLAG_OPTIONAL | FLAG_TRANSITIVE, ATTRIBUTE_AS4_PATH, 2 + 4 * count);
	write_sequence(writer, count, session->asn, 4);
}

static void write_communities(struct writer *writer, const struct wire_path *path)
{
	if (path->community_count == 0)
		return;
	write_head(writer, FLAG_OPTIONAL | FLAG_TRANSITIVE, ATTRIBUTE_COMMUNITIES,
		   4 * path->community_count);
	for (size_t i = 0; i < path->community_count; i++)
		write32(writer, path->communities[i]);
}

static void write_large(struct writer *writer, const struct wire_path *path)
{
	if (path->large_count == 0)
		return;
	write_head(writer, FLAG_OPTIONAL | FLAG_TRANSITIVE, ATTRIBUTE_LARGE_COMMUNITY,
		   12 * path->large_count);
	for (size_t i = 0; i < path->large_count; i++) {
		write32(writer, path->large[i].global);
		write32(writer, path->large[i].local1);
		write32(writer, path->large[i].local2);
	}
}

/* `classic`: the prefixes stand in RFC 4271's own field, and so does their next hop. */
static void write_attributes(struct writer *writer, const struct wire_session *session,
			     const struct wire_path *path, bool classic)
{
	write_head(writer, FLAG_TRANSITIVE, ATTRIBUTE_ORIGIN, 1);
	write8(writer, ORIGIN_IGP);
	write_as_path(writer, session, path);
	if (classic) {
		write_head(writer, FLAG_TRANSITIVE, ATTRIBUTE_NEXT_HOP, 4);
		write_bytes(writer, path->next_hop.bytes + 12, 4);
	}
	if (path->has_med)
		write_number_attribute(writer, FLAG_OPTIONAL, ATTRIBUTE_MED, path->med);
	if (session->internal)
		write_number_attribute(writer, FLAG_TRANSITIVE, ATTRIBUTE_LOCAL_PREF,
				       path->local_pref);
	write_communities(writer, path);
	write_as4_path(writer, session, path);
	write_large(writer, path);
}

/* A run of prefixes of one family, and how many of them are written. */
struct run {
	const struct prefix *prefixes;
	size_t count;
	size_t taken;
	bool is4;
	bool broken; /* one is longer than its family's addresses */
};

static void write_prefixes(struct writer *writer, struct run *run)
{
	size_t skip = run->is4 ? 12 : 0;

	for (; run->taken < run->count; run->taken++) {
		const struct prefix *prefix = &run->prefixes[run->taken];
		size_t bytes = (prefix->length + 7u) / 8;

		if (addr_is4(&prefix->addr) != run->is4 || 1 + bytes > writer->left)
			return;
		if (prefix->length > (run->is4 ? 32 : 128)) {
			run->broken = true;
			return;
		}
		write8(writer, prefix->length);
		write_bytes(writer, prefix->addr.bytes + skip, bytes);
	}
}

/* An attribute that ends with prefixes: its length is known last, so it always takes two bytes. */
static void write_mp(struct writer *writer, uint8_t type, const struct wire_path *path,
		     struct run *run)
{
	uint8_t *length_at = writer->at + 2;
	size_t length;

	write8(writer, FLAG_OPTIONAL | FLAG_EXTENDED);
	write8(writer, type);
	write16(writer, 0);
	write16(writer, run->is4 ? WIRE_IPV4 : WIRE_IPV6);
	write8(writer, SAFI_UNICAST);
	if (path) {
		bool two = !addr_is_none(&path->link_local);

		write8(writer, two ? 32 : 16);
		write_bytes(writer, path->next_hop.bytes, 16);
		if (two)
			write_bytes(writer, path->link_local.bytes, 16);
		write8(writer, 0);
	}
	write_prefixes(writer, run);
	length = (size_t)(writer->at - length_at) - 2;
	length_at[0] = (uint8_t)(length >> 8);
	length_at[1] = (uint8_t)length;
}

static int end(struct writer *writer, uint8_t *message, const struct run *run, size_t *ret_taken)
{
	if (run->taken == 0 && run->broken)
		return -EINVAL;
	*ret_taken = run->taken;
	return message_end(writer, message);
}

static bool family_fits(const struct wire_session *session, const struct wire_path *path, bool is4)
{
	bool by4 = addr_is4(&path->next_hop);

	if (addr_is_none(&path->next_hop))
		return false;
	if (is4)
		return session->ipv4 && (by4 || session->next_hop6);
	return session->ipv6 && !by4;
}

int wire_update_announce(const struct wire_session *session, const struct wire_path *path,
			 const struct prefix *prefixes, size_t count, uint8_t *message,
			 size_t *ret_taken)
{
	struct writer writer = message_begin(message, WIRE_UPDATE);
	struct run run = {.prefixes = prefixes, .count = count};
	uint8_t attributes[ATTRIBUTES_MAX];
	struct writer list = {.at = attributes, .left = sizeof(attributes)};
	uint8_t *total_at;
	size_t total;
	bool classic;

	if (count == 0 || path->prepend > WIRE_PREPEND_MAX ||
	    path->community_count > WIRE_COMMUNITIES_MAX || path->large_count > WIRE_LARGE_MAX)
		return -EINVAL;
	run.is4 = addr_is4(&prefixes[0].addr);
	if (!family_fits(session, path, run.is4))
		return -EAFNOSUPPORT;
	classic = run.is4 && addr_is4(&path->next_hop);
	write_attributes(&list, session, path, classic);
	total = (size_t)(list.at - attributes);
	write16(&writer, 0);
	total_at = writer.at;
	write16(&writer, 0);
	if (!classic) {
		writer.left -= total; /* for those after it */
		write_mp(&writer, ATTRIBUTE_MP_REACH, path, &run);
		writer.left += total;
	}
	write_bytes(&writer, attributes, total);
	total = (size_t)(writer.at - total_at) - 2;
	total_at[0] = (uint8_t)(total >> 8);
	total_at[1] = (uint8_t)total;
	if (classic)
		write_prefixes(&writer, &run);
	return end(&writer, message, &run, ret_taken);
}

/* IPv4 goes by RFC 4271's field, whatever its next hop was (RFC 8950 section 4). */
static int withdraw4(struct run *run, uint8_t *message, size_t *ret_taken)
{
	struct writer writer = message_begin(message, WIRE_UPDATE);
	uint8_t *length_at = writer.at;
	size_t length;

	write16(&writer, 0);
	writer.left -= 2; /* for the length of no attributes */
	write_prefixes(&writer, run);
	writer.left += 2;
	length = (size_t)(writer.at - length_at) - 2;
	length_at[0] = (uint8_t)(length >> 8);
	length_at[1] = (uint8_t)length;
	write16(&writer, 0);
	return end(&writer, message, run, ret_taken);
}

static int withdraw6(struct run *run, uint8_t *message, size_t *ret_taken)
{
	struct writer writer = message_begin(message, WIRE_UPDATE);
	uint8_t *total_at;
	size_t total;

	write16(&writer, 0);
	total_at = writer.at;
	write16(&writer, 0);
	write_mp(&writer, ATTRIBUTE_MP_UNREACH, NULL, run);
	total = (size_t)(writer.at - total_at) - 2;
	total_at[0] = (uint8_t)(total >> 8);
	total_at[1] = (uint8_t)total;
	return end(&writer, message, run, ret_taken);
}

int wire_update_withdraw(const struct wire_session *session, const struct prefix *prefixes,
			 size_t count, uint8_t *message, size_t *ret_taken)
{
	struct run run = {.prefixes = prefixes, .count = count};

	if (count == 0)
		return -EINVAL;
	run.is4 = addr_is4(&prefixes[0].addr);
	if (run.is4 ? !session->ipv4 : !session->ipv6)
		return -EAFNOSUPPORT;
	return run.is4 ? withdraw4(&run, message, ret_taken) : withdraw6(&run, message, ret_taken);
}

int wire_update_end_of_rib(enum wire_family family, uint8_t *message)
{
	struct run none = {.is4 = family == WIRE_IPV4};
	size_t taken;

	return none.is4 ? withdraw4(&none, message, &taken) : withdraw6(&none, message, &taken);
}
