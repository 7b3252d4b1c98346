/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/agent/state.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

enum { BOOT_ID_LENGTH = 36, STATE_VERSION = 1 };

/* --- where the file counts --- */

struct place {
	char boot[BOOT_ID_LENGTH + 1];
	char namespace[24]; /* a cookie that the kernel gives once in a boot */
};

static int read_place(struct place *ret, struct err *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	int file = open(path, O_RDONLY | O_CLOEXEC);
	int any = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	uint64_t cookie = 0;
	socklen_t length = sizeof(cookie);
	int error = 0;

	memset(ret, 0, sizeof(*ret));
	if (file < 0 || read(file, ret->boot, BOOT_ID_LENGTH) != BOOT_ID_LENGTH)
		error = err_set(err, -EIO, "cannot read %s", path);
	else if (any < 0 || getsockopt(any, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length))
		error = err_set(err, -errno, "cannot tell the network namespace: %s",
				strerror(errno));
	if (file >= 0)
		close(file);
	if (any >= 0)
		close(any);
	snprintf(ret->namespace, sizeof(ret->namespace), "%llx", (unsigned long long)cookie);
	return error;
}

static bool is_here(const json_t *file, const struct place *place)
{
	const char *boot = json_string_value(json_object_get(file, "boot"));
	const char *namespace = json_string_value(json_object_get(file, "namespace"));

	return json_integer_value(json_object_get(file, "version")) == STATE_VERSION && boot &&
	       strcmp(boot, place->boot) == 0 && namespace &&
	       strcmp(namespace, place->namespace) == 0;
}

/* --- lists --- */

static int append(void **list, size_t *count, const void *item, size_t size)
{
	void *grown = realloc(*list, (*count + 1) * size);

	if (!grown)
		return -ENOMEM;
	*list = grown;
	memcpy((char *)grown + *count * size, item, size);
	*count += 1;
	return 0;
}

const struct prefix *agent_state_vip(const struct agent_state *state, const struct prefix *vip)
{
	for (size_t i = 0; i < state->vip_count; i++) {
		if (prefix_equal(&state->vips[i], vip))
			return &state->vips[i];
	}
	return NULL;
}

const struct agent_setting *agent_state_setting(const struct agent_state *state, const char *name)
{
	for (size_t i = 0; i < state->setting_count; i++) {
		if (strcmp(state->settings[i].name, name) == 0)
			return &state->settings[i];
	}
	return NULL;
}

const struct agent_interface *agent_state_interface(const struct agent_state *state,
						    const char *name)
{
	for (size_t i = 0; i < state->interface_count; i++) {
		if (strcmp(state->interfaces[i].name, name) == 0)
			return &state->interfaces[i];
	}
	return NULL;
}

int agent_state_add_vip(struct agent_state *state, const struct prefix *vip)
{
	if (agent_state_vip(state, vip))
		return 0;
	return append((void **)&state->vips, &state->vip_count, vip, sizeof(*vip));
}

int agent_state_add_setting(struct agent_state *state, const struct agent_setting *setting)
{
	if (agent_state_setting(state, setting->name))
		return 0;
	return append((void **)&state->settings, &state->setting_count, setting, sizeof(*setting));
}

int agent_state_add_interface(struct agent_state *state, const struct agent_interface *interface)
{
	if (agent_state_interface(state, interface->name))
		return 0;
	return append((void **)&state->interfaces, &state->interface_count, interface,
		      sizeof(*interface));
}

void agent_state_drop_vip(struct agent_state *state, size_t at)
{
	state->vips[at] = state->vips[--state->vip_count];
}

void agent_state_drop_interface(struct agent_state *state, size_t at)
{
	state->interfaces[at] = state->interfaces[--state->interface_count];
}

void agent_state_fini(struct agent_state *state)
{
	free(state->vips);
	free(state->settings);
	free(state->interfaces);
	*state = (struct agent_state){0};
}

/* --- reading: the file is ours, yet nothing in it is taken on trust --- */

/* One without a length is an address. */
static int read_vip(struct agent_state *state, const json_t *json)
{
	const char *text = json_string_value(json);
	struct prefix vip;

	return text && prefix_parse(text, &vip) == 0 ? agent_state_add_vip(state, &vip) : -EINVAL;
}

