/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/programs.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bpf/pins.h"

#define PREFIX "program-"

enum { ATTACHED_MAX = 64 };

static int path_of(char *path, const char *dir, uint32_t id)
{
	char name[sizeof(PREFIX) + 10];

	snprintf(name, sizeof(name), PREFIX "%u", id);
	return pins_path(path, dir, name, NULL);
}

int programs_pin(const char *dir, int program_fd)
{
	struct bpf_prog_info info = {0};
	uint32_t length = sizeof(info);
	char path[PINS_PATH_MAX];
	int error;

	if (bpf_obj_get_info_by_fd(program_fd, &info, &length))
		return -errno;
	error = path_of(path, dir, info.id);
	if (!error && bpf_obj_pin(program_fd, path) && errno != EEXIST)
		error = -errno;
	return error;
}

int programs_open(const char *dir, uint32_t id)
{
	char path[PINS_PATH_MAX];
	int fd = path_of(path, dir, id) == 0 ? bpf_obj_get(path) : -1;

	/* Pinned by nobody: an older version's, or somebody removed the pin. */
	return fd >= 0 ? fd : bpf_prog_get_fd_by_id(id);
}

struct attached {
	const char *dir;
	uint32_t ids[ATTACHED_MAX];
	size_t count;
	bool more; /* than there is room for: then all stay */
};

static void add_link(void *arg, const char *name)
{
	struct attached *attached = arg;
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd = pins_path(path, attached->dir, name, NULL) == 0 ? bpf_obj_get(path) : -1;

	if (fd < 0)
		return;
	attached->more |= attached->count == ATTACHED_MAX;
	if (!attached->more && bpf_obj_get_info_by_fd(fd, &info, &length) == 0)
		attached->ids[attached->count++] = info.prog_id;
	close(fd);
}

static void forget_unless_attached(void *arg, const char *name)
{
	const struct attached *attached = arg;
	uint32_t id = (uint32_t)strtoul(name + strlen(PREFIX), NULL, 10);
	char path[PINS_PATH_MAX];

	for (size_t i = 0; i < attached->count; i++) {
		if (attached->ids[i] == id)
			return;
	}
	if (pins_path(path, attached->dir, name, NULL) == 0)
		unlink(path);
}

void programs_forget(const char *dir, const char *prefix)
{
	struct attached attached = {.dir = dir};

	pins_each(dir, prefix, add_link, &attached);
	if (!attached.more)
		pins_each(dir, PREFIX, forget_unless_attached, &attached);
}
