/* SPDX-License-Identifier: BSD-2-Clause */
/* What is right but can hardly be meant, what is right but should be known, and names. */
#include <netinet/in.h>
#include <string.h>

#include "base/plural.h"
#include "conf/conf.h"
#include "conf/source.h"

const char *conf_forward_name(enum conf_forward forward)
{
	static const char *const names[] = {
		[CONF_FORWARD_IPIP] = "ipip",   [CONF_FORWARD_GRE] = "gre",
		[CONF_FORWARD_GUE] = "gue",     [CONF_FORWARD_GENEVE] = "geneve",
		[CONF_FORWARD_IPOPT] = "ipopt", [CONF_FORWARD_L2DSR] = "l2dsr",
	};

	return names[forward];
}

const char *conf_check_name(enum conf_check_type type)
{
	static const char *const names[] = {
		[CONF_CHECK_TCP] = "tcp",   [CONF_CHECK_NONE] = "none",
		[CONF_CHECK_HTTP] = "http", [CONF_CHECK_HTTPS] = "https",
		[CONF_CHECK_UDP] = "udp",   [CONF_CHECK_DNS] = "dns",
		[CONF_CHECK_ICMP] = "icmp", [CONF_CHECK_EXEC] = "exec",
	};

	return names[type];
}

const char *conf_policy_name(enum conf_policy policy)
{
	static const char *const names[] = {
		[CONF_POLICY_SOURCE] = "source",
		[CONF_POLICY_2TUPLE] = "2-tuple",
		[CONF_POLICY_3TUPLE] = "3-tuple",
		[CONF_POLICY_4TUPLE] = "4-tuple",
		[CONF_POLICY_5TUPLE] = "5-tuple",
		[CONF_POLICY_SOURCE_PREFIX] = "source-prefix",
		[CONF_POLICY_FLOW_LABEL] = "flow-label",
		[CONF_POLICY_QUIC_CID] = "quic-cid",
	};

	return names[policy];
}

/* --- pools --- */

static bool is_used(const struct conf *conf, const struct conf_pool *pool)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].pool == pool)
			return true;
	}
	return false;
}

static uint64_t total_weight(const struct conf_pool *pool)
{
	uint64_t total = 0;

	for (size_t i = 0; i < pool->backend_count; i++)
		total += pool->backends[i].weight;
	return total;
}

static size_t backups_of(const struct conf_pool *pool)
{
	size_t count = 0;

	for (size_t i = 0; i < pool->backend_count; i++)
		count += pool->backends[i].backup;
	return count;
}

static void warn_of_backups(const struct conf_pool *pool, struct err_list *ret)
{
	size_t backups = backups_of(pool), others = pool->backend_count - backups;

	if (backups && !others)
		err_list_add(ret, pool->place.line, pool->place.column,
			     "every backend of pool \"%s\" is a backup: they serve all the time",
			     pool->name);
	else if (backups && pool->backup_below > others)
		err_list_add(ret, pool->place.line, pool->place.column,
			     "pool \"%s\" has backup_below %u and %zu %s: the backups serve all "
			     "the time",
			     pool->name, pool->backup_below, others,
			     plural(others, "backend that is no backup",
				    "backends that are no backups"));
	else if (!backups && pool->backup_below != 1)
		err_list_add(ret, pool->place.line, pool->place.column,
			     "pool \"%s\" has backup_below but no backup", pool->name);
}

static void warn_of_pool(const struct conf *conf, const struct conf_pool *pool,
			 struct err_list *ret)
{
	enum { SLOTS_EACH = 10 }; /* below it a share is off by a tenth */

	if (!is_used(conf, pool))
		err_list_add(ret, pool->place.line, pool->place.column,
			     "no service uses pool \"%s\"%s", pool->name,
			     pool->check.type == CONF_CHECK_NONE
				     ? ", and its backends are not checked"
				     : "");
	if (total_weight(pool) == 0)
		err_list_add(ret, pool->place.line, pool->place.column,
			     "every backend of pool \"%s\" has weight 0: none gets a flow",
			     pool->name);
	if (pool->table_size / SLOTS_EACH < pool->backend_count)
		err_list_add(ret, pool->place.line, pool->place.column,
			     "pool \"%s\" has fewer than %d slots a backend: shares are uneven",
			     pool->name, SLOTS_EACH);
	warn_of_backups(pool, ret);
}

/* --- services --- */

