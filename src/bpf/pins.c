/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/pins.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int pins_path(char *path, const char *dir, const char *name, struct err *err)
{
	int length = snprintf(path, PINS_PATH_MAX, "%s/%s", dir, name);

	if (length < 0 || length >= PINS_PATH_MAX)
		return err_set(err, -ENAMETOOLONG, "%s/%s: the path is too long", dir, name);
	/* bpffs refuses dots; a colon stands in no interface's name. */
	for (char *at = path + strlen(dir); *at; at++) {
		if (*at == '.')
			*at = ':';
	}
	return 0;
}

static int check_layout(const char *path, int fd, const struct bpf_map *map, struct err *err)
{
	struct bpf_map_info info = {0};
	__u32 length = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (info.type == bpf_map__type(map) && info.key_size == bpf_map__key_size(map) &&
	    info.value_size == bpf_map__value_size(map) &&
	    info.max_entries == bpf_map__max_entries(map) &&
	    info.map_flags == bpf_map__map_flags(map))
		return 1;
	return err_set(err, -EPROTO, "%s has another layout: %u records of %u bytes, not %u of %u",
		       path, info.max_entries, info.value_size, bpf_map__max_entries(map),
		       bpf_map__value_size(map));
}

int pins_reuse(const char *dir, const char *name, struct bpf_map *map, struct err *err)
{
	char path[PINS_PATH_MAX];
	int fd, ret;

	ret = pins_path(path, dir, name, err);
	if (ret)
		return ret;
	ret = bpf_map__set_pin_path(map, path);
	if (ret)
		return err_set(err, ret, "%s: %s", path, strerror(-ret));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	ret = check_layout(path, fd, map, err);
	close(fd);
	return ret;
}

/* --- loading --- */

static _Thread_local char complaint[160];

__attribute__((format(printf, 2, 0))) static int catch_complaint(enum libbpf_print_level level,
								 const char *format, va_list args)
{
	if (level == LIBBPF_WARN && !complaint[0]) {
		vsnprintf(complaint, sizeof(complaint), format, args);
		complaint[strcspn(complaint, "\n")] = '\0';
	}
	return 0;
}

size_t pins_memory(const struct bpf_object *object)
{
	int cores = libbpf_num_possible_cpus();
	const struct bpf_map *map;
	size_t bytes = 0;

	bpf_object__for_each_map(map, object)
	{
		size_t record = (bpf_map__value_size(map) + 7U) & ~7U;

		if (!bpf_map__autocreate(map))
			continue;
		if (bpf_map__type(map) == BPF_MAP_TYPE_PERCPU_ARRAY)
			record *= cores > 0 ? (size_t)cores : 1;
		else if (bpf_map__type(map) != BPF_MAP_TYPE_ARRAY)
			continue;
		bytes += record * bpf_map__max_entries(map);
	}
	return bytes;
}

int pins_load(struct bpf_object_skeleton *skeleton, struct err *err)
{
	libbpf_print_fn_t before = libbpf_set_print(catch_complaint);
	int ret;

	complaint[0] = '\0';
	ret = bpf_object__load_skeleton(skeleton);
	libbpf_set_print(before);
	if (!ret)
		return 0;
	if (ret == -EPERM)
		return err_set(err, ret,
			       "the kernel refuses to load BPF programs: root, or CAP_BPF, "
			       "CAP_NET_ADMIN and CAP_PERFMON, are needed");
	return err_set(err, ret, "cannot load the program: %s%s%s", strerror(-ret),
		       complaint[0] ? ": " : "", complaint);
}

/* --- the directory --- */

void pins_each(const char *dir, const char *prefix, void (*each)(void *arg, const char *name),
	       void *arg)
{
	DIR *open = opendir(dir);
	struct dirent *entry;

	if (!open)
		return;
	while ((entry = readdir(open))) {
		if (entry->d_name[0] != '.' && strncmp(entry->d_name, prefix, strlen(prefix)) == 0)
			each(arg, entry->d_name);
	}
	closedir(open);
}

static void remove_pin(void *arg, const char *name)
{
	char path[PINS_PATH_MAX];

	if (pins_path(path, arg, name, NULL) == 0)
		unlink(path);
}

void pins_remove_all(const char *dir)
{
	pins_each(dir, "", remove_pin, (void *)dir);
	rmdir(dir);
}
