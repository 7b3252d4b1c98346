/* SPDX-License-Identifier: BSD-2-Clause */
/* The control socket: the server on the test's loop, clients in a thread (control_call) or by
 * hand on raw sockets, all in a directory of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "admin/control.h"

static uv_loop_t loop;
static struct control *control;
static char directory[] = "/tmp/control_test.XXXXXX";
static char path[128];
static unsigned handled;

/* {"echo": x} gives {"echo": x}; {"size": n} a text of n bytes; {"fail": t} an error. */
static json_t *handle(void *arg, const json_t *request, const struct control_peer *peer)
{
	const json_t *size = json_object_get(request, "size");
	const char *fail = json_string_value(json_object_get(request, "fail"));

	assert_ptr_equal(arg, &handled);
	/* It is we ourselves. */
	assert_true(peer->is_trusted);
	assert_int_equal(peer->pid, getpid());
	handled++;
	if (json_object_get(request, "close")) {
		control_close(control);
		control = NULL;
	}
	if (json_object_get(request, "nothing"))
		return NULL;
	if (fail)
		return json_pack("{s:s}", "error", fail);
	if (size) {
		size_t length = (size_t)json_integer_value(size);
		char *text = malloc(length + 1);
		json_t *answer;

		memset(text, 'x', length);
		text[length] = '\0';
		answer = json_pack("{s:s#}", "text", text, (int)length);
		free(text);
		return answer;
	}
	return json_pack("{s:O}", "echo", json_object_get(request, "echo") ?: json_null());
}

static int open_world(void **state)
{
	(void)state;
	signal(SIGPIPE, SIG_DFL); /* a write to a client that is gone would kill the test */
	return mkdtemp(directory) ? 0 : -1;
}

static int close_world(void **state)
{
	(void)state;
	return rmdir(directory);
}

static void listen_here(void)
{
	struct err err = {0};

	if (control_listen(&loop, path, handle, &handled, &control, &err))
		fail_msg("%s", err.text);
}

static int set_up(void **state)
{
	(void)state;
	handled = 0;
	control = NULL;
	uv_loop_init(&loop);
	snprintf(path, sizeof(path), "%s/control.sock", directory);
	return 0;
}

static void close_here(void)
{
	if (control)
		control_close(control);
	control = NULL;
	uv_run(&loop, UV_RUN_DEFAULT);
}

static int tear_down(void **state)
{
	(void)state;
	close_here();
	return uv_loop_close(&loop);
}

/* A control_call in a thread, while the loop runs here. */
struct call {
	const char *request;
	int timeout_ms;
	json_t *answer;
	struct err err;
	int code;
	atomic_bool ended;
};

static void call_thread(void *arg)
{
	struct call *call = arg;
	json_t *request = json_loads(call->request, 0, NULL);

	call->code = control_call(path, request, call->timeout_ms, &call->answer, &call->err);
	json_decref(request);
	atomic_store(&call->ended, true);
}

static bool has_ended(void *arg)
{
	struct call *call = arg;

	return atomic_load(&call->ended);
}

/* The answer as text; free it. NULL: the call failed, see call->err. */
static char *run_call(struct call *call)
{
	char *text = NULL;
	uv_thread_t thread;

	if (!call->timeout_ms)
		call->timeout_ms = LOOP_WAIT_MS;
	uv_thread_create(&thread, call_thread, call);
	assert_true(loop_until(&loop, has_ended, call));
	uv_thread_join(&thread);
	if (!call->code)
		text = json_dumps(call->answer, JSON_COMPACT);
	json_decref(call->answer);
	return text;
}

static void assert_call(const char *request, const char *expected)
{
	struct call call = {.request = request};
	char *text = run_call(&call);

	if (!text)
		fail_msg("%s", call.err.text);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_call_fails(const char *request, int code, const char *text)
{
	/* Where no answer is what is wanted, it is not waited for long. */
	struct call call = {.request = request, .timeout_ms = code == -ETIMEDOUT ? 200 : 0};

	assert_null(run_call(&call));
	assert_int_equal(call.code, code);
	if (!strstr(call.err.text, text))
		fail_msg("'%s' lacks '%s'", call.err.text, text);
}

/* A client by hand. */
struct raw {
	int fd;
	char text[512];
	size_t length;
	bool ended;
};

static void raw_open(struct raw *raw)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};

	memset(raw, 0, sizeof(*raw));
	strcpy(name.sun_path, path);
	raw->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	assert_return_code(connect(raw->fd, (struct sockaddr *)&name, sizeof(name)), errno);
}

