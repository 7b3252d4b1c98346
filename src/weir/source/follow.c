/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watched are the directories in which the path's names stand, those of symbolic links on the way
 * included: a name in any of them that is made, moved or written may mean another file. A file
 * that is written in place has all kinds of contents meanwhile, so it is told of when who wrote has
 * closed it and two looks, half of the settling time apart, found it alike.
 */
#include "weir/source/follow.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"

enum {
	STEPS_MAX = 40, /* links on the way, as Linux allows */
	NAMES_MAX = 64, /* names that are watched */
	WAIT_MS = 2000, /* for somebody who does not end writing */
	LOOK_MS = 2000, /* between looks without being told */
	EVENTS = IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY | IN_CLOSE_WRITE |
		 IN_ATTRIB | IN_ONLYDIR,
};

/* What a look sees of the file; all zero: there is none. */
struct seen {
	dev_t device;
	ino_t inode;
	off_t size;
	struct timespec changed;
};

struct name {
	int watch; /* of inotify: the directory's; -1: it cannot be watched */
	char text[NAME_MAX + 1];
};

struct follow {
	char *path;
	follow_changed *changed;
	void *arg;
	int fd; /* inotify; -1: none */
	uv_poll_t events;
	uv_timer_t settle; /* runs while the file may be changing */
	uv_timer_t look;
	uint64_t settle_ms;
	uint64_t since_ms; /* when it began to */
	struct seen told, last;
	bool is_open;  /* somebody writes into it and has not closed it */
	bool is_quiet; /* `last` is of this settling, and nothing was heard since */
	struct name names[NAMES_MAX];
	size_t name_count;
	size_t handles;
};

static bool same(const struct seen *one, const struct seen *two)
{
	return one->device == two->device && one->inode == two->inode && one->size == two->size &&
	       one->changed.tv_sec == two->changed.tv_sec &&
	       one->changed.tv_nsec == two->changed.tv_nsec;
}

static struct seen look_at(const char *path)
{
	struct stat file;

	if (stat(path, &file))
		return (struct seen){0};
	return (struct seen){file.st_dev, file.st_ino, file.st_size, file.st_ctim};
}

/* --- the names on the way --- */

static void watch_name(struct follow *follow, const char *dir, const char *text, size_t length)
{
	struct name *name = &follow->names[follow->name_count];

	if (follow->name_count == NAMES_MAX || length > NAME_MAX)
		return;
	memcpy(name->text, text, length);
	name->text[length] = '\0';
	name->watch = inotify_add_watch(follow->fd, *dir ? dir : ".", EVENTS);
	follow->name_count++;
}

/* What a link says goes in front of the rest of the way. */
static bool go_through(const char *link, char rest[PATH_MAX])
{
	char target[PATH_MAX];
	ssize_t length = readlink(link, target, sizeof(target));
	size_t left = strlen(rest);

	if (length <= 0 || (size_t)length + left + 2 > PATH_MAX)
		return false;
	memmove(rest + length + 1, rest, left + 1);
	memcpy(rest, target, (size_t)length);
	rest[length] = '/';
	return true;
}

/*
 * Takes the first name off `rest`, and goes to it from `dir`. Returns whether the way goes on: it
 * ends at the file, or where there is nothing yet.
 */
static bool step(struct follow *follow, char dir[PATH_MAX], char rest[PATH_MAX])
{
	size_t skip = strspn(rest, "/"), length, before = strlen(dir);
	struct stat found;

	if (skip)
		strcpy(dir, "/");
	before = strlen(dir);
	memmove(rest, rest + skip, strlen(rest + skip) + 1);
	length = strcspn(rest, "/");
	if (!length || before + length + 2 > PATH_MAX)
		return false;
	watch_name(follow, dir, rest, length);
	if (before && dir[before - 1] != '/')
		strcat(dir, "/");
	strncat(dir, rest, length);
	memmove(rest, rest + length, strlen(rest + length) + 1);
	memmove(rest, rest + strspn(rest, "/"), strlen(rest + strspn(rest, "/")) + 1);
	if (lstat(dir, &found))
		return false;
	if (!S_ISLNK(found.st_mode))
		return *rest;
	if (!go_through(dir, rest))
		return false;
	dir[before] = '\0';
	return true;
}

static bool is_watched(const struct follow *follow, int watch)
{
	for (size_t i = 0; i < follow->name_count; i++) {
		if (follow->names[i].watch == watch)
			return true;
	}
	return false;
}

