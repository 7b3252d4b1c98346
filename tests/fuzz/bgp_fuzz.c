/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes from a BGP peer. The first byte says how the others are taken: as a stream, as the
 * body of one message of a type, or as routes to announce; and on which session. Each message
 * ends where its memory ends, so a read past it is seen. What is taken must be read again as the
 * same from what we would write of it; what is refused must make a NOTIFICATION.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bgp/fsm.h"
#include "bgp/wire/update.h"
#include "bgp/wire/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HOW_ROUTES = 6, ROUTES_MAX = 2000 };

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "bgp: %s\n", what);
	abort();
}

static void check_text(const struct wire_notice *notice)
{
	char *text = malloc(WIRE_NOTICE_TEXT_MAX);
	size_t length;

	must(wire_notice_text(notice, text) == text, "another text");
	length = strlen(text);
	must(length > 0 && length < WIRE_NOTICE_TEXT_MAX, "a text of no length");
	for (size_t i = 0; i < length; i++)
		must((uint8_t)text[i] >= ' ' && text[i] != 0x7f, "a control character");
	free(text);
}

/* A fault makes a NOTIFICATION, and that is read as what it was. */
static void check_fault(const struct wire_notice *fault)
{
	static uint8_t message[WIRE_MAX];
	struct wire_notice again, unused;
	enum wire_type type;
	int length = wire_notice_format(fault, message);

	must(fault->code >= WIRE_ERR_HEADER && fault->code <= WIRE_ERR_UPDATE, "a strange code");
	must(wire_frame(message, (size_t)length, &type, &unused) == length, "no message");
	must(type == WIRE_NOTIFICATION, "no NOTIFICATION");
	wire_notice_parse(message, (size_t)length, &again);
	must(again.code == fault->code && again.subcode == fault->subcode &&
		     again.length == fault->length &&
		     memcmp(again.data, fault->data, again.length) == 0,
	     "another NOTIFICATION");
	check_text(fault);
}

static enum fsm_event take_open(const uint8_t *message, size_t length)
{
	static const struct wire_open ours = {
		.asn = 65010,
		.router_id = 1,
		.hold_s = 90,
		.as4 = true,
		.ipv4 = true,
		.ipv6 = true,
		.next_hop6 = true,
		.graceful = true,
		.graceful4 = true,
	};
	static uint8_t written[WIRE_MAX];
	struct wire_open open, again;
	struct wire_session session;
	struct wire_notice fault;
	int back;

	if (wire_open_parse(message, length, &open, &fault)) {
		check_fault(&fault);
		return FSM_OPEN_ERROR;
	}
	must(open.asn && open.router_id, "an OPEN of nobody");
	back = wire_open_format(&open, written);
	must(back > 0, "a taken OPEN cannot be written");
	must(wire_open_parse(written, (size_t)back, &again, &fault) == 0, "is refused again");
	must(open.asn == again.asn && open.hold_s == again.hold_s && open.ipv6 == again.ipv6 &&
		     open.graceful6 == again.graceful6 && open.restart_s == again.restart_s &&
		     open.restarting == again.restarting && open.next_hop6 == again.next_hop6,
	     "another OPEN");
	if (wire_open_accept(&ours, &open, open.asn, &session, &fault)) {
		check_fault(&fault);
		return FSM_OPEN_ERROR;
	}
	must(session.ipv4 || session.ipv6, "a session of nothing");
	must(session.hold_s == 0 || session.keepalive_s > 0, "a hold time without keepalives");
	must(session.hold_s <= 90, "a longer hold time than ours");
	return FSM_OPEN_TAKEN;
}

static enum fsm_event take_update(const struct wire_session *session, const uint8_t *message,
				  size_t length)
{
	struct wire_update update;
	struct wire_notice fault;
	uint32_t routes;

	if (wire_update_parse(session, message, length, &update, &fault)) {
		must(fault.code == WIRE_ERR_UPDATE && fault.subcode, "no UPDATE error");
		check_fault(&fault);
		return FSM_UPDATE_ERROR;
	}
	routes = update.announced4 + update.announced6 + update.withdrawn4 + update.withdrawn6;
	must(routes <= length, "more routes than bytes");
	must((update.treatment == WIRE_TAKEN) == !update.why, "treated without a reason");
	if (update.treatment == WIRE_AS_IF_WITHDRAWN)
		must(update.announced4 + update.announced6 == 0, "withdrawn and announced");
	if (update.end_of_rib4 || update.end_of_rib6)
		must(routes == 0, "an end with routes");
	if (!session->ipv6)
		must(update.announced6 + update.withdrawn6 == 0, "routes of no family of ours");
	return FSM_UPDATE_TAKEN;
}

static enum fsm_event take_notice(const uint8_t *message, size_t length)
{
	static uint8_t written[WIRE_MAX];
	struct wire_notice notice;

	wire_notice_parse(message, length, &notice);
	must(wire_notice_format(&notice, written) == (int)length, "another length");
	must(memcmp(written, message, length) == 0, "other bytes");
	check_text(&notice);
	return FSM_NOTICE;
}

static enum fsm_event take_message(const struct wire_session *session, enum wire_type type,
				   const uint8_t *message, size_t length)
{
	enum wire_family family;

	switch (type) {
	case WIRE_OPEN: return take_open(message, length);
	case WIRE_UPDATE: return take_update(session, message, length);
	case WIRE_NOTIFICATION: return take_notice(message, length);
	case WIRE_KEEPALIVE: return FSM_KEEPALIVE_TAKEN;
	case WIRE_REFRESH:
		if (wire_refresh_parse(message, length, session, &family) == 0)
			must(family == WIRE_IPV6 ? session->ipv6 : session->ipv4, "a family");
		return FSM_REFRESH_TAKEN;
	}
	must(false, "a type that is none");
	return FSM_HEADER_ERROR;
}

