/* SPDX-License-Identifier: BSD-2-Clause */
/* The kinds of probes against servers of the test's own, right and wrong ones, on the loopback of a
 * network namespace of its own. What nginx, dnsmasq and TLS do is in tests/e2e/probes.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/ip_icmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/health/health_world.h"

static struct health_bytes bytes_of(const char *text)
{
	return (struct health_bytes){text, strlen(text)};
}

/* One probe decides; its reason ends so, "" a success. */
static void expect(const struct health_spec *spec, const char *error)
{
	struct health_seen seen = {0};

	health_add_seen(&seen, spec);
	health_wait_state(&seen, *error ? HEALTH_UNHEALTHY : HEALTH_HEALTHY);
	assert_string_equal(seen.then.last_error, error);
	health_remove(seen.check);
}

static bool has_not_run(void *arg)
{
	return health_status(((struct health_seen *)arg)->check)->not_run > 0;
}

static void expect_not_run(const struct health_spec *spec, const char *error)
{
	struct health_seen seen = {0};

	health_add_seen(&seen, spec);
	assert_true(loop_until(&health_loop, has_not_run, &seen));
	assert_string_equal(health_status(seen.check)->last_error, error);
	assert_int_equal(seen.changes, 0);
	health_remove(seen.check);
}

/* --- UDP and DNS --- */

/* What each datagram is answered with: `answer`, which begins with the question's first two bytes
 * where `is_dns`, or the question itself where it is NULL. */
struct responder {
	uv_poll_t poll;
	int fd;
	const char *answer;
	size_t length;
	bool is_dns;
	unsigned count;
};

static void on_question(uv_poll_t *poll, int status, int events)
{
	struct responder *responder = poll->data;
	struct sockaddr_storage from;
	socklen_t size = sizeof(from);
	char question[2048], answer[2048];
	ssize_t length = recvfrom(responder->fd, question, sizeof(question), 0,
				  (struct sockaddr *)&from, &size);

	(void)status;
	(void)events;
	assert_true(length >= 0);
	responder->count++;
	if (responder->answer) {
		memcpy(answer, responder->answer, responder->length);
		if (responder->is_dns && responder->length >= 2)
			memcpy(answer, question, 2);
		length = (ssize_t)responder->length;
	} else {
		memcpy(answer, question, (size_t)length);
	}
	sendto(responder->fd, answer, (size_t)length, 0, (struct sockaddr *)&from, size);
}

