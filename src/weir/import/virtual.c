/* SPDX-License-Identifier: BSD-2-Clause */
/* keepalived's virtual servers, their groups and real servers. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/keepalived.h"

enum { GUE_PORT = 6080, PERSISTENT_S = 360 };

/* Those that become nothing but a note. */
static const struct keep_row of_virtual[] = {
	{"persistence_engine", IMPORT_LOST, "no persistence by what is in a packet"},
	{"ha_suspend", IMPORT_NEEDLESS, "every node serves every VIP"},
	{"smtp_alert", IMPORT_LOST, "no mail is sent"},
	{"omega", IMPORT_NEEDLESS, "a node that is stopped withdraws its VIPs first"},
	{"hysteresis", IMPORT_LOST, "announce.hold_up is a time for which a service must serve"},
	{"quorum_up", IMPORT_LOST, "no script is run: VIPs are announced by bgp"},
	{"quorum_down", IMPORT_LOST, "no script is run: VIPs are withdrawn by bgp"},
	{"ip_family", IMPORT_NEEDLESS, "addresses say their family"},
	{"sorry_server_inhibit", IMPORT_NEEDLESS, "flows of a backend that fails go on"},
	{"nat_mask", IMPORT_NEEDLESS, "not used by keepalived either"},
	{"bind_if", IMPORT_LOST, "not known here"},
};

static const struct keep_row of_real[] = {
	{"notify_up", IMPORT_LOST, "no script is run: alert on what is logged"},
	{"notify_down", IMPORT_LOST, "no script is run: alert on what is logged"},
	{"uthreshold", IMPORT_LOST, "connections to a backend are not counted"},
	{"lthreshold", IMPORT_LOST, "connections to a backend are not counted"},
	{"smtp_alert", IMPORT_LOST, "no mail is sent"},
	{"snmp_name", IMPORT_LOST, "there is no SNMP"},
};

static int refuse(struct keep_tree *tree, const struct keep_node *node, const char *wrong)
{
	err_set(tree->err, -EINVAL, "%s %s",
		import_plain(tree->import, keep_text(tree->import, node),
			     strlen(keep_text(tree->import, node))),
		wrong);
	tree->err->line = node->place.line;
	tree->err->column = node->place.column;
	tree->err->file = node->place.file;
	return -EINVAL;
}

/* --- addresses --- */

/* An address and a port, from the word `at` on; without a port it is 0. */
static int take_end(struct keep_tree *tree, const struct keep_node *node, size_t at,
		    struct addr *ret_addr, uint16_t *ret_port)
{
	const char *port = keep_word(node, at + 1);
	uint64_t number = 0;

	if (addr_parse(keep_word(node, at), ret_addr))
		return refuse(tree, node, "has no address, expected one in numbers");
	if (*port && !import_number(port, UINT16_MAX, &number))
		return refuse(tree, node, "has a port that is none, expected a number");
	*ret_port = (uint16_t)number;
	return 0;
}

static struct conf_listen listen_of(const struct import_service *service, uint16_t port)
{
	return (struct conf_listen){service->proto, port, port ? port : UINT16_MAX};
}

/* One after the other; an address past the last one of the family ends it. */
static bool next_address(struct addr *addr)
{
	size_t first = addr_is4(addr) ? 12 : 0;

	for (size_t i = sizeof(addr->bytes); i-- > first;) {
		if (++addr->bytes[i])
			return true;
	}
	return false;
}

static int add_range(struct keep_tree *tree, struct import_service *service,
		     const struct keep_node *node, const struct addr range[2])
{
	uint64_t port = 0;
	struct addr at = range[0];

	if (*keep_word(node, 1) && !import_number(keep_word(node, 1), UINT16_MAX, &port))
		return refuse(tree, node, "has a port that is none, expected a number");
	if (addr_is4(&range[0]) != addr_is4(&range[1]) ||
	    memcmp(&range[0], &range[1], sizeof(range[0])) > 0)
		return refuse(tree, node, "is a range that ends before it begins");
	do {
		if (import_end_add(tree->import, service, &at, listen_of(service, (uint16_t)port)))
			return refuse(tree, node, "has more addresses than a node serves");
	} while (memcmp(&at, &range[1], sizeof(at)) < 0 && next_address(&at));
	return 0;
}

