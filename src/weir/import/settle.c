/* SPDX-License-Identifier: BSD-2-Clause */
/* Weir's services of another's: mode, policy, weights, quorum, one check a pool, names. */
#include "weir/import/settle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NAME_PART_MAX = 50 };

static int compare_addrs(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct addr));
}

static void leave_out(struct import *import, struct import_service *service, const char *why)
{
	service->left_out = true;
	import_note(import, service->place, IMPORT_LOST, service->what, "not written: %s", why);
}

/* --- which there are --- */

static void take_mark(struct import *import, struct import_service *service)
{
	for (const struct import_mark *mark = import->marks; mark; mark = mark->next) {
		if (mark->mark != service->mark)
			continue;
		for (const struct import_end *at = mark->ends; at; at = at->next) {
			if (import_end_add(import, service, &at->vip, at->listen))
				return;
		}
	}
	if (service->ends)
		return;
	service->left_out = true;
	import_note(import, service->place, IMPORT_LOST, service->what,
		    "not written: nothing here says what packets have that mark; say it with "
		    "--mark %u=VIP,LISTEN,...",
		    service->mark);
}

/* Addresses that no client comes to. */
static void refuse_vips(struct import *import, struct import_service *service)
{
	struct import_end **link = &service->ends;
	char text[ADDR_TEXT_MAX];

	while (*link) {
		if (settle_is_host(&(*link)->vip)) {
			link = &(*link)->next;
			continue;
		}
		import_note(import, service->place, IMPORT_LOST, addr_format(&(*link)->vip, text),
			    "not written: no address that routers know can be this");
		*link = (*link)->next;
	}
	service->ends_tail = link;
}

static void judge(struct import *import, struct import_service *service)
{
	import->now = service;
	if (service->proto == IPPROTO_SCTP) {
		leave_out(import, service,
			  "SCTP has no ports here; listen: [any] takes every "
			  "protocol of a VIP");
		return;
	}
	if (service->mark)
		take_mark(import, service);
	refuse_vips(import, service);
	if (!service->left_out && !service->ends)
		leave_out(import, service, "it has no address");
	else if (!service->left_out && !service->backends)
		leave_out(import, service, "it has no server");
}

static struct settle_vips collect_vips(struct import *import)
{
	struct settle_vips vips = {0};
	struct addr *list;
	size_t count = 0;

	for (const struct import_service *at = import->services; at; at = at->next) {
		for (const struct import_end *end = at->ends; end; end = end->next)
			count++;
	}
	list = arena_array(import->arena, count, sizeof(*list));
	for (const struct import_service *at = import->services; at; at = at->next) {
		for (const struct import_end *end = at->ends; end && !at->left_out; end = end->next)
			list[vips.count++] = end->vip;
	}
	qsort(list, vips.count, sizeof(*list), compare_addrs);
	vips.list = list;
	return vips;
}

/* --- how packets get there --- */

/* Do all ends of it have this one port, or is it none? */
static bool is_own_port(const struct import_service *service, uint16_t port)
{
	for (const struct import_end *at = service->ends; at; at = at->next) {
		if (port && (at->listen.first != port || at->listen.last != port))
			return false;
	}
	return true;
}

/* To one port nothing changes what comes to several. */
static bool has_one_port(const struct import_service *service)
{
	for (const struct import_end *at = service->ends; at; at = at->next) {
		if (at->listen.first != at->listen.last)
			return false;
	}
	return true;
}

static const struct import_backend *first_server(const struct import_service *service)
{
	const struct import_backend *at = service->backends;

	while (at->sorry && at->next)
		at = at->next;
	return at;
}

static void settle_way(struct import *import, struct import_service *service)
{
	const struct import_backend *first = first_server(service);
	bool may_change = has_one_port(service), changes = false;

	service->forward = first->way.forward;
	for (struct import_backend *at = service->backends; at; at = at->next) {
		if (at->way.forward != first->way.forward || at->way.nat != first->way.nat)
			import_note(import, at->place, IMPORT_DIFFERS, "its own forwarding method",
				    "a service has one mode: %s is what the first server has",
				    first->way.nat ? "NAT" : conf_forward_name(service->forward));
		changes |= may_change && !is_own_port(service, at->port);
	}
	if (first->way.nat) {
		if (changes)
			service->forward = CONF_FORWARD_GENEVE;
		import_note(import, service->place, IMPORT_DIFFERS, "NAT",
			    "there is none yet, %s is written: a weir agent on each backend takes "
			    "packets out of the tunnel%s, answers go straight to the client, and "
			    "the node need not be the backends' gateway",
			    conf_forward_name(service->forward),
			    changes ? " and changes the port" : "");
	}
	for (struct import_backend *at = service->backends; at; at = at->next)
		at->keeps_port = service->forward == CONF_FORWARD_GENEVE && may_change && at->port;
}