static void responder_open(struct responder *responder, const char *address)
{
	struct addr addr = health_addr(address);
	struct sockaddr_storage storage;
	socklen_t length = addr_sockaddr(&addr, HEALTH_PORT, &storage);

	responder->fd = socket(storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_return_code(bind(responder->fd, (struct sockaddr *)&storage, length), errno);
	uv_poll_init(&health_loop, &responder->poll, responder->fd);
	responder->poll.data = responder;
	uv_poll_start(&responder->poll, UV_READABLE, on_question);
}

static void responder_close(struct responder *responder)
{
	uv_close((uv_handle_t *)&responder->poll, NULL);
	uv_run(&health_loop, UV_RUN_NOWAIT);
	close(responder->fd);
}

static struct health_spec udp_spec(const char *address, const char *send, const char *receive)
{
	struct health_spec spec = health_spec_of(address, HEALTH_PORT);

	spec.type = HEALTH_UDP;
	spec.texts[HEALTH_SEND] = bytes_of(send);
	spec.texts[HEALTH_RECEIVE] = bytes_of(receive);
	return spec;
}

static void test_udp(void **state)
{
	struct responder responder = {0}, six = {0};
	struct health_spec spec = udp_spec("127.0.0.1", "ping", "");

	(void)state;
	expect(&spec, "connection refused");
	responder_open(&responder, "127.0.0.1");
	responder_open(&six, "::1");
	expect(&spec, "");
	spec.texts[HEALTH_SEND] = spec.texts[HEALTH_RECEIVE] = (struct health_bytes){"a\0b", 3};
	expect(&spec, "");
	spec.address = health_addr("::1");
	expect(&spec, "");
	responder.answer = "a b";
	responder.length = 3;
	spec.address = health_addr("127.0.0.1");
	expect(&spec, "an answer of 3 bytes does not contain what is expected");
	responder.length = 0;
	expect(&spec, "an answer of 0 bytes does not contain what is expected");
	responder_close(&responder);
	responder_close(&six);
}

/* A listener that never answers. */
static void test_udp_silence(void **state)
{
	struct health_spec spec = udp_spec("127.0.0.1", "ping", "");
	struct addr addr = spec.address;
	struct sockaddr_storage storage;
	socklen_t length = addr_sockaddr(&addr, HEALTH_PORT, &storage);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	(void)state;
	assert_return_code(bind(fd, (struct sockaddr *)&storage, length), errno);
	spec.timeout_ms = 50;
	expect(&spec, "no answer within 50 ms");
	close(fd);
}

/* A header and the question for A of "a.b"; the id is the question's. */
#define DNS_MESSAGE(flags, code, questions, answers) \
	"\0\0" flags code "\0" questions "\0" answers "\0\0\0\0"
#define DNS_QUESTION "\1A\1b\0\0\1\0\1"
/* Of the name of the question, with four bytes. */
#define DNS_RECORD(type) "\xc0\14\0" type "\0\1\0\0\0\0\0\4\12\0\0\1"

static void test_dns(void **state)
{
	static const struct {
		const char *answer;
		size_t length;
		const char *error;
	} rows[] = {
#define ROW(text, error) {text, sizeof(text) - 1, error}
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION DNS_RECORD("\1"), ""),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION
		    "\1a\1b\0\0\1\0\1\0\0\0\0\0\4\12\0\0\1",
		    ""),
		/* The name that has it; and a record of another type before it. */
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION DNS_RECORD("\5"), ""),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\2") DNS_QUESTION DNS_RECORD("\x2e")
			    DNS_RECORD("\1"),
		    ""),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION DNS_RECORD("\x2e"),
		    "the answer has no record"),
		/* Fewer records than it says, or cut within one. */
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION "\xc0",
		    "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION,
		    "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\2") DNS_QUESTION DNS_RECORD("\1"),
		    "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION
		    "\xc0\14\0\1\0\1\0\0\0\0\xff\xff",
		    "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") DNS_QUESTION "\x80\14",
		    "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x83", "\x80", "\1", "\1") DNS_QUESTION "\xc0", ""),
		ROW(DNS_MESSAGE("\x83", "\x80", "\1", "\0") DNS_QUESTION, ""),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\0") DNS_QUESTION,
		    "the answer has no record"),
		ROW(DNS_MESSAGE("\x81", "\x82", "\1", "\0") DNS_QUESTION, "the answer is SERVFAIL"),
		ROW(DNS_MESSAGE("\x81", "\x83", "\1", "\0") DNS_QUESTION, "the answer is NXDOMAIN"),
		ROW(DNS_MESSAGE("\x81", "\x85", "\0", "\0"), "the answer is REFUSED"),
		ROW(DNS_MESSAGE("\x81", "\x8b", "\0", "\0"), "the answer is an error"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\0", "\1"), "the answer is not DNS, or cut"),
		ROW(DNS_MESSAGE("\x81", "\x80", "\1", "\1") "\1A", "the answer is not DNS, or cut"),
		ROW("\0\0\x81", "the answer is not DNS, or cut"),
		ROW("", "the answer is not DNS, or cut"),
		/* Not an answer at all, or to another question. */
		ROW(DNS_MESSAGE("\1", "\0", "\1", "\1") DNS_QUESTION, "no answer within 50 ms"),
		ROW(DNS_MESSAGE("\x81", "\0", "\1", "\1") "\1A\1c\0\0\1\0\1",
		    "no answer within 50 ms"),
#undef ROW
	};
	struct responder responder = {.is_dns = true};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

	(void)state;
	spec.type = HEALTH_DNS;
	spec.record = 1;
	spec.texts[HEALTH_QUERY] = bytes_of("a.b.");
	responder_open(&responder, "127.0.0.1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		responder.answer = rows[i].answer;
		responder.length = rows[i].length;
		spec.timeout_ms = strstr(rows[i].error, "within") ? 50 : 5000;
		expect(&spec, rows[i].error);
	}
	responder_close(&responder);
}

/* --- ICMP --- */

