/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <string.h>

#include "weir/top/model.h"

static struct top_list *list_of(struct top *top)
{
	return top->inside ? &top->backends : &top->services;
}

static const struct top_row *selected(struct top *top)
{
	struct top_list *list = list_of(top);

	return top->selected < list->shown ? &list->rows[list->order[top->selected]] : NULL;
}

static void scroll(struct top *top)
{
	size_t shown = list_of(top)->shown, page = top->page ? top->page : 1;

	if (top->selected >= shown)
		top->selected = shown ? shown - 1 : 0;
	if (top->first + page > shown)
		top->first = shown > page ? shown - page : 0;
	if (top->selected < top->first)
		top->first = top->selected;
	if (top->selected >= top->first + page)
		top->first = top->selected - page + 1;
}

void top_settle(struct top *top)
{
	struct top_list *list = list_of(top);

	top_list_order(list, top->sort, top->reverse, top->filter);
	for (size_t i = 0; top->follows && i < list->shown; i++) {
		if (strcmp(list->rows[list->order[i]].name, top->selected_name) == 0)
			top->selected = i;
	}
	scroll(top);
}

/* --- the selection --- */

static enum top_action go_to(struct top *top, size_t at)
{
	const struct top_row *row;

	top->selected = at;
	scroll(top);
	row = selected(top);
	/* At the top it is whoever is the first. */
	top->follows = row && top->selected > 0;
	if (row)
		strcpy(top->selected_name, row->name);
	return TOP_DRAW;
}

static void begin_list(struct top *top)
{
	top->selected = top->first = 0;
	top->follows = false;
	top->typing = false;
}

static enum top_action enter(struct top *top)
{
	const struct top_row *row = selected(top);

	if (top->inside || !row)
		return TOP_STAYS;
	strcpy(top->service, row->name);
	strcpy(top->filter_outside, top->filter);
	top->filter[0] = '\0';
	top->backends.count = top->backends.shown = 0;
	top->backends.clock_ns = 0;
	top->pool[0] = '\0';
	top->gone = false;
	top->inside = true;
	begin_list(top);
	return TOP_ASK;
}

/* Back to the service that was entered. */
static enum top_action leave(struct top *top)
{
	if (!top->inside)
		return TOP_STAYS;
	top->inside = false;
	strcpy(top->filter, top->filter_outside);
	begin_list(top);
	strcpy(top->selected_name, top->service);
	top->follows = true;
	/* What was counted meanwhile is no rate of the last second. */
	top->services.clock_ns = 0;
	top_settle(top);
	return TOP_ASK;
}

static enum top_action move(struct top *top, int key)
{
	size_t shown = list_of(top)->shown, page = top->page ? top->page : 1;

	switch (key) {
	case 'k':
	case TOP_KEY_UP: return go_to(top, top->selected ? top->selected - 1 : 0);
	case 'j':
	case TOP_KEY_DOWN: return go_to(top, top->selected + 1);
	case TOP_KEY_PAGE_UP: return go_to(top, top->selected > page ? top->selected - page : 0);
	case ' ':
	case TOP_KEY_PAGE_DOWN: return go_to(top, top->selected + page);
	case 'g':
	case TOP_KEY_HOME: return go_to(top, 0);
	case 'G':
	case TOP_KEY_END: return go_to(top, shown ? shown - 1 : 0);
	default: return TOP_STAYS;
	}
}

/* --- the filter --- */

static enum top_action type(struct top *top, int key)
{
	size_t length = strlen(top->filter);

	if (key == TOP_KEY_ENTER) {
		top->typing = false;
		return TOP_DRAW;
	}
	if (key == TOP_KEY_ESCAPE) {
		top->typing = false;
		top->filter[0] = '\0';
	} else if (key == TOP_KEY_BACK && length) {
		top->filter[length - 1] = '\0';
	} else if (key >= 0x20 && key < 0x7f && length + 1 < sizeof(top->filter)) {
		snprintf(top->filter + length, 2, "%c", key);
	} else {
		return move(top, key);
	}
	top->selected = top->first = 0;
	top->follows = false;
	top_settle(top);
	return TOP_DRAW;
}

static enum top_action sort_by(struct top *top, enum top_sort sort)
{
	top->sort = sort;
	top_settle(top);
	return TOP_DRAW;
}

enum top_action top_press(struct top *top, int key)
{
	if (top->typing)
		return type(top, key);
	switch (key) {
	case 'q': return TOP_QUIT;
	case 's': return sort_by(top, (top->sort + 1) % TOP_SORTS);
	case 'p': return sort_by(top, TOP_PACKETS);
	case 'b': return sort_by(top, TOP_BITS);
	case 't': return sort_by(top, TOP_TOTAL);
	case 'u': return sort_by(top, TOP_USABLE);
	case 'n': return sort_by(top, TOP_NAME);
	case 'r': top->reverse = !top->reverse; return sort_by(top, top->sort);
	case '/': top->typing = true; return TOP_DRAW;
	case TOP_KEY_ENTER: return enter(top);
	case TOP_KEY_ESCAPE:
		if (top->filter[0]) {
			top->filter[0] = '\0';
			top_settle(top);
			return TOP_DRAW;
		}
		return leave(top);
	case 'h':
	case TOP_KEY_BACK: return leave(top);
	default: return move(top, key);
	}
}