static bool listens_on(const struct conf_service *service, uint8_t proto)
{
	for (size_t i = 0; i < service->listen_count; i++) {
		if (service->listens[i].proto == proto ||
		    service->listens[i].proto == CONF_PROTO_ANY)
			return true;
	}
	return false;
}

static bool any_of(const struct prefix *list, size_t count, bool is4)
{
	for (size_t i = 0; i < count; i++) {
		if (addr_is4(&list[i].addr) == is4)
			return true;
	}
	return false;
}

static void warn(const struct conf_service *service, struct err_list *ret, const char *format,
		 const char *what)
{
	err_list_add(ret, service->place.line, service->place.column, format, service->name, what);
}

static void warn_of_ids(const struct conf_service *service, struct err_list *ret)
{
	const struct conf_pool *pool = service->pool;
	const struct conf_backend *first = NULL;
	size_t without = 0;

	for (size_t i = 0; i < pool->backend_count; i++) {
		if (pool->backends[i].server_id)
			continue;
		if (!first)
			first = &pool->backends[i];
		without++;
	}
	if (first)
		err_list_add(ret, first->place.line, first->place.column,
			     "service \"%s\" finds backends by server_id, which %zu of pool "
			     "\"%s\" lack, first \"%s\": nothing can name them",
			     service->name, without, pool->name, first->name);
}

static void warn_of_service(const struct conf_service *service, struct err_list *ret)
{
	bool by_cid = service->policy == CONF_POLICY_QUIC_CID;

	if (by_cid || service->tcp_server_id)
		warn_of_ids(service, ret);
	if (by_cid && !listens_on(service, IPPROTO_UDP))
		warn(service, ret, "service \"%s\" has policy quic-cid but no listen on %s", "UDP");
	if (service->tcp_server_id && !listens_on(service, IPPROTO_TCP))
		warn(service, ret, "service \"%s\" has tcp_server_id but no listen on %s", "TCP");
	if (service->policy == CONF_POLICY_FLOW_LABEL &&
	    !any_of(service->vips, service->vip_count, false))
		warn(service, ret, "service \"%s\" has policy flow-label but no VIP of %s", "IPv6");
	for (int is4 = 0; service->allow_count && is4 < 2; is4++) {
		if (any_of(service->vips, service->vip_count, is4) &&
		    !any_of(service->allow, service->allow_count, is4))
			warn(service, ret,
			     "allow of service \"%s\" has nothing of %s: VIPs of it "
			     "serve nobody",
			     is4 ? "IPv4" : "IPv6");
	}
}

/* --- announcing --- */

/* Whether some session carries routes of the family. */
static bool is_told(const struct conf_bgp *bgp, bool is4)
{
	if (!addr_is_none(is4 ? &bgp->next_hop4 : &bgp->next_hop6))
		return true;
	for (size_t i = 0; i < bgp->peer_count; i++) {
		if (addr_is4(&bgp->peers[i].address) == is4 ||
		    (is4 && bgp->peers[i].extended_next_hop))
			return true;
	}
	return false;
}

static void warn_of_families(const struct conf *conf, struct err_list *ret)
{
	for (int is4 = 0; conf->bgp.asn && is4 < 2; is4++) {
		for (size_t i = 0; !is_told(&conf->bgp, is4) && i < conf->service_count; i++) {
			const struct conf_service *service = &conf->services[i];

			if (any_of(service->vips, service->vip_count, is4))
				warn(service, ret,
				     "no router is told of service \"%s\"'s VIPs of %s: bgp has no "
				     "session of that family, and no next hop for another",
				     is4 ? "IPv4" : "IPv6");
		}
	}
}

/* BFD runs in the daemon, so its end does not say that the kernel stopped forwarding. */
static void note_bfd(const struct conf_bgp *bgp, struct err_list *ret)
{
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; bgp->graceful_restart_ms && i < bgp->peer_count; i++) {
		const struct conf_peer *peer = &bgp->peers[i];

		if (peer->bfd.interval_ms)
			err_list_add(ret, peer->place.line, peer->place.column,
				     "BFD ends with the daemon: whether router %s then keeps the "
				     "routes over a restart is its own choice (BIRD: bfd graceful; "
				     "FRR keeps them unless it is told not to help restarts)",
				     addr_format_on(&peer->address, peer->interface, text));
	}
}

