/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration as typed values: what weir.yaml(5) and the agent's file say, checked whole.
 * A loaded configuration is read-only, lives in one arena, and is freed with conf_free; pointers
 * into it die with it. Every error of a file is reported with line and column; a file with one
 * error yields nothing. A key or value that is known but does not work yet is an error, never
 * ignored. Any thread; no I/O but reading the file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/addr.h"
#include "base/err.h"
#include "conf/announce.h"
#include "conf/conf_check.h"
#include "conf/endpoint.h"
#include "conf/file.h"

enum {
	CONF_FILE_MAX = 16 * 1024 * 1024, /* bytes of a file */
	CONF_NAME_MAX = 63, /* letters of a name: [A-Za-z0-9._-], first a letter or digit */
	CONF_WEIGHT_MAX = 1000000,
};

/* What the data plane's tables hold; src/weir checks these against them when it is compiled. */
enum {
	CONF_VIPS_MAX = 4096,             /* addresses of all services together */
	CONF_VIP_RANGES_MAX = 1024,       /* prefixes of all services together */
	CONF_VIP_LISTENS_MAX = 14,        /* listens of one address, over all services */
	CONF_SERVICES_MAX = 4095,         /* the tables keep one record for "none" */
	CONF_BACKENDS_MAX = 16383,        /* of all pools together */
	CONF_SLOTS_MAX = 2 * 1024 * 1024, /* table sizes of all pools together */
	CONF_FLOWS_MIN = 1024,
	CONF_FLOWS_MAX = 64 * 1024 * 1024,
	CONF_BALANCERS_MAX = 4096,  /* of a node or an agent, whose VIPs are CONF_VIPS_MAX too */
	CONF_ACCESS_MAX = 120000,   /* prefixes of all lists; twice so many while they change */
	CONF_PORTS_MAX = 2048,      /* of an agent */
	CONF_AGENT_FORWARD_MAX = 5, /* modes, each once */
	CONF_NETNS_MAX = 8,         /* of an agent */
};

enum conf_xdp { CONF_XDP_NATIVE, CONF_XDP_GENERIC, CONF_XDP_AUTO };
enum conf_engine { CONF_ENGINE_XDP, CONF_ENGINE_AF_XDP };
enum conf_state { CONF_STATE_ACTIVE, CONF_STATE_DRAIN, CONF_STATE_MAINT };
enum conf_on_down { CONF_ON_DOWN_KEEP, CONF_ON_DOWN_RESET };
enum conf_hash { CONF_HASH_MAGLEV, CONF_HASH_RING };
enum conf_tracking { CONF_TRACKING_TRANSITION, CONF_TRACKING_ALWAYS, CONF_TRACKING_NONE };
enum conf_lookup { CONF_LOOKUP_SINGLE, CONF_LOOKUP_DUAL };
enum conf_forward {
	CONF_FORWARD_IPIP,
	CONF_FORWARD_GRE,
	CONF_FORWARD_GUE,
	CONF_FORWARD_GENEVE,
	CONF_FORWARD_IPOPT,
	CONF_FORWARD_L2DSR,
};
enum conf_policy {
	CONF_POLICY_SOURCE,
	CONF_POLICY_2TUPLE,
	CONF_POLICY_3TUPLE,
	CONF_POLICY_4TUPLE,
	CONF_POLICY_5TUPLE,
	CONF_POLICY_SOURCE_PREFIX,
	CONF_POLICY_FLOW_LABEL,
	CONF_POLICY_QUIC_CID,
};
enum conf_cid { CONF_CID_QUIC_LB, CONF_CID_KATRAN };
enum conf_fragments { CONF_FRAGMENTS_PIN, CONF_FRAGMENTS_DROP };
enum conf_oversize { CONF_OVERSIZE_ICMP, CONF_OVERSIZE_DROP };
enum conf_oversize_nodf { CONF_NODF_FRAGMENT, CONF_NODF_ICMP, CONF_NODF_DROP };
enum conf_on_empty { CONF_EMPTY_REJECT, CONF_EMPTY_DROP, CONF_EMPTY_PASS };
enum { CONF_MSS_AUTO = 0, CONF_MSS_OFF = 1 }; /* of mss_clamp; anything else is bytes */
enum { CONF_PROTO_ANY = 0xff };               /* of a listen: every protocol and port */

struct conf_flows {
	uint32_t entries;      /* as written; the data plane rounds up to a power of two */
	uint32_t insert_limit; /* a core and second */
	uint64_t established_ms, handshake_ms, closing_ms, udp_ms;
};

struct conf_node {
	const char *name; /* the default depends on the host: conf_default_name */
	const char **interfaces;
	size_t interface_count;
	enum conf_xdp xdp;
	enum conf_engine engine;
	uint32_t workers, settle_ms, path_mtu; /* workers 0: one a queue; path_mtu 0: the link's */
	bool has_source4, has_source6;
	struct prefix source4, source6; /* node.tunnel */
	struct conf_endpoint admin;
	struct conf_flows flows;
	uint32_t reply_limit;     /* a core and second */
	uint32_t slow_limit;      /* packets that the daemon fragments, a core and second */
	bool decap;               /* tunnels of other balancers are taken off */
	struct prefix *balancers; /* whose */
	size_t balancer_count;
};

struct conf_backend {
	const char *name;
	struct addr address;
	uint16_t port; /* 0: the VIP's */
	uint32_t weight;
	uint32_t server_id; /* what connection ids and TCP options call it; 0: nothing */
	enum conf_state state;
	bool backup;
	struct conf_place place;
};