/* "192.0.2.10-19", whose end is the last part alone, or a whole address. */
static bool parse_end(const char *first, const char *text, struct addr *ret)
{
	char whole[2 * ADDR_TEXT_MAX];
	const char *part = strrchr(first, strchr(first, ':') ? ':' : '.');

	if (addr_parse(text, ret) == 0)
		return true;
	if (!part || strlen(text) >= ADDR_TEXT_MAX)
		return false;
	memcpy(whole, first, (size_t)(part - first) + 1);
	strcpy(whole + (part - first) + 1, text);
	return addr_parse(whole, ret) == 0;
}

static bool parse_range(const char *text, struct addr range[2])
{
	const char *dash = strchr(text, '-');
	char first[ADDR_TEXT_MAX];
	struct prefix prefix;
	unsigned bits;

	if (dash) {
		if ((size_t)(dash - text) >= sizeof(first))
			return false;
		memcpy(first, text, (size_t)(dash - text));
		first[dash - text] = '\0';
		return addr_parse(first, &range[0]) == 0 && parse_end(first, dash + 1, &range[1]);
	}
	if (prefix_parse(text, &prefix))
		return false;
	range[0] = range[1] = prefix.addr;
	bits = prefix.length + (addr_is4(&prefix.addr) ? 96U : 0U);
	for (unsigned bit = bits; bit < 128; bit++)
		range[1].bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	return true;
}

/* A mark is a service of its own, with the same servers. */
static int add_mark(struct keep_tree *tree, struct import_service *service,
		    const struct keep_node *node, size_t at)
{
	struct import_service *of = service, *more;
	uint64_t mark;

	if (!import_number(keep_word(node, at), UINT32_MAX, &mark) || !mark)
		return refuse(tree, node, "has a mark that is none, expected a number above 0");
	if (service->mark || service->ends) {
		more = import_service_add(tree->import, node->place);
		more->what = service->what;
		more->name = service->name;
		of = more;
	}
	of->mark = (uint32_t)mark;
	return 0;
}

static int add_group(struct keep_tree *tree, struct import_service *service,
		     const struct keep_node *group)
{
	int error = 0;

	for (const struct keep_node *at = group->children; at && !error; at = at->next) {
		struct addr range[2];

		if (keep_is(at, "fwmark"))
			continue;
		if (parse_range(keep_word(at, 0), range))
			error = add_range(tree, service, at, range);
		else
			error = refuse(tree, at, "is no address, range or fwmark");
	}
	for (const struct keep_node *at = group->children; at && !error; at = at->next) {
		if (keep_is(at, "fwmark"))
			error = add_mark(tree, service, at, 1);
	}
	return error;
}

static const struct keep_node *find_group(const struct keep_tree *tree, const char *name)
{
	for (const struct keep_node *at = tree->root.children; at; at = at->next) {
		if (keep_is(at, "virtual_server_group") && strcmp(keep_word(at, 1), name) == 0)
			return at;
	}
	return NULL;
}

/* After the block's protocol is known. */
static int take_head(struct keep_tree *tree, struct import_service *service,
		     const struct keep_node *node)
{
	const struct keep_node *group;
	struct addr vip;
	uint16_t port;
	int error;

	if (strcmp(keep_word(node, 1), "fwmark") == 0)
		return add_mark(tree, service, node, 2);
	if (strcmp(keep_word(node, 1), "group") == 0) {
		group = find_group(tree, keep_word(node, 2));
		if (!group)
			return refuse(tree, node, "names a virtual_server_group that is not there");
		if (!service->name)
			service->name = keep_word(node, 2);
		return add_group(tree, service, group);
	}
	error = take_end(tree, node, 1, &vip, &port);
	if (!error && import_end_add(tree->import, service, &vip, listen_of(service, port)))
		error = refuse(tree, node, "is one service too many");
	return error;
}

/* --- forwarding --- */

/* "DR", "TUN type gue port 6080 nocsum", from the word `at` on. */
static void take_way(struct import *import, const struct keep_node *node, struct import_way *way)
{
	const char *kind = keep_word(node, 1), *type = "ipip";
	uint64_t port;

	if (strcmp(kind, "DR") == 0)
		*way = (struct import_way){CONF_FORWARD_L2DSR, false};
	else if (strcmp(kind, "NAT") == 0)
		*way = (struct import_way){CONF_FORWARD_IPIP, true};
	else if (strcmp(kind, "TUN") == 0)
		*way = (struct import_way){CONF_FORWARD_IPIP, false};
	else
		keep_note(import, node, IMPORT_LOST, "not a way to forward that is known");
	for (size_t i = 2; i < node->count; i++) {
		const char *word = keep_word(node, i);

		if (strcmp(word, "type") == 0) {
			type = keep_word(node, ++i);
		} else if (strcmp(word, "port") == 0) {
			if (!import_number(keep_word(node, ++i), UINT16_MAX, &port) ||
			    port != GUE_PORT)
				keep_note(import, node, IMPORT_LOST, "gue goes to port 6080");
		} else if (strcmp(word, "nocsum") != 0) {
			keep_note(import, node, IMPORT_LOST,
				  "tunnels have no checksum of their own: packets have theirs");
		}
	}
	if (strcmp(type, "gre") == 0)
		way->forward = CONF_FORWARD_GRE;
	else if (strcmp(type, "gue") == 0)
		way->forward = CONF_FORWARD_GUE;
}

