/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/history.h"

#include <string.h>

#include "base/log.h"
#include "base/time.h"

static const char *file_of(const struct app *app, char path[STORE_PATH_MAX])
{
	return store_path_of(app->daemon.instance.name, "generation", path);
}

static int parse(const char *text, size_t length, void *ret, struct err *err)
{
	return generations_parse(text, length, ret, err);
}

static void turn(struct app *app)
{
	int changed = generations_turn(&app->generations, app->conf, time_wall_ms());

	if (changed < 0)
		log_warn("what tables were is not known", "reason=%s",
			 log_quote(strerror(-changed)).text);
	app->generations_unsaved |= changed > 0;
}

void history_turn(struct app *app)
{
	turn(app);
}

void history_load(struct app *app)
{
	char path[STORE_PATH_MAX];
	struct err err;

	if (store_read(file_of(app, path), parse, &app->generations, &err)) {
		int code = store_set_aside(path);

		log_error("what tables were is lost: flows from before a change may be sent wrong",
			  "reason=%s aside=%s.damaged%s%s", log_quote(err.text).text, path,
			  code ? " failed=" : "", code ? log_quote(strerror(-code)).text : "");
	}
	turn(app);
}

void history_prepare(struct app *app, size_t at, struct pool *pool)
{
	int ret = generations_begin(&app->generations, app->conf, at, pool, time_wall_ms(),
				    time_now_ms());

	if (ret < 0)
		log_info("pool begins without what it was before", "pool=%s reason=%s",
			 pool_name(pool), log_quote(strerror(-ret)).text);
	else if (ret && pool_moving_slots(pool))
		log_info("pool begins after what it was before", "pool=%s moving_slots=%u",
			 pool_name(pool), pool_moving_slots(pool));
}

void history_save(struct app *app)
{
	char path[STORE_PATH_MAX];
	struct err err;

	if (!app->generations_unsaved)
		return;
	if (store_write(file_of(app, path), generations_to_json(&app->generations), &err))
		log_warn("what tables are made of cannot be kept", "reason=%s",
			 log_quote(err.text).text);
	else
		app->generations_unsaved = false;
}
