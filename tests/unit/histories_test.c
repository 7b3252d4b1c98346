/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every sequence of events of a few backends, up to a length, through the daemon's own balancer and
 * the packet path as it is, with connections that begin after each event. Some of these send after
 * each one that follows, some only at the end: all must be where they began, unless that backend's
 * flows were cut. What transition_model_test.c does to the rules this does to what follows them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "../lib/frame/frame.h"
#include "../lib/run/story.h"

enum {
	LENGTH_MAX = 16,
	EACH_STEP = 4, /* connections that begin */
	TIME_MS = 35000,
	FAILS_OR_RETURNS = 0,
	LEAVES_OR_SERVES,
	MAINT,
	OF_MEMBER,
};

struct histories {
	const char *name;
	size_t members;
	unsigned int length; /* events in a row, and the environment's MODEL_DEEPER more */
	bool maint, time;
};

static struct {
	const struct histories *about;
	unsigned int length;
	unsigned int events[LENGTH_MAX];
	uint64_t heard_ms[STORY_FLOWS];
	uint64_t number, count; /* of those that are begun, and of those that can happen */
} history;

static const struct pool *pool(void)
{
	return balancer_pool(story.balancer, 0);
}

static void tell(const char *what, uint32_t flow)
{
	static const char *const texts[OF_MEMBER] = {"fails or returns", "drains or serves",
						     "maint"};

	for (unsigned int i = 0; i < history.length; i++) {
		unsigned int event = history.events[i] - 1, member = event / OF_MEMBER;

		if (member < history.about->members)
			print_error("%u %s; ", member + 1, texts[event % OF_MEMBER]);
		else
			print_error("time; ");
	}
	fail_msg("%s: flow %u %s", history.about->name, flow, what);
}

/* --- events --- */

/* Returns whether it is one here. */
static bool happen_to(size_t member, unsigned int what)
{
	enum pool_admin admin = pool_member_admin(pool(), member);

	if (what == FAILS_OR_RETURNS) {
		enum pool_health health = pool_member_health(pool(), member);

		balancer_set_health(story.balancer, 0, member,
				    health == POOL_HEALTHY ? POOL_UNHEALTHY : POOL_HEALTHY,
				    story.now_ms);
		return true;
	}
	if (what == MAINT && (!history.about->maint || admin == POOL_MAINT))
		return false;
	if (what == MAINT)
		admin = POOL_MAINT;
	else
		admin = admin == POOL_ACTIVE ? POOL_DRAIN : POOL_ACTIVE;
	balancer_set_admin(story.balancer, 0, member, admin, story.now_ms);
	return true;
}

static bool happen(unsigned int event)
{
	if (event / OF_MEMBER < history.about->members)
		return happen_to(event / OF_MEMBER, event % OF_MEMBER);
	if (!history.about->time)
		return false;
	story_pass(TIME_MS);
	return true;
}

/* --- connections --- */

static bool is_kept(uint32_t flow)
{
	return story.owners[flow] &&
	       story.tables->backends[story.owners[flow]].flags & ABI_BACKEND_KEEP;
}

/* Of those whose backend keeps its flows no longer, or who were silent for too long. */
static void forget_cut(void)
{
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (!is_kept(flow) || story.now_ms - history.heard_ms[flow] >= STORY_IDLE_MS)
			story.owners[flow] = 0;
	}
}

static void send_segment(uint32_t flow)
{
	if (!story.owners[flow])
		return;
	if (story_segment(flow, FRAME_ACK) != story.owners[flow])
		tell("has left its backend", flow);
	history.heard_ms[flow] = story.now_ms;
}

static void open_flow(uint32_t flow, bool settled)
{
	uint32_t got = story_segment(flow, FRAME_SYN);

	story.owners[flow] = got;
	history.heard_ms[flow] = story.now_ms;
	if (!is_kept(flow)) {
		story.owners[flow] = 0;
		return;
	}
	if (settled && !(story.tables->backends[got].flags & ABI_BACKEND_UP))
		tell("has begun at a backend that takes none", flow);
	send_segment(flow);
}

/* --- a history --- */

/* Every other one is quiet until the end. */
static bool is_quiet(uint32_t flow)
{
	return flow % 2;
}

static void send_all(bool quiet_too)
{
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++) {
		if (quiet_too || !is_quiet(flow))
			send_segment(flow);
	}
}