/* Ports that are not the VIP's, where none changes. */
static void note_ports(struct import *import, const struct import_service *service)
{
	const char *why = arena_printf(import->arena, "%s changes no port, there as here",
				       conf_forward_name(service->forward));

	if (!has_one_port(service))
		why = "it listens on several ports, and each stays as it is";
	for (const struct import_backend *at = service->backends; at; at = at->next) {
		if (!at->keeps_port && !is_own_port(service, at->port))
			import_note(import, at->place, IMPORT_LOST,
				    arena_printf(import->arena, "port %u", at->port),
				    "not written: %s", why);
	}
}

/* --- which backend a flow gets --- */

static const struct {
	const char *name, *policy, *text;
	enum import_kind kind;
} schedulers[] = {
	{"rr", NULL, NULL, IMPORT_DIFFERS},
	{"wrr", NULL, NULL, IMPORT_DIFFERS},
	{"mh", "source", NULL, IMPORT_DIFFERS},
	{"sh", "source", NULL, IMPORT_DIFFERS},
	{"lc", NULL, "by load: connections are shared out by hash, evenly", IMPORT_LOST},
	{"wlc", NULL, "by load: connections are shared out by hash, in proportion to the weights",
	 IMPORT_LOST},
	{"sed", NULL, "by load: connections are shared out by hash, in proportion to the weights",
	 IMPORT_LOST},
	{"nq", NULL, "by load: connections are shared out by hash, in proportion to the weights",
	 IMPORT_LOST},
	{"lblc", NULL, "by destination and load: connections are shared out by hash", IMPORT_LOST},
	{"lblcr", NULL, "by destination and load: connections are shared out by hash", IMPORT_LOST},
	{"dh", NULL, "by the destination alone: no policy leaves the source out", IMPORT_LOST},
	{"fo", NULL, "the heaviest alone serves: the others are written as its backups",
	 IMPORT_DIFFERS},
	{"ovf", NULL, "the heaviest serves until it is full: connections are shared out by hash",
	 IMPORT_LOST},
	{"twos", NULL, "by load, of two: connections are shared out by hash", IMPORT_LOST},
};

/* The heaviest serves, the others when it does not. */
static void make_backups(struct import_service *service)
{
	struct import_backend *best = NULL;

	for (struct import_backend *at = service->backends; at; at = at->next) {
		if (!at->sorry && (!best || at->weight > best->weight))
			best = at;
	}
	for (struct import_backend *at = service->backends; at; at = at->next)
		at->sorry |= at != best && at->weight;
}

static void settle_persistence(struct import_service *service)
{
	service->policy = "source";
	if (service->granularity4 || service->granularity6)
		service->policy = "source-prefix";
}

static void settle_policy(struct import *import, struct import_service *service)
{
	size_t count = sizeof(schedulers) / sizeof(*schedulers), i = 0;

	while (i < count && strcmp(schedulers[i].name, service->scheduler) != 0)
		i++;
	if (i == count) {
		import_note(import, service->scheduler_place, IMPORT_LOST, service->scheduler,
			    "a scheduler that is not known: connections are shared out by hash");
	} else {
		service->policy = service->by_port ? NULL : schedulers[i].policy;
		if (schedulers[i].text)
			import_note(import, service->scheduler_place, schedulers[i].kind,
				    service->scheduler, "%s", schedulers[i].text);
	}
	if (strcmp(service->scheduler, "fo") == 0)
		make_backups(service);
	if (service->persistent)
		settle_persistence(service);
}

/* --- how few are too few --- */

/* It counts weight; we count backends. */
static void settle_quorum(struct import *import, struct import_service *service)
{
	uint64_t weight = 0, needed;
	bool sorry = false;

	if (service->quorum <= 1)
		return;
	for (const struct import_backend *at = service->backends; at; at = at->next) {
		sorry |= at->sorry;
		if (at->sorry || !at->weight)
			continue;
		if (weight && at->weight != weight) {
			import_note(import, service->quorum_place, IMPORT_LOST,
				    arena_printf(import->arena, "quorum %llu",
						 (unsigned long long)service->quorum),
				    "of weights that differ: set the pool's backup_below or "
				    "announce.min_usable, which count backends");
			return;
		}
		weight = at->weight;
	}
	needed = weight ? (service->quorum + weight - 1) / weight : 1;
	if (needed > CONF_BACKENDS_MAX)
		needed = CONF_BACKENDS_MAX;
	*(sorry ? &service->backup_below : &service->min_usable) = needed;
	import_note(import, service->quorum_place, IMPORT_DIFFERS,
		    arena_printf(import->arena, "quorum %llu", (unsigned long long)service->quorum),
		    sorry ? "the pool's backup_below, which counts backends"
			  : "announce.min_usable, which counts backends: with fewer the VIP is "
			    "announced no more");
}

/* --- names --- */

