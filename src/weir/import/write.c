/* SPDX-License-Identifier: BSD-2-Clause */
/* The services file, with the places where each thing came from. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/import.h"

enum { LINE_ITEMS = 8 }; /* addresses a line */

static void put_place(FILE *out, const struct import_place *place)
{
	const char *name = strrchr(place->file, '/');

	/* The file's own name may hold anything. */
	for (const char *at = name ? name + 1 : place->file; *at; at++)
		fputc(*at >= ' ' && *at < 0x7f ? *at : '?', out);
	fprintf(out, ":%d", place->line);
}

/* A comment, folded. */
static void put_comment(FILE *out, const char *indent, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (column && column + length > 88) {
			fputc('\n', out);
			column = 0;
		}
		if (!column)
			column = (size_t)fprintf(out, "%s#", indent);
		column += (size_t)fprintf(out, " %.*s", (int)length, text);
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}

static void put_note(FILE *out, const char *indent, const struct import_note *note)
{
	char *text;
	size_t size;
	FILE *line = open_memstream(&text, &size);

	if (!line)
		return;
	fprintf(line, "%s: line %d, %s: %s",
		note->kind == IMPORT_LOST      ? "NO COUNTERPART"
		: note->kind == IMPORT_DIFFERS ? "differs"
					       : "no need",
		note->place.line, note->what, note->text);
	fclose(line);
	put_comment(out, indent, text);
	free(text);
}

/* Of a service that is written; those of no service, or of one that is not, stand at the top. */
static void put_notes(FILE *out, const struct import *import, const struct import_service *service)
{
	for (const struct import_note *at = import->notes; at; at = at->next) {
		const struct import_service *of = at->service;

		if (service ? of == service : !of || of->left_out)
			put_note(out, service ? "  " : "", at);
	}
}

static size_t count_kind(const struct import *import, enum import_kind kind)
{
	size_t count = 0;

	for (const struct import_note *at = import->notes; at; at = at->next)
		count += at->kind == kind;
	return count;
}

static void put_head(FILE *out, const struct import *import)
{
	fprintf(out,
		"# Made by weir import %s. Without a counterpart: %zu; working in another way: "
		"%zu; "
		"not needed: %zu.\n# Each is named below, by its line there. Read them, then: weir "
		"check FILE\n",
		import->from, count_kind(import, IMPORT_LOST) + import->notes_dropped,
		count_kind(import, IMPORT_DIFFERS), count_kind(import, IMPORT_NEEDLESS));
	put_notes(out, import, NULL);
}

static void put_node(FILE *out, const struct import *import, const char *interface)
{
	fputs("\nnode:\n  # Where packets for the VIPs arrive.\n  interfaces: [", out);
	if (interface || !import->interfaces)
		fprintf(out, "\"%s\"", interface ? interface : "eth0");
	/* In quotes, as an interface may be called "null" or "1". */
	for (const struct import_interface *at = interface ? NULL : import->interfaces; at;
	     at = at->next)
		fprintf(out, "\"%s\"%s", at->name, at->next ? ", " : "");
	fputs("]\n"
	      "\n"
	      "# Routers are told of the VIPs by BGP; without this nobody is, and packets come by "
	      "whatever\n"
	      "# routes there are.\n"
	      "# bgp:\n"
	      "#   asn: 65010\n"
	      "#   router_id: 192.0.2.11\n"
	      "#   peers:\n"
	      "#     - {address: 192.0.2.1, asn: 65000}\n"
	      "\n"
	      "# From here on the same on every node.\n"
	      "seed: \"any text, the same on every node\"\n",
	      out);
}

static void put_backend(FILE *out, const struct import_backend *backend, bool weights)
{
	char text[ADDR_TEXT_MAX];

	fprintf(out,
		addr_is4(&backend->address) ? "      - {name: %s, address: %s"
					    : "      - {name: %s, address: \"%s\"",
		backend->name, addr_format(&backend->address, text));
	if (backend->keeps_port)
		fprintf(out, ", port: %u", backend->port);
	if (weights)
		fprintf(out, ", weight: %" PRIu64, backend->weight);
	if (backend->sorry)
		fputs(", backup: true", out);
	fputs("}\n", out);
}

