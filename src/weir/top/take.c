/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "weir/show.h"
#include "weir/top/model.h"

enum { ROWS_MAX = 100000 }; /* more is no answer of a node */

static uint64_t number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static uint64_t number_at(const json_t *list, size_t at)
{
	json_int_t value = json_integer_value(json_array_get(list, at));

	return value > 0 ? (uint64_t)value : 0;
}

static const char *text(const json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value ? value : "";
}

json_t *top_question(const struct top *top)
{
	json_t *ret = json_pack("{s:s, s:I}", "op", "top", "generation",
				(json_int_t)top->names_generation);

	if (top->inside)
		json_object_set_new(ret, "service", json_string(top->service));
	return ret;
}

/* --- the node --- */

static struct top_end new_end(const char *name)
{
	struct top_end end = {.name = ""};
	enum verdict verdict;

	if (show_find_verdict(name, &verdict))
		top_clean(show_verdict_action(verdict), end.action, sizeof(end.action));
	return end;
}

/* Names and numbers may be others than before; then nothing is known of the time between. */
static void take_ends(struct top_node *node, const json_t *verdicts, uint64_t ns)
{
	const char *name;
	json_t *count;
	size_t at = 0;

	json_object_foreach((json_t *)verdicts, name, count)
	{
		struct top_end *end = &node->ends[at];
		char clean[sizeof(end->name)];

		if (at == TOP_ENDS_MAX)
			break;
		top_clean(name, clean, sizeof(clean));
		if (at >= node->end_count || strcmp(clean, end->name) != 0)
			*end = new_end(name);
		top_meter_read(&end->meter, number(count, "packets"), number(count, "bytes"),
			       end->name[0] ? ns : 0);
		strcpy(end->name, clean);
		at++;
	}
	node->end_count = at;
}

static void take_links(struct top_node *node, const json_t *links)
{
	size_t used = 0, i;
	json_t *link;

	node->xdp[0] = '\0';
	json_array_foreach(links, i, link)
	{
		char name[20], mode[20];

		top_clean(text(link, "name"), name, sizeof(name));
		top_clean(text(link, "xdp"), mode, sizeof(mode));
		used += (size_t)snprintf(node->xdp + used, sizeof(node->xdp) - used, "%s%s %s",
					 i ? ", " : "", name, mode);
		if (used >= sizeof(node->xdp))
			return;
	}
}

static void take_node(struct top_node *node, const json_t *answer, uint64_t ns)
{
	const json_t *flows = json_object_get(answer, "flows");
	const json_t *routing = json_object_get(answer, "routing");

	top_clean(text(answer, "node"), node->name, sizeof(node->name));
	top_clean(text(answer, "version"), node->version, sizeof(node->version));
	take_links(node, json_object_get(answer, "interfaces"));
	take_ends(node, json_object_get(answer, "verdicts"), ns);
	node->refused = json_is_true(json_object_get(answer, "refused"));
	node->uptime_s = json_number_value(json_object_get(answer, "uptime_s"));
	node->flows_used = number(flows, "used");
	node->flows_entries = number(flows, "entries");
	node->moving_slots = number(answer, "moving_slots");
	node->services = number(answer, "services");
	node->backends = number(answer, "backends");
	node->usable = number(answer, "usable");
	node->has_routing = json_is_object(routing);
	node->vips = number(routing, "vips");
	node->announced = number(routing, "announced");
	node->routers = number(routing, "routers");
	node->routers_up = number(routing, "routers_up");
}

/* --- rows --- */

static uint64_t since(const struct top_list *list, uint64_t clock_ns)
{
	return list->clock_ns && clock_ns > list->clock_ns ? clock_ns - list->clock_ns : 0;
}

/* Returns whether it is the one that stood there before. */
static bool take_name(struct top_row *row, const char *name, const char *about)
{
	char clean_name[TOP_NAME_MAX], clean_about[TOP_NAME_MAX];
	bool same;

	top_clean(name, clean_name, sizeof(clean_name));
	top_clean(about, clean_about, sizeof(clean_about));
	same = strcmp(row->name, clean_name) == 0 && strcmp(row->about, clean_about) == 0;
	if (!same)
		*row = (struct top_row){0};
	strcpy(row->name, clean_name);
	strcpy(row->about, clean_about);
	return same;
}

