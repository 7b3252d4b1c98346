/* SPDX-License-Identifier: BSD-2-Clause */
/* BFD sessions of ours, for tests: two rooms, one in each of two joined namespaces. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/log.h"
#include "bfd/bfd.h"
#include "tests/lib/kernel/pairs.h"
#include "tests/lib/loop.h"

/*
 * Ends of a test are threads of one machine, of which one may stand still while the other does not.
 * So nothing here is lost but what a test breaks: by silence after BRIEF intervals where it waits
 * for that, after LONG ones where it does not.
 */
enum { INTERVAL_MS = 50, BRIEF = 40, LONG = 200 };

struct end {
	struct bfd *bfd;
	struct bfd_session *session;
	unsigned ups, losses, offs;
};

static uv_loop_t loop;
static struct end here, there;

static inline int open_world(void **state)
{
	int code = pairs_open(state);

	if (code)
		return code;
	log_set_level(LOG_ERROR);
	pairs_add(0);
	pairs_run("ip addr add 2001:db8::1/64 dev v0 nodad");
	pairs_run("PEER ip addr add 2001:db8::2/64 dev v1 nodad");
	return 0;
}

static inline void open_end(struct end *end, bool is_there)
{
	struct err err;

	memset(end, 0, sizeof(*end));
	pairs_enter(is_there);
	assert_int_equal(bfd_open(&loop, &end->bfd, &err), 0);
	pairs_enter(false);
}

static inline int set_up(void **state)
{
	(void)state;
	uv_loop_init(&loop);
	open_end(&here, false);
	open_end(&there, true);
	return 0;
}

static inline void close_end(struct end *end)
{
	bfd_close(end->bfd);
	end->bfd = NULL;
}

static inline int tear_down(void **state)
{
	(void)state;
	close_end(&here);
	close_end(&there);
	uv_run(&loop, UV_RUN_DEFAULT);
	return uv_loop_close(&loop);
}

static inline void on_news(void *arg, struct bfd_session *session, enum bfd_news news)
{
	struct end *end = arg;

	assert_ptr_equal(session, end->session);
	end->ups += news == BFD_NEWS_UP;
	end->losses += news == BFD_NEWS_LOST;
	end->offs += news == BFD_NEWS_OFF;
}

static inline struct addr addr_of(const char *text)
{
	struct addr addr = {0};

	if (*text)
		assert_int_equal(addr_parse(text, &addr), 0);
	return addr;
}

static inline struct bfd_spec spec_of(const char *local, const char *peer)
{
	return (struct bfd_spec){.local = addr_of(local),
				 .peer = addr_of(peer),
				 .interval_ms = INTERVAL_MS,
				 .multiplier = LONG};
}

static inline void add(struct end *end, const struct bfd_spec *spec)
{
	struct err err = {0};

	if (bfd_add(end->bfd, spec, on_news, end, &end->session, &err))
		fail_msg("%s", err.text);
}

static inline void add_both(const char *local, const char *peer)
{
	struct bfd_spec one = spec_of(local, peer), other = spec_of(peer, local);

	add(&here, &one);
	add(&there, &other);
}

static inline struct bfd_status status_of(const struct end *end)
{
	struct bfd_status status;

	bfd_status(end->session, &status);
	return status;
}

static inline bool both_up(void *arg)
{
	(void)arg;
	return here.ups && there.ups;
}

static inline bool is_lost(void *arg)
{
	return ((struct end *)arg)->losses > 0;
}

static inline bool is_off(void *arg)
{
	return ((struct end *)arg)->offs > 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