/* As it was before any: nothing is in transition, and nobody has a connection. */
static void begin_anew(void)
{
	for (size_t m = 0; m < history.about->members; m++) {
		balancer_set_admin(story.balancer, 0, m, POOL_ACTIVE, story.now_ms);
		balancer_set_health(story.balancer, 0, m, POOL_HEALTHY, story.now_ms);
	}
	for (int i = 0; i < 2; i++)
		story_pass(2 * STORY_IDLE_MS);
	assert_int_equal(story_moving(), 0);
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		story.owners[flow] = 0;
}

/* Whether the words follow at once; each sequence's number says. */
static bool settles_at(unsigned int step)
{
	return (history.number * 0x9e3779b97f4a7c15ULL >> 40 >> step) & 1;
}

/* Returns how many of the events could happen. */
static unsigned int run_history(void)
{
	begin_anew();
	for (uint32_t i = 0; i < EACH_STEP; i++)
		open_flow(i, true);
	for (unsigned int step = 0; step < history.length; step++) {
		bool settles = settles_at(step);

		if (!happen(history.events[step] - 1))
			return step;
		if (settles)
			balancer_settle(story.balancer, story.now_ms);
		forget_cut();
		send_all(false);
		for (uint32_t i = 0; i < EACH_STEP; i++)
			open_flow((step + 1) * EACH_STEP + i, settles);
	}
	balancer_settle(story.balancer, story.now_ms);
	forget_cut();
	send_all(true);
	story_pass(1000);
	forget_cut();
	send_all(true);
	return history.length;
}

/* The next sequence with another event at `step`, or before. Returns whether there is one. */
static bool go_on(unsigned int step)
{
	unsigned int last = (unsigned int)history.about->members * OF_MEMBER + 1;

	for (unsigned int i = step + 1; i < history.length; i++)
		history.events[i] = 1;
	for (;; step--) {
		if (history.events[step] < last) {
			history.events[step]++;
			return true;
		}
		history.events[step] = 1;
		if (step == 0)
			return false;
	}
}

static void run_all(const struct histories *about)
{
	static const char *const backends[] = {
		STORY_B(1) ", " STORY_B(2), STORY_B(1) ", " STORY_B(2) ", " STORY_B(3),
		STORY_B(1) ", " STORY_B(2) ", " STORY_B(3) ", " STORY_B(4)};
	const char *deeper = getenv("MODEL_DEEPER");
	struct story_file file = {0};
	unsigned int done;
	char keys[512];

	snprintf(keys, sizeof(keys), "on_down_keep: 24h, hash: ring, table_size: 7, backends: [%s]",
		 backends[about->members - 2]);
	file.pool = keys;
	history.about = about;
	history.length = about->length + (deeper ? (unsigned int)strtoul(deeper, NULL, 10) : 0);
	history.number = history.count = 0;
	assert_true(history.length <= LENGTH_MAX);
	for (unsigned int i = 0; i < history.length; i++)
		history.events[i] = 1;
	story_begin(&file);
	do {
		history.number++;
		done = run_history();
		history.count += done == history.length;
	} while (go_on(done < history.length ? done : history.length - 1));
	print_message("# %s: %llu sequences of %u events\n", about->name,
		      (unsigned long long)history.count, history.length);
}

#define HISTORIES(what, ...)                                                          \
	static void test_##what(void **state)                                         \
	{                                                                             \
		static const struct histories about = {.name = #what, ##__VA_ARGS__}; \
                                                                                      \
		(void)state;                                                          \
		run_all(&about);                                                      \
	}
HISTORIES(two, .members = 2, .length = 6)
HISTORIES(two_with_time, .members = 2, .length = 4, .maint = true, .time = true)
HISTORIES(three, .members = 3, .length = 4)
HISTORIES(four, .members = 4, .length = 3)
HISTORIES(three_with_time, .members = 3, .length = 3, .maint = true, .time = true)

#define TEST(name) cmocka_unit_test_setup_teardown(name, story_set_up, story_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two),   TEST(test_two_with_time),
		TEST(test_three), TEST(test_three_with_time),
		TEST(test_four),
	};

	/* One alone, for those that take long with MODEL_DEEPER. */
	cmocka_set_test_filter(getenv("MODEL_ONLY"));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
