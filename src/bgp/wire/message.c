/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BGP on the wire, RFC 4271 section 4: a header of 19 bytes (16 of ones, length, type), then what
 * the type has. Here are the header and the messages that are hardly more than it; open.c, notice.c
 * and for UPDATEs announce.c (ours) and update.c, attribute.c (theirs) have the rest.
 *
 * A peer is trusted with its own session and with nothing else. So each length is checked against
 * what it is in, once, by the reader of bytes.h, which knows its end; nothing is stored that a
 * message could make many of; and each error has one place that decides what it costs: a whole
 * message (frame), the session (a fault), some routes, or an attribute (RFC 7606, attribute.c).
 *
 * What we send is as plain as it can be: one parameter with all capabilities, attributes by their
 * type but for the MP ones, which come first (RFC 7606 section 5.1), unicast alone, IPv4 in the
 * fields that RFC 4271 has for it unless its next hop is an IPv6 one.
 */
#include <errno.h>

#include "bgp/wire/bytes.h"

enum { MARKER = 16, REFRESH_LENGTH = WIRE_HEADER + 4, SAFI_UNICAST = 1 };

struct writer message_begin(uint8_t *message, enum wire_type type)
{
	struct writer writer = {.at = message, .left = WIRE_MAX};

	memset(message, 0xff, MARKER);
	writer.at += MARKER;
	writer.left -= MARKER;
	write16(&writer, 0);
	write8(&writer, type);
	return writer;
}

int message_end(const struct writer *writer, uint8_t *message)
{
	size_t length = (size_t)(writer->at - message);

	if (writer->full)
		return -EMSGSIZE;
	message[MARKER] = (uint8_t)(length >> 8);
	message[MARKER + 1] = (uint8_t)length;
	return (int)length;
}

struct reader message_body(const uint8_t *message, size_t length)
{
	struct reader reader = {.at = message, .left = length};

	read_bytes(&reader, WIRE_HEADER);
	return reader;
}

/* Section 6.1; RFC 2918 for ROUTE-REFRESH, whose longer forms (RFC 5291) we do not offer. */
static bool length_fits(enum wire_type type, size_t length)
{
	switch (type) {
	case WIRE_OPEN: return length >= 29;
	case WIRE_UPDATE: return length >= 23;
	case WIRE_NOTIFICATION: return length >= 21;
	case WIRE_KEEPALIVE: return length == WIRE_HEADER;
	case WIRE_REFRESH: return length == REFRESH_LENGTH;
	}
	return false;
}

int wire_frame(const uint8_t *buffer, size_t length, enum wire_type *ret_type,
	       struct wire_notice *ret_fault)
{
	struct reader reader = {.at = buffer, .left = length};
	uint16_t whole;
	uint8_t type;

	/* Garbage is known as such by its first byte, and is not waited with. */
	for (size_t i = 0; i < length && i < MARKER; i++)
		if (buffer[i] != 0xff)
			return notice_fault(ret_fault, WIRE_ERR_HEADER, WIRE_NOT_SYNCHRONIZED);
	if (length < WIRE_HEADER)
		return 0;
	read_bytes(&reader, MARKER);
	whole = read16(&reader);
	type = read8(&reader);
	if (whole < WIRE_HEADER || whole > WIRE_MAX)
		return notice_fault_data(ret_fault, WIRE_ERR_HEADER << 8 | WIRE_BAD_LENGTH,
					 buffer + MARKER, 2);
	if (type < WIRE_OPEN || type > WIRE_REFRESH)
		return notice_fault_data(ret_fault, WIRE_ERR_HEADER << 8 | WIRE_BAD_TYPE, &type, 1);
	if (!length_fits((enum wire_type)type, whole))
		return notice_fault_data(ret_fault, WIRE_ERR_HEADER << 8 | WIRE_BAD_LENGTH,
					 buffer + MARKER, 2);
	if (length < whole)
		return 0;
	*ret_type = (enum wire_type)type;
	return whole;
}

int wire_keepalive_format(uint8_t *message)
{
	struct writer writer = message_begin(message, WIRE_KEEPALIVE);

	return message_end(&writer, message);
}

int wire_refresh_format(enum wire_family family, uint8_t *message)
{
	struct writer writer = message_begin(message, WIRE_REFRESH);

	write16(&writer, family);
	write8(&writer, 0);
	write8(&writer, SAFI_UNICAST);
	return message_end(&writer, message);
}

int wire_refresh_parse(const uint8_t *message, size_t length, const struct wire_session *session,
		       enum wire_family *ret)
{
	struct reader body = message_body(message, length);
	uint16_t family = read16(&body);
	uint8_t subtype = read8(&body);
	uint8_t safi = read8(&body);

	/* Begin and end marks (RFC 7313) come only from those whom we offered to read them. */
	if (body.over || subtype != 0 || safi != SAFI_UNICAST)
		return -ENOMSG;
	if ((family == WIRE_IPV4 && session->ipv4) || (family == WIRE_IPV6 && session->ipv6)) {
		*ret = (enum wire_family)family;
		return 0;
	}
	return -ENOMSG;
}
