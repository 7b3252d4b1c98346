/* SPDX-License-Identifier: BSD-2-Clause */
/* A service's backends: which there can be, their names, weights, and one check for all. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/settle.h"

bool settle_is_host(const struct addr *addr)
{
	static const struct addr loopback = {.bytes = {[15] = 1}};
	uint32_t address;

	if (addr_is_none(addr) || addr_equal(addr, &loopback))
		return false;
	if (!addr_is4(addr))
		return addr->bytes[0] != 0xff &&
		       !(addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80);
	address = ntohl(addr_be32(addr));
	return address >> 24 != 0 && address >> 24 != 127 && address >> 16 != 0xa9fe &&
	       address >> 28 != 0xe && address != UINT32_MAX;
}

static int compare_addrs(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct addr));
}

static bool is_vip(const struct settle_vips *vips, const struct addr *addr)
{
	return vips->count &&
	       bsearch(addr, vips->list, vips->count, sizeof(*addr), compare_addrs) != NULL;
}

static const char *text_of(struct import *import, const struct import_backend *backend)
{
	char text[ADDR_TEXT_MAX];

	return arena_printf(import->arena, "%s%s %u", backend->sorry ? "sorry_server " : "",
			    addr_format(&backend->address, text), backend->port);
}

/* --- which there are --- */

static const char *why_not(const struct settle_vips *vips, const struct import_backend *backend)
{
	if (!settle_is_host(&backend->address))
		return "not written: the node itself, or no host's address, cannot be a backend";
	if (is_vip(vips, &backend->address))
		return "not written: a backend's address cannot be a VIP";
	return NULL;
}

static int compare_backends(const void *a, const void *b)
{
	const struct import_backend *x = *(struct import_backend *const *)a;
	const struct import_backend *y = *(struct import_backend *const *)b;
	int order = memcmp(&x->address, &y->address, sizeof(x->address));

	if (!order && x->keeps_port && y->keeps_port)
		order = (int)x->port - (int)y->port;
	if (order)
		return order;
	/* The earlier one stays, and those that serve stay before a sorry server. */
	if (x->sorry != y->sorry)
		return x->sorry - y->sorry;
	return x->place.line - y->place.line;
}

static bool is_same(const struct import_backend *x, const struct import_backend *y)
{
	return addr_equal(&x->address, &y->address) && (!x->keeps_port || x->port == y->port);
}

static void name_backend(struct import *import, struct import_backend *backend, bool by_port)
{
	char text[ADDR_TEXT_MAX];

	addr_format(&backend->address, text);
	for (char *at = text; *at; at++)
		*at = *at == ':' ? '-' : *at;
	/* A name begins with a letter or a digit, which ::1 does not. */
	backend->name =
		by_port ? arena_printf(import->arena, "%s%s-%u", *text == '-' ? "b" : "", text,
				       backend->port)
			: arena_printf(import->arena, "%s%s", *text == '-' ? "b" : "", text);
}

/* Twins have no name afterwards. */
static void refuse_twins(struct import *import, struct import_service *service)
{
	size_t count = 0;
	struct import_backend **list =
		arena_array(import->arena, service->backend_count, sizeof(struct import_backend *));

	for (struct import_backend *at = service->backends; at; at = at->next)
		list[count++] = at;
	qsort(list, count, sizeof(*list), compare_backends);
	for (size_t i = 0; i < count; i++) {
		bool near = (i && addr_equal(&list[i - 1]->address, &list[i]->address)) ||
			    (i + 1 < count && addr_equal(&list[i + 1]->address, &list[i]->address));

		if (!i || !is_same(list[i - 1], list[i])) {
			name_backend(import, list[i], near && list[i]->keeps_port);
			continue;
		}
		import_note(import, list[i]->place, IMPORT_LOST, text_of(import, list[i]),
			    "not written: its address is in the service already, and a tunnel "
			    "ends at an address");
		list[i] = list[i - 1];
	}
}

void settle_backends(struct import *import, struct import_service *service,
		     const struct settle_vips *vips)
{
	struct import_backend **link = &service->backends;

	while (*link) {
		const char *why = why_not(vips, *link);

		if (!why) {
			link = &(*link)->next;
			continue;
		}
		import_note(import, (*link)->place, IMPORT_LOST, text_of(import, *link), "%s", why);
		*link = (*link)->next;
		service->backend_count--;
	}
	refuse_twins(import, service);
	for (link = &service->backends; *link;) {
		if ((*link)->name) {
			link = &(*link)->next;
			continue;
		}
		*link = (*link)->next;
		service->backend_count--;
	}
}

/* --- weights --- */

static bool ignores_weights(const char *scheduler)
{
	return strcmp(scheduler, "rr") == 0 || strcmp(scheduler, "lc") == 0 ||
	       strcmp(scheduler, "dh") == 0;
}

void settle_weights(struct import *import, struct import_service *service)
{
	bool ignored = ignores_weights(service->scheduler), noted = false;
	uint64_t most = 0;

	for (const struct import_backend *at = service->backends; at; at = at->next)
		most = at->weight > most ? at->weight : most;
	for (struct import_backend *at = service->backends; at; at = at->next) {
		if (ignored && at->weight > 1) {
			if (!noted)
				import_note(import, at->place, IMPORT_DIFFERS,
					    arena_printf(import->arena, "weight %llu",
							 (unsigned long long)at->weight),
					    "weights are not written: %s goes by none",
					    service->scheduler);
			noted = true;
			at->weight = 1;
		} else if (most > CONF_WEIGHT_MAX && at->weight) {
			if (!noted)
				import_note(import, at->place, IMPORT_DIFFERS,
					    arena_printf(import->arena, "weight %llu",
							 (unsigned long long)at->weight),
					    "weights are made smaller: %d is the largest",
					    CONF_WEIGHT_MAX);
			noted = true;
			at->weight = at->weight * CONF_WEIGHT_MAX / most;
			at->weight += at->weight == 0;
		}
	}
}

/* --- the check --- */

static bool is_alike(const struct import_check *x, const struct import_check *y)
{
	if (!x->text || !y->text)
		return x->text == y->text;
	return strcmp(x->text, y->text) == 0;
}

/* Probed at a port of each backend's own, of which a pool has one. */
static bool has_ports(const struct import_service *service)
{
	const struct import_backend *first = NULL;

	for (const struct import_backend *at = service->backends; at; at = at->next) {
		if (at->sorry || !at->check.text)
			continue;
		if (first && first->check.port != at->check.port)
			return true;
		first = at;
	}
	return false;
}

static void note_others(struct import *import, const struct import_service *service)
{
	for (const struct import_backend *at = service->backends; at; at = at->next) {
		if (at->sorry || is_alike(&at->check, &service->check))
			continue;
		import_note(import, at->check.text ? at->check.place : at->place, IMPORT_DIFFERS,
			    text_of(import, at),
			    at->check.text ? "a pool has one check: it is probed as the others "
					     "are, not in its own way"
					   : "a pool has one check: it is probed as the others "
					     "are");
	}
}

void settle_check(struct import *import, struct import_service *service)
{
	for (const struct import_backend *at = service->backends; at; at = at->next) {
		if (!at->sorry && at->check.text) {
			service->check = at->check;
			break;
		}
	}
	if (!service->check.text)
		return;
	note_others(import, service);
	if (!has_ports(service))
		return;
	import_note(import, service->check.place, IMPORT_LOST, "checks of different ports",
		    "a pool is probed at one port: an echo (icmp) is written");
	service->check.text = "type: icmp";
	service->check.port = 0;
}
