/* SPDX-License-Identifier: BSD-2-Clause */
#include "pair.h"

#include <setjmp.h>
#include <stdarg.h>
/* cmocka wants these, and what pair.h has */
#include <cmocka.h>

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "pkt/parse.h"

enum { ENTRIES = 1024, SLOTS = 65536, TEXT_MAX = 4096 };

struct pair pair;

/* --- the file --- */

static void write_backends(char *text, size_t size)
{
	size_t length = 0;

	for (unsigned int i = 0; i < PAIR_BACKENDS; i++) {
		if (!pair.backends[i].listed)
			continue;
		length += (size_t)snprintf(text + length, size - length,
					   "{name: b%u, address: 10.0.0.%u, weight: %u}, ", i + 1,
					   i + 1, pair.backends[i].weight);
		assert_true(length < size);
	}
}

static struct conf *read_file(void)
{
	struct err_list errors = {0};
	char text[TEXT_MAX], backends[512];
	unsigned int idle_s = (unsigned int)(pair.idle_ms / 1000);
	struct conf *conf;

	write_backends(backends, sizeof(backends));
	snprintf(text, sizeof(text),
		 "node: {name: n, interfaces: [eth0], flows: {established: %us, handshake: %us, "
		 "closing: %us, insert_limit: 1000M}}\n"
		 "seed: %s\n"
		 "pools: [{name: web, check: {port: 80}, %s, backends: [%s]}]\n"
		 "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web, "
		 "forward: gue, second_chance: true}]\n",
		 idle_s, idle_s, idle_s, pair.seed, pair.pool, backends);
	if (conf_parse(text, strlen(text), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
	return conf;
}

/* --- nodes --- */

static uint8_t number_in(const struct conf *conf, size_t member)
{
	return (uint8_t)(conf->pools[0].backends[member].address.bytes[15] - 1);
}

static uint8_t number_at(const struct pair_node *node, size_t member)
{
	return number_in(node->conf, member);
}

static void ignore(void *arg, uint32_t record)
{
	(void)arg;
	assert_true(record > 0 && record < PAIR_RECORDS);
}

static uint64_t relying(void *arg)
{
	return native_event_count(((struct pair_node *)arg)->native, ABI_EVENT_FLOW_RELIES);
}

/* As weir/node does it: what operators have said is on the disk, and what tables were. */
static void prepare(void *arg, const struct conf *conf, size_t at, struct pool *pool)
{
	struct pair_node *node = arg;

	for (size_t m = 0; m < pool_member_count(pool); m++) {
		const struct pair_backend *told = &node->told[number_in(conf, m)];

		pool_set_admin(pool, m, told->admin, pair.now_ms);
		pool_set_share(pool, m, told->share, pair.now_ms);
	}
	if (!node->balancer &&
	    (node->fresh || pair.now_ms < balancer_starting_until_ms(native_tables(node->native))))
		assert_true(generations_begin(&node->kept, conf, at, pool, pair.now_ms,
					      pair.now_ms) >= 0);
}

/* As new ones, at the cost of what this node may have used. */
static void clear_tables(const struct pair_node *node)
{
	struct dp_tables *tables = native_tables(node->native);

	memset(tables->vips, 0, ABI_VIPS * sizeof(*tables->vips));
	memset(tables->services, 0, PAIR_RECORDS * sizeof(*tables->services));
	memset(tables->backends, 0, PAIR_RECORDS * sizeof(*tables->backends));
	memset(tables->slots, 0, SLOTS * sizeof(*tables->slots));
	memset(tables->flows, 0, tables->flow_buckets * sizeof(*tables->flows));
	*tables->node = (struct abi_node){
		.flow_buckets_mask = (uint32_t)tables->flow_buckets - 1,
		.vip_secret = 7,
		.flow_secret = 9,
		.began_s = (uint32_t)(pair.now_ms / 1000),
	};
}

static void stop(struct pair_node *node)
{
	balancer_free(node->balancer);
	conf_free(node->conf);
	node->balancer = NULL;
	node->conf = NULL;
}

static struct balancer_start start_of(struct pair_node *node)
{
	return (struct balancer_start){
		.health = POOL_UNKNOWN,
		.now_ms = pair.now_ms,
		.new_backend = ignore,
		.new_service = ignore,
		.prepare = prepare,
		.relying = relying,
		.arg = node,
	};
}

static void find_numbers(struct pair_node *node)
{
	assert_true(balancer_first_slot(node->balancer, 0) + 1024 < SLOTS);
	for (size_t m = 0; m < node->conf->pools[0].backend_count; m++)
		node->numbers[balancer_backend_record(node->balancer, 0, m)] = number_at(node, m);
}

void pair_load(struct pair_node *node)
{
	struct balancer_start start = start_of(node);
	struct err err = {0};

	node->fresh = !node->balancer;
	if (node->fresh)
		clear_tables(node);
	stop(node);
	node->conf = read_file();
	assert_true(generations_turn(&node->kept, node->conf, pair.now_ms) >= 0);
	if (balancer_new(node->conf, native_tables(node->native), &start, &node->balancer, &err))
		fail_msg("%s", err.text);
	find_numbers(node);
}

void pair_reload(struct pair_node *node)
{
	struct balancer_start start = start_of(node);
	struct conf *conf = read_file();
	struct balancer *next;
	struct built built;
	struct err err = {0};

	built_make(conf, node->conf, start.now_ms, &built);
	start.built = &built;
	if (balancer_prepare(conf, node->balancer, &start, &next, &err))
		fail_msg("%s", err.text);
	balancer_commit(next);
	built_free(&built);
	conf_free(node->conf);
	node->conf = conf;
	node->balancer = next;
	assert_true(generations_turn(&node->kept, node->conf, pair.now_ms) >= 0);
	find_numbers(node);
}

void pair_die(struct pair_node *node)
{
	stop(node);
	node->knows = false;
}

void pair_hear(struct pair_node *node, size_t member)
{
	const struct pair_backend *backend = &pair.backends[number_at(node, member)];

	balancer_set_health(node->balancer, 0, member,
			    backend->fails ? POOL_UNHEALTHY : POOL_HEALTHY, pair.now_ms);
	balancer_settle(node->balancer, pair.now_ms);
}

void pair_know(struct pair_node *node, size_t first)
{
	size_t count = node->conf->pools[0].backend_count;

	for (size_t i = 0; i < count; i++)
		pair_hear(node, (first + i) % count);
	for (size_t m = 0; m < count; m++)
		pair_tell(node, number_at(node, m));
	node->knows = true;
}

void pair_tell(struct pair_node *node, uint8_t number)
{
	const struct pair_backend *backend = &pair.backends[number];

	node->told[number] = *backend;
	for (size_t m = 0; m < node->conf->pools[0].backend_count; m++) {
		if (number_at(node, m) != number)
			continue;
		balancer_set_admin(node->balancer, 0, m, backend->admin, pair.now_ms);
		balancer_set_share(node->balancer, 0, m, backend->share, pair.now_ms);
		pair_hear(node, m);
	}
}

static void survey(struct pair_node *node)
{
	uint64_t pause;

	balancer_tick(node->balancer, pair.now_ms);
	do
		pause = balancer_survey(node->balancer, pair.now_ms);
	while (pause < 1000);
}

void pair_pass(uint64_t ms)
{
	pair.now_ms += ms;
	for (size_t i = 0; i < PAIR_NODES; i++) {
		if (pair.nodes[i].balancer)
			survey(&pair.nodes[i]);
	}
}

bool pair_table_is_odd(uint8_t number)
{
	return number == PAIR_SPARE ? pair.backends[number].listed
				    : pair.backends[number].weight != 100;
}

static bool is_odd(uint8_t number)
{
	const struct pair_backend *backend = &pair.backends[number];

	return pair_table_is_odd(number) || backend->fails || backend->admin != POOL_ACTIVE ||
	       backend->share != 100;
}

uint8_t pair_odd_one(void)
{
	for (uint8_t i = 0; i < PAIR_BACKENDS; i++) {
		if (is_odd(i))
			return i;
	}
	return PAIR_NOBODY;
}

/* --- packets --- */

struct pair_answer pair_segment(struct pair_node *node, uint16_t port, uint8_t tcp_flags)
{
	struct pkt pkt = {
		.sport = PKT_BE16(port),
		.dport = PKT_BE16(80),
		.proto = IPPROTO_TCP,
		.version = 4,
		.tcp_flags = tcp_flags,
		.service = balancer_service_record(node->balancer, 0),
	};
	struct pair_answer answer = {PAIR_NOBODY, PAIR_NOBODY, 0};
	uint32_t first, second;
	struct addr addr;

	addr_parse("192.0.2.1", &addr);
	pkt.dst = dp_addr(&addr);
	addr_parse("198.18.0.1", &addr);
	pkt.src = dp_addr(&addr);
	first = native_choose(node->native, &pkt, pair.now_ms * TIME_MILLI_NS, &second);
	assert_true(first < PAIR_RECORDS && second < PAIR_RECORDS);
	if (first)
		answer.first = node->numbers[first];
	if (second)
		answer.second = node->numbers[second];
	answer.slot = pkt.slot - balancer_first_slot(node->balancer, 0);
	return answer;
}

/* --- all --- */

void pair_begin(const char *pool, const char *seed, uint64_t idle_ms)
{
	pair = (struct pair){.pool = pool, .seed = seed, .idle_ms = idle_ms, .now_ms = 1000000};
	for (size_t i = 0; i < PAIR_BACKENDS; i++)
		pair.backends[i] = (struct pair_backend){
			.listed = i + 1 < PAIR_BACKENDS, .weight = 100, .share = 100};
	for (size_t i = 0; i < PAIR_NODES; i++) {
		memcpy(pair.nodes[i].told, pair.backends, sizeof(pair.backends));
		if (native_new(ENTRIES, &pair.nodes[i].native))
			fail_msg("out of memory");
	}
}

void pair_end(void)
{
	for (size_t i = 0; i < PAIR_NODES; i++) {
		pair_die(&pair.nodes[i]);
		native_free(pair.nodes[i].native);
		generations_fini(&pair.nodes[i].kept);
	}
}