static void raw_send(struct raw *raw, const char *text, size_t length)
{
	assert_int_equal(send(raw->fd, text, length, MSG_NOSIGNAL), length);
}

static bool raw_has_ended(void *arg)
{
	struct raw *raw = arg;
	char *end = raw->text + raw->length;
	ssize_t got = recv(raw->fd, end, sizeof(raw->text) - 1 - raw->length, 0);

	if (got > 0)
		raw->length += (size_t)got;
	if (got == 0 || (got < 0 && errno != EAGAIN))
		raw->ended = true;
	return raw->ended;
}

static void assert_raw(const char *request, size_t length, bool shut, const char *expected)
{
	struct raw raw;

	raw_open(&raw);
	raw_send(&raw, request, length);
	if (shut)
		shutdown(raw.fd, SHUT_WR);
	assert_true(loop_until(&loop, raw_has_ended, &raw));
	assert_string_equal(raw.text, expected);
	close(raw.fd);
}

static void test_round_trip(void **state)
{
	(void)state;
	listen_here();
	assert_call("{\"echo\":[1,2,{\"three\":null}]}", "{\"echo\":[1,2,{\"three\":null}]}");
	assert_call("{\"echo\":\"line\\nline\"}", "{\"echo\":\"line\\nline\"}");
	assert_int_equal(handled, 2);
	assert_call_fails("{\"fail\":\"pool web: no such pool\"}", -EREMOTEIO,
			  "pool web: no such pool");
	assert_call_fails("{\"nothing\":1}", -EREMOTEIO, "there is no answer");
}

static void test_garbage(void **state)
{
	static const char no_json[] =
		"{\"error\":\"the request is no JSON, or has a key twice\"}\n";
	static const char no_object[] = "{\"error\":\"the request is no JSON object\"}\n";
	static const struct {
		const char *request, *answer;
	} rows[] = {
		{"hello\n", no_json},
		{"\n", no_json},
		{"{\n", no_json},
		{"{\"echo\":1} x\n", no_json},
		{"\xff\xfe\n", no_json},
		{"{\"echo\":\"\xc3\x28\"}\n", no_json},
		{"GET / HTTP/1.1\r\n\r\n", no_json},
		{"{\"echo\":1,\"echo\":2}\n", no_json},
		{"[]\n", no_object},
		{"[{\"echo\":1}]\n", no_object},
		{"{\"echo\":1}\n", "{\"echo\":1}\n"},
		{"{\"echo\":1}\n{\"echo\":2}\n", "{\"echo\":1}\n"},
		{"  {\"echo\":1}  \r\n", "{\"echo\":1}\n"},
	};
	char deep[20000];

	(void)state;
	listen_here();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_raw(rows[i].request, strlen(rows[i].request), false, rows[i].answer);
	assert_raw("{\"echo\":\0 1}\n", 13, false, no_json);
	assert_raw("{\"echo\":3}", 10, true, "{\"echo\":3}\n");
	assert_raw("", 0, true, "");
	memset(deep, '[', sizeof(deep));
	deep[sizeof(deep) - 1] = '\n';
	assert_raw(deep, sizeof(deep), false, no_json);
	assert_int_equal(handled, 4);
}

static void test_request_size(void **state)
{
	char *request = malloc(CONTROL_REQUEST_MAX + 2);
	json_t *large = json_object();
	json_t *ret;

	(void)state;
	listen_here();
	memset(request, ' ', CONTROL_REQUEST_MAX + 2);
	memcpy(request, "{\"echo\":1}", 10);
	request[CONTROL_REQUEST_MAX] = '\n';
	assert_raw(request, CONTROL_REQUEST_MAX + 1, false, "{\"echo\":1}\n");
	request[CONTROL_REQUEST_MAX] = ' ';
	assert_raw(request, CONTROL_REQUEST_MAX + 1, false,
		   "{\"error\":\"the request is too large\"}\n");
	request[CONTROL_REQUEST_MAX + 1] = '\0';
	json_object_set_new(large, "echo", json_string(request));
	assert_int_equal(control_call(path, large, 1000, &ret, NULL), -E2BIG);
	json_decref(large);
	free(request);
}

