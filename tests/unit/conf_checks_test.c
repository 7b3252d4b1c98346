/* SPDX-License-Identifier: BSD-2-Clause */
/* The keys of checks: what each type has, what is refused, and what becomes of it for the room of
 * health. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/conf_expect.h"
#include "base/escape.h"
#include "weir/probing/probing.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define CHECK(text)   POOL_OF("check: {" text "}")
#define UDP_SERVICE(add) \
	"services: [{name: dns, vips: [192.0.2.1], listen: [" add "udp/53], pool: web}]\n"

static void assert_text(const struct probing *probing, enum health_text at, const char *text,
			size_t length)
{
	assert_int_equal(probing->spec.texts[at].length, length);
	assert_memory_equal(probing->spec.texts[at].data, text, length);
}

/* The first backend's. */
static struct probing probing_of(const char *text, struct conf **ret_conf)
{
	struct conf *conf = conf_expect_right(text), *again;
	char *form = conf_format(conf), *second;
	struct probing probing;

	again = conf_expect_right(form);
	second = conf_format(again);
	assert_string_equal(form, second);
	assert_int_equal(
		probing_init(again, &again->pools[0], &again->pools[0].backends[0], &probing), 0);
	free(form);
	free(second);
	conf_free(conf);
	*ret_conf = again;
	return probing;
}

static void test_http(void **state)
{
	struct conf *conf;
	struct probing probing = probing_of(
		CHECK("type: http, path: /a?b, host: shop, expect: [204, 503], body: "
		      "'o\\x00k\\\\', "
		      "method: HEAD, interval: 4s, fast_interval: 500ms, jitter: 20, initial: "
		      "healthy"),
		&conf);
	const struct health_spec *spec = &probing.spec;

	(void)state;
	assert_int_equal(spec->type, HEALTH_HTTP);
	assert_int_equal(spec->port, 80);
	assert_true(spec->head);
	assert_int_equal(spec->interval_ms, 4000);
	assert_int_equal(spec->fast_interval_ms, 500);
	assert_int_equal(spec->jitter, 20);
	assert_int_equal(spec->initial, HEALTH_HEALTHY);
	assert_text(&probing, HEALTH_PATH, "/a?b", 4);
	assert_text(&probing, HEALTH_HOST, "shop", 4);
	assert_text(&probing, HEALTH_BODY, "o\0k\\", 4);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(spec->statuses[i], i == 1   ? 1ULL << (104 - 64)
						    : i == 6 ? 1ULL << (403 - 384)
							     : 0);
	probing_fini(&probing);
	conf_free(conf);
}

static void test_https(void **state)
{
	struct conf *conf;
	struct probing probing = probing_of(
		CHECK("type: https, port: 8443, sni: shop.example, ca_file: /ca, cert_file: /c, "
		      "key_file: /k"),
		&conf);

	(void)state;
	assert_int_equal(probing.spec.type, HEALTH_HTTPS);
	assert_int_equal(probing.spec.port, 8443);
	assert_int_equal(probing.spec.statuses[1], 1ULL << (100 - 64)); /* 200 */
	assert_false(probing.spec.insecure);
	assert_text(&probing, HEALTH_PATH, "/", 1);
	assert_text(&probing, HEALTH_SNI, "shop.example", 12);
	assert_text(&probing, HEALTH_CA_FILE, "/ca", 3);
	assert_text(&probing, HEALTH_CERT_FILE, "/c", 2);
	assert_text(&probing, HEALTH_KEY_FILE, "/k", 2);
	probing_fini(&probing);
	conf_free(conf);
	probing = probing_of(CHECK("type: https, insecure: true, jitter: 0"), &conf);
	assert_true(probing.spec.insecure);
	assert_int_equal(probing.spec.jitter, 0);
	assert_int_equal(probing.spec.fast_interval_ms, probing.spec.interval_ms);
	probing_fini(&probing);
	conf_free(conf);
}

