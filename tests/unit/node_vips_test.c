/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VIPs and access lists brought into tables that packets read meanwhile: a successor of another
 * file over what an earlier daemon left. Each change of a prefix is a moment at which packets run:
 * what both files name must be served in all of them, what both refuse in none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/frame/frame.h"
#include "dp/verdict.h"
#include "engine/native.h"
#include "engine/prefixes.h"
#include "weir/balancer/balancer.h"
#include "weir/tables/access.h"

enum { SERVICES = 2, PREFIXES_MAX = CONF_VIPS_MAX, CROWDED_SECRET = 20 };

/* A service of a test; lists end with NULL. */
struct service {
	const char *vips[6];
	struct conf_listen listens[4];
	const char *allow[4], *deny[4];
	uint32_t rate_limit;
};

static struct native *native;
static struct dp_tables *tables;
static struct conf *conf;
static struct balancer *balancer;
static struct prefix vips[SERVICES][PREFIXES_MAX], allows[SERVICES][4], denies[SERVICES][4];
static struct conf_listen listens[SERVICES][4];
static unsigned waits;

/* Runs at each moment of a change. */
static void (*at_each_moment)(void);
static unsigned moments;

static int set_prefix(void *prefixes, const struct abi_prefix *prefix, uint32_t value)
{
	int ret = prefixes_set(prefixes, prefix, value);

	moments++;
	if (at_each_moment)
		at_each_moment();
	return ret;
}

static void wait_readers(void *readers)
{
	(void)readers;
	waits++;
	if (at_each_moment)
		at_each_moment();
}

static void ignore_record(void *arg, uint32_t record)
{
	(void)arg;
	(void)record;
}

static size_t parse_list(const char *const *texts, size_t most, struct prefix *ret)
{
	size_t count = 0;

	while (count < most && texts[count]) {
		assert_int_equal(prefix_parse(texts[count], &ret[count]), 0);
		count++;
	}
	return count;
}

static void set_service(size_t at, const struct service *wanted)
{
	struct conf_service *service = &conf->services[at];

	service->vips = vips[at];
	service->vip_count = parse_list(wanted->vips, 6, vips[at]);
	service->allow = allows[at];
	service->allow_count = parse_list(wanted->allow, 4, allows[at]);
	service->deny = denies[at];
	service->deny_count = parse_list(wanted->deny, 4, denies[at]);
	service->rate_limit = wanted->rate_limit;
	memcpy(listens[at], wanted->listens, sizeof(wanted->listens));
	service->listens = listens[at];
	service->listen_count = 0;
	while (service->listen_count < 4 && listens[at][service->listen_count].proto)
		service->listen_count++;
}

/* What a file of this shape would say; the rest is set by the test. */
static void parse_conf(size_t services)
{
	static const char *const texts[] = {
		"node: {name: n, interfaces: [eth0]}\n"
		"pools: [{name: web, table_size: 251, check: {type: none}, "
		"backends: [{name: b1, address: 10.0.0.1}]}]\n"
		"services: [{name: one, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n",
		"node: {name: n, interfaces: [eth0]}\n"
		"pools: [{name: web, table_size: 251, check: {type: none}, "
		"backends: [{name: b1, address: 10.0.0.1}]}]\n"
		"services: [{name: one, vips: [192.0.2.1], listen: [tcp/80], pool: web},\n"
		"           {name: two, vips: [192.0.2.2], listen: [tcp/80], pool: web}]\n",
	};
	struct err_list errors = {0};

	if (conf_parse(texts[services - 1], strlen(texts[services - 1]), &conf, &errors))
		fail_msg("line %d: %s", errors.errors[0].line, errors.errors[0].text);
}

static int start(struct err *err)
{
	static const struct balancer_start begin = {
		.health = POOL_HEALTHY,
		.unchecked = POOL_HEALTHY,
		.new_backend = ignore_record,
		.new_service = ignore_record,
	};

	moments = 0;
	waits = 0;
	return balancer_new(conf, tables, &begin, &balancer, err);
}

