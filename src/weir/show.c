/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/show.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *show_tracking(enum conf_tracking tracking)
{
	switch (tracking) {
	case CONF_TRACKING_TRANSITION: return "transition";
	case CONF_TRACKING_ALWAYS: return "always";
	default: return "none";
	}
}

const char *show_admin(enum pool_admin admin)
{
	static const char *const names[] = {
		[POOL_ACTIVE] = "active",
		[POOL_DRAIN] = "drain",
		[POOL_MAINT] = "maint",
	};

	return names[admin];
}

const char *show_health(enum pool_health health)
{
	static const char *const names[] = {
		[POOL_UNKNOWN] = "unknown",
		[POOL_HEALTHY] = "healthy",
		[POOL_UNHEALTHY] = "unhealthy",
	};

	return names[health];
}

struct show_label show_label(const char *name)
{
	struct show_label label = {0};

	for (size_t i = 0; name[i] && i + 1 < sizeof(label.text); i++)
		label.text[i] = (char)tolower((unsigned char)name[i]);
	return label;
}

/* XDP's actions, as engine/tables.h names them. */
#define ACTION_PASS     "pass"
#define ACTION_DROP     "drop"
#define ACTION_TX       "tx"
#define ACTION_REDIRECT "redirect"
#define ACTION_ABORTED  "aborted"

static const struct {
	const char *name, *help, *action;
} verdicts[VERDICT_COUNT] = {
#define VERDICT_TEXT(name, action, help) [VERDICT_##name] = {#name, help, ACTION_##action},
	VERDICTS(VERDICT_TEXT)
#undef VERDICT_TEXT
};

static const char *const whys[WHY_COUNT] = {
#define WHY_TEXT(name) [WHY_##name] = #name,
	WHYS(WHY_TEXT)
#undef WHY_TEXT
};

struct show_label show_verdict(uint32_t verdict)
{
	return show_label(verdicts[verdict].name);
}

const char *show_verdict_help(uint32_t verdict)
{
	return verdicts[verdict].help;
}

const char *show_verdict_action(uint32_t verdict)
{
	return verdicts[verdict].action;
}

struct show_label show_why(uint32_t why)
{
	return show_label(whys[why]);
}

bool show_find_verdict(const char *name, enum verdict *ret)
{
	for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
		if (strcasecmp(name, verdicts[i].name) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

json_t *show_bytes(const char *bytes)
{
	json_t *text = json_string(bytes);
	char *copy = text ? NULL : strdup(bytes);

	for (char *at = copy; at && *at; at++) {
		if (*at & 0x80)
			*at = '?';
	}
	if (!text)
		text = json_string(copy ? copy : "?");
	free(copy);
	return text;
}

json_t *show_strings(const char *const *strings, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(strings[i]));
	return list;
}

json_t *show_prefixes(const struct prefix *prefixes, size_t count)
{
	json_t *list = json_array();
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(prefix_format(&prefixes[i], text)));
	return list;
}

json_t *show_vips(const struct prefix *vips, size_t count)
{
	json_t *list = json_array();
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(prefix_format_short(&vips[i], text)));
	return list;
}

json_t *show_listens(const struct conf_service *service)
{
	json_t *list = json_array();
	char text[CONF_LISTEN_TEXT_MAX];

	for (size_t i = 0; i < service->listen_count; i++)
		json_array_append_new(list,
				      json_string(conf_listen_format(&service->listens[i], text)));
	return list;
}

void show_settings(json_t *object, const struct conf_service *service)
{
	json_object_set_new(object, "tracking", json_string(show_tracking(service->tracking)));
	json_object_set_new(object, "second_chance", json_boolean(service->second_chance));
	json_object_set_new(object, "policy", json_string(conf_policy_name(service->policy)));
	json_object_set_new(object, "rate_limit", json_integer(service->rate_limit));
	json_object_set_new(object, "allow", json_integer((json_int_t)service->allow_count));
	json_object_set_new(object, "deny", json_integer((json_int_t)service->deny_count));
}

json_t *show_forwards(const enum conf_forward *forwards, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(conf_forward_name(forwards[i])));
	return array;
}

json_t *show_ports(const struct conf_port *ports, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		char vip[ADDR_TEXT_MAX], listen[CONF_LISTEN_TEXT_MAX];

		json_array_append_new(list, json_pack("{s:s, s:s, s:i}", "vip",
						      addr_format(&ports[i].vip, vip), "listen",
						      conf_listen_format(&ports[i].listen, listen),
						      "to", (int)ports[i].to));
	}
	return list;
}

json_t *show_count(struct abi_count count)
{
	return json_pack("{s:I, s:I}", "packets", (json_int_t)count.packets, "bytes",
			 (json_int_t)count.bytes);
}

json_t *show_links(const struct links *links)
{
	json_t *list = json_array();

	for (size_t i = 0; i < links->count; i++) {
		const struct link_attached *attached = &links->attached[i];

		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:s, s:b, s:b, s:s}", "name", attached->interface,
				  "xdp",
				  link_is_lost(attached) ? "none" : link_xdp_name(attached->mode),
				  "wanted", link_xdp_name(attached->wanted), "fallback",
				  link_fell_back(attached), "adopted", attached->adopted, "why",
				  link_fell_back(attached) ? attached->why : ""));
	}
	return list;
}