static void test_others(void **state)
{
	static const char command[] = "/bin/true\0-x\0a b";
	struct conf *conf;
	struct probing probing;

	(void)state;
	probing = probing_of(NODE "pools: [{name: web, check: {type: udp, send: \"\\\\x01hi\", "
				  "receive: ok, initial: unhealthy}, backends: [{name: b1, "
				  "address: 10.0.1.1}]}]\n" UDP_SERVICE("tcp/80, "),
			     &conf);
	assert_int_equal(probing.spec.type, HEALTH_UDP);
	assert_int_equal(probing.spec.port, 53);
	assert_int_equal(probing.spec.initial, HEALTH_UNHEALTHY);
	assert_text(&probing, HEALTH_SEND, "\1hi", 3);
	assert_text(&probing, HEALTH_RECEIVE, "ok", 2);
	probing_fini(&probing);
	conf_free(conf);

	probing =
		probing_of(CHECK("type: dns, port: 5353, query: www.example., record: mx"), &conf);
	assert_int_equal(probing.spec.type, HEALTH_DNS);
	assert_int_equal(probing.spec.record, 15);
	assert_text(&probing, HEALTH_QUERY, "www.example.", 12);
	probing_fini(&probing);
	conf_free(conf);

	probing = probing_of(CHECK("type: icmp"), &conf);
	assert_int_equal(probing.spec.type, HEALTH_ICMP);
	assert_int_equal(probing.spec.port, 0);
	probing_fini(&probing);
	conf_free(conf);

	probing = probing_of(CHECK("type: exec, command: [/bin/true, -x, a b]"), &conf);
	assert_int_equal(probing.spec.type, HEALTH_EXEC);
	assert_int_equal(probing.spec.port, 80);
	assert_text(&probing, HEALTH_COMMAND, command, sizeof(command));
	probing_fini(&probing);
	conf_free(conf);
}

/* What every type makes of it health takes. */
static void test_taken(void **state)
{
	static const char *const files[] = {
		CHECK("type: tcp"),
		CHECK("type: http"),
		CHECK("type: https"),
		CHECK("type: udp, port: 1, send: x"),
		CHECK("type: dns, port: 1, query: ."),
		CHECK("type: icmp"),
		CHECK("type: exec, command: [/x]"),
		NODE "pools: [{name: web, check: {type: exec, command: [/x]}, backends: [{name: "
		     "b1, address: 10.0.1.1}]}]\n" UDP_SERVICE(""),
	};
	struct health_check *check;
	struct health *health;
	uv_loop_t loop;

	(void)state;
	uv_loop_init(&loop);
	assert_int_equal(health_open(&loop, &health), 0);
	for (size_t i = 0; i < LENGTH(files); i++) {
		struct conf *conf;
		struct probing probing = probing_of(files[i], &conf);

		assert_int_equal(health_add(health, &probing.spec, NULL, NULL, &check), 0);
		probing_fini(&probing);
		conf_free(conf);
	}
	health_close(health);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* To the VIP of the first service that listens there, and its port, whatever the backend's. */
static void test_tunnel(void **state)
{
	static const struct {
		const char *check, *port, *listen;
		uint16_t want;
	} rows[] = {
		{"", "port: 8080", "[tcp/90]", 90},
		{", port: 97", "weight: 1", "[tcp/90, tcp/95-99]", 97},
		{", port: 53", "weight: 1", "[any]", 53},
	};
	struct conf *conf;
	struct probing probing;
	struct addr vip;

	(void)state;
	assert_int_equal(addr_parse("192.0.2.2", &vip), 0);
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char file[1024];

		snprintf(file, sizeof(file),
			 NODE "pools: [{name: web, check: {type: http, via: tunnel%s}, backends: "
			      "[{name: b1, address: 10.0.1.1, %s}]}]\n"
			      "services:\n"
			      "- {name: a, vips: [192.0.2.1], listen: [udp/1000], pool: web, "
			      "forward: geneve}\n"
			      "- {name: b, vips: [192.0.2.2, 192.0.2.3], listen: %s, pool: web, "
			      "forward: geneve}\n",
			 rows[i].check, rows[i].port, rows[i].listen);
		probing = probing_of(file, &conf);
		assert_true(addr_equal(&probing.spec.address, &vip));
		assert_int_equal(probing.spec.port, rows[i].want);
		assert_true(probing_needs_tunnel(conf));
		assert_string_equal(conf_check_service(conf, &conf->pools[0])->name, "b");
		probing_fini(&probing);
		conf_free(conf);
	}
}