void conf_warnings(const struct conf *conf, struct err_list *ret)
{
	warn_of_families(conf, ret);
	if (conf->service_count == 0)
		err_list_add(ret, 1, 1, "there is no service: nothing is balanced");
	for (size_t i = 0; i < conf->pool_count; i++)
		warn_of_pool(conf, &conf->pools[i], ret);
	for (size_t i = 0; i < conf->service_count; i++)
		warn_of_service(&conf->services[i], ret);
	err_list_sort(ret);
	source_name_lines(ret, conf->source_file);
}

/* --- agents --- */

static const struct conf_service *first_of(const struct conf *conf, enum conf_forward forward)
{
	for (size_t i = 0; i < conf->service_count; i++) {
		if (conf->services[i].forward == forward)
			return &conf->services[i];
	}
	return NULL;
}

/* An agent whose file says nothing takes in the modes before geneve; l2dsr is no agent's. */
static void note_agents(const struct conf *conf, struct err_list *ret)
{
	const struct conf_service *asks = first_of(conf, CONF_FORWARD_GENEVE);
	char modes[64] = "";

	if (!asks)
		asks = first_of(conf, CONF_FORWARD_IPOPT);
	if (!asks)
		return;
	for (int mode = CONF_FORWARD_IPIP; mode <= CONF_FORWARD_IPOPT; mode++) {
		if (!first_of(conf, (enum conf_forward)mode))
			continue;
		if (*modes)
			strcat(modes, ", ");
		strcat(modes, conf_forward_name((enum conf_forward)mode));
	}
	err_list_add(ret, asks->place.line, asks->place.column, "agents need forward: [%s]", modes);
}

/* Without peers agents step over what a packet says of another owner. */
static void note_second_chance(const struct conf *conf, struct err_list *ret)
{
	const struct conf_service *first = NULL, *without = NULL;

	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		if (service->second_chance && !first)
			first = service;
		if (!service->second_chance && service->forward != CONF_FORWARD_GUE &&
		    listens_on(service, IPPROTO_TCP) && !without)
			without = service;
	}
	if (!first)
		return;
	err_list_add(ret, first->place.line, first->place.column,
		     "agents need peers: [...] with every backend that serves by second_chance");
	if (without)
		err_list_add(ret, without->place.line, without->place.column,
			     "service \"%s\" has no second chance: %s can name no second backend",
			     without->name, conf_forward_name(without->forward));
}

/* The heavier of two takes more than its weight says, where weights differ. */
static void note_lookup(const struct conf_service *service, struct err_list *ret)
{
	const struct conf_pool *pool = service->pool;

	if (service->lookup != CONF_LOOKUP_DUAL)
		return;
	for (size_t i = 1; i < pool->backend_count; i++) {
		if (pool->backends[i].weight == pool->backends[0].weight)
			continue;
		err_list_add(
			ret, service->place.line, service->place.column,
			"with lookup: dual the heavy backends of pool %s get more of the flows of "
			"service \"%s\" than their weights say, and the light ones less",
			pool->name, service->name);
		return;
	}
}

/* When an entry is there to be found. */
static const char *says_when_tracked(enum conf_tracking tracking)
{
	switch (tracking) {
	case CONF_TRACKING_ALWAYS: return ", on the node that has it";
	case CONF_TRACKING_NONE: return ", and with tracking: none there is none";
	case CONF_TRACKING_TRANSITION: break;
	}
	return ", and with tracking: transition there is one only while its slot changes hands";
}

/* An error quotes what the backend sent, which has neither the client's flow label nor the
 * connection id that the client chose the server by. */
void conf_notes(const struct conf *conf, struct err_list *ret)
{
	note_agents(conf, ret);
	note_second_chance(conf, ret);
	note_bfd(&conf->bgp, ret);
	for (size_t i = 0; i < conf->service_count; i++) {
		const struct conf_service *service = &conf->services[i];

		note_lookup(service, ret);
		if (service->policy != CONF_POLICY_FLOW_LABEL &&
		    service->policy != CONF_POLICY_QUIC_CID)
			continue;
		err_list_add(ret, service->place.line, service->place.column,
			     "with policy %s ICMP errors find the backend of a flow of service "
			     "\"%s\" by the flow's entry alone%s",
			     conf_policy_name(service->policy), service->name,
			     says_when_tracked(service->tracking));
	}
	err_list_sort(ret);
	source_name_lines(ret, conf->source_file);
}