static void begin(const struct service *one, const struct service *two)
{
	struct err err = {0};

	parse_conf(two ? 2 : 1);
	set_service(0, one);
	if (two)
		set_service(1, two);
	if (start(&err))
		fail_msg("%s", err.text);
	for (size_t i = 0; i < conf->service_count; i++) {
		uint32_t record = balancer_service_record(balancer, i);

		assert_int_equal(!!(tables->services[record].flags & ABI_SERVICE_ACCESS),
				 access_is_limited(&conf->services[i]));
	}
}

/* As SIGKILL: the tables stay. */
static void killed(void)
{
	at_each_moment = NULL;
	balancer_free(balancer);
	conf_free(conf);
	balancer = NULL;
	conf = NULL;
}

static int set_up(void **state)
{
	(void)state;
	if (native_new(ABI_FLOWS_MIN, &native))
		return -1;
	tables = native_tables(native);
	tables->node->vip_secret = 7;
	tables->set_prefix = set_prefix;
	tables->wait_readers = wait_readers;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	killed();
	native_free(native);
	return 0;
}

static enum verdict run(const char *src, const char *dst, uint8_t proto, uint16_t port)
{
	const struct frame_spec spec = {
		.src = src, .dst = dst, .proto = proto, .dport = port, .payload = 8};
	uint8_t buffer[2 + FRAME_MAX + NATIVE_HEADROOM];
	struct dp_result result;
	struct frame frame;

	frame_build(&spec, &frame);
	memcpy(buffer + 2, frame.bytes, frame.length);
	assert_int_equal(native_run(native, buffer + 2, frame.length,
				    frame.length + NATIVE_HEADROOM, 1, &result),
			 0);
	/* Backends of this test have no next hop: that far a packet comes which is served. */
	return result.trace.verdict;
}

#define CLIENT4 "203.0.113.5"
#define CLIENT6 "2001:db8:c::5"
#define TCP(port)                       \
	{                               \
		IPPROTO_TCP, port, port \
	}
#define ANY                               \
	{                                 \
		CONF_PROTO_ANY, 0, 65535, \
	}

static void expect4(const char *dst, uint16_t port, enum verdict verdict)
{
	enum verdict got = run(CLIENT4, dst, IPPROTO_TCP, port);

	if (got != verdict)
		fail_msg("%s port %u: verdict %u, expected %u", dst, port, got, verdict);
}

static void expect6(const char *dst, uint16_t port, enum verdict verdict)
{
	enum verdict got = run(CLIENT6, dst, IPPROTO_TCP, port);

	if (got != verdict)
		fail_msg("%s port %u: verdict %u, expected %u", dst, port, got, verdict);
}

#define SERVED VERDICT_NO_NEIGHBOR

static size_t count_prefixes(uint32_t first, uint32_t last)
{
	struct dp_held *held;
	size_t count;

	assert_int_equal(dp_tables_hold(tables, first, last, &held, &count), 0);
	free(held);
	return count;
}

/* --- VIPs --- */

static const struct service wide_before = {
	.vips = {"198.18.0.0/16", "198.18.5.0/24", "2001:db8:20::/48", "192.0.2.1"},
	.listens = {TCP(80), TCP(443)},
};
static const struct service wide_after = {
	.vips = {"198.18.0.0/16", "198.18.6.0/24", "2001:db8:20::/48", "192.0.2.3"},
	.listens = {TCP(80), ANY},
};

static void kept_are_served(void)
{
	expect4("198.18.1.1", 80, SERVED);
	expect4("198.18.5.1", 80, SERVED); /* by its own prefix, then by the one around it */
	expect4("198.18.6.1", 80, SERVED);
	expect6("2001:db8:20::1", 80, SERVED);
}