static const char *name_of(struct import *import, const struct import_service *service)
{
	const struct import_end *end = service->ends;
	char text[ADDR_TEXT_MAX], name[NAME_PART_MAX + 1];
	size_t used = 0;

	for (const char *at = service->name; at && *at && used < NAME_PART_MAX; at++) {
		bool fits = isalnum((unsigned char)*at) || (used && strchr("._-", *at));

		name[used++] = fits ? *at : '-';
	}
	name[used] = '\0';
	/* YAML takes null for nothing. */
	if (used && isalnum((unsigned char)*name) && strcasecmp(name, "null") != 0)
		return arena_strdup(import->arena, name);
	addr_format(&end->vip, text);
	for (char *at = text; *at; at++)
		*at = *at == ':' ? '-' : *at;
	used = strspn(text, "-");
	if (end->listen.proto == CONF_PROTO_ANY || !end->listen.first)
		return arena_printf(import->arena, "%s-%s", text + used,
				    end->listen.proto == IPPROTO_TCP   ? "tcp"
				    : end->listen.proto == IPPROTO_UDP ? "udp"
								       : "any");
	return arena_printf(import->arena, "%s-%s-%u", text + used,
			    end->listen.proto == IPPROTO_TCP ? "tcp" : "udp", end->listen.first);
}

static bool is_taken(const struct import *import, const struct import_service *service,
		     const char *name)
{
	for (const struct import_service *at = import->services; at != service; at = at->next) {
		if (!at->left_out && at->name && strcmp(at->name, name) == 0)
			return true;
	}
	return false;
}

static void settle_name(struct import *import, struct import_service *service)
{
	const char *name = name_of(import, service), *first = name;

	for (unsigned more = 2; is_taken(import, service, name); more++)
		name = arena_printf(import->arena, "%s-%u", first, more);
	service->name = name;
}

/* --- pools --- */

static bool is_same_backend(const struct import_backend *x, const struct import_backend *y)
{
	return addr_equal(&x->address, &y->address) && x->weight == y->weight &&
	       x->sorry == y->sorry && x->keeps_port == y->keeps_port &&
	       (!x->keeps_port || x->port == y->port);
}

static bool is_same_pool(const struct import_service *x, const struct import_service *y)
{
	const struct import_backend *a = x->backends, *b = y->backends;

	if (x->backend_count != y->backend_count || x->backup_below != y->backup_below ||
	    !x->check.text != !y->check.text || x->check.port != y->check.port ||
	    (x->check.text && strcmp(x->check.text, y->check.text) != 0))
		return false;
	for (; a && b; a = a->next, b = b->next) {
		if (!is_same_backend(a, b))
			return false;
	}
	return a == b;
}

static void settle_pool(struct import *import, struct import_service *service)
{
	for (const struct import_service *at = import->services; at != service; at = at->next) {
		if (at->left_out || !is_same_pool(at, service))
			continue;
		service->pool = at->pool;
		service->shares_pool = true;
		return;
	}
	service->pool = service->name;
}

/* --- VRRP's addresses --- */

static void note_vips(struct import *import, const struct settle_vips *vips)
{
	import->now = NULL;
	for (const struct import_vip *at = import->vips; at; at = at->next) {
		if (vips->count &&
		    bsearch(&at->addr, vips->list, vips->count, sizeof(at->addr), compare_addrs))
			import_note(import, at->place, IMPORT_DIFFERS, at->what,
				    "announced by BGP while its services have backends, by every "
				    "node at once, not moved between two");
		else
			import_note(import, at->place, IMPORT_LOST, at->what,
				    "no service has this address: nothing here moves it");
	}
}

/* --- the list, as the files have it --- */

struct sorted {
	struct import_note *note;
	size_t at;
};

static int compare_notes(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;
	int order = strcmp(x->note->place.file, y->note->place.file);

	if (!order)
		order = x->note->place.line - y->note->place.line;
	if (!order)
		order = x->note->place.column - y->note->place.column;
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static void sort_notes(struct import *import)
{
	struct sorted *list = arena_array(import->arena, import->note_count, sizeof(*list));
	size_t count = 0;

	for (struct import_note *at = import->notes; at; at = at->next, count++)
		list[count] = (struct sorted){at, count};
	qsort(list, count, sizeof(*list), compare_notes);
	import->notes_tail = &import->notes;
	for (size_t i = 0; i < count; i++) {
		*import->notes_tail = list[i].note;
		import->notes_tail = &list[i].note->next;
	}
	*import->notes_tail = NULL;
}

static void settle_service(struct import *import, struct import_service *service,
			   const struct settle_vips *vips)
{
	import->now = service;
	settle_way(import, service);
	settle_backends(import, service, vips);
	if (!service->backends) {
		leave_out(import, service, "it has no server that can be a backend");
		return;
	}
	note_ports(import, service);
	settle_weights(import, service);
	settle_policy(import, service);
	settle_quorum(import, service);
	settle_check(import, service);
	settle_ends(import, service);
}

void import_settle(struct import *import)
{
	struct settle_vips vips;
	size_t count = 0;

	for (struct import_service *at = import->services; at; at = at->next)
		judge(import, at);
	vips = collect_vips(import);
	for (struct import_service *at = import->services; at;) {
		struct import_service *next = at->next;

		if (!at->left_out)
			settle_service(import, at, &vips);
		at = next;
	}
	for (struct import_service *at = import->services; at; at = at->next) {
		import->now = at;
		if (at->left_out)
			continue;
		if (++count > CONF_SERVICES_MAX) {
			leave_out(import, at, "there are too many services");
			continue;
		}
		settle_name(import, at);
		settle_pool(import, at);
	}
	note_vips(import, &vips);
	sort_notes(import);
}
