/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every end that a packet can come to. One list makes the enum, the XDP action, the counter, the
 * metric's label and its help text; what is not in it cannot happen to a packet.
 */
#pragma once

/*
 * X(NAME, action, help). Actions are XDP's; the verdict's name in lower case is its label
 * everywhere outside. PASS leaves the packet to the host: only a VIP's packets are ours.
 */
#define VERDICTS(X)                                                                                \
	X(FORWARDED, TX, "on its way to the backend, out where it came in")                        \
	X(REDIRECTED, REDIRECT, "on its way to the backend, out at another interface")             \
	X(NOT_IP, PASS, "neither IPv4 nor IPv6, also behind at most two VLAN tags")                \
	X(NOT_VIP, PASS, "the destination is not a VIP")                                           \
	X(NOT_LISTENED, PASS, "a VIP, but no service listens on this protocol and port")           \
	X(OTHER_PROTOCOL, PASS, "a VIP, but no service takes the protocol, or ICMP for the host")  \
	X(EXTENSIONS, PASS, "a VIP, but IPv6 extension headers that are not looked through")       \
	X(FRAGMENT, DROP, "a fragment, and its service takes none")                                \
	X(FRAGMENT_EARLY, DROP, "a later fragment before the first, and several services listen")  \
	X(MALFORMED, PASS, "an IP header that is cut short or contradicts itself")                 \
	X(TRUNCATED, DROP, "for a VIP, but its TCP or UDP header is cut short or impossible")      \
	X(DENIED, DROP, "the service's access list does not allow the source")                     \
	X(RATE_LIMITED, DROP, "above the service's packet rate limit")                             \
	X(UNQUOTED, DROP, "an ICMP error whose quote lacks what the service's policy goes by")     \
	X(BAD_SOURCE, DROP, "a tunnel for a VIP that comes from none of the balancers")            \
	X(NOT_ECT, DROP, "a tunnel's packet marked congested, whose flow cannot be told")          \
	X(CIRCLED, DROP, "a tunnel's packet whose TTL is used up: balancers send it in a circle")  \
	X(EMPTY, DROP, "the pool has no usable backend")                                           \
	X(EMPTY_PASSED, PASS, "the pool has no usable backend, and the host gets the packet")      \
	X(REJECTED, TX, "the pool has no usable backend, and the sender was told so")              \
	X(NO_NEIGHBOR, DROP, "no known MAC address of the next hop; for l2dsr, the backend's")     \
	X(TOO_BIG, DROP, "with what the mode adds it does not fit the path to the backend")        \
	X(TOO_BIG_ANSWERED, TX, "too big, and its sender was told by ICMP what fits")              \
	X(TOO_BIG_SPLIT, DROP, "too big, and given to the daemon, which sends it on in fragments") \
	X(SPLIT_LIMITED, DROP, "too big, and the limit of what the daemon is given was reached")   \
	X(ECHO_ANSWERED, TX, "an echo request to a VIP, answered")                                 \
	X(REPLY_LIMITED, DROP, "an answer was due, but the limit of them was reached")             \
	X(NO_HEADROOM, ABORTED, "the driver left no room for the tunnel's header")                 \
	X(NO_ROOM_OPTION, DROP, "no room for ipopt's option, or the backend is of the other family")

enum verdict {
#define VERDICT_ENUM(name, action, help) VERDICT_##name,
	VERDICTS(VERDICT_ENUM)
#undef VERDICT_ENUM
		VERDICT_COUNT,
};

/* What decided: the step that chose the backend, or that refused. */
#define WHYS(X)      \
	X(NOT_VIP)   \
	X(ACL)       \
	X(FLOW)      \
	X(BACKUP)    \
	X(SLOT)      \
	X(OTHER)     \
	X(PREVIOUS)  \
	X(OLD_TABLE) \
	X(CID)       \
	X(OPTION)    \
	X(RATE)      \
	X(FRAGMENT)  \
	X(ICMP)      \
	X(EMPTY)     \
	X(LIMIT)     \
	X(MALFORMED)

enum why {
#define WHY_ENUM(name) WHY_##name,
	WHYS(WHY_ENUM)
#undef WHY_ENUM
		WHY_COUNT,
};