static int take_services(struct top_list *list, const json_t *answer, uint64_t clock_ns)
{
	const json_t *names = json_object_get(answer, "names");
	const json_t *pools = json_object_get(answer, "pools");
	const json_t *packets = json_object_get(answer, "packets");
	size_t count = json_array_size(packets);
	uint64_t ns = since(list, clock_ns);

	if (count > ROWS_MAX)
		return -EPROTO;
	if (!names && count != list->count)
		return -EAGAIN;
	if (top_list_resize(list, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct top_row *row = &list->rows[i];
		bool same = true;

		if (names)
			same = take_name(row, json_string_value(json_array_get(names, i)),
					 json_string_value(json_array_get(pools, i)));
		top_meter_read(&row->meter, number_at(packets, i),
			       number_at(json_object_get(answer, "bytes"), i), same ? ns : 0);
		row->usable = (uint32_t)number_at(json_object_get(answer, "usable"), i);
		row->backends = (uint32_t)number_at(json_object_get(answer, "backends"), i);
	}
	list->clock_ns = clock_ns;
	return 0;
}

static void set_state(struct top_row *row, const json_t *backend)
{
	const char *state = text(backend, "state"), *health = text(backend, "health");
	char words[64];

	/* What is usual need not be said. */
	snprintf(words, sizeof(words), "%.20s%s%.20s", strcmp(state, "active") ? state : "",
		 strcmp(state, "active") ? " " : "", health);
	top_clean(words, row->state, sizeof(row->state));
	row->usable = json_is_true(json_object_get(backend, "usable"));
	row->backends = 1;
	row->share = json_number_value(json_object_get(backend, "share"));
	row->flows = number(backend, "flows");
}

static int take_backends(struct top *top, const json_t *pool, uint64_t clock_ns)
{
	const json_t *backends = json_object_get(pool, "list");
	struct top_list *list = &top->backends;
	uint64_t ns = since(list, clock_ns);
	json_t *backend;
	size_t i;

	top->gone = !json_is_object(pool);
	if (json_array_size(backends) > ROWS_MAX)
		return -EPROTO;
	if (top_list_resize(list, json_array_size(backends)))
		return -ENOMEM;
	json_array_foreach(backends, i, backend)
	{
		struct top_row *row = &list->rows[i];
		bool same = take_name(row, text(backend, "name"), text(backend, "address"));

		top_meter_read(&row->meter, number(backend, "packets"), number(backend, "bytes"),
			       same ? ns : 0);
		set_state(row, backend);
	}
	top_clean(text(pool, "pool"), top->pool, sizeof(top->pool));
	top->backends_total = number(pool, "total");
	list->clock_ns = clock_ns;
	return 0;
}

int top_take(struct top *top, const json_t *answer)
{
	const json_t *node = json_object_get(answer, "node");
	const json_t *services = json_object_get(answer, "services");
	uint64_t clock_ns = number(answer, "clock_ns"), started_ns = number(node, "started_ns");
	int64_t generation = (int64_t)number(node, "generation");
	struct top_node *known = &top->node;
	uint64_t ns = known->clock_ns && clock_ns > known->clock_ns ? clock_ns - known->clock_ns
								    : 0;
	int ret;

	if (!json_is_object(node) || !clock_ns)
		return -EPROTO;
	/* Another daemon counts its generations anew. */
	if (services && !json_object_get(services, "names") &&
	    (started_ns != top->names_started_ns || generation != top->names_generation)) {
		top->names_generation = -1;
		return -EAGAIN;
	}
	ret = services ? take_services(&top->services, services, clock_ns)
		       : take_backends(top, json_object_get(answer, "pool"), clock_ns);
	if (ret) {
		top->names_generation = -1;
		return ret;
	}
	take_node(known, node, ns);
	known->clock_ns = clock_ns;
	known->generation = (uint64_t)generation;
	if (services) {
		top->names_started_ns = started_ns;
		top->names_generation = generation;
	}
	top_settle(top);
	return 0;
}
