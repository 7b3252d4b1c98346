/* SPDX-License-Identifier: BSD-2-Clause */
/* Whom the control socket answers: clients are processes of other users. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/loop.h"
#include "admin/control.h"

static uv_loop_t loop;
static struct control *control;
static char directory[] = "/tmp/control_peer_test.XXXXXX";
static char path[128];
static unsigned handled;
static struct control_peer last_peer;

static json_t *handle(void *arg, const json_t *request, const struct control_peer *peer)
{
	(void)arg;
	last_peer = *peer;
	handled++;
	return json_pack("{s:O}", "echo", json_object_get(request, "echo"));
}

static int set_up(void **state)
{
	(void)state;
	uv_loop_init(&loop);
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/control.sock", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (control)
		control_close(control);
	uv_run(&loop, UV_RUN_DEFAULT);
	return rmdir(directory) || uv_loop_close(&loop);
}

/* Asks as another user, in a process of its own: 0 the answer came, 1 it was refused, 2 neither. */
static int ask_as(uid_t uid, gid_t gid)
{
	json_t *request = json_pack("{s:i}", "echo", 1), *answer = NULL;
	struct err err = {0};
	int code;

	if (setgroups(0, NULL) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return 2;
	code = control_call(path, request, LOOP_WAIT_MS, &answer, &err);
	if (!code)
		return 0;
	return strstr(err.text, "permission denied") ? 1 : 2;
}

struct child {
	pid_t pid;
	int status;
};

static bool child_ended(void *arg)
{
	struct child *child = arg;

	return waitpid(child->pid, &child->status, WNOHANG) == child->pid;
}

static int run_as(uid_t uid, gid_t gid)
{
	struct child child = {.pid = fork()};

	assert_true(child.pid >= 0);
	if (child.pid == 0)
		_exit(ask_as(uid, gid));
	assert_true(loop_until(&loop, child_ended, &child));
	return WIFEXITED(child.status) ? WEXITSTATUS(child.status) : 3;
}

/* Whoever gets to the socket by a mode that was changed is told that he may not. */
static void test_strangers(void **state)
{
	enum { NOBODY = 65534, GROUP = 54321 };
	struct err err = {0};

	(void)state;
	if (geteuid() != 0)
		skip();
	if (control_listen(&loop, path, handle, &handled, &control, &err))
		fail_msg("%s", err.text);
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chmod(path, 0666), 0);
	assert_int_equal(run_as(NOBODY, NOBODY), 1);
	assert_int_equal(handled, 0);
	assert_int_equal(run_as(NOBODY, getegid()), 0);
	assert_false(last_peer.is_trusted);
	assert_int_not_equal(last_peer.pid, 0);
	assert_int_not_equal(last_peer.pid, getpid());
	assert_int_equal(run_as(0, GROUP), 0);
	assert_true(last_peer.is_trusted);
	assert_int_equal(handled, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_strangers, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