static void test_large_answer(void **state)
{
	enum { SIZE = 50 * 1024 * 1024 };
	char request[64];
	struct call call = {.request = request};
	char *text;

	(void)state;
	listen_here();
	snprintf(request, sizeof(request), "{\"size\":%d}", SIZE);
	text = run_call(&call);
	assert_non_null(text);
	assert_int_equal(strlen(text), SIZE + strlen("{\"text\":\"\"}"));
	free(text);
	snprintf(request, sizeof(request), "{\"size\":%d}", CONTROL_ANSWER_MAX);
	call = (struct call){.request = request};
	assert_null(run_call(&call));
	assert_int_equal(call.code, -EREMOTEIO);
	assert_string_equal(call.err.text, "the answer is too large");
}

static bool has_handled(void *arg)
{
	return handled == *(unsigned *)arg;
}

/* Before the answer is written, and while it is. */
static void test_hang_up(void **state)
{
	static const char request[] = "{\"size\":4000000}\n";
	struct raw raw;
	unsigned wanted = 1;

	(void)state;
	listen_here();
	raw_open(&raw);
	raw_send(&raw, request, strlen(request));
	close(raw.fd);
	assert_true(loop_until(&loop, has_handled, &wanted));
	raw_open(&raw);
	raw_send(&raw, request, strlen(request));
	wanted = 2;
	assert_true(loop_until(&loop, has_handled, &wanted));
	uv_run(&loop, UV_RUN_NOWAIT); /* writes what the socket holds */
	close(raw.fd);
	raw_open(&raw);
	raw_send(&raw, "{\"ec", 4);
	close(raw.fd);
	assert_call("{\"echo\":1}", "{\"echo\":1}");
	assert_int_equal(handled, 3);
}

static unsigned mode_of(const char *name)
{
	struct stat found;

	assert_return_code(lstat(name, &found), errno);
	return found.st_mode & 07777;
}

static void test_path(void **state)
{
	char parent[128], grand[128], name[256];
	struct err err = {0};
	mode_t before = umask(077);
	int fd;

	(void)state;
	snprintf(grand, sizeof(grand), "%s/run", directory);
	snprintf(parent, sizeof(parent), "%s/run/weir", directory);
	snprintf(path, sizeof(path), "%s/run/weir/control.sock", directory);
	listen_here();
	umask(before);
	assert_int_equal(mode_of(path), 0660);
	assert_int_equal(mode_of(parent), 0755);
	assert_int_equal(mode_of(grand), 0755);
	assert_call("{\"echo\":1}", "{\"echo\":1}");
	close_here();
	assert_int_equal(access(path, F_OK), -1);

	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_return_code(fd, errno);
	close(fd);
	assert_int_equal(control_listen(&loop, path, handle, &handled, &control, &err), -EEXIST);
	assert_non_null(strstr(err.text, "is no socket"));
	snprintf(name, sizeof(name), "%s/control.sock", path); /* below a file */
	assert_int_equal(control_listen(&loop, name, handle, &handled, &control, &err), -ENOTDIR);
	unlink(path);
	rmdir(parent);
	rmdir(grand);

	memset(name, 'x', sizeof(name));
	memcpy(name, directory, strlen(directory));
	name[strlen(directory)] = '/';
	name[sizeof(((struct sockaddr_un *)0)->sun_path)] = '\0';
	assert_int_equal(control_listen(&loop, name, handle, &handled, &control, &err),
			 -ENAMETOOLONG);
	assert_non_null(strstr(err.text, "must have 1 to 107 bytes"));
	assert_int_equal(control_listen(&loop, "", handle, &handled, &control, &err),
			 -ENAMETOOLONG);
	control = NULL;
}

/* Left by a daemon that is gone; and one that was replaced leaves its successor's alone. */
static void test_stale(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct control *first;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	assert_call_fails("{}", -ENOENT, "no daemon listens on /");
	strcpy(name.sun_path, path);
	assert_return_code(bind(fd, (struct sockaddr *)&name, sizeof(name)), errno);
	close(fd);
	assert_call_fails("{}", -ECONNREFUSED, "no daemon listens on /");
	listen_here();
	assert_call("{\"echo\":1}", "{\"echo\":1}");
	first = control;
	listen_here();
	control_close(first);
	assert_call("{\"echo\":2}", "{\"echo\":2}");
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count - 3;
}

static bool has_descriptors(void *arg)
{
	return open_descriptors() == *(unsigned *)arg;
}

