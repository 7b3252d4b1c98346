/* SPDX-License-Identifier: BSD-2-Clause */
/* OPEN, its capabilities, and what two of them come to (RFC 4271 sections 4.2 and 6.2, 5492). */
#include <errno.h>

#include "bgp/wire/bytes.h"

enum {
	VERSION = 4,
	SAFI_UNICAST = 1,
	PARAMETER_CAPABILITIES = 2,
	PARAMETER_EXTENDED = 255, /* RFC 9072: lengths of two bytes follow */
	CAPABILITY_FAMILY = 1,
	CAPABILITY_REFRESH = 2,
	CAPABILITY_NEXT_HOP = 5,
	CAPABILITY_GRACEFUL = 64,
	CAPABILITY_AS4 = 65,
	RESTARTING = 0x8000,
	GRACEFUL_NOTICE = 0x4000,
	RESTART_TIME = 0x0fff,
	FORWARDING = 0x80,
};

static void write_family(struct writer *writer, enum wire_family family)
{
	write8(writer, CAPABILITY_FAMILY);
	write8(writer, 4);
	write16(writer, family);
	write16(writer, SAFI_UNICAST);
}

static void write_graceful_family(struct writer *writer, enum wire_family family, bool forwarding)
{
	write16(writer, family);
	write8(writer, SAFI_UNICAST);
	write8(writer, forwarding ? FORWARDING : 0);
}

static void write_graceful(struct writer *writer, const struct wire_open *open)
{
	uint32_t word = open->restart_s < RESTART_TIME ? open->restart_s : RESTART_TIME;

	if (open->restarting)
		word |= RESTARTING;
	if (open->graceful_notice)
		word |= GRACEFUL_NOTICE;
	write8(writer, CAPABILITY_GRACEFUL);
	write8(writer, 2u + 4u * (open->graceful4 + open->graceful6));
	write16(writer, word);
	if (open->graceful4)
		write_graceful_family(writer, WIRE_IPV4, open->forwarding4);
	if (open->graceful6)
		write_graceful_family(writer, WIRE_IPV6, open->forwarding6);
}

static void write_capabilities(struct writer *writer, const struct wire_open *open)
{
	if (open->ipv4)
		write_family(writer, WIRE_IPV4);
	if (open->ipv6)
		write_family(writer, WIRE_IPV6);
	if (open->refresh) {
		write8(writer, CAPABILITY_REFRESH);
		write8(writer, 0);
	}
	if (open->next_hop6) {
		write8(writer, CAPABILITY_NEXT_HOP);
		write8(writer, 6);
		write16(writer, WIRE_IPV4);
		write16(writer, SAFI_UNICAST);
		write16(writer, WIRE_IPV6);
	}
	if (open->graceful)
		write_graceful(writer, open);
	if (open->as4) {
		write8(writer, CAPABILITY_AS4);
		write8(writer, 4);
		write32(writer, open->asn);
	}
}

static bool hold_fits(uint16_t hold_s)
{
	return hold_s == 0 || hold_s >= WIRE_HOLD_MIN_S;
}

int wire_open_format(const struct wire_open *open, uint8_t *message)
{
	struct writer writer = message_begin(message, WIRE_OPEN);
	uint8_t capabilities[128];
	struct writer list = {.at = capabilities, .left = sizeof(capabilities)};
	size_t length;

	if (open->asn == 0 || open->router_id == 0 || !hold_fits(open->hold_s))
		return -EINVAL;
	if (!open->as4 && open->asn > UINT16_MAX)
		return -EINVAL;
	write8(&writer, VERSION);
	write16(&writer, open->asn > UINT16_MAX ? (uint32_t)WIRE_AS_TRANS : open->asn);
	write16(&writer, open->hold_s);
	write32(&writer, open->router_id);
	write_capabilities(&list, open);
	length = (size_t)(list.at - capabilities);
	if (length == 0) {
		write8(&writer, 0);
		return message_end(&writer, message);
	}
	write8(&writer, (uint32_t)length + 2);
	write8(&writer, PARAMETER_CAPABILITIES);
	write8(&writer, (uint32_t)length);
	write_bytes(&writer, capabilities, length);
	return message_end(&writer, message);
}

