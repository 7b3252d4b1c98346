/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The agent's tables and every end that a packet can come to with it. One list makes the enum,
 * the XDP action, the counter, the label (the name in lower case) and its help text.
 */
#pragma once

#include <linux/types.h>

#include "dp/abi.h"
#include "pkt/addr.h"
#include "tunnel/mode.h"

enum {
	AGENT_VIPS = 4096, /* prefixes, as the balancers */
	AGENT_BALANCERS = 4096,
	AGENT_PEERS = 4096,
	AGENT_OTHERS = 256, /* other owners in use, as far as they are remembered for the daemon */
	AGENT_PORTS = 8192, /* of the file and learned, together */
	AGENT_PORTS_GIVEN = 2048, /* of the file; each takes two places */
};

/* X(NAME, action, help). What is passed is left to the host as it came, but for DECAPSULATED. */
#define AGENT_VERDICTS(X)                                                                          \
	X(DECAPSULATED, PASS, "taken out of its tunnel and given to the host")                     \
	X(RESTORED, PASS, "its destination put back, which an option held, and given to the host") \
	X(NOT_IP, PASS, "neither IPv4 nor IPv6, or with a VLAN tag")                               \
	X(NOT_TUNNEL, PASS, "no tunnel that the agent knows")                                      \
	X(NOT_VIP, PASS, "a tunnel for something else than the VIPs")                              \
	X(FRAGMENT, PASS, "a fragment of a tunnel's packet")                                       \
	X(MALFORMED, PASS, "an IP header that is cut short or contradicts itself")                 \
	X(BAD_SOURCE, DROP, "a tunnel for a VIP that comes from none of the balancers")            \
	X(TRUNCATED, DROP, "from a balancer, but its inner lengths cannot be")                     \
	X(NOT_ECT, DROP, "marked congested under way, its flow cannot be told")                    \
	X(SILENCED, DROP, "someone asks whose a VIP is: not for the agent to answer")              \
	X(MODE_OFF, PASS, "of a mode that `forward` of the agent's file does not list")            \
	X(BAD_OPTION, DROP, "for a VIP, but what the option beside it says is not so")             \
	X(BAD_PORT, DROP, "for a port that the agent's file contradicts or does not name")         \
	X(PORTS_FULL, DROP, "for a port that is new, and there is no place to learn it")           \
	X(HANDED_ON, TX, "names another owner, and goes there: no socket here knows it")           \
	X(HANDED_WEAK, TX, "names another owner, and goes there: a socket here refuses it")        \
	X(TAKEN, PASS, "handed on by a peer, taken out of its tunnel and given to the host")       \
	X(UNCLAIMED, DROP,                                                                         \
	  "handed on by a peer whose socket refused it, and none here accepts it")                 \
	X(BAD_PEER, DROP, "handed on to a VIP by one who is none of the peers")                    \
	X(NO_ROOM, ABORTED, "the driver refused to take the tunnel's header off")

enum agent_verdict {
#define AGENT_VERDICT_ENUM(name, action, help) AGENT_##name,
	AGENT_VERDICTS(AGENT_VERDICT_ENUM)
#undef AGENT_VERDICT_ENUM
		AGENT_VERDICT_COUNT,
};

/* The modes that are taken in: the bits of a switch. GUE's bit is for both of its variants. */
enum agent_takes {
	AGENT_TAKES_IPIP = 1 << TUNNEL_IPIP,
	AGENT_TAKES_GRE = 1 << TUNNEL_GRE,
	AGENT_TAKES_GUE = 1 << TUNNEL_GUE,
	AGENT_TAKES_GENEVE = 1 << TUNNEL_GENEVE,
	AGENT_TAKES_IPOPT = 1 << TUNNEL_IPOPT,
	/* And what GUE's variant 0 says of another owner is heard: there are peers. */
	AGENT_TAKES_SECOND = 1 << TUNNEL_GUE0,
	/* Those that may change ports. */
	AGENT_TAKES_PORTS = AGENT_TAKES_GENEVE | AGENT_TAKES_IPOPT,
	AGENT_TAKES_ALL = AGENT_TAKES_PORTS | AGENT_TAKES_IPIP | AGENT_TAKES_GRE | AGENT_TAKES_GUE |
			  AGENT_TAKES_SECOND,
};

/* What became of a VIP's SYN-ACK on its way out; X(NAME, help). Other packets are not counted. */
#define AGENT_CLAMPS(X)                                            \
	X(CLAMPED, "the MSS was lowered to what fits the tunnel")  \
	X(FITTING, "the MSS was small enough")                     \
	X(ABSENT, "no MSS option: the client assumes a small one") \
	X(UNREADABLE, "options that are cut short or contradict themselves")

enum agent_clamp {
#define AGENT_CLAMP_ENUM(name, help) AGENT_CLAMP_##name,
	AGENT_CLAMPS(AGENT_CLAMP_ENUM)
#undef AGENT_CLAMP_ENUM
		AGENT_CLAMP_COUNT,
};

/* The key of the VIPs' and of the balancers' table: a trie over 128 bits, IPv4 below
 * ::ffff:0:0/96. */
struct agent_prefix {
	__u32 length; /* 0-128 */
	struct pkt_addr addr;
} __attribute__((packed));
_Static_assert(sizeof(struct agent_prefix) == 20, "an LPM key has no holes");

/* The largest MSS that a client may be told, by the family of the inner packet. */
struct agent_limits {
	__u16 mss4;
	__u16 mss6;
	__u32 pad;
};
_Static_assert(sizeof(struct agent_limits) == 8, "agent_limits is one word");

/*
 * Ports that the forward mode changes, in both directions: what a VIP's server sends from the port
 * that it listens at leaves from the VIP's (OUT), and where the file names the two, what comes for
 * the VIP's port goes to the server's (IN).
 */
enum agent_way { AGENT_WAY_OUT, AGENT_WAY_IN };

struct agent_port {
	struct pkt_addr vip;
	__be16 port;
	__u8 proto;
	__u8 way; /* enum agent_way */
	__u32 pad;
};
_Static_assert(sizeof(struct agent_port) == 24, "agent_port has no holes");

struct agent_other_port {
	__be16 port;
	__u8 given; /* by the file: no packet changes it */
	__u8 pad;
};