static void put_pool(FILE *out, const struct import *import, const struct import_service *service)
{
	const struct import_check *check = &service->check;
	bool weights = false;

	fputs("\n  # ", out);
	put_place(out, &service->place);
	fprintf(out, ": %s\n", service->what);
	put_notes(out, import, service);
	fprintf(out, "  - name: %s\n    check: {%s", service->pool,
		check->text ? check->text : "type: none");
	if (check->port)
		fprintf(out, ", port: %u", check->port);
	fputs("}\n", out);
	if (service->backup_below)
		fprintf(out, "    backup_below: %" PRIu64 "\n", service->backup_below);
	for (const struct import_backend *at = service->backends; at; at = at->next)
		weights |= at->weight != 1;
	fputs("    backends:\n", out);
	for (const struct import_backend *at = service->backends; at; at = at->next)
		put_backend(out, at, weights);
}

static void put_vips(FILE *out, const struct import_service *service)
{
	const struct import_end *last = NULL;
	size_t count = 0;

	for (const struct import_end *at = service->ends; at; last = at, at = at->next) {
		char text[ADDR_TEXT_MAX];

		if (last && addr_equal(&last->vip, &at->vip))
			continue;
		if (last)
			fputs(++count % LINE_ITEMS ? ", " : ",\n           ", out);
		fprintf(out, addr_is4(&at->vip) ? "%s" : "\"%s\"", addr_format(&at->vip, text));
	}
}

/* All of its addresses have those of the first. */
static void put_listens(FILE *out, const struct import_service *service)
{
	const struct import_end *first = service->ends;
	char text[CONF_LISTEN_TEXT_MAX];

	for (const struct import_end *at = first; at && addr_equal(&at->vip, &first->vip);
	     at = at->next)
		fprintf(out, "%s%s", at == first ? "" : ", ",
			conf_listen_format(&at->listen, text));
}

static void put_service(FILE *out, const struct import_service *service)
{
	fputs("\n  # ", out);
	put_place(out, &service->place);
	fprintf(out, ": %s\n  - name: %s\n    vips: [", service->what, service->name);
	put_vips(out, service);
	fputs("]\n    listen: [", out);
	put_listens(out, service);
	fprintf(out, "]\n    pool: %s\n    forward: %s\n", service->pool,
		conf_forward_name(service->forward));
	if (service->policy)
		fprintf(out, "    policy: %s\n", service->policy);
	if (service->policy && strcmp(service->policy, "source-prefix") == 0)
		fprintf(out, "    source_prefix4: %u\n    source_prefix6: %u\n",
			service->granularity4 ? service->granularity4 : 32,
			service->granularity6 ? service->granularity6 : 128);
	if (service->one_packet)
		fputs("    tracking: none\n", out);
	if (service->min_usable)
		fprintf(out, "    announce: {min_usable: %" PRIu64 "}\n", service->min_usable);
}

static void put_all(FILE *out, const struct import *import, const char *interface)
{
	bool any = false;

	put_head(out, import);
	put_node(out, import, interface);
	for (const struct import_service *at = import->services; at; at = at->next)
		any |= !at->left_out;
	fputs(any ? "\npools:" : "\npools: []\nservices: []\n", out);
	for (const struct import_service *at = import->services; at; at = at->next) {
		if (!at->left_out && !at->shares_pool)
			put_pool(out, import, at);
	}
	fputs(any ? "\nservices:" : "", out);
	for (const struct import_service *at = import->services; at; at = at->next) {
		if (at->left_out)
			continue;
		put_service(out, at);
		if (at->shares_pool)
			put_notes(out, import, at);
	}
}

char *import_write(const struct import *import, const char *interface)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	bool failed;

	if (!out)
		return NULL;
	put_all(out, import, interface);
	failed = ferror(out);
	if (fclose(out) == 0 && !failed)
		return text;
	free(text);
	return NULL;
}