/* --- servers --- */

static int take_real(struct keep_tree *tree, struct import_service *service,
		     const struct keep_node *node, struct keep_scope scope, struct import_way way)
{
	struct import *import = tree->import;
	struct import_backend *backend = import_backend_add(import, service, node->place), probed;
	int error = take_end(tree, node, 1, &backend->address, &backend->port);

	backend->way = way;
	for (const struct keep_node *at = node->children; at && !error; at = at->next) {
		if (keep_is(at, "weight")) {
			if (!import_number(keep_word(at, 1), INT32_MAX, &backend->weight))
				error = refuse(tree, at, "has no number that is not below 0");
		} else if (keep_is(at, "lvs_method")) {
			take_way(import, at, &backend->way);
		} else if (!keep_scope_take(import, &scope, at) && !keep_is_check(at)) {
			keep_note_row(import, at, of_real, sizeof(of_real) / sizeof(*of_real));
		}
	}
	if (error)
		return error;
	probed = *backend;
	/* Without a port of its own it has the service's. */
	if (!probed.port && service->ends)
		probed.port = service->ends->listen.first;
	backend->check = keep_check(import, node, &probed, scope);
	return 0;
}

static int take_sorry(struct keep_tree *tree, struct import_service *service,
		      const struct keep_node *node, struct import_way way)
{
	struct import_backend *backend = import_backend_add(tree->import, service, node->place);

	backend->sorry = true;
	backend->way = way;
	return take_end(tree, node, 1, &backend->address, &backend->port);
}

/* --- the block --- */

static void take_persistence(struct import *import, struct import_service *service,
			     const struct keep_node *node)
{
	uint64_t time_s = PERSISTENT_S;

	if (node->count > 1 && !import_number(keep_word(node, 1), UINT32_MAX, &time_s))
		keep_note(import, node, IMPORT_LOST, "not a number of seconds");
	service->persistent = time_s != 0;
	if (service->persistent)
		keep_note(
			import, node, IMPORT_DIFFERS,
			"policy: source: a source has its backend by its slot, whatever the time");
}

static void take_granularity(struct import *import, struct import_service *service,
			     const struct keep_node *node)
{
	uint64_t bits;
	struct addr mask;

	if (import_number(keep_word(node, 1), 128, &bits)) {
		service->granularity6 = (uint8_t)(bits == 128 ? 0 : bits);
	} else if (addr_parse(keep_word(node, 1), &mask) == 0 && addr_is4(&mask)) {
		bits = (uint64_t)__builtin_popcount(addr_be32(&mask));
		service->granularity4 = (uint8_t)(bits == 32 ? 0 : bits);
	} else {
		keep_note(import, node, IMPORT_LOST, "neither a mask nor a number of bits");
	}
}

static int take_protocol(struct keep_tree *tree, struct import_service *service,
			 const struct keep_node *node)
{
	static const struct {
		const char *name;
		uint8_t proto;
	} protos[] = {{"TCP", IPPROTO_TCP}, {"UDP", IPPROTO_UDP}, {"SCTP", IPPROTO_SCTP}};

	for (size_t i = 0; i < sizeof(protos) / sizeof(*protos); i++) {
		if (strcmp(keep_word(node, 1), protos[i].name) == 0) {
			service->proto = protos[i].proto;
			return 0;
		}
	}
	return refuse(tree, node, "is no protocol that is known, expected TCP, UDP or SCTP");
}

static bool take_flag(struct import_service *service, const struct keep_node *node)
{
	if (keep_is(node, "sh-port") || keep_is(node, "mh-port") || keep_is(node, "flag-2"))
		service->by_port = true;
	else if (keep_is(node, "ops"))
		service->one_packet = true;
	else
		return keep_is(node, "sh-fallback") || keep_is(node, "mh-fallback") ||
		       keep_is(node, "flag-1");
	return true;
}