/* The way may be another than it was. */
static void watch_names(struct follow *follow)
{
	int before[NAMES_MAX];
	size_t count = follow->name_count;
	char dir[PATH_MAX] = "", rest[PATH_MAX];

	if (follow->fd < 0 || strlen(follow->path) >= sizeof(rest))
		return;
	for (size_t i = 0; i < count; i++)
		before[i] = follow->names[i].watch;
	strcpy(rest, follow->path);
	follow->name_count = 0;
	for (int i = 0; i < STEPS_MAX + NAMES_MAX && step(follow, dir, rest); i++)
		continue;
	for (size_t i = 0; i < count; i++) {
		if (before[i] >= 0 && !is_watched(follow, before[i]))
			inotify_rm_watch(follow->fd, before[i]);
	}
}

/* --- settling --- */

static void on_settle(uv_timer_t *timer);

static void settle(struct follow *follow)
{
	follow->is_quiet = false;
	if (uv_is_active((uv_handle_t *)&follow->settle))
		return;
	follow->since_ms = time_now_ms();
	uv_timer_start(&follow->settle, on_settle, follow->settle_ms / 2, 0);
}

static void on_settle(uv_timer_t *timer)
{
	struct follow *follow = timer->data;
	struct seen now = look_at(follow->path);
	bool waited = time_now_ms() - follow->since_ms >= WAIT_MS;

	if ((follow->is_open || !follow->is_quiet || !same(&now, &follow->last)) && !waited) {
		follow->is_quiet = true;
		follow->last = now;
		uv_timer_start(timer, on_settle, follow->settle_ms / 2, 0);
		return;
	}
	watch_names(follow);
	follow->is_open = false;
	follow->told = now;
	follow->changed(follow->arg);
}

static void on_look(uv_timer_t *timer)
{
	struct follow *follow = timer->data;
	struct seen now = look_at(follow->path);

	if (!same(&now, &follow->told))
		settle(follow);
}

static bool concerns(const struct follow *follow, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW)
		return true;
	/* A directory is gone; one that is not on the way any more has been let go. */
	if (event->mask & IN_IGNORED)
		return is_watched(follow, event->wd);
	for (size_t i = 0; event->len && i < follow->name_count; i++) {
		if (follow->names[i].watch == event->wd &&
		    strcmp(follow->names[i].text, event->name) == 0)
			return true;
	}
	return false;
}

static void on_event(struct follow *follow, const struct inotify_event *event)
{
	if (!concerns(follow, event))
		return;
	follow->is_open = event->mask & IN_MODIFY;
	settle(follow);
}

static void on_events(uv_poll_t *poll, int status, int events)
{
	struct follow *follow = poll->data;
	char buffer[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t got;

	(void)status;
	(void)events;
	while ((got = read(follow->fd, buffer, sizeof(buffer))) > 0) {
		for (char *at = buffer; at < buffer + got;) {
			const struct inotify_event *event = (void *)at;

			on_event(follow, event);
			at += sizeof(*event) + event->len;
		}
	}
}

/* --- life --- */

int follow_open(uv_loop_t *loop, const char *path, follow_changed *changed, void *arg,
		struct follow **ret)
{
	struct follow *follow = calloc(1, sizeof(*follow));

	if (!follow)
		return -ENOMEM;
	follow->path = strdup(path);
	if (!follow->path) {
		free(follow);
		return -ENOMEM;
	}
	follow->changed = changed;
	follow->arg = arg;
	follow->settle_ms = FOLLOW_SETTLE_MS;
	follow->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	uv_timer_init(loop, &follow->settle);
	uv_timer_init(loop, &follow->look);
	follow->handles = 2;
	follow->settle.data = follow->look.data = follow->events.data = follow;
	if (follow->fd >= 0 && uv_poll_init(loop, &follow->events, follow->fd) == 0) {
		follow->handles++;
		uv_poll_start(&follow->events, UV_READABLE, on_events);
	}
	uv_timer_start(&follow->look, on_look, LOOK_MS, LOOK_MS);
	watch_names(follow);
	settle(follow);
	*ret = follow;
	return 0;
}

void follow_set_settle(struct follow *follow, uint64_t settle_ms)
{
	follow->settle_ms = settle_ms;
}

bool follow_is_current(const struct follow *follow)
{
	struct seen now = look_at(follow->path);

	return same(&now, &follow->told);
}

static void on_closed(uv_handle_t *handle)
{
	struct follow *follow = handle->data;

	if (--follow->handles)
		return;
	if (follow->fd >= 0)
		close(follow->fd);
	free(follow->path);
	free(follow);
}

void follow_close(struct follow *follow)
{
	if (!follow)
		return;
	if (follow->handles == 3)
		uv_close((uv_handle_t *)&follow->events, on_closed);
	uv_close((uv_handle_t *)&follow->settle, on_closed);
	uv_close((uv_handle_t *)&follow->look, on_closed);
}
