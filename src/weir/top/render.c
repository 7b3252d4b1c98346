/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "weir/top/model.h"

enum {
	ABOVE = 6,    /* lines above the rows: four of the node, the list's, the columns' */
	BELOW = 1,    /* keys */
	NUMBERS = 38, /* letters of the columns of numbers */
};

/* --- lines --- */

struct page {
	struct top_line *lines;
	size_t width, height, used;
};

static void put(struct page *page, enum top_style style, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(struct page *page, enum top_style style, const char *format, ...)
{
	struct top_line *line;
	va_list args;

	if (page->used == page->height)
		return;
	line = &page->lines[page->used++];
	va_start(args, format);
	vsnprintf(line->text, sizeof(line->text), format, args);
	va_end(args);
	line->text[page->width] = '\0';
	line->style = style;
}

/* --- the node --- */

static void sum(const struct top_node *node, const char *action, struct top_meter *ret)
{
	for (size_t i = 0; i < node->end_count; i++) {
		const struct top_end *end = &node->ends[i];

		if (action && strcmp(end->action, action) != 0)
			continue;
		ret->packets_s += end->meter.packets_s;
		ret->bits_s += end->meter.bits_s;
		ret->has_rate |= end->meter.has_rate;
	}
}

static void put_traffic(struct page *page, const struct top_node *node)
{
	struct top_meter all = {0}, sent = {0}, dropped = {0}, passed = {0};
	char n[6][TOP_NUMBER_MAX];

	sum(node, NULL, &all);
	sum(node, "tx", &sent);
	sum(node, "redirect", &sent);
	sum(node, "drop", &dropped);
	sum(node, "aborted", &dropped);
	sum(node, "pass", &passed);
	put(page, TOP_PLAIN, "in %s packets/s %sbit/s   forwarded %s/s   dropped %s/s   host %s/s",
	    top_number(all.packets_s, n[0]), top_number(all.bits_s, n[1]),
	    top_number(sent.packets_s, n[2]), top_number(dropped.packets_s, n[3]),
	    top_number(passed.packets_s, n[4]));
}

static bool is_drop(const struct top_end *end)
{
	return strcmp(end->action, "drop") == 0 || strcmp(end->action, "aborted") == 0;
}

/* The most frequent first, as many as fit. */
static void put_drops(struct page *page, const struct top_node *node)
{
	bool told[TOP_ENDS_MAX] = {false};
	char line[TOP_WIDTH_MAX + 1] = "", n[TOP_NUMBER_MAX];
	size_t used = 0;

	for (;;) {
		size_t most = TOP_ENDS_MAX;

		for (size_t i = 0; i < node->end_count; i++) {
			if (!told[i] && is_drop(&node->ends[i]) &&
			    node->ends[i].meter.packets_s > 0 &&
			    (most == TOP_ENDS_MAX ||
			     node->ends[i].meter.packets_s > node->ends[most].meter.packets_s))
				most = i;
		}
		if (most == TOP_ENDS_MAX || used + 64 > sizeof(line))
			break;
		told[most] = true;
		used += (size_t)snprintf(line + used, sizeof(line) - used, "  %s %s/s",
					 node->ends[most].name,
					 top_number(node->ends[most].meter.packets_s, n));
	}
	put(page, used ? TOP_STRONG : TOP_PLAIN, "drops:%s", used ? line : " none");
}

static void put_node(struct page *page, const struct top *top)
{
	const struct top_node *node = &top->node;
	char n[3][TOP_NUMBER_MAX], routing[96] = "";

	put(page, TOP_STRONG, "weir %s  %s  generation %llu%s  up %s  xdp: %s", node->version,
	    node->name, (unsigned long long)node->generation,
	    node->refused ? " (the file is refused)" : "", top_time(node->uptime_s, n[0]),
	    *node->xdp ? node->xdp : "nowhere");
	put_traffic(page, node);
	put_drops(page, node);
	if (node->has_routing)
		snprintf(routing, sizeof(routing), "routers %llu/%llu up  VIPs %llu/%llu out  ",
			 (unsigned long long)node->routers_up, (unsigned long long)node->routers,
			 (unsigned long long)node->announced, (unsigned long long)node->vips);
	put(page, TOP_PLAIN, "%susable %llu/%llu  flows %s of %s  moving slots %llu", routing,
	    (unsigned long long)node->usable, (unsigned long long)node->backends,
	    top_number((double)node->flows_used, n[0]),
	    top_number((double)node->flows_entries, n[1]), (unsigned long long)node->moving_slots);
}

/* --- the list --- */

static void put_list(struct page *page, const struct top *top, const struct top_list *list)
{
	char what[2 * TOP_NAME_MAX + 128], filter[TOP_FILTER_MAX + 32] = "";
	size_t last = top->first + top->page < list->shown ? top->first + top->page : list->shown;

	if (*top->notice) {
		put(page, TOP_STRONG, "%s", top->notice);
		return;
	}
	if (top->inside && top->gone)
		snprintf(what, sizeof(what), "%s: there is no such service any more", top->service);
	else if (top->inside && top->backends_total > list->count)
		snprintf(what, sizeof(what), "%s, pool %s: the first %zu of %llu backends",
			 top->service, top->pool, list->count,
			 (unsigned long long)top->backends_total);
	else if (top->inside)
		snprintf(what, sizeof(what), "%s, pool %s: backends", top->service, top->pool);
	else
		strcpy(what, "services");
	if (top->typing || *top->filter)
		snprintf(filter, sizeof(filter), "  with \"%s%s\"", top->filter,
			 top->typing ? "_" : "");
	put(page, TOP_PLAIN, "%s %zu-%zu of %zu%s  by %s%s", what, list->shown ? top->first + 1 : 0,
	    last, list->shown, filter, top_sort_name(top->sort), top->reverse ? ", reversed" : "");
}

static void put_rate(char ret[TOP_NUMBER_MAX], bool has_rate, double rate)
{
	if (has_rate)
		top_number(rate, ret);
	else
		strcpy(ret, "-");
}

static void put_service(struct page *page, const struct top_row *row, size_t names,
			enum top_style style)
{
	char packets[TOP_NUMBER_MAX], bits[TOP_NUMBER_MAX], total[TOP_NUMBER_MAX], usable[32];
	int name = (int)(names * 3 / 5), pool = (int)(names - names * 3 / 5 - 1);

	put_rate(packets, row->meter.has_rate, row->meter.packets_s);
	put_rate(bits, row->meter.has_rate, row->meter.bits_s);
	top_number((double)row->meter.packets, total);
	snprintf(usable, sizeof(usable), "%u/%u", row->usable, row->backends);
	put(page, style, "%-*.*s %-*.*s %8s %8s %10s %8s", name, name, row->name, pool, pool,
	    row->about, packets, bits, usable, total);
}

static void put_backend(struct page *page, const struct top_row *row, size_t names,
			enum top_style style)
{
	char packets[TOP_NUMBER_MAX], bits[TOP_NUMBER_MAX], flows[TOP_NUMBER_MAX];
	int third = (int)(names / 3), name = (int)names - 2 * third - 2;

	put_rate(packets, row->meter.has_rate, row->meter.packets_s);
	put_rate(bits, row->meter.has_rate, row->meter.bits_s);
	top_number((double)row->flows, flows);
	put(page, style, "%-*.*s %-*.*s %-*.*s %8s %8s %9.2f%% %8s", name, name, row->name, third,
	    third, row->about, third, third, row->state, packets, bits, row->share, flows);
}

static void put_columns(struct page *page, const struct top *top, size_t names)
{
	int name = (int)(names * 3 / 5), pool = (int)(names - names * 3 / 5 - 1);
	int third = (int)(names / 3), rest = (int)names - 2 * third - 2;

	if (top->inside)
		put(page, TOP_HEAD, "%-*.*s %-*.*s %-*.*s %8s %8s %10s %8s", rest, rest, "BACKEND",
		    third, third, "ADDRESS", third, third, "STATE", "PKT/S", "BIT/S", "SHARE",
		    "FLOWS");
	else
		put(page, TOP_HEAD, "%-*.*s %-*.*s %8s %8s %10s %8s", name, name, "SERVICE", pool,
		    pool, "POOL", "PKT/S", "BIT/S", "USABLE", "PACKETS");
}

void top_render(struct top *top, struct top_line *lines, size_t width, size_t height)
{
	struct page page = {lines, width < TOP_WIDTH_MAX ? width : TOP_WIDTH_MAX,
			    height < TOP_HEIGHT_MAX ? height : TOP_HEIGHT_MAX, 0};
	struct top_list *list = top->inside ? &top->backends : &top->services;
	size_t names;

	for (size_t i = 0; i < page.height; i++)
		lines[i] = (struct top_line){0};
	top->page = page.height > ABOVE + BELOW ? page.height - ABOVE - BELOW : 1;
	top_settle(top);
	names = page.width > NUMBERS + 24 ? page.width - NUMBERS : 24;
	put_node(&page, top);
	put_list(&page, top, list);
	put_columns(&page, top, names);
	for (size_t i = top->first; i < list->shown && i < top->first + top->page; i++) {
		enum top_style style = i == top->selected ? TOP_SELECTED : TOP_PLAIN;

		if (top->inside)
			put_backend(&page, &list->rows[list->order[i]], names, style);
		else
			put_service(&page, &list->rows[list->order[i]], names, style);
	}
	while (page.used + BELOW < page.height)
		put(&page, TOP_PLAIN, "%s", "");
	put(&page, TOP_PLAIN, "%s",
	    top->typing   ? "type a part of a name   Enter keep   Esc all"
	    : top->inside ? "q quit  Esc back  / search  sort: p b t u n, r reverse"
			  : "q quit  Enter backends  / search  sort: p b t u n, r reverse");
}

/* --- for scripts --- */

static json_t *meter_to_json(const struct top_meter *meter)
{
	return json_pack("{s:I, s:I, s:o, s:o}", "packets", (json_int_t)meter->packets, "bytes",
			 (json_int_t)meter->bytes, "packets_per_s",
			 meter->has_rate ? json_real(meter->packets_s) : json_null(), "bits_per_s",
			 meter->has_rate ? json_real(meter->bits_s) : json_null());
}

static json_t *row_to_json(const struct top *top, const struct top_row *row)
{
	json_t *object = meter_to_json(&row->meter);

	json_object_set_new(object, "name", json_string(row->name));
	if (!top->inside) {
		json_object_set_new(object, "pool", json_string(row->about));
		json_object_set_new(object, "usable", json_integer(row->usable));
		json_object_set_new(object, "backends", json_integer(row->backends));
		return object;
	}
	json_object_set_new(object, "address", json_string(row->about));
	json_object_set_new(object, "state", json_string(row->state));
	json_object_set_new(object, "usable", json_boolean(row->usable));
	json_object_set_new(object, "share", json_real(row->share));
	json_object_set_new(object, "flows", json_integer((json_int_t)row->flows));
	return object;
}

json_t *top_to_json(struct top *top, size_t limit)
{
	const struct top_list *list = top->inside ? &top->backends : &top->services;
	json_t *ends = json_object(), *rows = json_array();

	top_settle(top);
	for (size_t i = 0; i < top->node.end_count; i++)
		json_object_set_new(ends, top->node.ends[i].name,
				    meter_to_json(&top->node.ends[i].meter));
	for (size_t i = 0; i < list->shown && i < limit; i++)
		json_array_append_new(rows, row_to_json(top, &list->rows[list->order[i]]));
	return json_pack("{s:s, s:I, s:f, s:o, s:I, s:s, s:o}", "node", top->node.name,
			 "generation", (json_int_t)top->node.generation, "uptime_s",
			 top->node.uptime_s, "verdicts", ends, "total", (json_int_t)list->shown,
			 "by", top_sort_name(top->sort), top->inside ? "backends" : "services",
			 rows);
}