/* What is about the service itself; 1: something else. */
static int take_setting(struct keep_tree *tree, struct import_service *service,
			const struct keep_node *node, struct import_way *way)
{
	if (keep_is(node, "lb_algo") || keep_is(node, "lvs_sched")) {
		service->scheduler = keep_word(node, 1);
		service->scheduler_place = node->place;
	} else if (keep_is(node, "lb_kind") || keep_is(node, "lvs_method")) {
		take_way(tree->import, node, way);
	} else if (keep_is(node, "protocol")) {
		return take_protocol(tree, service, node);
	} else if (keep_is(node, "persistence_timeout")) {
		take_persistence(tree->import, service, node);
	} else if (keep_is(node, "persistence_granularity")) {
		take_granularity(tree->import, service, node);
	} else if (keep_is(node, "quorum")) {
		service->quorum_place = node->place;
		if (!import_number(keep_word(node, 1), UINT32_MAX, &service->quorum))
			return refuse(tree, node, "is not a number");
	} else if (keep_is(node, "snmp_name")) {
		service->name = keep_word(node, 1);
	} else {
		return take_flag(service, node) ? 0 : 1;
	}
	return 0;
}

/* Settings hold for servers above them too. */
static int take_settings(struct keep_tree *tree, struct import_service *service,
			 const struct keep_node *block, struct keep_scope *scope,
			 struct import_way *way)
{
	int taken;

	for (const struct keep_node *at = block->children; at; at = at->next) {
		if (keep_is(at, "real_server") || keep_is(at, "sorry_server") ||
		    keep_is(at, "sorry_server_lvs_method"))
			continue;
		taken = take_setting(tree, service, at, way);
		if (taken < 0)
			return taken;
		if (taken && !keep_scope_take(tree->import, scope, at))
			keep_note_row(tree->import, at, of_virtual,
				      sizeof(of_virtual) / sizeof(*of_virtual));
	}
	return 0;
}

static int take_servers(struct keep_tree *tree, struct import_service *service,
			const struct keep_node *block, struct keep_scope scope,
			struct import_way way)
{
	struct import_way sorry = way;
	int error = 0;

	for (const struct keep_node *at = block->children; at; at = at->next) {
		if (keep_is(at, "sorry_server_lvs_method"))
			take_way(tree->import, at, &sorry);
	}
	for (const struct keep_node *at = block->children; at && !error; at = at->next) {
		if (keep_is(at, "real_server"))
			error = take_real(tree, service, at, scope, way);
		else if (keep_is(at, "sorry_server"))
			error = take_sorry(tree, service, at, sorry);
	}
	return error;
}

/* Services of a group's further marks have all else from the first. */
static void copy_to_marks(struct import_service *service)
{
	for (struct import_service *at = service->next; at; at = at->next) {
		struct import_service was = *at;

		*at = *service;
		at->next = was.next;
		at->place = was.place;
		at->mark = was.mark;
		at->ends = NULL;
		at->ends_tail = &at->ends;
		/* Its own list: settling one takes servers out. */
		at->backends = NULL;
		at->backends_tail = &at->backends;
	}
}

/* Older versions take TCP for it, newer ones UDP; a mark has none. */
static void settle_proto(struct import *import, struct import_service *service,
			 const struct keep_node *node)
{
	service->proto = IPPROTO_TCP;
	if (strcmp(keep_word(node, 1), "fwmark") != 0)
		keep_note(import, node, IMPORT_DIFFERS,
			  "says no protocol: TCP is written, some versions of keepalived take UDP");
}

int keep_virtual(struct keep_tree *tree, const struct keep_node *node)
{
	struct import_service *service = import_service_add(tree->import, node->place);
	struct keep_scope scope = keep_scope_default();
	struct import_way way = {CONF_FORWARD_IPIP, true}; /* NAT, unless told otherwise */
	int error;

	tree->import->now = service;
	service->what = import_plain(tree->import, keep_text(tree->import, node),
				     strlen(keep_text(tree->import, node)));
	service->scheduler = "wlc";
	service->scheduler_place = node->place;
	if (!node->has_block)
		return refuse(tree, node, "has no block");
	service->proto = 0;
	error = take_settings(tree, service, node, &scope, &way);
	if (!service->proto)
		settle_proto(tree->import, service, node);
	if (!error)
		error = take_head(tree, service, node);
	if (!error)
		error = take_servers(tree, service, node, scope, way);
	if (error || !service->next)
		return error;
	copy_to_marks(service);
	for (struct import_service *at = service->next; at && !error; at = at->next) {
		tree->import->now = at;
		error = take_servers(tree, at, node, scope, way);
	}
	return error;
}