static bool is_cut(void *arg)
{
	struct raw *raw = arg;

	return recv(raw->fd, raw->text, 1, MSG_PEEK) >= 0 &&
	       send(raw->fd, "x", 1, MSG_NOSIGNAL) < 0 && errno == EPIPE;
}

/* One asks and does not read, others say nothing; all places are taken until they are cut, and
 * who comes later waits. */
static void test_dawdlers(void **state)
{
	enum { MANY = CONTROL_CLIENTS_MAX + 8 };
	struct raw raw[MANY], lazy;
	unsigned full;

	(void)state;
	listen_here();
	raw_open(&lazy);
	raw_send(&lazy, "{\"size\":1000000}\n", 17);
	assert_true(loop_until(&loop, has_handled, &(unsigned){1}));
	for (int i = 0; i < MANY; i++)
		raw_open(&raw[i]);
	full = open_descriptors() + CONTROL_CLIENTS_MAX - 1;
	assert_true(loop_until(&loop, has_descriptors, &full));
	assert_call_fails("{\"echo\":1}", -ETIMEDOUT, "no answer on");
	assert_int_equal(open_descriptors(), full);
	assert_int_equal(handled, 1);
	/* A place that becomes free is taken at once. */
	for (int i = 0; i < 10; i++)
		close(raw[i].fd);
	assert_call("{\"echo\":2}", "{\"echo\":2}");
	for (int i = 10; i < MANY; i++) {
		assert_true(loop_until(&loop, raw_has_ended, &raw[i]));
		assert_int_equal(raw[i].length, 0);
		close(raw[i].fd);
	}
	assert_true(loop_until(&loop, is_cut, &lazy));
	close(lazy.fd);
}

static void test_no_descriptors(void **state)
{
	struct rlimit before, none;
	struct raw raw;

	(void)state;
	listen_here();
	raw_open(&raw);
	raw_send(&raw, "{\"echo\":1}\n", 11);
	assert_return_code(getrlimit(RLIMIT_NOFILE, &before), errno);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_return_code(setrlimit(RLIMIT_NOFILE, &none), errno);
	for (int i = 0; i < 5; i++)
		uv_run(&loop, UV_RUN_ONCE);
	assert_return_code(setrlimit(RLIMIT_NOFILE, &before), errno);
	assert_int_equal(handled, 0);
	assert_true(loop_until(&loop, raw_has_ended, &raw));
	assert_string_equal(raw.text, "{\"echo\":1}\n");
	close(raw.fd);
}

static void test_close_with_clients(void **state)
{
	struct raw idle, reading;

	(void)state;
	listen_here();
	raw_open(&idle);
	raw_open(&reading);
	raw_send(&reading, "{\"size\":4000000}\n", 17);
	assert_true(loop_until(&loop, has_handled, &(unsigned){1}));
	close_here();
	close(idle.fd);
	close(reading.fd);

	listen_here();
	assert_raw("{\"close\":1}\n", 12, false, "");
	assert_null(control);
}

/* Daemons that do not answer, or not properly: a listener by hand. */
static void test_bad_daemon(void **state)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	static const char *const answers[] = {"{\"a\":", "[]\n", "\n", "", "{\"a\":1}garbage\n"};
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	strcpy(name.sun_path, path);
	assert_return_code(bind(listener, (struct sockaddr *)&name, sizeof(name)), errno);
	assert_return_code(listen(listener, 0), errno);
	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct call call = {.request = "{}", .timeout_ms = LOOP_WAIT_MS};
		uv_thread_t thread;
		int fd;

		uv_thread_create(&thread, call_thread, &call);
		fd = accept(listener, NULL, NULL);
		assert_int_equal(send(fd, answers[i], strlen(answers[i]), 0), strlen(answers[i]));
		shutdown(fd, SHUT_WR);
		uv_thread_join(&thread);
		assert_int_equal(call.code, -EPROTO);
		close(fd);
	}
	/* The first is accepted by nobody, the second finds the queue full. */
	assert_call_fails("{}", -ETIMEDOUT, "no answer on");
	assert_call_fails("{}", -ETIMEDOUT, "no answer on");
	assert_call_fails("{}", -ETIMEDOUT, "within 200 ms");
	close(listener);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_round_trip, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_garbage, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_request_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_answer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_hang_up, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_stale, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_dawdlers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_descriptors, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_close_with_clients, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_bad_daemon, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, open_world, close_world);
}
