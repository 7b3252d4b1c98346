/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the services. */
#include "conf/keys/rows.h"

static bool by_source_prefix(const void *service)
{
	return ((const struct conf_service *)service)->policy == CONF_POLICY_SOURCE_PREFIX;
}

static bool by_quic_cid(const void *service)
{
	return ((const struct conf_service *)service)->policy == CONF_POLICY_QUIC_CID;
}

static const struct conf_key keys[] = {
	{.path = "services",
	 .type = CONF_TYPE_MAP,
	 LIST_AT(conf, services, service_count),
	 .place_offset = offsetof(struct conf_service, place),
	 .max = CONF_SERVICES_MAX,
	 .help = "what is balanced, and to which pool"},
	{.path = "services[].name",
	 .type = CONF_TYPE_NAME,
	 AT(conf_service, name),
	 .required = true,
	 .help = "unique among the services"},
	{.path = "services[].vips",
	 .type = CONF_TYPE_VIP,
	 LIST_AT(conf_service, vips, vip_count),
	 .required = true,
	 .min = 1,
	 .max = CONF_VIPS_MAX,
	 .help = "the addresses that clients connect to, or prefixes of such: of all that hold an "
		 "address the longest serves it; 1024 prefixes in all services at most"},
	{.path = "services[].listen",
	 .type = CONF_TYPE_LISTEN,
	 LIST_AT(conf_service, listens, listen_count),
	 .required = true,
	 .min = 1,
	 .max = CONF_VIP_LISTENS_MAX,
	 .help = "protocols and ports: one port, a range of them, tcp/any and udp/any for all "
		 "ports, and any for every protocol and port; each belongs to one service of a "
		 "VIP; one inside another, also of another service, is served by the narrower; "
		 "they may not overlap otherwise, and an address has 14 of them at most"},
	{.path = "services[].pool",
	 .type = CONF_TYPE_POOL,
	 AT(conf_service, pool),
	 .required = true,
	 .help = "the name of the pool that serves it"},
	{.path = "services[].forward",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, forward),
	 .choices = "ipip|gre|gue|geneve|ipopt|l2dsr|nat|fullnat|hybrid|proxy",
	 .works = "ipip|gre|gue|geneve|ipopt|l2dsr",
	 .fallback = "ipip",
	 .help = "how packets reach the backend, whose answers go straight to the client; ipip: in "
		 "an IP tunnel; gre: in a GRE tunnel; gue: in UDP to port 6080 (GUE, variant 1); "
		 "geneve: in UDP to port 6081, with the VIP and its port in an option; ipopt: in "
		 "no tunnel, with them in an IP option (IPv6: a destination option), VIPs and "
		 "backends of one family; "
		 "l2dsr: in no tunnel, to a backend on the same link by its MAC address"},
	{.path = "services[].second_chance",
	 .type = CONF_TYPE_BOOL,
	 AT(conf_service, second_chance),
	 .choices = "false|true",
	 .fallback = "false",
	 .help = "with forward: gue; packets whose slot does not say for certain which backend "
		 "has their TCP connection name a second one, in GUE's variant 0, and a backend "
		 "that knows no such connection hands them on to that one, if its agent has "
		 "peers; the room for the larger header is always kept free"},
	{.path = "services[].policy",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, policy),
	 .choices = "source|2-tuple|3-tuple|4-tuple|5-tuple|source-prefix|flow-label|quic-cid",
	 .fallback = "5-tuple",
	 .help = "what of a packet decides its slot; 2-tuple: source and destination; 3-tuple: and "
		 "protocol; 4-tuple: and the destination's port; 5-tuple: and the source's; "
		 "flow-label: source, destination and IPv6's flow label, where it is not 0; "
		 "quic-cid: the server that a QUIC connection id names; where they name none, as "
		 "5-tuple"},
	{.path = "services[].source_prefix4",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, source_prefix4),
	 .min = 1,
	 .max = 32,
	 .fallback = "24",
	 .means = by_source_prefix,
	 .with = "policy: source-prefix",
	 .help = "how many bits of an IPv4 source count"},
	{.path = "services[].source_prefix6",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, source_prefix6),
	 .min = 1,
	 .max = 128,
	 .fallback = "56",
	 .means = by_source_prefix,
	 .with = "policy: source-prefix",
	 .help = "how many bits of an IPv6 source count"},
	{.path = "services[].quic",
	 .type = CONF_TYPE_MAP,
	 .means = by_quic_cid,
	 .with = "policy: quic-cid",
	 .help = "how a connection id names its server"},
	{.path = "services[].quic.cid",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, quic.cid),
	 .choices = "quic-lb|katran",
	 .fallback = "quic-lb",
	 .help = "quic-lb: QUIC-LB's plain form; katran: Katran's, of versions 1 to 3"},
	{.path = "services[].quic.config",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, quic.config),
	 .max = 6,
	 .fallback = "0",
	 .help = "quic-lb: the config id that connection ids begin with"},
	{.path = "services[].quic.length",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, quic.length),
	 .min = 1,
	 .max = 4,
	 .fallback = "2",
	 .help = "quic-lb: bytes of the server id"},
	{.path = "services[].tcp_server_id",
	 .type = CONF_TYPE_BOOL,
	 AT(conf_service, tcp_server_id),
	 .choices = "false|true",
	 .fallback = "false",
	 .help = "whether a TCP option that names the server, as Katran's, decides the backend of "
		 "a flow that the node does not know"},
	{.path = "services[].tracking",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, tracking),
	 .choices = "transition|always|none",
	 .fallback = "transition",
	 .help = "which flows are remembered, to stay with their backends; transition: those in "
		 "slots that changed hands lately; always: all; none: the slot alone decides"},
	{.path = "services[].lookup",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, lookup),
	 .choices = "single|dual",
	 .fallback = "single",
	 .help = "how a flow without an entry finds its backend; single: by its slot; dual, with "
		 "tracking: always: it is offered two slots and goes to the heavier backend, and "
		 "the other is its backup when that one may keep it no longer; equal weights keep "
		 "their shares, but of weights 2 and 1 the heavier gets 89 % of the flows in place "
		 "of 67, of 10 and 1 99 in place of 91, one of weight 10 beside 99 of weight 1 "
		 "17.5 in place of 9.2, and a single lightest of 100 hardly any"},
	{.path = "services[].fragments",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, fragments),
	 .choices = "pin|drop",
	 .fallback = "pin",
	 .help = "what becomes of IP fragments; pin: all of a datagram reach one backend"},
	{.path = "services[].oversize_df",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, oversize_df),
	 .choices = "icmp|drop",
	 .fallback = "icmp",
	 .help = "what becomes of a packet that does not fit with the tunnel's header and may not "
		 "be fragmented; IPv6 counts as such; icmp: its sender is told what fits"},
	{.path = "services[].oversize_nodf",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, oversize_nodf),
	 .choices = "fragment|icmp|drop",
	 .fallback = "fragment",
	 .help = "the same for one that may be fragmented; fragment: the daemon does it, "
		 "node.slow_limit a second at most"},
	{.path = "services[].mss_clamp",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, mss_clamp),
	 .choices = "auto|off",
	 .min = 88,
	 .max = UINT16_MAX,
	 .fallback = "auto",
	 .help = "the largest MSS that a client's SYN may offer, in bytes, which bounds what "
		 "the server sends; auto and off: as it comes, since that passes no tunnel, and "
		 "what clients send is bounded by the agent"},
	{.path = "services[].on_empty",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, on_empty),
	 .choices = "reject|drop|pass",
	 .fallback = "reject",
	 .help = "what becomes of packets while no backend is usable; reject: a TCP reset or an "
		 "ICMP error, within node.reply_limit; pass: the host gets them"},
	{.path = "services[].allow",
	 .type = CONF_TYPE_PREFIX,
	 LIST_AT(conf_service, allow, allow_count),
	 .min = 1,
	 .max = CONF_ACCESS_MAX,
	 .fallback = "[0.0.0.0/0, \"::/0\"]",
	 .help = "the sources that are served; of all prefixes of allow and deny that hold a "
		 "source "
		 "the longest decides"},
	{.path = "services[].deny",
	 .type = CONF_TYPE_PREFIX,
	 LIST_AT(conf_service, deny, deny_count),
	 .max = CONF_ACCESS_MAX,
	 .fallback = "[]",
	 .help = "sources that are not; no prefix is in both lists, and all services together have "
		 "120000 at most"},
	{.path = "services[].rate_limit",
	 .type = CONF_TYPE_COUNT,
	 AT(conf_service, rate_limit),
	 .max = UINT32_MAX,
	 .fallback = "0",
	 .help = "packets that the service takes a core and second at most, the rest is dropped; "
		 "0: "
		 "no limit"},
	{.path = "services[].announce",
	 .type = CONF_TYPE_MAP,
	 .help = "when and with what attributes the VIPs are announced; services that share a VIP "
		 "agree on all of it but min_usable and hold_up"},
	{.path = "services[].announce.min_usable",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, announce.min_usable),
	 .min = 1,
	 .max = CONF_BACKENDS_MAX,
	 .fallback = "1",
	 .help = "backends that must take new flows for the service to count as serving; it goes "
		 "on to count while backends that drain make up for those that are missing, until "
		 "their flows end"},
	{.path = "services[].announce.when",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_service, announce.when),
	 .choices = "any|all",
	 .fallback = "any",
	 .help = "whether a VIP is announced while any of the services that share it serves, or "
		 "while all do"},
	{.path = "services[].announce.hold_up",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_service, announce.hold_up_ms),
	 .max = DAY_MS,
	 .fallback = "0s",
	 .help = "how long a service that had stopped serving must serve again before it counts"},
	{.path = "services[].announce.communities",
	 .type = CONF_TYPE_COMMUNITY,
	 LIST_AT(conf_service, announce.communities, announce.community_count),
	 .max = CONF_COMMUNITIES_MAX,
	 .fallback = "[]",
	 .help = "communities (RFC 1997) of the routes"},
	{.path = "services[].announce.large_communities",
	 .type = CONF_TYPE_LARGE_COMMUNITY,
	 LIST_AT(conf_service, announce.large_communities, announce.large_community_count),
	 .max = CONF_COMMUNITIES_MAX,
	 .fallback = "[]",
	 .help = "large communities (RFC 8092) of the routes"},
	{.path = "services[].announce.med",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, announce.med),
	 .max = UINT32_MAX,
	 .fallback = "0",
	 .help = "MULTI_EXIT_DISC of the routes: routers prefer the lowest; 0: none is sent"},
	{.path = "services[].announce.prepend",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_service, announce.prepend),
	 .max = CONF_PREPEND_MAX,
	 .fallback = "0",
	 .help = "how many times more the node's AS stands in the path, which makes the routes "
		 "worse"},
};

const struct rows rows_services = {keys, sizeof(keys) / sizeof(keys[0])};