/* One message in memory of its own, and what the state machine makes of it. */
static enum fsm_state take_copy(const struct wire_session *session, enum fsm_state state,
				const uint8_t *bytes, size_t length)
{
	uint8_t *copy = malloc(length ? length : 1);
	struct wire_notice fault;
	enum fsm_event event;
	enum wire_type type;
	int whole;

	if (length)
		memcpy(copy, bytes, length);
	whole = wire_frame(copy, length, &type, &fault);
	if (whole > 0) {
		must((size_t)whole == length, "another length than a byte later");
		event = take_message(session, type, copy, length);
	} else {
		check_fault(&fault);
		event = FSM_HEADER_ERROR;
	}
	free(copy);
	return fsm_step(state, event).next;
}

/* As a connection reads: message by message, until the first that is wrong. */
static void take_stream(const struct wire_session *session, const uint8_t *data, size_t size)
{
	enum fsm_state state = FSM_OPENSENT;

	while (size && state != FSM_IDLE) {
		size_t most = size < WIRE_MAX ? size : WIRE_MAX;
		struct wire_notice fault;
		enum wire_type type;
		int whole = wire_frame(data, most, &type, &fault);

		if (whole == 0) {
			must(most < WIRE_MAX, "more than a whole buffer is awaited");
			return;
		}
		most = whole > 0 ? (size_t)whole : most;
		state = take_copy(session, state, data, most);
		data += most;
		size -= most;
	}
}

static void take_body(const struct wire_session *session, enum wire_type type, const uint8_t *data,
		      size_t size)
{
	static uint8_t message[WIRE_MAX];
	size_t length;

	if (size > WIRE_MAX - WIRE_HEADER)
		size = WIRE_MAX - WIRE_HEADER;
	length = WIRE_HEADER + size;
	memset(message, 0xff, 16);
	message[16] = (uint8_t)(length >> 8);
	message[17] = (uint8_t)length;
	message[18] = (uint8_t)type;
	if (size)
		memcpy(message + WIRE_HEADER, data, size);
	take_copy(session, FSM_ESTABLISHED, message, length);
}

/* Nine bytes a route, half of them IPv4 by the first one's last bit. */
static size_t make_routes(struct prefix *routes, const uint8_t *data, size_t size)
{
	size_t count = 0;

	for (; size >= 9 && count < ROUTES_MAX; count++, data += 9, size -= 9) {
		bool is4 = data[0] & 1;
		struct prefix *route = &routes[count];

		*route = (struct prefix){.length = data[8] % (is4 ? 33 : 129)};
		memcpy(route->addr.bytes, data, 8);
		route->addr.bytes[0] |= 1;
		if (is4)
			route->addr = addr_from_bytes(AF_INET, data + 1);
	}
	return count;
}

/* All of them leave, in as many messages as it takes, and are read as what they are. */
static void take_routes(const struct wire_session *session, const uint8_t *data, size_t size)
{
	static const uint32_t communities[WIRE_COMMUNITIES_MAX];
	static struct prefix routes[ROUTES_MAX];
	struct wire_path path = {.communities = communities};
	static uint8_t message[WIRE_MAX];
	size_t count, taken;

	if (size < 20)
		return;
	path.prepend = data[0];
	path.community_count = data[1];
	path.has_med = data[2] & 1;
	if (data[2] & 2)
		path.next_hop = addr_from_bytes(AF_INET, data + 3);
	else
		memcpy(path.next_hop.bytes, data + 3, 16);
	count = make_routes(routes, data + 19, size - 19);
	for (size_t at = 0; at < count;) {
		struct wire_update update;
		struct wire_notice fault;
		int length;

		if (data[2] & 4)
			length = wire_update_withdraw(session, routes + at, count - at, message,
						      &taken);
		else
			length = wire_update_announce(session, &path, routes + at, count - at,
						      message, &taken);
		if (length < 0) {
			must(length == -EAFNOSUPPORT || path.prepend > WIRE_PREPEND_MAX,
			     "routes that cannot be written");
			at++;
			continue;
		}
		must(length <= WIRE_MAX && taken > 0 && taken <= count - at, "a strange count");
		must(wire_update_parse(session, message, (size_t)length, &update, &fault) == 0,
		     "our own routes are refused");
		must(update.treatment == WIRE_TAKEN, "our own routes are treated");
		must(update.announced4 + update.announced6 + update.withdrawn4 +
				     update.withdrawn6 ==
			     taken,
		     "another number of routes");
		at += taken;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_session session = {.asn = 100000, .peer_asn = 65000};
	uint8_t how;

	if (size == 0)
		return 0;
	how = data[0] & 7;
	session.as4 = data[0] & 8;
	session.next_hop6 = data[0] & 16;
	session.internal = data[0] & 32;
	session.ipv6 = data[0] & 64;
	session.ipv4 = !session.ipv6 || data[0] & 128;
	if (how >= WIRE_OPEN && how <= WIRE_REFRESH)
		take_body(&session, (enum wire_type)how, data + 1, size - 1);
	else if (how == HOW_ROUTES)
		take_routes(&session, data + 1, size - 1);
	else
		take_stream(&session, data + 1, size - 1);
	return 0;
}
