/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/top/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sort_names[TOP_SORTS] = {"packets", "bits", "total", "usable", "name"};

const char *top_sort_name(enum top_sort sort)
{
	return sort_names[sort];
}

bool top_sort_find(const char *name, enum top_sort *ret)
{
	for (int i = 0; i < TOP_SORTS; i++) {
		if (strcmp(sort_names[i], name) == 0) {
			*ret = (enum top_sort)i;
			return true;
		}
	}
	return false;
}

void top_meter_read(struct top_meter *meter, uint64_t packets, uint64_t bytes, uint64_t ns)
{
	double seconds = (double)ns / 1e9;

	meter->has_rate = ns && packets >= meter->packets && bytes >= meter->bytes;
	meter->packets_s = meter->bits_s = 0;
	if (meter->has_rate) {
		meter->packets_s = (double)(packets - meter->packets) / seconds;
		meter->bits_s = (double)(bytes - meter->bytes) * 8 / seconds;
	}
	meter->packets = packets;
	meter->bytes = bytes;
}

/* --- texts --- */

const char *top_number(double value, char ret[TOP_NUMBER_MAX])
{
	static const char units[] = {0, 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t unit = 0;

	while (value >= 999.5 && unit + 1 < sizeof(units)) {
		value /= 1000;
		unit++;
	}
	if (!unit && (value == (double)(int)value || value >= 99.95))
		snprintf(ret, TOP_NUMBER_MAX, "%.0f", value);
	else
		snprintf(ret, TOP_NUMBER_MAX, "%.*f%.1s",
			 value < 9.995   ? 2
			 : value < 99.95 ? 1
					 : 0,
			 value, unit ? &units[unit] : "");
	return ret;
}

const char *top_time(double seconds, char ret[TOP_NUMBER_MAX])
{
	unsigned long s = seconds > 0 && seconds < 1e12 ? (unsigned long)seconds : 0;

	if (s < 60)
		snprintf(ret, TOP_NUMBER_MAX, "%lus", s);
	else if (s < 3600)
		snprintf(ret, TOP_NUMBER_MAX, "%lum%02lus", s / 60, s % 60);
	else if (s < 86400)
		snprintf(ret, TOP_NUMBER_MAX, "%luh%02lum", s / 3600, s / 60 % 60);
	else
		snprintf(ret, TOP_NUMBER_MAX, "%lud%02luh", s / 86400, s / 3600 % 24);
	return ret;
}

void top_clean(const char *text, char *ret, size_t room)
{
	size_t used = 0;

	for (; text && *text && used + 1 < room; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte >= 0x80 && byte < 0xc0)
			continue; /* the rest of a letter that is a question mark already */
		ret[used++] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
	}
	ret[used] = '\0';
}

/* --- lists --- */

int top_list_resize(struct top_list *list, size_t count)
{
	struct top_row *rows;
	size_t *order;

	if (count > list->room) {
		rows = realloc(list->rows, count * sizeof(*rows));
		if (!rows)
			return -ENOMEM;
		list->rows = rows;
		order = realloc(list->order, count * sizeof(*order));
		if (!order)
			return -ENOMEM;
		list->order = order;
		list->room = count;
	}
	if (count > list->count)
		memset(&list->rows[list->count], 0, (count - list->count) * sizeof(*list->rows));
	list->count = count;
	list->shown = 0;
	return 0;
}

void top_list_fini(struct top_list *list)
{
	free(list->rows);
	free(list->order);
	*list = (struct top_list){0};
}

struct order {
	const struct top_row *rows;
	enum top_sort sort;
	bool reverse;
};

static int by_size(double a, double b)
{
	return a < b ? 1 : a > b ? -1 : 0;
}

/* The largest first, but of what is usable the least, for that is who is looked for. */
static int compare(const void *left, const void *right, void *arg)
{
	const struct order *order = arg;
	const struct top_row *a = &order->rows[*(const size_t *)left];
	const struct top_row *b = &order->rows[*(const size_t *)right];
	int ret = 0;

	switch (order->sort) {
	case TOP_PACKETS: ret = by_size(a->meter.packets_s, b->meter.packets_s); break;
	case TOP_BITS: ret = by_size(a->meter.bits_s, b->meter.bits_s); break;
	case TOP_TOTAL: ret = by_size((double)a->meter.packets, (double)b->meter.packets); break;
	case TOP_USABLE:
		ret = -by_size(a->backends ? (double)a->usable / a->backends : 0,
			       b->backends ? (double)b->usable / b->backends : 0);
		break;
	case TOP_NAME:
	case TOP_SORTS: ret = strcmp(a->name, b->name); break;
	}
	if (order->reverse)
		ret = -ret;
	return ret ? ret : strcmp(a->name, b->name);
}

void top_list_order(struct top_list *list, enum top_sort sort, bool reverse, const char *filter)
{
	struct order order = {list->rows, sort, reverse};

	list->shown = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (!*filter || strstr(list->rows[i].name, filter) ||
		    strstr(list->rows[i].about, filter) || strstr(list->rows[i].state, filter))
			list->order[list->shown++] = i;
	}
	if (list->shown)
		qsort_r(list->order, list->shown, sizeof(*list->order), compare, &order);
}

/* --- all of it --- */

void top_init(struct top *top)
{
	*top = (struct top){.names_generation = -1, .interval_s = 1};
}

void top_fini(struct top *top)
{
	top_list_fini(&top->services);
	top_list_fini(&top->backends);
}
