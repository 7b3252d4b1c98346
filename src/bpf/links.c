/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/links.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bpf/programs.h"

#define PREFIX "link-"

int links_init(struct links *links, const char *dir, struct err *err)
{
	memset(links, 0, sizeof(*links));
	if (!dir)
		return 0;
	if (strlen(dir) >= sizeof(links->dir))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	strcpy(links->dir, dir);
	return link_prepare_bpffs(dir, err);
}

static int pin_path(const char *dir, const char *interface, char *path, struct err *err)
{
	char name[sizeof(PREFIX) + IF_NAMESIZE];

	snprintf(name, sizeof(name), PREFIX "%s", interface);
	return pins_path(path, dir, name, err);
}

/* What cannot be pinned forwards all the same: only taking it back, or over, is a guess then. */
static void keep_program(const struct links *links, int program_fd)
{
	if (links->dir[0])
		programs_pin(links->dir, program_fd);
}

static void forget_programs(const struct links *links)
{
	if (links->dir[0])
		programs_forget(links->dir, PREFIX);
}

int links_attach(struct links *links, int program_fd, const char *interface, enum link_xdp wanted,
		 struct err *err)
{
	char path[PINS_PATH_MAX], *pin = links->dir[0] ? path : NULL;
	int ret;

	if (links->count == LINKS_MAX)
		return err_set(err, -ENOSPC, "more than %d interfaces", LINKS_MAX);
	ret = pin ? pin_path(links->dir, interface, path, err) : 0;
	keep_program(links, program_fd);
	if (!ret)
		ret = link_attach(program_fd, interface, wanted, pin,
				  &links->attached[links->count], err);
	if (!ret)
		links->count++;
	return ret;
}

int links_reattach(struct links *links, size_t at, int program_fd, struct err *err)
{
	struct link_attached *attached = &links->attached[at];
	struct link_attached found;
	char path[PINS_PATH_MAX], *pin = links->dir[0] ? path : NULL;
	int ret = pin ? pin_path(links->dir, attached->interface, path, err) : 0;

	keep_program(links, program_fd);
	if (!ret)
		ret = link_attach(program_fd, attached->interface, attached->wanted, pin, &found,
				  err);
	if (ret)
		return ret;
	link_close(attached);
	*attached = found;
	return 0;
}

int links_exchange(struct links *links, int old_fd, int new_fd, struct err *err)
{
	keep_program(links, new_fd);
	for (size_t i = 0; i < links->count; i++) {
		int ret;

		/* One whose interface is gone gets it when that is back. */
		if (link_is_lost(&links->attached[i]))
			continue;
		ret = bpf_link_update(links->attached[i].link_fd, new_fd, NULL);
		if (!ret)
			continue;
		err_set(err, ret, "%s: cannot exchange the program: %s",
			links->attached[i].interface, strerror(-ret));
		while (i-- > 0)
			bpf_link_update(links->attached[i].link_fd, old_fd, NULL);
		forget_programs(links);
		return ret;
	}
	forget_programs(links);
	return 0;
}

static void detach(struct links *links, struct link_attached *attached)
{
	char path[PINS_PATH_MAX], *pin = NULL;

	if (links->dir[0] && pin_path(links->dir, attached->interface, path, NULL) == 0)
		pin = path;
	link_detach(attached, pin);
}

void links_take_back(struct links *links)
{
	struct link_attached *last = &links->attached[--links->count];

	if (last->adopted)
		link_close(last);
	else
		detach(links, last);
}

int links_is_pinned(const char *dir, const char *interface, bool *ret, struct err *err)
{
	char path[PINS_PATH_MAX];
	int error = pin_path(dir, interface, path, err);

	if (!error)
		*ret = access(path, F_OK) == 0;
	return error;
}

uint32_t links_pinned_program(const char *dir, const char *interface)
{
	struct bpf_link_info info = {0};
	uint32_t size = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd = pin_path(dir, interface, path, NULL) ? -1 : bpf_obj_get(path);

	if (fd < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &size))
		info.prog_id = 0;
	close(fd);
	return info.prog_id;
}

const struct link_attached *links_find(const struct links *links, const char *interface)
{
	for (size_t i = 0; i < links->count; i++) {
		if (strcmp(links->attached[i].interface, interface) == 0)
			return &links->attached[i];
	}
	return NULL;
}

int links_order(const struct links *links, const char *const *interfaces, size_t count,
		const char **ret, struct err *err)
{
	size_t first = 0, last = count;

	for (size_t i = 0; i < count; i++) {
		bool pinned = false;
		int error = 0;

		if (links->dir[0])
			error = links_is_pinned(links->dir, interfaces[i], &pinned, err);
		if (error)
			return error;
		if (pinned)
			ret[--last] = interfaces[i];
		else
			ret[first++] = interfaces[i];
	}
	return 0;
}

void links_detach_new(struct links *links)
{
	for (size_t i = 0; i < links->count; i++) {
		if (!links->attached[i].adopted)
			detach(links, &links->attached[i]);
	}
	forget_programs(links);
}

void links_put_back(struct links *links)
{
	for (size_t i = 0; i < links->count; i++) {
		if (links->attached[i].adopted)
			link_put_back(&links->attached[i]);
	}
	forget_programs(links);
}

void links_forget_former(struct links *links)
{
	for (size_t i = 0; i < links->count; i++)
		link_forget_former(&links->attached[i]);
	forget_programs(links);
}

static bool is_ours(const struct links *links, const char *pin)
{
	for (size_t i = 0; i < links->count; i++) {
		char path[PINS_PATH_MAX];

		if (pin_path(links->dir, links->attached[i].interface, path, NULL) == 0 &&
		    strcmp(path, pin) == 0)
			return true;
	}
	return false;
}

static void detach_other(void *arg, const char *name)
{
	struct links *links = arg;
	struct link_attached other = {.former_fd = -1};
	char path[PINS_PATH_MAX];

	if (pins_path(path, links->dir, name, NULL) || is_ours(links, path))
		return;
	other.link_fd = bpf_obj_get(path);
	link_detach(&other, path);
}

void links_detach_others(struct links *links)
{
	if (links->dir[0])
		pins_each(links->dir, PREFIX, detach_other, links);
	forget_programs(links);
}

void links_teardown(struct links *links)
{
	while (links->count)
		detach(links, &links->attached[--links->count]);
	links_detach_others(links);
	if (links->dir[0])
		pins_remove_all(links->dir);
}

void links_close(struct links *links)
{
	while (links->count)
		link_close(&links->attached[--links->count]);
}
