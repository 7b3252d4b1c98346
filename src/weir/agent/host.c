/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/agent/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/log.h"
#include "engine/agent/agent_dp.h"
#include "host/host.h"

enum { LOOPBACK_IFINDEX = 1 };

/* --- plan --- */

static bool is_on_loopback(const struct host_address *list, size_t count, const struct addr *addr)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i].ifindex == LOOPBACK_IFINDEX && addr_equal(&list[i].addr, addr))
			return true;
	}
	return false;
}

/* Whether the host has it without us. */
static int is_there(const struct host_address *list, size_t count, const struct prefix *vip,
		    bool *ret, struct err *err)
{
	if (!prefix_is_host(vip))
		return host_local_route_exists(vip, ret, err);
	*ret = is_on_loopback(list, count, &vip->addr);
	return 0;
}

static int plan_vips(const struct conf_agent *conf, struct agent_state *state, struct err *err)
{
	struct host_address *list;
	size_t count;
	int error = host_addresses(&list, &count, err);

	if (error)
		return error;
	for (size_t i = 0; !error && i < conf->vip_count; i++) {
		bool there;

		/* What an earlier agent put there is ours to undo, and in the state already. */
		error = is_there(list, count, &conf->vips[i], &there, err);
		if (!error && !there && agent_state_add_vip(state, &conf->vips[i]))
			error = err_set(err, -ENOMEM, "out of memory");
	}
	free(list);
	return error;
}

static int plan_settings(const struct host_sysctl *needed, size_t count, struct agent_state *state,
			 struct err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct agent_setting setting = {.ours = needed[i].value};

		memcpy(setting.name, needed[i].name, sizeof(setting.name));
		error = host_sysctl_read(setting.name, &setting.before, err);
		if (!error && agent_state_add_setting(state, &setting))
			error = err_set(err, -ENOMEM, "out of memory");
	}
	return error;
}

static int plan_interface(const char *name, struct agent_state *state, struct err *err)
{
	struct host_sysctl needed[HOST_SYSCTLS_MAX];
	struct agent_interface interface = {0};
	size_t count;
	bool there;
	int error = agent_dp_has_clsact(name, &there, err);

	if (error)
		return error;
	snprintf(interface.name, sizeof(interface.name), "%s", name);
	interface.made_clsact = !there;
	error = agent_state_add_interface(state, &interface);
	if (error)
		return err_set(err, error, "out of memory");
	error = host_sysctls_needed(name, needed, &count, err);
	return error ? error : plan_settings(needed, count, state, err);
}

static int plan_onwards(struct agent_state *state, struct err *err)
{
	struct host_sysctl needed[HOST_SYSCTLS_ONWARDS];
	size_t count;
	int error = host_sysctls_onwards(needed, &count, err);

	return error ? error : plan_settings(needed, count, state, err);
}

int agent_host_plan(const struct conf_agent *conf, struct agent_state *state, struct err *err)
{
	int error = 0;

	for (size_t i = 0; !error && i < conf->interface_count; i++)
		error = plan_interface(conf->interfaces[i], state, err);
	if (!error && conf->peer_count)
		error = plan_onwards(state, err);
	return error ? error : plan_vips(conf, state, err);
}

/* --- apply --- */

int agent_host_apply_settings(const struct agent_state *state, struct err *err)
{
	for (size_t i = 0; i < state->setting_count; i++) {
		const struct agent_setting *setting = &state->settings[i];
		int now, error = host_sysctl_read(setting->name, &now, err);

		if (error == -ENOENT) /* of an interface that an earlier agent had, and that left */
			continue;
		if (!error && now == setting->ours)
			continue;
		if (!error)
			error = host_sysctl_write(setting->name, setting->ours, err);
		if (error)
			return error;
		log_info("sysctl set", "name=%s value=%d before=%d", setting->name, setting->ours,
			 now);
	}
	return 0;
}