/* Only what the agent would write: a file must not make it change other sysctls. */
static bool is_our_sysctl(const char *name)
{
	return strncmp(name, "net/ipv4/conf/", 14) == 0 && !strstr(name, "..");
}

static int read_setting(struct agent_state *state, const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	const json_t *before = json_object_get(json, "before");
	const json_t *ours = json_object_get(json, "ours");
	struct agent_setting setting = {0};

	if (!name || strlen(name) >= sizeof(setting.name) || !is_our_sysctl(name) ||
	    !json_is_integer(before) || !json_is_integer(ours))
		return -EINVAL;
	strcpy(setting.name, name);
	setting.before = (int)json_integer_value(before);
	setting.ours = (int)json_integer_value(ours);
	return agent_state_add_setting(state, &setting);
}

static int read_interface(struct agent_state *state, const json_t *json)
{
	const char *name = json_string_value(json_object_get(json, "name"));
	struct agent_interface interface = {0};

	if (!name || strlen(name) >= sizeof(interface.name))
		return -EINVAL;
	strcpy(interface.name, name);
	interface.made_clsact = json_is_true(json_object_get(json, "made_clsact"));
	return agent_state_add_interface(state, &interface);
}

static int read_list(struct agent_state *state, const json_t *file, const char *key,
		     int (*each)(struct agent_state *, const json_t *))
{
	const json_t *list = json_object_get(file, key);
	int error = json_is_array(list) ? 0 : -EINVAL;

	for (size_t i = 0; !error && i < json_array_size(list); i++)
		error = each(state, json_array_get(list, i));
	return error;
}

void agent_state_path(const struct instance *instance, char *path)
{
	snprintf(path, INSTANCE_PATH_MAX, INSTANCE_RUN_DIR "/%s.json", instance->name);
}

int agent_state_read(const char *path, struct agent_state *ret, struct err *err)
{
	struct agent_state state = {0};
	json_error_t json_error;
	struct place place;
	json_t *file;
	int error = read_place(&place, err);

	if (error)
		return error;
	if (access(path, F_OK) && errno == ENOENT) {
		*ret = state;
		return 0;
	}
	file = json_load_file(path, 0, &json_error);
	if (!file)
		return err_set(err, -EINVAL, "%s: %s", path, json_error.text);
	if (is_here(file, &place)) {
		error = read_list(&state, file, "addresses", read_vip);
		if (!error)
			error = read_list(&state, file, "settings", read_setting);
		if (!error)
			error = read_list(&state, file, "interfaces", read_interface);
	}
	json_decref(file);
	if (error) {
		agent_state_fini(&state);
		return err_set(err, error, "%s is not what an agent wrote", path);
	}
	*ret = state;
	return 0;
}

/* --- writing --- */

static json_t *to_json(const struct agent_state *state, const struct place *place)
{
	json_t *addresses = json_array(), *settings = json_array(), *interfaces = json_array();
	char text[ADDR_TEXT_MAX];

	for (size_t i = 0; i < state->vip_count; i++)
		json_array_append_new(addresses,
				      json_string(prefix_format_short(&state->vips[i], text)));
	for (size_t i = 0; i < state->setting_count; i++)
		json_array_append_new(settings,
				      json_pack("{s:s, s:i, s:i}", "name", state->settings[i].name,
						"before", state->settings[i].before, "ours",
						state->settings[i].ours));
	for (size_t i = 0; i < state->interface_count; i++)
		json_array_append_new(interfaces,
				      json_pack("{s:s, s:b}", "name", state->interfaces[i].name,
						"made_clsact", state->interfaces[i].made_clsact));
	return json_pack("{s:i, s:s, s:s, s:o, s:o, s:o}", "version", STATE_VERSION, "boot",
			 place->boot, "namespace", place->namespace, "addresses", addresses,
			 "settings", settings, "interfaces", interfaces);
}

/* Written beside and renamed, so that a death in between leaves the old file. */
int agent_state_write(const char *path, const struct agent_state *state, struct err *err)
{
	struct place place;
	char beside[256];
	json_t *json;
	int error = read_place(&place, err);

	if (error)
		return error;
	json = to_json(state, &place);
	if (!json)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(beside, sizeof(beside), "%s.new", path);
	if (json_dump_file(json, beside, JSON_INDENT(2)) || rename(beside, path))
		error = err_set(err, -EIO, "cannot write %s: %s", path, strerror(errno));
	json_decref(json);
	return error;
}
