/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/agent/agent_ports.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "engine/dp.h"

#define PIN     "ports"
#define PIN_NEW "ports-new" /* takes the other's place by a rename */

/* --- of the file --- */

static int fill_port(struct bpf_map *table, struct agent_port key, uint16_t other)
{
	struct agent_other_port value = {.port = htons(other), .given = 1};

	return bpf_map__update_elem(table, &key, sizeof(key), &value, sizeof(value), BPF_ANY);
}

int agent_ports_fill(struct bpf_map *table, const struct agent_dp_options *options, struct err *err)
{
	if (options->port_count > AGENT_PORTS_GIVEN)
		return err_set(err, -ENOSPC, "%zu ports, %d at most", options->port_count,
			       AGENT_PORTS_GIVEN);
	for (size_t i = 0; i < options->port_count; i++) {
		const struct agent_dp_port *port = &options->ports[i];
		struct agent_port key = {.vip = dp_addr(&port->vip), .proto = port->proto};
		int ret;

		key.port = htons(port->to);
		ret = fill_port(table, key, port->port);
		key.port = htons(port->port);
		key.way = AGENT_WAY_IN;
		if (!ret)
			ret = fill_port(table, key, port->to);
		if (ret)
			return err_set(err, ret, "cannot write a port: %s", strerror(-ret));
	}
	return 0;
}

/* --- of an earlier agent --- */

static int open_pinned(const char *dir)
{
	struct bpf_map_info info = {0};
	__u32 length = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd;

	if (pins_path(path, dir, PIN, NULL))
		return -1;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return -1;
	if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0 && info.type == BPF_MAP_TYPE_HASH &&
	    info.key_size == sizeof(struct agent_port) &&
	    info.value_size == sizeof(struct agent_other_port))
		return fd;
	close(fd);
	return -1;
}

/* Of an address that is a VIP no more, ports are none of the agent's business. */
static bool is_vip(const struct agent_port *key, const struct prefix *vips, size_t count)
{
	struct addr addr;

	memcpy(addr.bytes, key->vip.bytes, sizeof(addr.bytes));
	for (size_t i = 0; i < count; i++) {
		if (prefix_has(&vips[i], &addr))
			return true;
	}
	return false;
}

size_t agent_ports_inherit(struct bpf_map *table, const char *dir, const struct prefix *vips,
			   size_t vip_count)
{
	struct agent_port key, *before = NULL;
	struct agent_other_port value;
	size_t inherited = 0;
	int fd = open_pinned(dir);

	/* Programs may still write to it, so the walk has an end of its own. */
	for (size_t i = 0; fd >= 0 && i < AGENT_PORTS; i++) {
		if (bpf_map_get_next_key(fd, before, &key))
			break;
		before = &key;
		if (bpf_map_lookup_elem(fd, &key, &value) || value.given ||
		    !is_vip(&key, vips, vip_count))
			continue;
		inherited += bpf_map__update_elem(table, &key, sizeof(key), &value, sizeof(value),
						  BPF_NOEXIST) == 0;
	}
	if (fd >= 0)
		close(fd);
	return inherited;
}

int agent_ports_pin(struct bpf_map *table, const char *dir, struct err *err)
{
	char path[PINS_PATH_MAX], fresh[PINS_PATH_MAX];
	int ret = pins_path(path, dir, PIN, err);

	if (!ret)
		ret = pins_path(fresh, dir, PIN_NEW, err);
	if (ret)
		return ret;
	unlink(fresh);
	if (bpf_obj_pin(bpf_map__fd(table), fresh) || rename(fresh, path))
		return err_set(err, -errno, "%s: cannot pin the table of ports: %s", path,
			       strerror(errno));
	return 0;
}