/* What the capabilities said beside what struct wire_open has. */
struct told {
	uint32_t as4;
	bool families; /* any, also those that we do not know */
};

/* RFC 4760 section 8; the byte between is reserved. */
static void take_family(struct wire_open *open, struct told *told, struct reader *value)
{
	uint16_t family = read16(value);
	uint16_t safi = read16(value) & 0xff;

	told->families = true;
	if (safi == SAFI_UNICAST && family == WIRE_IPV4)
		open->ipv4 = true;
	if (safi == SAFI_UNICAST && family == WIRE_IPV6)
		open->ipv6 = true;
}

/* RFC 4724 section 3: one capability counts, the last. */
static void take_graceful(struct wire_open *open, struct reader *value)
{
	uint16_t word = read16(value);

	open->graceful = true;
	open->restarting = word & RESTARTING;
	open->graceful_notice = word & GRACEFUL_NOTICE;
	open->restart_s = word & RESTART_TIME;
	open->graceful4 = open->graceful6 = open->forwarding4 = open->forwarding6 = false;
	while (value->left) {
		uint16_t family = read16(value);
		uint8_t safi = read8(value);
		uint8_t flags = read8(value);

		if (safi != SAFI_UNICAST)
			continue;
		if (family == WIRE_IPV4) {
			open->graceful4 = true;
			open->forwarding4 = flags & FORWARDING;
		} else if (family == WIRE_IPV6) {
			open->graceful6 = true;
			open->forwarding6 = flags & FORWARDING;
		}
	}
}

/* RFC 8950 section 4. */
static void take_next_hop(struct wire_open *open, struct reader *value)
{
	while (value->left) {
		uint16_t family = read16(value);
		uint16_t safi = read16(value);
		uint16_t next_hop = read16(value);

		if (family == WIRE_IPV4 && safi == SAFI_UNICAST && next_hop == WIRE_IPV6)
			open->next_hop6 = true;
	}
}

static bool capability_fits(uint8_t code, size_t length)
{
	switch (code) {
	case CAPABILITY_FAMILY:
	case CAPABILITY_AS4: return length == 4;
	case CAPABILITY_REFRESH: return length == 0;
	case CAPABILITY_NEXT_HOP: return length % 6 == 0;
	case CAPABILITY_GRACEFUL: return length >= 2 && length % 4 == 2;
	default: return true;
	}
}

/* False: it is malformed, or its list is. */
static bool take_capability(struct wire_open *open, struct told *told, struct reader *list)
{
	uint8_t code = read8(list);
	struct reader value = read_part(list, read8(list));

	if (list->over || !capability_fits(code, value.left))
		return false;
	switch (code) {
	case CAPABILITY_FAMILY: take_family(open, told, &value); break;
	case CAPABILITY_REFRESH: open->refresh = true; break;
	case CAPABILITY_NEXT_HOP: take_next_hop(open, &value); break;
	case CAPABILITY_GRACEFUL: take_graceful(open, &value); break;
	case CAPABILITY_AS4:
		open->as4 = true;
		told->as4 = read32(&value);
		break;
	default: open->skipped++; break;
	}
	return true;
}

static int take_parameters(struct wire_open *open, struct told *told, struct reader *body,
			   struct wire_notice *ret_fault)
{
	size_t length = read8(body), length_bytes = 1;

	if (length && body->left && body->at[0] == PARAMETER_EXTENDED) {
		read8(body);
		length = read16(body);
		length_bytes = 2;
	}
	if (body->over || length != body->left)
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_OPEN_MALFORMED);
	while (body->left) {
		uint8_t type = read8(body);
		struct reader list = read_part(body, read_number(body, length_bytes));

		if (body->over)
			return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_OPEN_MALFORMED);
		if (type != PARAMETER_CAPABILITIES)
			return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_PARAMETER);
		while (list.left)
			if (!take_capability(open, told, &list))
				return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_OPEN_MALFORMED);
	}
	return 0;
}

