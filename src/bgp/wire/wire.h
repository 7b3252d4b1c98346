/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BGP messages as bytes: framing, OPEN and what both sides' come to, NOTIFICATION, KEEPALIVE,
 * ROUTE-REFRESH (RFC 4271, 2918, 4760, 5492, 6793, 4724, 8538, 8950, 9072, 9003). UPDATE is in
 * update.h. Pure: the caller's bytes in, the caller's bytes out; no allocation, no I/O, no
 * clock, no log. Any thread.
 *
 * What parses takes a whole message, with its header, as wire_frame found it. What is wrong with
 * it comes back as -EPROTO and as the NOTIFICATION that the RFCs want for it (`ret_fault`), ready
 * for wire_notice_format. What formats writes a whole message into WIRE_MAX bytes and returns its
 * length, at most WIRE_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	WIRE_PORT = 179,
	WIRE_HEADER = 19,
	WIRE_MAX = 4096, /* no extended messages (RFC 8654): we never offer them */
	WIRE_NOTICE_DATA_MAX = WIRE_MAX - WIRE_HEADER - 2,
	WIRE_SHUTDOWN_TEXT_MAX = 255, /* bytes of UTF-8, RFC 9003 */
	WIRE_NOTICE_TEXT_MAX = 512,   /* wire_notice_text's, with the final zero */
	WIRE_HOLD_MIN_S = 3,          /* the smallest but 0 (none) that an OPEN may have */
	WIRE_RESTART_MAX_S = 4095,    /* twelve bits, RFC 4724 section 3 */
	WIRE_AS_TRANS = 23456,        /* RFC 6793: stands where an AS has no room */
};

enum wire_type {
	WIRE_OPEN = 1,
	WIRE_UPDATE,
	WIRE_NOTIFICATION,
	WIRE_KEEPALIVE,
	WIRE_REFRESH,
};

/* AFI, each with SAFI 1 (unicast). */
enum wire_family { WIRE_IPV4 = 1, WIRE_IPV6 = 2 };

enum wire_code {
	WIRE_ERR_HEADER = 1,
	WIRE_ERR_OPEN,
	WIRE_ERR_UPDATE,
	WIRE_ERR_HOLD,
	WIRE_ERR_FSM,
	WIRE_CEASE,
	WIRE_ERR_REFRESH,   /* RFC 7313 */
	WIRE_ERR_SEND_HOLD, /* RFC 9687 */
};

enum wire_header_subcode { WIRE_NOT_SYNCHRONIZED = 1, WIRE_BAD_LENGTH, WIRE_BAD_TYPE };

enum wire_open_subcode {
	WIRE_OPEN_MALFORMED = 0, /* "unspecific", for what has no number */
	WIRE_BAD_VERSION,
	WIRE_BAD_PEER_AS,
	WIRE_BAD_ROUTER_ID,
	WIRE_BAD_PARAMETER,
	WIRE_BAD_HOLD_TIME = 6,
	WIRE_BAD_CAPABILITY = 7,
};

enum wire_update_subcode {
	WIRE_BAD_ATTRIBUTES = 1,
	WIRE_UNKNOWN_WELL_KNOWN,
	WIRE_OPTIONAL_ATTRIBUTE = 9,
	WIRE_BAD_NETWORK,
};

/* RFC 6608: in which state the unexpected message came. */
enum wire_fsm_subcode { WIRE_IN_OPENSENT = 1, WIRE_IN_OPENCONFIRM, WIRE_IN_ESTABLISHED };

/* RFC 4486, 8538 (hard reset), 9384 (BFD). */
enum wire_cease_subcode {
	WIRE_CEASE_PREFIXES = 1,
	WIRE_CEASE_SHUTDOWN, /* may carry a text */
	WIRE_CEASE_DECONFIGURED,
	WIRE_CEASE_RESET, /* may carry a text */
	WIRE_CEASE_REJECTED,
	WIRE_CEASE_CONFIGURATION,
	WIRE_CEASE_COLLISION,
	WIRE_CEASE_RESOURCES,
	WIRE_CEASE_HARD_RESET,
	WIRE_CEASE_BFD_DOWN,
};