static void test_icmp(void **state)
{
	struct health_spec spec = health_spec_of("127.0.0.1", 0);

	(void)state;
	spec.type = HEALTH_ICMP;
	expect(&spec, "");
	spec.address = health_addr("::1");
	expect(&spec, "");
	spec.address = health_addr("192.0.2.1");
	expect(&spec, "network is unreachable");
	assert_int_equal(system("echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all"), 0);
	spec.address = health_addr("127.0.0.1");
	spec.timeout_ms = 50;
	expect(&spec, "no answer within 50 ms");
	assert_int_equal(system("echo 0 > /proc/sys/net/ipv4/icmp_echo_ignore_all"), 0);
	spec.timeout_ms = 5000;
	expect(&spec, "");
}

/* Each answer reaches its own probe. */
static void test_many_icmp(void **state)
{
	enum { MANY = 200 };
	static struct health_seen seen[MANY];
	struct health_spec spec = health_spec_of("127.0.0.1", 0);

	(void)state;
	spec.type = HEALTH_ICMP;
	for (int i = 0; i < MANY; i++) {
		spec.address.bytes[14] = (uint8_t)i;
		health_add_seen(&seen[i], &spec);
	}
	for (int i = 0; i < MANY; i++) {
		health_wait_state(&seen[i], HEALTH_HEALTHY);
		assert_int_equal(health_status(seen[i].check)->failures, 0);
	}
}

/* Answers to somebody else's questions do not push out those to ours. */
static void test_icmp_of_others(void **state)
{
	enum { OTHERS = 20000 };
	struct health_spec spec = health_spec_of("127.0.0.1", 0);
	struct icmphdr echo = {.type = ICMP_ECHO, .checksum = (uint16_t)~ICMP_ECHO};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct health_seen seen = {0};
	int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);

	(void)state;
	assert_return_code(fd, errno);
	spec.type = HEALTH_ICMP;
	health_add_seen(&seen, &spec);
	health_wait_state(&seen, HEALTH_HEALTHY);
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(
			sendto(fd, &echo, sizeof(echo), 0, (struct sockaddr *)&to, sizeof(to)),
			sizeof(echo));
	health_wait_probes(&seen, 3);
	assert_int_equal(health_status(seen.check)->failures, 0);
	close(fd);
}

/* --- exec --- */

#define SHELL(script)                                                  \
	{                                                              \
		"/bin/sh\0-c\0" script, sizeof("/bin/sh\0-c\0" script) \
	}

static void test_exec(void **state)
{
	static const struct {
		struct health_bytes command;
		const char *error;
	} rows[] = {
		{SHELL("exit 0"), ""},
		{SHELL("[ $WEIR_ADDRESS:$WEIR_PORT = 127.0.0.1:8080 ]"), ""},
		{SHELL("[ -z \"$HOME\" ] && ! read line"), ""},
		{SHELL("exit 3"), "exit status 3"},
		{SHELL("echo it is; echo broken; exit 1"), "exit status 1: it is"},
		{SHELL("echo 'a\tb' >&2; exit 1"), "exit status 1: a b"},
		{SHELL("kill -9 $$"), "ended by signal 9"},
		{SHELL("sleep 60 & exit 0"), ""},
		{SHELL("exec yes"), "ended by signal 13: y"},
		{SHELL("sleep 60"), "no answer within 500 ms"},
	};
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

	(void)state;
	spec.type = HEALTH_EXEC;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		spec.texts[HEALTH_COMMAND] = rows[i].command;
		spec.timeout_ms = strstr(rows[i].error, "within") ? 500 : 30000;
		expect(&spec, rows[i].error);
	}
	spec.texts[HEALTH_COMMAND] = (struct health_bytes){"/nowhere/at/all", 16};
	expect_not_run(&spec, "probe not run: no such file or directory");
}

