/* SPDX-License-Identifier: BSD-2-Clause */
#include "story.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants these, and what story.h has */
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "../frame/frame.h"
#include "base/time.h"

struct story story;

uint64_t story_draw(void)
{
	static uint64_t state = 5;

	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (state ^ state >> 29) * 0xff51afd7ed558ccdULL;
}

static uint64_t relying(void *arg)
{
	(void)arg;
	return native_event_count(story.native, ABI_EVENT_FLOW_RELIES);
}

static void ignore(void *arg, uint32_t record)
{
	(void)arg;
	assert_int_not_equal(record, 0);
}

/* --- the daemon --- */

void story_begin(const struct story_file *file)
{
	struct balancer_start start = {
		.health = POOL_UNKNOWN,
		.now_ms = story.now_ms,
		.new_backend = ignore,
		.new_service = ignore,
		.relying = relying,
	};
	struct err_list errors = {0};
	struct err err = {0};
	char text[8192];

	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], flows: {established: %ds, closing: %ds, "
		 "udp: 20s, insert_limit: 1000M}}\n"
		 "seed: %s\n"
		 "pools: [{name: web, check: {port: 80}, drain_limit: 60s, %s}%s]\n"
		 "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80, udp/80], tracking: "
		 "%s, %s}%s]\n",
		 STORY_IDLE_MS / 1000, STORY_CLOSING_MS / 1000, file->seed ? file->seed : "one",
		 file->pool, file->more ? file->more : "",
		 file->tracking ? file->tracking : "transition",
		 file->service ? file->service : "pool: web", file->services ? file->services : "");
	if (conf_parse(text, strlen(text), &story.conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	if (balancer_new(story.conf, story.tables, &start, &story.balancer, &err))
		fail_msg("%s", err.text);
}

void story_killed(void)
{
	balancer_free(story.balancer);
	conf_free(story.conf);
	story.balancer = NULL;
	story.conf = NULL;
}

void story_restart(const struct story_file *file)
{
	story_killed();
	story_begin(file);
}

void story_all_healthy(void)
{
	for (size_t p = 0; p < story.conf->pool_count; p++) {
		for (size_t m = 0; m < story.conf->pools[p].backend_count; m++)
			balancer_set_health(story.balancer, p, m, POOL_HEALTHY, story.now_ms);
	}
	balancer_settle(story.balancer, story.now_ms);
}

uint32_t story_moving(void)
{
	uint32_t count = 0;

	for (size_t p = 0; p < story.conf->pool_count; p++)
		count += pool_moving_slots(balancer_pool(story.balancer, p));
	return count;
}

/* As the loop does it: what is due by now, and one survey if one is wanted. */
void story_survey(void)
{
	uint64_t pause = balancer_survey(story.balancer, story.now_ms);

	while (pause < 1000)
		pause = balancer_survey(story.balancer, story.now_ms);
}

void story_pass(uint64_t ms)
{
	story.now_ms += ms;
	balancer_tick(story.balancer, story.now_ms);
	story_survey();
}

/* --- packets --- */

static uint32_t send_frame(uint32_t flow, uint8_t flags, uint8_t proto)
{
	struct frame_spec spec = {.src = "203.0.113.5", .dst = "192.0.2.1", .dport = 80};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;

	spec.sport = (uint16_t)(1000 + flow);
	spec.tcp_flags = flags;
	spec.proto = proto;
	frame_build(&spec, &frame);
	frame.bytes[FRAME_ETH + 15] = (uint8_t)flow; /* of the source address */
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(story.native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM, story.now_ms * TIME_MILLI_NS,
				    &result),
			 0);
	return result.trace.backend;
}

uint32_t story_segment(uint32_t flow, uint8_t flags)
{
	return send_frame(flow, flags, 0);
}

void story_connect(uint32_t flow)
{
	story.owners[flow] = story_segment(flow, FRAME_SYN);
	assert_int_not_equal(story.owners[flow], 0);
	assert_int_equal(story_segment(flow, FRAME_ACK), story.owners[flow]);
}

void story_connect_all(void)
{
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		story_connect(flow);
}

void story_connect_half(uint32_t first)
{
	for (uint32_t flow = first; flow < STORY_FLOWS; flow += 2)
		story_connect(flow);
}

void story_all_stay(void)
{
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		assert_int_equal(story_segment(flow, FRAME_ACK), story.owners[flow]);
}

uint32_t story_record(size_t member)
{
	return balancer_backend_record(story.balancer, 0, member);
}

/* Flows that a backend got with the SYN. */
uint32_t story_flows_of(uint32_t backend)
{
	uint32_t count = 0;

	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		count += story.owners[flow] == backend;
	return count;
}

/* Until the idle time is through everybody sends now and then. */
void story_live_on(void)
{
	for (uint64_t end = story.now_ms + STORY_IDLE_MS + STORY_STEP_MS; story.now_ms < end;) {
		story_pass(STORY_STEP_MS);
		story_all_stay();
	}
}

void story_all_end(void)
{
	for (uint32_t flow = 0; flow < STORY_FLOWS; flow++)
		assert_int_equal(story_segment(flow, FRAME_ACK | FRAME_FIN), story.owners[flow]);
	story_pass(2 * STORY_CLOSING_MS + 5000);
	assert_int_equal(story_moving(), 0);
	assert_int_equal(balancer_survey(story.balancer, story.now_ms), UINT64_MAX);
	assert_false(balancer_service_flips(story.balancer, 0));
}

int story_set_up(void **state)
{
	(void)state;
	if (native_new(STORY_ENTRIES, &story.native))
		return -1;
	story.tables = native_tables(story.native);
	story.tables->node->vip_secret = 7;
	story.tables->node->flow_secret = 9;
	memset(story.owners, 0, sizeof(story.owners));
	story.now_ms = 1000000;
	return 0;
}

int story_tear_down(void **state)
{
	(void)state;
	story_killed();
	native_free(story.native);
	return 0;
}
