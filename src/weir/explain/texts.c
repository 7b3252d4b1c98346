/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/explain/texts.h"

#include <stddef.h>

#define CAUSES(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define STEPS(...)          \
	{                   \
		__VA_ARGS__ \
	}

/* X(NAME, meaning, causes, steps), for every one of VERDICTS. */
#define EXPLAINED(X)                                                                               \
	X(FORWARDED, "The backend gets it, with the mode's header around it.",                     \
	  CAUSES("this is what a balancer is for"),                                                \
	  STEPS("weir trace tcp CLIENT:PORT VIP:PORT", "weir status"))                             \
	X(REDIRECTED, "The backend gets it; it is reached through another interface.",             \
	  CAUSES("the route to the backend leaves at another interface than the one that clients " \
		 "come in at"),                                                                    \
	  STEPS("weir trace tcp CLIENT:PORT VIP:PORT",                                             \
		"weir check --host FILE: that interface's driver must take redirected frames"))    \
	X(NOT_IP, "ARP, LLDP and the like: the host gets it as if no balancer were there.",        \
	  CAUSES("usual on every link", "three VLAN tags or more around an IP packet"),            \
	  STEPS("weir capture --verdict not_ip -w - | tshark -r -"))                               \
	X(NOT_VIP, "Traffic of the host itself, as ssh, BGP or probes: it is left alone.",         \
	  CAUSES("usual on every node", "a VIP that routers send here and the file does not name", \
		 "tunnels of other balancers, where `decap` is off"),                              \
	  STEPS("weir capture --verdict not_vip", "weir status: are all VIPs there?"))             \
	X(NOT_LISTENED, "The host's own sockets answer it, with a reset as a rule.",               \
	  CAUSES("scans", "a client that uses a port which no service has",                        \
		 "`listen` names TCP only, and the client speaks QUIC (UDP)"),                     \
	  STEPS("weir capture --verdict not_listened",                                             \
		"weir status: what does the VIP's service listen on?"))                            \
	X(OTHER_PROTOCOL, "The host answers it, or does not know it.",                             \
	  CAUSES("ICMP that is neither an echo request nor an error about a flow",                 \
		 "GRE, ESP or SCTP to a VIP whose services take TCP and UDP only"),                \
	  STEPS("weir capture --verdict other_protocol",                                           \
		"listen: [any] in the service, if its backends are to have the protocol"))         \
	X(EXTENSIONS, "An IPv6 packet whose headers before TCP or UDP are too many or unknown.",   \
	  CAUSES("probes by researchers", "IPsec or mobility headers in front of the VIP"),        \
	  STEPS("weir capture --verdict extensions -w - | tshark -V -r -"))                        \
	X(FRAGMENT, "A piece of a datagram, which alone does not say whose it is.",                \
	  CAUSES("DNS answers, VPNs or video over UDP that are longer than the path's MTU",        \
		 "an attack by fragments"),                                                        \
	  STEPS("weir capture --verdict fragment", "fragments: pin in the service",                \
		"weir reload"))                                                                    \
	X(FRAGMENT_EARLY, "A later piece came first, so it is not known for which service it is.", \
	  CAUSES("routers that spread the pieces of a datagram over different ways",               \
		 "pieces of a first one that was lost", "an attack by fragments"),                 \
	  STEPS("weir capture --verdict fragment_early",                                           \
		"hash packets on addresses only (not ports) at routers, for UDP that fragments"))  \
	X(MALFORMED, "The IP header contradicts itself, so nothing in it is believed.",            \
	  CAUSES("a broken card or driver, a bad cable", "frames crafted to test the host"),       \
	  STEPS("weir capture --verdict malformed -w - | tshark -V -r -",                          \
		"ethtool -S INTERFACE: errors on receiving?"))                                     \
	X(TRUNCATED, "A TCP or UDP header for a VIP that is not whole.",                           \
	  CAUSES("crafted packets, as port scanners send", "a broken sender or middlebox"),        \
	  STEPS("weir capture --verdict truncated -w - | tshark -V -r -"))                         \
	X(DENIED,                                                                                  \
	  "The service's `allow` and `deny` say no to the source; the longest prefix "             \
	  "decides.",                                                                              \
	  CAUSES("who is meant to be kept out", "a client network that the list has not got yet"), \
	  STEPS("weir trace tcp CLIENT:PORT VIP:PORT", "weir capture --verdict denied",            \
		"allow or deny in the service; weir reload"))                                      \
	X(RATE_LIMITED,                                                                            \
	  "More packets a second than `rate_limit`, which each core counts for "                   \
	  "its part.",                                                                             \
	  CAUSES("a flood", "a limit below what the service needs",                                \
		 "traffic that comes in at few of the cores, each of which has its part only"),    \
	  STEPS("weir capture --verdict rate_limited", "weir trace tcp CLIENT:PORT VIP:PORT",      \
		"rate_limit in the service; weir reload"))                                         \
	X(UNQUOTED, "An ICMP error that quotes too little to tell which backend it is about.",     \
	  CAUSES("`policy: quic-cid` or `flow-label`, which errors do not quote, and no entry "    \
		 "of the flow"),                                                                   \
	  STEPS("weir capture --verdict unquoted",                                                 \
		"tracking: always in the service, so that every flow has an entry"))               \
	X(BAD_SOURCE,                                                                              \
	  "A tunnel with a packet for a VIP inside, from an address that no "                      \
	  "balancer has.",                                                                         \
	  CAUSES("a balancer that `balancers` does not name", "somebody who forges tunnels"),      \
	  STEPS("weir capture --verdict bad_source", "balancers in the file; weir reload"))        \
	X(NOT_ECT, "RFC 6040 has such a packet dropped: congestion that its sender cannot hear.",  \
	  CAUSES("a router between balancers that marks packets that are not to be marked"),       \
	  STEPS("weir capture --verdict not_ect -w - | tshark -V -r -",                            \
		"ECN settings of the routers between the balancers"))                              \
	X(CIRCLED, "Balancers, or tiers of them, are each other's backends.",                      \
	  CAUSES("a backend's address that is routed to a balancer again",                         \
		 "two files, each with the other's node as a backend"),                            \
	  STEPS("weir capture --verdict circled", "ip route get BACKEND: is it a balancer?"))      \
	X(EMPTY, "Nobody may serve the packet, and `on_empty: drop` says nothing to its sender.",  \
	  CAUSES("all backends fail their checks", "all are drained or in maintenance",            \
		 "none had a check's result yet, just after the start"),                           \
	  STEPS("weir status: health, and each check's last error",                                \
		"weir ready BACKEND, where it was taken out by hand"))                             \
	X(EMPTY_PASSED, "Nobody may serve it; `on_empty: pass` gives it to this host.",            \
	  CAUSES("as of `empty`"), STEPS("weir status", "weir explain empty"))                     \
	X(REJECTED, "Nobody may serve it; `on_empty: reject` tells the sender at once.",           \
	  CAUSES("as of `empty`"), STEPS("weir status", "weir explain empty"))                     \
	X(NO_NEIGHBOR, "Where the packet is to go next has no MAC address that is known.",         \
	  CAUSES("the backend, or the router before it, does not answer ARP or neighbour "         \
		 "discovery",                                                                      \
		 "there is no route to the backend", "l2dsr, and the backend is behind a router"), \
	  STEPS("weir status: the backend's next hop, and why there is none",                      \
		"ip route get BACKEND", "ip neigh show", "ping -c 1 BACKEND"))                     \
	X(TOO_BIG, "Too long for the path with the mode's header, and its sender is not told.",    \
	  CAUSES("an MTU on the way to the backends that is as small as the clients'",             \
		 "`oversize_df: drop` or `oversize_nodf: drop` in the service"),                   \
	  STEPS("weir check FILE: what fits, and the MSS",                                         \
		"MTU of the fabric at least 1500 and what the mode adds (1600 does)",              \
		"mss: auto in the service, for TCP"))                                              \
	X(TOO_BIG_ANSWERED, "Path MTU discovery at work: the sender sends shorter from now on.",   \
	  CAUSES("an MTU on the way to the backends that is as small as the clients'"),            \
	  STEPS("weir check FILE: what fits, and the MSS", "mss: auto in the service, for TCP",    \
		"if one sender comes again and again: does a firewall of its drop ICMP?"))         \
	X(TOO_BIG_SPLIT, "Not lost: the daemon sends it on in fragments. Costly.",                 \
	  CAUSES("packets without DF that are longer than what fits, as of old UDP senders"),      \
	  STEPS("weir status: `split` says what became of them",                                   \
		"MTU of the fabric at least 1500 and what the mode adds (1600 does)"))             \
	X(SPLIT_LIMITED, "More to be fragmented than the daemon is given in a second.",            \
	  CAUSES("a flood of long packets without DF",                                             \
		 "an MTU that is too small for the service"),                                      \
	  STEPS("weir capture --verdict split_limited",                                            \
		"MTU of the fabric at least 1500 and what the mode adds (1600 does)"))             \
	X(ECHO_ANSWERED, "A ping to a VIP; the node answers for the backends.",                    \
	  CAUSES("monitoring, and people"), STEPS("weir capture --verdict echo_answered"))         \
	X(REPLY_LIMITED, "An answer of the node's own (ICMP, reset) that was one too many.",       \
	  CAUSES("a flood of pings", "many senders of packets that are too big",                   \
		 "a service without backends that rejects"),                                       \
	  STEPS("weir capture --verdict reply_limited", "weir explain drop"))                      \
	X(NO_HEADROOM, "The driver leaves no room before the frame, or none behind it.",           \
	  CAUSES("a driver with less than 256 bytes before a frame, or a mode that adds many"),    \
	  STEPS("weir check --host FILE", "xdp: generic for that interface, as a way around"))     \
	X(NO_ROOM_OPTION, "ipopt writes into the IPv4 header, which must have room for it.",       \
	  CAUSES("packets with IP options of their own",                                           \
		 "an IPv6 client and an IPv4 backend, or the other way"),                          \
	  STEPS("weir capture --verdict no_room_option", "forward: ipip or gue in the service"))

static const struct explain_text texts[VERDICT_COUNT] = {
#define TEXT(name, meaning, causes, steps) [VERDICT_##name] = {meaning, causes, steps},
	EXPLAINED(TEXT)
#undef TEXT
};

/* One of VERDICTS that is not in the list above has no such constant. */
enum {
#define KNOWN(name, meaning, causes, steps) KNOWN_##name,
	EXPLAINED(KNOWN)
#undef KNOWN
#define IS_KNOWN(name, action, help) CHECKED_##name = KNOWN_##name,
		VERDICTS(IS_KNOWN)
#undef IS_KNOWN
};

const struct explain_text *explain_text(enum verdict verdict)
{
	return &texts[verdict];
}