static void test_prefixes_change(void **state)
{
	(void)state;
	begin(&wide_before, NULL);
	assert_int_not_equal(balancer_features(conf) & ABI_HAS_RANGES, 0);
	assert_int_equal(count_prefixes(ABI_LIST_VIPS, ABI_LIST_VIPS), 3);
	kept_are_served();
	expect4("192.0.2.1", 443, SERVED);
	expect4("198.18.1.1", 81, VERDICT_NOT_LISTENED);
	killed();
	at_each_moment = kept_are_served;
	begin(&wide_after, NULL);
	assert_true(moments >= 2 && waits >= 1);
	at_each_moment = NULL;
	kept_are_served();
	assert_int_equal(count_prefixes(ABI_LIST_VIPS, ABI_LIST_VIPS), 3);
	expect4("192.0.2.1", 80, VERDICT_NOT_VIP);
	expect4("192.0.2.3", 80, SERVED);
	expect4("198.18.1.1", 81, SERVED);
	assert_int_equal(run(CLIENT4, "198.18.1.1", IPPROTO_ESP, 0), SERVED);
	killed();
	/* No prefix any more: records are clear, and given away again. */
	begin(&(struct service){.vips = {"192.0.2.1"}, .listens = {TCP(80)}}, NULL);
	assert_int_equal(count_prefixes(0, UINT32_MAX >> 1), 0);
	for (uint32_t i = ABI_VIPS; i < ABI_VIPS + ABI_VIP_RANGES; i++)
		assert_int_equal(tables->vips[i].listens[0], 0);
	expect4("198.18.1.1", 80, VERDICT_NOT_VIP);
}

/* The same file writes nothing that was there. */
static void test_same_file(void **state)
{
	const struct service service = {
		.vips = {"198.18.0.0/16", "192.0.2.1"},
		.listens = {TCP(80)},
		.allow = {"203.0.113.0/24"},
		.deny = {"203.0.113.7/32"},
	};
	uint32_t access;

	(void)state;
	begin(&service, NULL);
	access = tables->services[balancer_service_record(balancer, 0)].access;
	assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1), 2);
	killed();
	begin(&service, NULL);
	assert_int_equal(moments, 0);
	assert_int_equal(tables->services[balancer_service_record(balancer, 0)].access, access);
	assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1), 2);
}

/* A prefix of no length in one family says nothing of the other, and exact addresses go first. */
static void test_all_of_a_family(void **state)
{
	(void)state;
	begin(&(struct service){.vips = {"::/0"}, .listens = {TCP(80)}},
	      &(struct service){.vips = {"192.0.2.9", "2001:db8::9"}, .listens = {TCP(81)}});
	expect6("2001:db8:77::1", 80, SERVED);
	expect6("2001:db8:77::1", 81, VERDICT_NOT_LISTENED);
	expect6("2001:db8::9", 80, VERDICT_NOT_LISTENED);
	expect6("2001:db8::9", 81, SERVED);
	expect4("192.0.2.10", 80, VERDICT_NOT_VIP);
	expect4("192.0.2.9", 80, VERDICT_NOT_LISTENED);
	killed();
	begin(&(struct service){.vips = {"0.0.0.0/0"}, .listens = {TCP(80)}}, NULL);
	expect4("192.0.2.10", 80, SERVED);
	expect4("192.0.2.9", 80, SERVED);
	expect6("2001:db8:77::1", 80, VERDICT_NOT_VIP);
}