/* Whoever started this test may have left it some. */
static void keep_descriptors(void)
{
	for (int fd = 3; fd < 1024; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

/* Of all that other probes have open meanwhile, libraries' own included, a program gets nothing. */
static void test_exec_inherits_nothing(void **state)
{
	static const enum health_type types[] = {HEALTH_HTTP, HEALTH_HTTPS, HEALTH_TCP,
						 HEALTH_ICMP};
	static struct health_seen others[sizeof(types) / sizeof(types[0])], program;
	struct health_spec spec;
	int silent;

	(void)state;
	keep_descriptors();
	silent = health_listen("127.0.0.1", HEALTH_SILENT_PORT, 16);
	assert_return_code(fcntl(silent, F_SETFD, FD_CLOEXEC), errno);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		spec = health_spec_of("127.0.0.1", HEALTH_SILENT_PORT);
		spec.type = types[i];
		health_add_seen(&others[i], &spec);
	}
	/* By then curl has what it keeps. */
	health_wait_state(&others[2], HEALTH_HEALTHY);
	spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	spec.type = HEALTH_EXEC;
	spec.timeout_ms = 30000;
	spec.texts[HEALTH_COMMAND] = (struct health_bytes)SHELL(
		"for f in /proc/$$/fd/*; do [ ${f##*/} -gt 2 ] && [ -L $f ] && "
		"echo $f $(readlink $f) && exit 1; done; exit 0");
	health_add_seen(&program, &spec);
	health_wait_probes(&program, 1);
	assert_string_equal(health_status(program.check)->last_error, "");
	assert_int_equal(program.state, HEALTH_HEALTHY);
	close(silent);
}

static bool file_is_gone(void *arg)
{
	return access(arg, F_OK) != 0;
}

/* What a program has started dies with it; the loop waits until it is reaped. */
static void test_exec_killed(void **state)
{
	char pid_file[] = "/tmp/weir-probes-XXXXXX", command[256], process[64], line[32] = "",
	     error[64];
	int length = 0, fd = mkstemp(pid_file);
	struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);
	FILE *file;

	(void)state;
	assert_return_code(fd, errno);
	length = snprintf(command, sizeof(command), "/bin/sh%c-c%csleep 1000 & echo $! >%s; wait",
			  0, 0, pid_file);
	spec.type = HEALTH_EXEC;
	spec.texts[HEALTH_COMMAND] = (struct health_bytes){command, (size_t)length + 1};
	/* For as long as the shell has had no time to begin. */
	for (spec.timeout_ms = 300; !line[0] && spec.timeout_ms < 60000; spec.timeout_ms *= 3) {
		snprintf(error, sizeof(error), "no answer within %u ms", spec.timeout_ms);
		expect(&spec, error);
		file = fopen(pid_file, "r");
		assert_non_null(file);
		if (!fgets(line, sizeof(line), file))
			line[0] = '\0';
		fclose(file);
	}
	assert_true(line[0]);
	line[strcspn(line, "\n")] = '\0';
	snprintf(process, sizeof(process), "/proc/%s/fd/0", line);
	assert_true(loop_until(&health_loop, file_is_gone, process));
	unlink(pid_file);
	close(fd);
}

/* --- which specs can be --- */

static void test_bad_specs(void **state)
{
	static const char long_label[] =
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.b";
	static const struct {
		enum health_type type;
		enum health_text at;
		struct health_bytes text;
	} rows[] = {
		{HEALTH_UDP, HEALTH_SEND, {"", 0}},
		{HEALTH_UDP, HEALTH_PATH, {"/", 1}},
		{HEALTH_HTTP, HEALTH_SNI, {"a", 1}},
		{HEALTH_DNS, HEALTH_QUERY, {"", 0}},
		{HEALTH_DNS, HEALTH_QUERY, {"a..b", 4}},
		{HEALTH_DNS, HEALTH_QUERY, {"a.b..", 5}},
		{HEALTH_DNS, HEALTH_QUERY, {long_label, sizeof(long_label) - 1}},
		{HEALTH_EXEC, HEALTH_COMMAND, {"", 0}},
		{HEALTH_EXEC, HEALTH_COMMAND, {"sh", 3}},
		{HEALTH_EXEC, HEALTH_COMMAND, {"/bin/sh", 7}},
	};
	struct health_check *check;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct health_spec spec = health_spec_of("127.0.0.1", HEALTH_PORT);

		spec.type = rows[i].type;
		spec.record = 1;
		spec.texts[rows[i].at] = rows[i].text;
		assert_int_equal(health_add(health_all, &spec, health_on_changed, NULL, &check),
				 -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_udp, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_udp_silence, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_dns, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_icmp, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_many_icmp, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_icmp_of_others, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_exec, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_exec_inherits_nothing, health_set_up,
						health_tear_down),
		cmocka_unit_test_setup_teardown(test_exec_killed, health_set_up, health_tear_down),
		cmocka_unit_test_setup_teardown(test_bad_specs, health_set_up, health_tear_down),
	};

	return cmocka_run_group_tests(tests, health_open_world, NULL);
}