static void test_refused(void **state)
{
	static const struct wrong_case cases[] = {
		{CHECK("type: http, path: x"), {{2, 47, "path \"x\" does not begin with a slash"}}},
		{CHECK("type: http, path: /a b"), {{2, 47, "letters that a request cannot have"}}},
		{CHECK("type: http, path: '/a#b'"), {{2, 47, "letters"}}},
		{CHECK("type: http, host: a/b, sni: x"),
		 {{2, 47, "host \"a/b\" is not a host"},
		  {2, 52, "sni means nothing here, expected type: https"}}},
		{CHECK("type: http, expect: [99, 600]"),
		 {{2, 50, "expect \"99\" is too small, expected a status from 100 to 599"},
		  {2, 54, "expect \"600\" is too large"}}},
		{CHECK("type: http, expect: []"), {{2, 49, "expect has 0 elements"}}},
		{CHECK("type: http, body: 'a\\b'"), {{2, 47, "body"}}},
		{CHECK("type: http, body: ''"), {{2, 47, "body \"\" is empty"}}},
		{CHECK("path: /, send: x"),
		 {{2, 29, "path means nothing here, expected type: http or https"},
		  {2, 38, "send means nothing here, expected type: udp"}}},
		{CHECK("type: https, insecure: true, ca_file: /x"),
		 {{2, 58,
		   "ca_file means nothing here, expected type: https and insecure: "
		   "false"}}},
		{CHECK("type: https, ca_file: ca.pem"), {{2, 51, "ca_file \"ca.pem\" does not"}}},
		{CHECK("type: https, cert_file: /x"),
		 {{2, 35, "key_file is missing, expected it beside cert_file"}}},
		{CHECK("type: udp, port: 1"), {{2, 35, "send is missing"}}},
		{CHECK("type: udp, send: x"), {{2, 35, "listens on a UDP port"}}},
		{CHECK("type: dns, port: 1"), {{2, 35, "query is missing"}}},
		{CHECK("type: dns, port: 1, query: a..b"),
		 {{2, 56, "query \"a..b\" is not a domain name"}}},
		{CHECK("type: exec"), {{2, 35, "command is missing"}}},
		{CHECK("type: exec, command: [true]"), {{2, 50, "does not begin with a slash"}}},
		{CHECK("type: icmp, port: 1"),
		 {{2, 41, "port means nothing here, expected another type than icmp and none"}}},
		{CHECK("type: icmp, via: tunnel"),
		 {{2, 41, "via means nothing here, expected another type than icmp, exec"}}},
		{CHECK("port: 81, via: tunnel"),
		 {{2, 44, "goes through a tunnel to TCP port 81, expected a service"}}},
		{CHECK("jitter: 51, initial: up"),
		 {{2, 37, "jitter \"51\" is too large"}, {2, 50, "initial \"up\" is not known"}}},
	};

	(void)state;
	conf_expect_refused(cases, LENGTH(cases));
}

static void test_escape(void **state)
{
	static const struct {
		const char *text, *bytes;
		long length;
	} rows[] = {
		{"", "", 0},
		{"a b", "a b", 3},
		{"\\\\x41", "\\x41", 4},
		{"\\x00\\xfF\\x7e", "\0\xff~", 3},
		{"\\", NULL, -EINVAL},
		{"\\n", NULL, -EINVAL},
		{"\\x4", NULL, -EINVAL},
		{"\\xg0", NULL, -EINVAL},
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(rows); i++) {
		char bytes[16];

		assert_int_equal(escape_decode(rows[i].text, bytes), rows[i].length);
		if (rows[i].bytes)
			assert_memory_equal(bytes, rows[i].bytes, (size_t)rows[i].length);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http),   cmocka_unit_test(test_https),
		cmocka_unit_test(test_others), cmocka_unit_test(test_taken),
		cmocka_unit_test(test_tunnel), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_escape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