/* As many as there are records; a file of others, which do not fit beside them; one too many. */
static void test_records_are_used_up(void **state)
{
	struct err err = {0};

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		size_t count = ABI_VIP_RANGES + (round == 2);

		parse_conf(1);
		for (size_t i = 0; i < count; i++) {
			uint32_t at = 0x0a000000U + round * 0x01000000U + (uint32_t)i * 16;

			vips[0][i] = (struct prefix){addr_from4(htonl(at)), 28};
		}
		conf->services[0].vips = vips[0];
		conf->services[0].vip_count = count;
		if (round == 2) {
			assert_int_equal(start(&err), -ENOSPC);
			assert_non_null(strstr(err.text, "1025 VIPs are prefixes"));
			/* And what was there is there. */
			expect4("11.0.63.255", 80, SERVED);
		} else {
			assert_int_equal(start(&err), 0);
			expect4(round ? "11.0.63.255" : "10.0.63.255", 80, SERVED);
			expect4("10.0.0.1", 80, round ? VERDICT_NOT_VIP : SERVED);
		}
		killed();
	}
}

/*
 * All addresses that a file may have, and all others in the next one. With this secret there is a
 * new one that finds no place before the old ones are gone.
 */
static void test_addresses_are_used_up(void **state)
{
	struct err err = {0};

	(void)state;
	tables->node->vip_secret = CROWDED_SECRET;
	for (uint32_t file = 0; file < 2; file++) {
		parse_conf(1);
		for (uint32_t i = 0; i < CONF_VIPS_MAX; i++)
			vips[0][i] = (struct prefix){
				addr_from4(htonl(0x0a000000U + (file << 20) + i * 7)), 32};
		conf->services[0].vips = vips[0];
		conf->services[0].vip_count = CONF_VIPS_MAX;
		if (start(&err))
			fail_msg("%s", err.text);
		for (uint32_t i = 0; i < CONF_VIPS_MAX; i++) {
			const uint64_t *words = dp_tables_vip(tables, &vips[0][i].addr);

			assert_true(words && words[0]);
		}
		expect4("10.0.0.7", 80, file ? VERDICT_NOT_VIP : SERVED);
		killed();
	}
}

/* --- access lists --- */