struct conf_pool {
	const char *name;
	enum conf_hash hash;
	uint32_t table_size; /* `auto` is resolved here; for Maglev a prime that it allows */
	uint32_t tokens;     /* of a ring, a unit of weight */
	struct conf_check check;
	enum conf_on_down on_down;
	uint64_t on_down_keep_ms;
	uint32_t backup_below;   /* backups serve while fewer others are usable */
	uint64_t slow_start_ms;  /* 0: a backend that returns has all of its slots at once */
	uint64_t drain_limit_ms; /* of the flows of a draining backend */
	uint16_t agent_port;     /* of the backends' agents; 0: they are not asked */
	struct conf_backend *backends;
	size_t backend_count; /* 1 or more */
	bool second_chance;   /* of a service of it; no key */
	struct conf_place place;
};

struct conf_listen {
	uint8_t proto;        /* IPPROTO_TCP, IPPROTO_UDP, CONF_PROTO_ANY */
	uint16_t first, last; /* host order; 0 and 65535: all ports */
};

/* How a QUIC connection id names its server; with policy quic-cid. */
struct conf_quic {
	enum conf_cid cid;
	uint8_t config; /* quic-lb: the config id that a connection id begins with, 0 to 6 */
	uint8_t length; /* quic-lb: bytes of the server id, 1 to 4 */
};

struct conf_service {
	const char *name;
	struct prefix *vips;
	size_t vip_count; /* 1 or more */
	struct conf_listen *listens;
	size_t listen_count; /* 1 or more */
	const struct conf_pool *pool;
	enum conf_forward forward;
	enum conf_tracking tracking;
	bool second_chance;
	enum conf_lookup lookup;
	enum conf_policy policy;
	uint8_t source_prefix4, source_prefix6; /* bits of the source, for policy source-prefix */
	struct conf_quic quic;
	bool tcp_server_id;
	enum conf_fragments fragments;
	enum conf_oversize oversize_df;
	enum conf_oversize_nodf oversize_nodf;
	uint16_t mss_clamp; /* CONF_MSS_AUTO, CONF_MSS_OFF, or bytes */
	enum conf_on_empty on_empty;
	struct prefix *allow, *deny;
	size_t allow_count, deny_count;
	uint32_t rate_limit; /* packets a core and second; 0: none */
	struct conf_announce announce;
	struct conf_place place;
};

struct conf {
	struct conf_node node;
	struct conf_bgp bgp;
	struct conf_announcing announcing;
	const char *source_file;               /* where what follows is from; NULL: the same file */
	struct conf_ended ended, source_ended; /* the two files */
	const char *seed;                      /* any text; "" by default */
	struct conf_pool *pools;
	size_t pool_count;
	struct conf_service *services;
	size_t service_count;
	struct arena *arena; /* owns all of it */
};
/* A port that the forward mode changes: what comes to `listen` of the VIP goes to `to`. */
struct conf_port {
	struct addr vip;
	struct conf_listen listen; /* one port */
	uint16_t to;
	struct conf_place place;
};

struct conf_agent {
	const char *name;
	const char **interfaces;
	size_t interface_count;
	enum conf_xdp xdp; /* auto by default: an agent lives on any host */
	struct conf_endpoint admin;
	struct prefix *balancers;
	size_t balancer_count; /* 1 or more */
	struct prefix *peers;  /* other agents; without any there are no second chances */
	size_t peer_count;
	const char **netns; /* namespaces with sockets of VIPs: names, or paths from / on */
	size_t netns_count;
	struct prefix *vips;
	size_t vip_count;           /* 1 or more */
	uint32_t path_mtu;          /* 0: the interface's */
	enum conf_forward *forward; /* the modes that are taken in; never l2dsr */
	size_t forward_count;       /* 1 or more: where the file says none, the default's */
	struct conf_port *ports;
	size_t port_count;
	struct arena *arena;
};

/* Whether the text has the top-level key of an agent's file. */
bool conf_is_agent(const char *text, size_t length);
/* The name where the file gives none: the host's, and in another network namespace than that of
 * process 1 `-netns-INODE`, since daemons of a machine differ. `text` has CONF_NAME_MAX + 1. */
void conf_default_name(char *text);

/* 0 and *ret, or -errno and errors (sorted; without a place where the file cannot be read). */
int conf_load(const char *path, struct conf **ret, struct err_list *errors);
/* Of the file `path`, whose last line has an end, or, NULL, of none. */
int conf_parse_file(const char *text, size_t length, const char *path, struct conf **ret,
		    struct err_list *errors);
int conf_parse(const char *text, size_t length, struct conf **ret, struct err_list *errors);
void conf_free(struct conf *conf);
int conf_agent_load(const char *path, struct conf_agent **ret, struct err_list *errors);
int conf_agent_parse(const char *text, size_t length, struct conf_agent **ret,
		     struct err_list *errors);
void conf_agent_free(struct conf_agent *agent);

/* "tcp/80", into CONF_LISTEN_TEXT_MAX bytes; returns `text`. */
enum { CONF_LISTEN_TEXT_MAX = 16 };
const char *conf_listen_format(const struct conf_listen *listen, char *text);

/* As it is written in the file: "gre", "5-tuple". */
const char *conf_forward_name(enum conf_forward forward);
const char *conf_policy_name(enum conf_policy policy);

/* Through whose tunnel the pool is checked, with via: tunnel; NULL: there is none. */
const struct conf_service *conf_check_service(const struct conf *conf,
					      const struct conf_pool *pool);

/* What is right but can hardly be meant (a pool that no service uses), with places, sorted. */
void conf_warnings(const struct conf *conf, struct err_list *ret);
/* What is meant, but has a consequence that one should know. */
void conf_notes(const struct conf *conf, struct err_list *ret);

/* Every working key written out; it parses to the same. For free(); NULL: out of memory. */
char *conf_format(const struct conf *conf);
char *conf_agent_format(const struct conf_agent *agent);
