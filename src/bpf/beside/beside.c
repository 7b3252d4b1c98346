/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/beside/beside.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "bpf/programs.h"

enum { PROGRAM_MAPS_MAX = 64 };

static int subdirectory(char *path, const char *dir, struct err *err)
{
	return pins_path(path, dir, "new", err);
}

int beside_pin(const char *dir, const struct beside_map *maps, size_t count, struct err *err)
{
	char sub[PINS_PATH_MAX], path[PINS_PATH_MAX];
	int error = subdirectory(sub, dir, err);

	if (error)
		return error;
	if (mkdir(sub, 0700))
		return err_set(err, -errno, "cannot make %s: %s", sub, strerror(errno));
	for (size_t i = 0; i < count && !error; i++) {
		error = pins_path(path, sub, maps[i].name, err);
		if (!error && bpf_obj_pin(maps[i].fd, path))
			error = err_set(err, -errno, "cannot pin %s: %s", path, strerror(errno));
	}
	if (error)
		beside_forget(dir);
	return error;
}

struct move {
	const char *dir, *sub;
};

static void move(void *arg, const char *name)
{
	const struct move *move = arg;
	char from[PINS_PATH_MAX], to[PINS_PATH_MAX];

	if (pins_path(from, move->sub, name, NULL) == 0 &&
	    pins_path(to, move->dir, name, NULL) == 0)
		rename(from, to);
}

void beside_move(const char *dir)
{
	char sub[PINS_PATH_MAX];
	struct move paths = {dir, sub};

	if (subdirectory(sub, dir, NULL))
		return;
	pins_each(sub, "", move, &paths);
	rmdir(sub);
}

void beside_forget(const char *dir)
{
	char sub[PINS_PATH_MAX];

	if (subdirectory(sub, dir, NULL) == 0)
		pins_remove_all(sub);
}

/* --- after a death amid it --- */

/* The ids of the maps that the links' programs use. */
struct in_use {
	const char *dir;
	uint32_t ids[PROGRAM_MAPS_MAX];
	uint32_t count;
};

static void add_maps_of(struct in_use *use, uint32_t program)
{
	struct bpf_prog_info info = {
		.map_ids = (uint64_t)(uintptr_t)&use->ids[use->count],
		.nr_map_ids = PROGRAM_MAPS_MAX - use->count,
	};
	uint32_t length = sizeof(info), room = info.nr_map_ids;
	int fd = programs_open(use->dir, program);

	if (fd < 0)
		return;
	/* What comes back is how many there are; no more are told than there was room for. */
	if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0)
		use->count += info.nr_map_ids < room ? info.nr_map_ids : room;
	close(fd);
}

static void add_link(void *arg, const char *name)
{
	struct in_use *use = arg;
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd;

	if (pins_path(path, use->dir, name, NULL))
		return;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0)
		add_maps_of(use, info.prog_id);
	close(fd);
}

struct search {
	const char *sub;
	const struct in_use *use;
	bool found;
};

static void look_up(void *arg, const char *name)
{
	struct search *search = arg;
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd = -1;

	if (pins_path(path, search->sub, name, NULL) == 0)
		fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	if (bpf_obj_get_info_by_fd(fd, &info, &length) == 0) {
		for (uint32_t i = 0; i < search->use->count; i++)
			search->found |= search->use->ids[i] == info.id;
	}
	close(fd);
}

void beside_settle(const char *dir, const char *prefix)
{
	char sub[PINS_PATH_MAX];
	struct in_use use = {.dir = dir};
	struct search search = {.sub = sub, .use = &use};

	if (subdirectory(sub, dir, NULL) || access(sub, F_OK))
		return;
	pins_each(dir, prefix, add_link, &use);
	pins_each(sub, "", look_up, &search);
	if (search.found)
		beside_move(dir);
	else
		beside_forget(dir);
}
