/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/source/load.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/time.h"
#include "conf/diff.h"

static int hash(char *text, uint64_t seed, uint64_t *ret)
{
	if (!text)
		return -ENOMEM;
	*ret = XXH3_64bits_withSeed(text, strlen(text), seed);
	free(text);
	return 0;
}

int load_digest_of(const struct conf *conf, struct load_digest *ret)
{
	uint64_t shared, whole;

	if (hash(conf_format_shared(conf), 0, &shared) ||
	    hash(conf_format_own(conf), shared, &whole))
		return -ENOMEM;
	snprintf(ret->shared, LOAD_DIGEST_MAX, "%016" PRIx64, shared);
	snprintf(ret->whole, LOAD_DIGEST_MAX, "%016" PRIx64, whole);
	return 0;
}

static void work(uv_work_t *work)
{
	struct load *load = work->data;
	uint64_t started_ns = time_now_ns();

	if (conf_load(load->file, &load->conf, &load->errors) == 0 &&
	    load_digest_of(load->conf, &load->digest)) {
		err_list_add(&load->errors, 0, 0, "out of memory");
		conf_free(load->conf);
		load->conf = NULL;
	}
	if (load->conf && load->running &&
	    conf_check_marks(load->running, load->conf, &load->errors)) {
		conf_free(load->conf);
		load->conf = NULL;
	}
	if (load->conf && load->running)
		built_make(load->conf, load->running, time_now_ms(), &load->built);
	load->took_ns = time_now_ns() - started_ns;
}

static void after(uv_work_t *work_done, int status)
{
	struct load *load = work_done->data;

	(void)status;
	load->done(load);
}

int load_start(uv_loop_t *loop, struct load *load)
{
	load->conf = NULL;
	load->errors = (struct err_list){0};
	load->built = (struct built){0};
	load->work.data = load;
	return uv_queue_work(loop, &load->work, work, after);
}
