/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of the pools and their checks. */
#include "conf/keys/rows.h"

#include "hash/ring.h"

enum {
	CHECK_NAME_MAX = 253,
	CHECK_TEXT_MAX = 1024,
	CHECK_WORDS_MAX = 32,
	CHECK_STATUSES_MAX = 500,
};

static bool by_ring(const void *pool)
{
	return ((const struct conf_pool *)pool)->hash == CONF_HASH_RING;
}

static enum conf_check_type type_of(const void *pool)
{
	return ((const struct conf_pool *)pool)->check.type;
}

static bool is_http(const void *pool)
{
	return type_of(pool) == CONF_CHECK_HTTP || type_of(pool) == CONF_CHECK_HTTPS;
}

static bool is_https(const void *pool)
{
	return type_of(pool) == CONF_CHECK_HTTPS;
}

static bool is_secure(const void *pool)
{
	return is_https(pool) && !((const struct conf_pool *)pool)->check.insecure;
}

static bool is_udp(const void *pool)
{
	return type_of(pool) == CONF_CHECK_UDP;
}

static bool is_dns(const void *pool)
{
	return type_of(pool) == CONF_CHECK_DNS;
}

static bool is_exec(const void *pool)
{
	return type_of(pool) == CONF_CHECK_EXEC;
}

static bool has_ways(const void *pool)
{
	return type_of(pool) != CONF_CHECK_ICMP && type_of(pool) != CONF_CHECK_EXEC &&
	       type_of(pool) != CONF_CHECK_NONE;
}

static bool has_port(const void *pool)
{
	return type_of(pool) != CONF_CHECK_ICMP && type_of(pool) != CONF_CHECK_NONE;
}

