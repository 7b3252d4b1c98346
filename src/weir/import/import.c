/* SPDX-License-Identifier: BSD-2-Clause */
/* What both readers fill: services, backends, notes. */
#include "weir/import/import.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLAIN_MAX = 72, TEXT_MAX = 512 };

struct import *import_new(const char *from)
{
	struct arena *arena = arena_new();
	struct import *import = arena_alloc(arena, sizeof(*import));

	import->arena = arena;
	import->from = from;
	import->services_tail = &import->services;
	import->notes_tail = &import->notes;
	import->vips_tail = &import->vips;
	return import;
}

void import_free(struct import *import)
{
	if (import)
		arena_free(import->arena);
}

const char *import_kind_name(enum import_kind kind)
{
	static const char *const names[] = {
		[IMPORT_LOST] = "lost",
		[IMPORT_DIFFERS] = "differs",
		[IMPORT_NEEDLESS] = "needless",
	};

	return names[kind];
}

const char *import_plain(struct import *import, const char *text, size_t length)
{
	bool cut = length > PLAIN_MAX;
	char plain[PLAIN_MAX + 4];
	size_t used = cut ? PLAIN_MAX : length;

	for (size_t i = 0; i < used; i++)
		plain[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
	strcpy(plain + used, cut ? "..." : "");
	return arena_strdup(import->arena, plain);
}

/* Said again of the same place: a line that definitions make several of. */
static bool is_said(const struct import_note *last, const struct import_note *note)
{
	return last->place.line == note->place.line && last->kind == note->kind &&
	       last->service == note->service && strcmp(last->place.file, note->place.file) == 0 &&
	       strcmp(last->what, note->what) == 0 && strcmp(last->text, note->text) == 0;
}

void import_note(struct import *import, struct import_place place, enum import_kind kind,
		 const char *what, const char *format, ...)
{
	struct import_note *note;
	char text[TEXT_MAX];
	va_list args;

	if (import->note_count == IMPORT_NOTES_MAX) {
		import->notes_dropped++;
		return;
	}
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note = arena_alloc(import->arena, sizeof(*note));
	note->place = place;
	note->kind = kind;
	note->what = import_plain(import, what, strlen(what));
	note->text = arena_strdup(import->arena, text);
	note->service = import->now;
	if (import->last_note && is_said(import->last_note, note))
		return;
	import->last_note = note;
	*import->notes_tail = note;
	import->notes_tail = &note->next;
	import->note_count++;
}

struct import_service *import_service_add(struct import *import, struct import_place place)
{
	struct import_service *service = arena_alloc(import->arena, sizeof(*service));

	service->place = place;
	service->proto = IPPROTO_TCP;
	service->ends_tail = &service->ends;
	service->backends_tail = &service->backends;
	*import->services_tail = service;
	import->services_tail = &service->next;
	return service;
}

int import_end_add(struct import *import, struct import_service *service, const struct addr *vip,
		   struct conf_listen listen)
{
	struct import_end *end;

	if (import->end_count++ >= IMPORT_ENDS_MAX)
		return -ENOSPC;
	end = arena_alloc(import->arena, sizeof(*end));
	end->vip = *vip;
	end->listen = listen;
	*service->ends_tail = end;
	service->ends_tail = &end->next;
	return 0;
}

struct import_backend *import_backend_add(struct import *import, struct import_service *service,
					  struct import_place place)
{
	struct import_backend *backend = arena_alloc(import->arena, sizeof(*backend));

	backend->place = place;
	backend->weight = 1;
	*service->backends_tail = backend;
	service->backends_tail = &backend->next;
	service->backend_count++;
	return backend;
}

bool import_number(const char *text, uint64_t max, uint64_t *ret)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; *text; text++) {
		if (!isdigit((unsigned char)*text))
			return false;
		value = value * 10 + (uint64_t)(*text - '0');
		if (value > max)
			return false;
	}
	*ret = value;
	return true;
}

/* --- firewall marks --- */

static bool parse_ports(const char *text, struct conf_listen *listen)
{
	char first[8], *dash;
	uint64_t low, high;

	if (strcmp(text, "any") == 0) {
		listen->last = UINT16_MAX;
		return true;
	}
	if (snprintf(first, sizeof(first), "%s", text) >= (int)sizeof(first) && !strchr(text, '-'))
		return false;
	dash = strchr(first, '-');
	if (dash)
		*dash = '\0';
	if (!import_number(first, UINT16_MAX, &low) || low == 0)
		return false;
	high = low;
	if (strchr(text, '-') && !import_number(strchr(text, '-') + 1, UINT16_MAX, &high))
		return false;
	listen->first = (uint16_t)low;
	listen->last = (uint16_t)high;
	return high >= low;
}

static bool parse_listen(const char *text, struct conf_listen *listen)
{
	*listen = (struct conf_listen){0};
	if (strcmp(text, "any") == 0) {
		*listen = (struct conf_listen){CONF_PROTO_ANY, 0, UINT16_MAX};
		return true;
	}
	if (strncmp(text, "tcp/", 4) != 0 && strncmp(text, "udp/", 4) != 0)
		return false;
	listen->proto = *text == 't' ? IPPROTO_TCP : IPPROTO_UDP;
	return parse_ports(text + 4, listen);
}

static int bad_mark(const char *text, struct err *err)
{
	return err_set(err, -EINVAL,
		       "\"%.60s\" does not say what a mark is, expected MARK=VIP,LISTEN,... as in "
		       "1=198.51.100.10,tcp/80,tcp/443",
		       text);
}

int import_add_mark(struct import *import, const char *text, struct err *err)
{
	char *copy = arena_strdup(import->arena, text), *at = strchr(copy, '=');
	struct import_mark *mark = arena_alloc(import->arena, sizeof(*mark));
	struct import_end **tail = &mark->ends;
	struct conf_listen listen;
	struct addr vip;
	uint64_t number;
	char *word, *rest;

	if (!at)
		return bad_mark(text, err);
	*at++ = '\0';
	word = strtok_r(at, ",", &rest);
	if (!import_number(copy, UINT32_MAX, &number) || !number || !word || addr_parse(word, &vip))
		return bad_mark(text, err);
	mark->mark = (uint32_t)number;
	while ((word = strtok_r(NULL, ",", &rest))) {
		struct import_end *end = arena_alloc(import->arena, sizeof(*end));

		if (!parse_listen(word, &listen))
			return bad_mark(text, err);
		end->vip = vip;
		end->listen = listen;
		*tail = end;
		tail = &end->next;
	}
	if (!mark->ends)
		return bad_mark(text, err);
	mark->next = import->marks;
	import->marks = mark;
	return 0;
}