static void always_the_same(void)
{
	assert_int_equal(run("203.0.113.5", "192.0.2.1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(run("203.0.113.7", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("2001:db8:c::5", "2001:db8::1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(run("2001:db8:d::5", "2001:db8::1", IPPROTO_TCP, 80), VERDICT_DENIED);
}

static void test_list_changes(void **state)
{
	const struct service first = {
		.vips = {"192.0.2.1", "2001:db8::1"},
		.listens = {TCP(80)},
		.allow = {"203.0.113.0/24", "2001:db8:c::/48"},
		.deny = {"203.0.113.7/32"},
	};
	struct service second = first;
	uint32_t access;

	(void)state;
	second.allow[0] = "203.0.0.0/16";
	second.deny[1] = "203.0.114.0/24";
	begin(&first, NULL);
	always_the_same();
	assert_int_equal(run("203.0.114.5", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("203.0.115.5", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	access = tables->services[balancer_service_record(balancer, 0)].access;
	for (int round = 0; round < 4; round++) {
		killed();
		at_each_moment = always_the_same;
		begin(round % 2 ? &first : &second, NULL);
		assert_true(moments >= 7 && waits >= 1);
		assert_int_equal(tables->services[balancer_service_record(balancer, 0)].access ==
					 access,
				 round % 2);
		assert_int_equal(run("203.0.115.5", "192.0.2.1", IPPROTO_TCP, 80),
				 round % 2 ? VERDICT_DENIED : SERVED);
		assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1),
				 round % 2 ? 3 : 4);
	}
	killed();
	/* Nobody is refused: no list, no flag, nothing left. */
	begin(&(struct service){.vips = {"192.0.2.1"},
				.listens = {TCP(80)},
				.allow = {"0.0.0.0/0", "::/0"}},
	      NULL);
	assert_int_equal(run("203.0.113.7", "192.0.2.1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1), 0);
	assert_int_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
}

/* Who is denied is denied with the same prefix allowed too; and families are apart. */
static void test_list_rules(void **state)
{
	(void)state;
	begin(&(struct service){.vips = {"192.0.2.1", "2001:db8::1"},
				.listens = {TCP(80)},
				.allow = {"203.0.113.0/24", "203.0.113.0/24", "::/0"},
				.deny = {"203.0.113.0/24", "2001:db8:bad::/48"}},
	      &(struct service){.vips = {"192.0.2.2", "2001:db8::2"},
				.listens = {TCP(80)},
				.deny = {"203.0.113.0/24"}});
	assert_int_not_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
	assert_int_equal(run("203.0.113.5", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("198.51.100.5", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("2001:db8:c::5", "2001:db8::1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(run("2001:db8:bad::5", "2001:db8::1", IPPROTO_TCP, 80), VERDICT_DENIED);
	/* Nothing said of who may: everybody but those denied. */
	assert_int_equal(run("203.0.113.5", "192.0.2.2", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("198.51.100.5", "192.0.2.2", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(run("2001:db8:bad::5", "2001:db8::2", IPPROTO_TCP, 80), SERVED);
	killed();
	/* A service that goes takes its list along. */
	begin(&(struct service){.vips = {"192.0.2.1"}, .listens = {TCP(80)}}, NULL);
	assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1), 0);
	assert_int_equal(run("203.0.113.5", "192.0.2.1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(run("203.0.113.5", "192.0.2.2", IPPROTO_TCP, 80), VERDICT_NOT_VIP);
}

/* A daemon that ended while it built a list leaves entries that must not come to count. */
static void test_half_a_list(void **state)
{
	const struct service service = {
		.vips = {"192.0.2.1"}, .listens = {TCP(80)}, .allow = {"203.0.113.0/24"}};
	struct prefix stray = {addr_from4(htonl(0xc6330000)), 16};
	struct abi_prefix key;
	uint32_t access;

	(void)state;
	begin(&service, NULL);
	access = tables->services[balancer_service_record(balancer, 0)].access;
	for (uint32_t other = access - 1; other <= access + 1; other += 2) {
		key = dp_prefix(other, &stray);
		assert_int_equal(prefixes_set(tables->prefixes, &key, ABI_ACCESS_ALLOW), 0);
	}
	killed();
	begin(&(struct service){.vips = {"192.0.2.1"},
				.listens = {TCP(80)},
				.allow = {"203.0.114.0/24"}},
	      NULL);
	assert_int_equal(count_prefixes(ABI_LIST_ACCESS, UINT32_MAX >> 1), 1);
	assert_int_equal(run("198.51.0.1", "192.0.2.1", IPPROTO_TCP, 80), VERDICT_DENIED);
	assert_int_equal(run("203.0.114.1", "192.0.2.1", IPPROTO_TCP, 80), SERVED);
}

/* --- rates --- */

static void test_rate(void **state)
{
	struct service service = {.vips = {"192.0.2.1"}, .listens = {TCP(80)}, .rate_limit = 20};
	uint32_t passed = 0;

	(void)state;
	begin(&service, NULL);
	assert_int_not_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
	for (int i = 0; i < 10; i++)
		passed += run(CLIENT4, "192.0.2.1", IPPROTO_TCP, 80) == SERVED;
	assert_int_equal(passed, 3);
	assert_int_equal(run(CLIENT4, "192.0.2.1", IPPROTO_TCP, 80), VERDICT_RATE_LIMITED);
	killed();
	service.rate_limit = 0;
	begin(&service, NULL);
	assert_int_equal(run(CLIENT4, "192.0.2.1", IPPROTO_TCP, 80), SERVED);
	assert_int_equal(balancer_features(conf) & ABI_HAS_SPECIAL, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_prefixes_change),
		TEST(test_same_file),
		TEST(test_all_of_a_family),
		TEST(test_records_are_used_up),
		TEST(test_addresses_are_used_up),
		TEST(test_list_changes),
		TEST(test_list_rules),
		TEST(test_half_a_list),
		TEST(test_rate),
	};

	return cmocka_run_group_tests_name("node_vips", tests, NULL, NULL);
}