/* A NOTIFICATION, received or to be sent. */
struct wire_notice {
	uint8_t code;
	uint8_t subcode;
	uint16_t length; /* of `data` that is used */
	uint8_t data[WIRE_NOTICE_DATA_MAX];
};

/* An OPEN. A family that is not offered has its other bits zero. */
struct wire_open {
	uint32_t asn;       /* by the capability where there is one */
	uint32_t router_id; /* host order */
	uint16_t hold_s;
	bool as4;     /* RFC 6793 */
	bool ipv4;    /* RFC 4760; also when they speak of no family at all (RFC 4271's only one) */
	bool ipv6;    /* RFC 4760 */
	bool refresh; /* RFC 2918 */
	bool next_hop6;            /* RFC 8950: takes IPv4 routes with IPv6 next hops */
	bool graceful;             /* RFC 4724; without families it is for those that only help */
	bool graceful4, graceful6; /* this family's routes are kept over a restart */
	bool forwarding4, forwarding6; /* the F bits: forwarding went on meanwhile */
	bool restarting;               /* the R bit */
	bool graceful_notice; /* the N bit, RFC 8538: a NOTIFICATION too begins a restart */
	uint16_t restart_s;   /* how long they may take, at most WIRE_RESTART_MAX_S */
	uint16_t skipped;     /* parse: capabilities that we do not know */
};

/* What holds for a session once both OPENs are there. */
struct wire_session {
	uint32_t asn;      /* ours */
	uint32_t peer_asn; /* the same: internal */
	uint16_t hold_s;   /* 0: no keepalives, no hold timer */
	uint16_t keepalive_s;
	bool internal;
	bool as4;
	bool ipv4, ipv6;
	bool next_hop6; /* IPv4 routes may have an IPv6 next hop */
	bool refresh;   /* they may ask for all routes again, and we take it */
	bool graceful4,
		graceful6;    /* they keep this family's routes while we restart, as we asked */
	bool graceful_notice; /* also after a NOTIFICATION but a hard reset */
};

/*
 * The first message in `buffer`. Returns its length; 0: it is not all there yet (WIRE_MAX bytes of
 * buffer are always enough); -EPROTO: nothing further may be read from this connection.
 */
int wire_frame(const uint8_t *buffer, size_t length, enum wire_type *ret_type,
	       struct wire_notice *ret_fault);

/* -EINVAL: an OPEN that nobody would take (ASN or router id 0, hold time 1 or 2). */
int wire_open_format(const struct wire_open *open, uint8_t *message);
int wire_open_parse(const uint8_t *message, size_t length, struct wire_open *ret,
		    struct wire_notice *ret_fault);
/*
 * Both OPENs make a session, or theirs is refused: another AS than `peer_asn`, our own router id
 * in our own AS (RFC 6286), no family in common.
 */
int wire_open_accept(const struct wire_open *ours, const struct wire_open *theirs,
		     uint32_t peer_asn, struct wire_session *ret, struct wire_notice *ret_fault);

int wire_keepalive_format(uint8_t *message);

int wire_refresh_format(enum wire_family family, uint8_t *message);
/* -ENOMSG: to be ignored, of a family that is not ours or of a subtype that we did not offer. */
int wire_refresh_parse(const uint8_t *message, size_t length, const struct wire_session *session,
		       enum wire_family *ret);

/* A notice without data. */
struct wire_notice wire_notice(enum wire_code code, uint8_t subcode);
/* A cease; `text` (or NULL) goes along where the subcode may carry one, cut between characters. */
struct wire_notice wire_notice_cease(enum wire_cease_subcode subcode, const char *text);
int wire_notice_format(const struct wire_notice *notice, uint8_t *message);
/* Any bytes that wire_frame calls a NOTIFICATION are one: nobody answers a NOTIFICATION. */
void wire_notice_parse(const uint8_t *message, size_t length, struct wire_notice *ret);
/*
 * In words, as `cease, administrative shutdown: "back at noon"`; into WIRE_NOTICE_TEXT_MAX bytes.
 * What the peer wrote is shown as printable UTF-8, other bytes as `?`. Returns `text`.
 */
const char *wire_notice_text(const struct wire_notice *notice, char *text);