static int add_vip(const struct prefix *vip, struct err *err)
{
	return prefix_is_host(vip) ? host_loopback_add(&vip->addr, err)
				   : host_local_route_add(vip, err);
}

int agent_host_apply_vips(const struct agent_state *state, struct err *err)
{
	for (size_t i = 0; i < state->vip_count; i++) {
		int error = add_vip(&state->vips[i], err);
		char text[ADDR_TEXT_MAX];

		if (error == -EEXIST)
			continue;
		if (error)
			return error;
		event_note(&(struct event_about){"vip", 1, LOG_INFO, NULL},
			   "VIP put on the loopback", "vip=%s",
			   prefix_format_short(&state->vips[i], text));
	}
	return 0;
}

/* --- undo --- */

static void remove_vip(const struct prefix *vip)
{
	char text[ADDR_TEXT_MAX];
	struct err err;
	int error = prefix_is_host(vip) ? host_loopback_remove(&vip->addr, &err)
					: host_local_route_remove(vip, &err);

	if (!error)
		event_note(&(struct event_about){"vip", 1, LOG_INFO, NULL},
			   "VIP taken off the loopback", "vip=%s", prefix_format_short(vip, text));
	else if (error != -EADDRNOTAVAIL && error != -ESRCH)
		log_warn("VIP left on the loopback", "reason=%s", log_quote(err.text).text);
}

static void restore_setting(const struct agent_setting *setting)
{
	struct err err;
	int now, error = host_sysctl_read(setting->name, &now, &err);

	if (error == -ENOENT)
		return;
	if (!error && now != setting->ours) {
		log_info("sysctl left, for it was changed since", "name=%s value=%d", setting->name,
			 now);
		return;
	}
	if (!error)
		error = host_sysctl_write(setting->name, setting->before, &err);
	if (error)
		log_warn("sysctl not restored", "reason=%s", log_quote(err.text).text);
	else
		log_info("sysctl restored", "name=%s value=%d", setting->name, setting->before);
}

/* The qdisc is ours to take only if we made it and nobody hung anything on it since. */
void agent_host_release(const struct agent_interface *interface)
{
	bool used = true;
	struct err err;

	agent_dp_detach_clamp(interface->name, false);
	if (!interface->made_clsact)
		return;
	if (host_has_filters(interface->name, &used, &err) == 0 && !used)
		agent_dp_detach_clamp(interface->name, true);
	else
		log_info("clsact qdisc left, for it is in use", "interface=%s", interface->name);
}

static bool has_vip(const struct conf_agent *conf, const struct prefix *vip)
{
	for (size_t i = 0; i < conf->vip_count; i++) {
		if (prefix_equal(&conf->vips[i], vip))
			return true;
	}
	return false;
}

static bool has_interface(const struct conf_agent *conf, const char *name)
{
	for (size_t i = 0; i < conf->interface_count; i++) {
		if (strcmp(conf->interfaces[i], name) == 0)
			return true;
	}
	return false;
}

void agent_host_release_others(const struct conf_agent *conf, struct agent_state *state)
{
	for (size_t i = state->vip_count; i-- > 0;) {
		if (has_vip(conf, &state->vips[i]))
			continue;
		remove_vip(&state->vips[i]);
		agent_state_drop_vip(state, i);
	}
	for (size_t i = state->interface_count; i-- > 0;) {
		if (has_interface(conf, state->interfaces[i].name))
			continue;
		agent_host_release(&state->interfaces[i]);
		agent_state_drop_interface(state, i);
	}
}

void agent_host_undo(const struct agent_state *state)
{
	for (size_t i = 0; i < state->vip_count; i++)
		remove_vip(&state->vips[i]);
	for (size_t i = 0; i < state->interface_count; i++)
		agent_host_release(&state->interfaces[i]);
	for (size_t i = 0; i < state->setting_count; i++)
		restore_setting(&state->settings[i]);
}