/* A peer of four-byte AS has to say the same AS twice, or WIRE_AS_TRANS first (RFC 6793). */
static bool take_asn(struct wire_open *open, const struct told *told, uint16_t as2)
{
	open->asn = open->as4 ? told->as4 : as2;
	if (open->asn == 0)
		return false;
	return as2 == open->asn || as2 == WIRE_AS_TRANS;
}

int wire_open_parse(const uint8_t *message, size_t length, struct wire_open *ret,
		    struct wire_notice *ret_fault)
{
	static const uint8_t version_data[2] = {0, VERSION};
	struct reader body = message_body(message, length);
	struct wire_open open = {0};
	struct told told = {0};
	uint8_t version = read8(&body);
	uint16_t as2 = read16(&body);
	int err;

	open.hold_s = read16(&body);
	open.router_id = read32(&body);
	if (version != VERSION)
		return notice_fault_data(ret_fault, WIRE_ERR_OPEN << 8 | WIRE_BAD_VERSION,
					 version_data, sizeof(version_data));
	err = take_parameters(&open, &told, &body, ret_fault);
	if (err)
		return err;
	if (!take_asn(&open, &told, as2))
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_PEER_AS);
	if (!hold_fits(open.hold_s))
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_HOLD_TIME);
	if (open.router_id == 0)
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_ROUTER_ID);
	if (!told.families)
		open.ipv4 = true;
	*ret = open;
	return 0;
}

/* RFC 5492 section 3: the data says which capabilities we miss. */
static int no_family(const struct wire_open *ours, struct wire_notice *ret_fault)
{
	uint8_t data[2 * 6];
	struct writer list = {.at = data, .left = sizeof(data)};

	if (ours->ipv4)
		write_family(&list, WIRE_IPV4);
	if (ours->ipv6)
		write_family(&list, WIRE_IPV6);
	return notice_fault_data(ret_fault, WIRE_ERR_OPEN << 8 | WIRE_BAD_CAPABILITY, data,
				 (size_t)(list.at - data));
}

int wire_open_accept(const struct wire_open *ours, const struct wire_open *theirs,
		     uint32_t peer_asn, struct wire_session *ret, struct wire_notice *ret_fault)
{
	struct wire_session session = {
		.asn = ours->asn,
		.peer_asn = theirs->asn,
		.internal = ours->asn == theirs->asn,
		.hold_s = ours->hold_s < theirs->hold_s ? ours->hold_s : theirs->hold_s,
		.as4 = ours->as4 && theirs->as4,
		.ipv4 = ours->ipv4 && theirs->ipv4,
		.ipv6 = ours->ipv6 && theirs->ipv6,
		.refresh = ours->refresh && theirs->refresh,
		.graceful_notice = ours->graceful && theirs->graceful && ours->graceful_notice &&
				   theirs->graceful_notice,
	};

	if (theirs->asn != peer_asn)
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_PEER_AS);
	if (session.internal && ours->router_id == theirs->router_id)
		return notice_fault(ret_fault, WIRE_ERR_OPEN, WIRE_BAD_ROUTER_ID);
	if (!session.ipv4 && !session.ipv6)
		return no_family(ours, ret_fault);
	session.keepalive_s = session.hold_s / 3;
	session.next_hop6 = session.ipv4 && ours->next_hop6 && theirs->next_hop6;
	/* A peer needs no families of its own to keep ours. */
	session.graceful4 = session.ipv4 && ours->graceful && ours->graceful4 && theirs->graceful;
	session.graceful6 = session.ipv6 && ours->graceful && ours->graceful6 && theirs->graceful;
	*ret = session;
	return 0;
}
