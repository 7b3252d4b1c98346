/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/operate/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	FILE_MAX = 8 * 1024 * 1024, /* CONF_BACKENDS_MAX overrides have less */
	FILE_MODE = 0600,
	DIRECTORY_MODE = 0755,
	TEXT_MAX = STORE_PATH_MAX + 16,
};

const char *store_path_of(const char *name, const char *what, char path[STORE_PATH_MAX])
{
	snprintf(path, STORE_PATH_MAX, STORE_DIR "/%.100s.%.20s.json", name, what);
	return path;
}

static int fail(struct err *err, const char *what, const char *path, int code)
{
	return err_set(err, code, "cannot %s %s: %s", what, path, strerror(-code));
}

/* --- reading --- */

/* Nothing is waited for: neither a FIFO's writer nor whatever a link leads to. */
static int open_file(const char *path, size_t *ret_size)
{
	struct stat stat;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	int code = 0;

	if (fd < 0 || fstat(fd, &stat))
		code = -errno;
	else if (!S_ISREG(stat.st_mode))
		code = -EINVAL;
	else if (stat.st_size > FILE_MAX)
		code = -EFBIG;
	if (!code) {
		*ret_size = (size_t)stat.st_size;
		return fd;
	}
	if (fd >= 0)
		close(fd);
	return code;
}

static int read_all(int fd, char *text, size_t size)
{
	size_t used = 0;

	while (used < size) {
		ssize_t got = read(fd, text + used, size - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		used += (size_t)got;
	}
	return 0;
}

static int read_text(const char *path, char **ret, size_t *ret_size)
{
	char *text;
	size_t size = 0;
	int code, fd = open_file(path, &size);

	if (fd < 0)
		return fd;
	text = malloc(size + 1);
	code = text ? read_all(fd, text, size) : -ENOMEM;
	close(fd);
	if (code) {
		free(text);
		return code;
	}
	*ret = text;
	*ret_size = size;
	return 0;
}

int store_read(const char *path, store_parse *parse, void *ret, struct err *err)
{
	struct err why;
	char *text;
	size_t size;
	int code = read_text(path, &text, &size);

	if (code == -ENOENT)
		return 0;
	if (code == -EINVAL || code == -ELOOP)
		return err_set(err, code, "cannot read %s: it is no regular file", path);
	if (code)
		return fail(err, "read", path, code);
	code = parse(text, size, ret, &why);
	if (code)
		err_set(err, code, "%s is damaged: %s", path, why.text);
	free(text);
	return code;
}

/* --- writing --- */

static int write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t put = write(fd, text, length);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		text += put;
		length -= (size_t)put;
	}
	return 0;
}

/* Whatever stands there is no one's: a writer's that died, or a link, which is not followed. */
static int write_file(const char *path, const char *text)
{
	int fd, code;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, FILE_MODE);
	if (fd < 0)
		return -errno;
	code = fchmod(fd, FILE_MODE) ? -errno : write_all(fd, text, strlen(text));
	if (!code && fsync(fd))
		code = -errno;
	if (close(fd) && !code)
		code = -errno;
	return code;
}

/* A rename is on the disk when its directory is. */
static int sync_directory(const char *path)
{
	char directory[TEXT_MAX];
	int fd, code;

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	code = fsync(fd) ? -errno : 0;
	close(fd);
	return code;
}

static int replace_file(const char *path, const char *text, struct err *err)
{
	char fresh[TEXT_MAX];
	int code;

	snprintf(fresh, sizeof(fresh), "%s.new", path);
	code = write_file(fresh, text);
	if (code == -EEXIST)
		return fail(err, "replace", fresh, code);
	if (!code && rename(fresh, path))
		code = -errno;
	if (code)
		unlink(fresh);
	else
		code = sync_directory(path);
	return code ? fail(err, "write", path, code) : 0;
}

static int remove_file(const char *path)
{
	struct stat there;

	/* Asked first: to unlink what is not there fails where nothing may be written. */
	if (lstat(path, &there))
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	return unlink(path) ? -errno : sync_directory(path);
}

static int make_directory(const char *path)
{
	char directory[TEXT_MAX];

	snprintf(directory, sizeof(directory), "%s", path);
	*strrchr(directory, '/') = '\0';
	if (mkdir(directory, DIRECTORY_MODE))
		return errno == EEXIST ? 0 : -errno;
	return sync_directory(directory);
}

int store_write(const char *path, json_t *json, struct err *err)
{
	char *text = json ? json_dumps(json, JSON_INDENT(1)) : NULL;
	int code = text ? make_directory(path) : -ENOMEM;

	if (code)
		fail(err, "write", path, code);
	else
		code = replace_file(path, text, err);
	free(text);
	json_decref(json);
	return code;
}

int store_set_aside(const char *path)
{
	char aside[TEXT_MAX];

	snprintf(aside, sizeof(aside), "%s.damaged", path);
	return rename(path, aside) ? -errno : 0;
}

/* --- the overrides --- */

const char *store_path(const char *name, char path[STORE_PATH_MAX])
{
	return store_path_of(name, "overrides", path);
}

static int parse_overrides(const char *text, size_t length, void *ret, struct err *err)
{
	return overrides_parse(text, length, ret, err);
}

int store_load(const char *path, struct overrides *ret, struct err *err)
{
	return store_read(path, parse_overrides, ret, err);
}

int store_save(const char *path, const struct overrides *overrides, struct err *err)
{
	int code;

	if (overrides->count)
		return store_write(path, overrides_to_json(overrides), err);
	code = remove_file(path);
	return code ? fail(err, "remove", path, code) : 0;
}
