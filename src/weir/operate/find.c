/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/operate/find.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/near.h"

enum {
	SHOWN = 4,    /* names in an error */
	DISTANCE = 2, /* letters that may be wrong in one that is near */
	LIST_MAX = 180,
};

/* Names for an error, until they are enough. */
struct list {
	char text[LIST_MAX];
	size_t used, count;
};

/* What the operator wrote; `pool` is empty where no pool is named. */
struct wanted {
	char pool[CONF_NAME_MAX + 1], backend[CONF_NAME_MAX + 1];
};

static void list_add(struct list *list, const char *pool, const char *backend)
{
	size_t room = sizeof(list->text) - list->used;
	int length;

	list->count++;
	if (list->count > SHOWN)
		return;
	length = snprintf(list->text + list->used, room, "%s%s/%s", list->used ? ", " : "", pool,
			  backend);
	if ((size_t)length < room)
		list->used += (size_t)length;
	list->text[list->used] = '\0';
}

static const char *more(const struct list *list)
{
	return list->count > SHOWN ? ", ..." : "";
}

static bool take_part(const char *text, size_t length, char part[CONF_NAME_MAX + 1])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";

	if (length == 0 || length > CONF_NAME_MAX || strspn(text, letters) < length)
		return false;
	memcpy(part, text, length);
	part[length] = '\0';
	return true;
}

static bool take_apart(const char *text, struct wanted *ret)
{
	const char *slash = strchr(text, '/');

	*ret = (struct wanted){0};
	if (slash && !take_part(text, (size_t)(slash - text), ret->pool))
		return false;
	if (slash)
		text = slash + 1;
	return take_part(text, strlen(text), ret->backend);
}

static bool is_near(const char *wanted, const char *name)
{
	size_t letters = strlen(wanted), wrong = near_distance(wanted, name);

	/* Of a name of one letter any other would be near. */
	return strcasecmp(wanted, name) == 0 || (wrong <= DISTANCE && wrong < letters) ||
	       (letters > DISTANCE && strstr(name, wanted));
}

static int refuse_unknown(const struct conf *conf, const struct wanted *wanted, const char *text,
			  struct err *err)
{
	struct list near = {0}, all = {0};

	for (size_t p = 0; p < conf->pool_count; p++) {
		const struct conf_pool *pool = &conf->pools[p];
		bool pool_fits = !*wanted->pool || is_near(wanted->pool, pool->name);

		for (size_t m = 0; m < pool->backend_count; m++) {
			if (pool_fits && is_near(wanted->backend, pool->backends[m].name))
				list_add(&near, pool->name, pool->backends[m].name);
			list_add(&all, pool->name, pool->backends[m].name);
		}
	}
	if (near.count)
		return err_set(err, -ENOENT, "there is no backend %.64s; near is: %s%s", text,
			       near.text, more(&near));
	return err_set(err, -ENOENT, "there is no backend %.64s; there are: %s%s", text, all.text,
		       more(&all));
}

int find_backend(const struct conf *conf, const char *text, size_t *ret_pool, size_t *ret_member,
		 struct err *err)
{
	struct wanted wanted;
	struct list found = {0};

	if (!take_apart(text, &wanted))
		return err_set(err, -EINVAL, "a backend is written as NAME or POOL/NAME");
	for (size_t p = 0; p < conf->pool_count; p++) {
		const struct conf_pool *pool = &conf->pools[p];

		if (*wanted.pool && strcmp(wanted.pool, pool->name) != 0)
			continue;
		for (size_t m = 0; m < pool->backend_count; m++) {
			if (strcmp(wanted.backend, pool->backends[m].name) != 0)
				continue;
			list_add(&found, pool->name, wanted.backend);
			*ret_pool = p;
			*ret_member = m;
		}
	}
	if (found.count == 1)
		return 0;
	if (found.count == 0)
		return refuse_unknown(conf, &wanted, text, err);
	return err_set(err, -EEXIST, "backend %.64s is in several pools; name one: %s%s", text,
		       found.text, more(&found));
}