static const struct conf_key keys[] = {
	{.path = "pools",
	 .type = CONF_TYPE_MAP,
	 LIST_AT(conf, pools, pool_count),
	 .place_offset = offsetof(struct conf_pool, place),
	 .max = POOLS_MAX,
	 .help = "groups of backends that serve the same"},
	{.path = "pools[].name",
	 .type = CONF_TYPE_NAME,
	 AT(conf_pool, name),
	 .required = true,
	 .help = "unique among the pools"},
	{.path = "pools[].hash",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, hash),
	 .choices = "maglev|ring",
	 .fallback = "maglev",
	 .help = "how the slots are shared out among the backends: by weighted Maglev, whose "
		 "shares are even, or by a ring, where a backend that is added or taken out of "
		 "the file moves no other's slot either"},
	{.path = "pools[].tokens",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, tokens),
	 .min = 1,
	 .max = RING_TOKENS_MAX,
	 .fallback = "150",
	 .means = by_ring,
	 .with = "hash: ring",
	 .help = "tokens on the ring for each unit of weight, the weights divided by their common "
		 "factor; 65536 of all backends together; shares are within 4 / sqrt(tokens) of "
		 "ideal"},
	{.path = "pools[].table_size",
	 .type = CONF_TYPE_TABLE_SIZE,
	 AT(conf_pool, table_size),
	 .fallback = "auto",
	 .help = "slots of the pool's table, for a ring any number of them; auto is 2039 for up to "
		 "20 backends, 16381 up to 160, "
		 "65537 up to 650 and 131071 above; another size moves nearly every flow"},
	{.path = "pools[].check",
	 .type = CONF_TYPE_MAP,
	 .help = "how the health of the pool's backends is found out"},
	{.path = "pools[].check.type",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, check.type),
	 .choices = "tcp|none|http|https|udp|dns|icmp|exec",
	 .fallback = "tcp",
	 .help = "what a probe is; tcp: a connection, which is reset at once; http, https: a "
		 "request, over HTTP/1.1 and a connection of its own; udp: a datagram that is "
		 "answered; dns: a question in UDP, answered without an error and with a record; "
		 "icmp: an echo; exec: a program that ends with 0; with none every backend counts "
		 "as healthy; backends that are probed alike, also in several pools, are probed "
		 "once"},
	{.path = "pools[].check.port",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, check.port),
	 .min = 1,
	 .max = UINT16_MAX,
	 .absent = "the backends' own, else the first TCP port (udp and dns: UDP port) on which a "
		   "service of this pool listens",
	 .means = has_port,
	 .with = "another type than icmp and none",
	 .help = "the port to probe"},
	{.path = "pools[].check.path",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.path),
	 .max = CHECK_TEXT_MAX,
	 .fallback = "/",
	 .means = is_http,
	 .with = "type: http or https",
	 .help = "what is asked for"},
	{.path = "pools[].check.method",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, check.method),
	 .choices = "GET|HEAD",
	 .fallback = "GET",
	 .means = is_http,
	 .with = "type: http or https",
	 .help = "how"},
	{.path = "pools[].check.host",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.host),
	 .max = CHECK_NAME_MAX,
	 .absent = "the backend's address",
	 .means = is_http,
	 .with = "type: http or https",
	 .help = "the Host header"},
	{.path = "pools[].check.expect",
	 .type = CONF_TYPE_STATUS,
	 LIST_AT(conf_pool, check.expect, check.expect_count),
	 .min = 1,
	 .max = CHECK_STATUSES_MAX,
	 .fallback = "[200]",
	 .means = is_http,
	 .with = "type: http or https",
	 .help = "the status codes that count as healthy"},
	{.path = "pools[].check.body",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.body),
	 .max = CHECK_TEXT_MAX,
	 .means = is_http,
	 .with = "type: http or https",
	 .help = "what the first 64 KiB of the body must contain; bytes as in send"},
	{.path = "pools[].check.sni",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.sni),
	 .max = CHECK_NAME_MAX,
	 .absent = "the host, where there is one, else the backend's address, which is not sent",
	 .means = is_https,
	 .with = "type: https",
	 .help = "the name that TLS asks for, and that the certificate must have"},
	{.path = "pools[].check.insecure",
	 .type = CONF_TYPE_BOOL,
	 AT(conf_pool, check.insecure),
	 .choices = "false|true",
	 .fallback = "false",
	 .means = is_https,
	 .with = "type: https",
	 .help = "whether any certificate will do"},
	{.path = "pools[].check.ca_file",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.ca_file),
	 .max = CHECK_TEXT_MAX,
	 .absent = "those that the host believes",
	 .means = is_secure,
	 .with = "type: https and insecure: false",
	 .help = "a file of authorities (PEM), one of which must have signed the certificate"},
	{.path = "pools[].check.cert_file",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.cert_file),
	 .max = CHECK_TEXT_MAX,
	 .means = is_https,
	 .with = "type: https",
	 .help = "a certificate (PEM) for servers that ask for one"},
	{.path = "pools[].check.key_file",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.key_file),
	 .max = CHECK_TEXT_MAX,
	 .means = is_https,
	 .with = "type: https",
	 .help = "its key (PEM), without a passphrase"},
	{.path = "pools[].check.send",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.send),
	 .max = CHECK_TEXT_MAX,
	 .means = is_udp,
	 .with = "type: udp",
	 .help = "the datagram that is sent, needed with udp; \\xHH is a byte in hexadecimal, and "
		 "\\\\ a backslash (in double quotes YAML takes one of two away)"},
	{.path = "pools[].check.receive",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.receive),
	 .max = CHECK_TEXT_MAX,
	 .absent = "any answer will do",
	 .means = is_udp,
	 .with = "type: udp",
	 .help = "what the answer must contain; bytes as in send"},
	{.path = "pools[].check.query",
	 .type = CONF_TYPE_TEXT,
	 AT(conf_pool, check.query),
	 .max = CHECK_NAME_MAX,
	 .means = is_dns,
	 .with = "type: dns",
	 .help = "the name that is asked for, needed with dns"},
	{.path = "pools[].check.record",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, check.record),
	 .choices = "a|aaaa|ns|soa|mx|txt",
	 .fallback = "a",
	 .means = is_dns,
	 .with = "type: dns",
	 .help = "its record"},
	{.path = "pools[].check.command",
	 .type = CONF_TYPE_TEXT,
	 LIST_AT(conf_pool, check.command, check.command_count),
	 .min = 1,
	 .max = CHECK_WORDS_MAX,
	 .means = is_exec,
	 .with = "type: exec",
	 .help = "a program by its whole path, and its arguments, needed with exec; it runs as the "
		 "daemon does, finds WEIR_ADDRESS and WEIR_PORT in its environment, its first line "
		 "of output is the reason of a failure, and it is killed with all that it started "
		 "when it outlasts the timeout; 64 run at once at most"},
	{.path = "pools[].check.via",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, check.via),
	 .choices = "node|tunnel",
	 .fallback = "node",
	 .means = has_ways,
	 .with = "another type than icmp, exec and none",
	 .help = "whether probes go from the node to the backend's address, or through the tunnel "
		 "to the VIP: the first one of the first service of the pool that listens on the "
		 "port, in its forward mode, so that all of the way that a client's packets take "
		 "is tried; answers come from the VIP to the node"},
	{.path = "pools[].check.interval",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, check.interval_ms),
	 .min = 100,
	 .max = HOUR_MS,
	 .fallback = "2s",
	 .help = "from one probe of a backend to the next"},
	{.path = "pools[].check.fast_interval",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, check.fast_interval_ms),
	 .min = 10,
	 .max = HOUR_MS,
	 .absent = "the interval",
	 .help = "the same while a backend's state is in doubt: after a result that rise or fall "
		 "does not yet believe"},
	{.path = "pools[].check.jitter",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, check.jitter),
	 .max = 50,
	 .fallback = "10",
	 .help = "how many percent of the interval a probe may come earlier or later, by chance"},
	{.path = "pools[].check.timeout",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, check.timeout_ms),
	 .min = 10,
	 .max = HOUR_MS,
	 .fallback = "1s",
	 .help = "a probe without an answer has failed after this time; no longer than the "
		 "interval"},
	{.path = "pools[].check.rise",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, check.rise),
	 .min = 1,
	 .max = 100,
	 .fallback = "2",
	 .help = "successes in a row that make a backend healthy"},
	{.path = "pools[].check.fall",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, check.fall),
	 .min = 1,
	 .max = 100,
	 .fallback = "3",
	 .help = "failures in a row that make a backend unhealthy"},
	{.path = "pools[].check.initial",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, check.initial),
	 .choices = "unknown|healthy|unhealthy",
	 .fallback = "unknown",
	 .help = "what a backend is before its first probe; unknown: it takes no flows, and the "
		 "first result decides; a daemon that goes on from an earlier one believes that "
		 "one"},
	{.path = "pools[].backup_below",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, backup_below),
	 .min = 1,
	 .max = CONF_BACKENDS_MAX,
	 .fallback = "1",
	 .help = "the pool's backups take new flows while fewer of its other backends than this "
		 "do"},
	{.path = "pools[].slow_start",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, slow_start_ms),
	 .max = DAY_MS,
	 .fallback = "0s",
	 .help = "the time in which a backend that returns gets its slots back, a tenth of them at "
		 "a step; 0s: all at once"},
	{.path = "pools[].on_down",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_pool, on_down),
	 .choices = "keep|reset",
	 .fallback = "keep",
	 .help = "what becomes of the flows of a backend that fails its checks: they go on to it "
		 "for the time of on_down_keep, or to another backend at once, which resets them"},
	{.path = "pools[].on_down_keep",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, on_down_keep_ms),
	 .max = DAY_MS,
	 .fallback = "60s",
	 .help = "how long on_down: keep keeps them"},
	{.path = "pools[].drain_limit",
	 .type = CONF_TYPE_DURATION,
	 AT(conf_pool, drain_limit_ms),
	 .max = 7 * DAY_MS,
	 .fallback = "1h",
	 .help = "the longest time that a draining backend keeps its flows; what it still has then "
		 "is cut; 0s: no limit"},
	{.path = "pools[].agent",
	 .type = CONF_TYPE_MAP,
	 .help = "the agents of the pool's backends, which count connections"},
	{.path = "pools[].agent.port",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_pool, agent_port),
	 .min = 1,
	 .max = UINT16_MAX,
	 .absent = "agents are not asked, and packets alone say that a drain has ended",
	 .help = "the port of agent.admin, at the backend's address: while a backend drains its "
		 "agent is asked, every two seconds, how many connections the pool's VIPs still "
		 "have there"},
	{.path = "pools[].backends",
	 .type = CONF_TYPE_MAP,
	 LIST_AT(conf_pool, backends, backend_count),
	 .place_offset = offsetof(struct conf_backend, place),
	 .required = true,
	 .min = 1,
	 .max = CONF_BACKENDS_MAX,
	 .help = "the hosts that serve; an address (with a port, where one is given) is in a pool "
		 "once"},
	{.path = "pools[].backends[].name",
	 .type = CONF_TYPE_NAME,
	 AT(conf_backend, name),
	 .required = true,
	 .help = "unique in the pool"},
	{.path = "pools[].backends[].address",
	 .type = CONF_TYPE_ADDRESS,
	 AT(conf_backend, address),
	 .required = true,
	 .help = "where the tunnel to it ends; not a VIP"},
	{.path = "pools[].backends[].port",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_backend, port),
	 .min = 1,
	 .max = UINT16_MAX,
	 .absent = "the VIP's",
	 .help = "the port that it serves; geneve and ipopt can change ports, and each listen of "
		 "such a service is one port, no two of them of one protocol; in the other modes "
		 "it is the VIP's"},
	{.path = "pools[].backends[].weight",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_backend, weight),
	 .max = CONF_WEIGHT_MAX,
	 .fallback = "100",
	 .help = "its share of the slots beside the others' weights; 0: it gets no new flow"},
	{.path = "pools[].backends[].state",
	 .type = CONF_TYPE_CHOICE,
	 AT(conf_backend, state),
	 .choices = "active|drain|maint",
	 .fallback = "active",
	 .help = "drain: no new flows, those it has go on; maint: none at all"},
	{.path = "pools[].backends[].server_id",
	 .type = CONF_TYPE_NUMBER,
	 AT(conf_backend, server_id),
	 .min = 1,
	 .max = UINT32_MAX,
	 .absent = "none",
	 .help = "what QUIC connection ids (policy: quic-cid) and TCP options (tcp_server_id) call "
		 "it; unique in the pool"},
	{.path = "pools[].backends[].backup",
	 .type = CONF_TYPE_BOOL,
	 AT(conf_backend, backup),
	 .choices = "false|true",
	 .fallback = "false",
	 .help = "takes new flows only while fewer than backup_below of the others do"},
};

const struct rows rows_pools = {keys, sizeof(keys) / sizeof(keys[0])};
