/* SPDX-License-Identifier: BSD-2-Clause */
/* Who runs here: the lock, and the socket of the only node. In a root of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the four above first */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "weir/instance.h"

static char root[] = "/tmp/weir-instance-XXXXXX";
static int outside = -1; /* the directory of the machine's own root */

/* The test moves into a root of its own: no mount, for not every root can be one. */
static int open_world(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("a root of its own needs root\n");
		return 0;
	}
	outside = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (outside < 0 || !mkdtemp(root) || chmod(root, 0755) || chroot(root) || chdir("/"))
		return -1;
	return mkdir("/run", 0755) || mkdir(INSTANCE_RUN_DIR, 0755);
}

static int close_world(void **state)
{
	(void)state;
	if (outside < 0)
		return 0;
	/* What is left in there is a fault: the directories would not go. */
	if (rmdir(INSTANCE_RUN_DIR) || rmdir("/run") || fchdir(outside) || chroot("."))
		return -1;
	close(outside);
	return rmdir(root);
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

/* Its socket, with a listener until the descriptor is closed. */
static int listen_as(const char *prefix, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct instance instance;

	instance_init(&instance, prefix, name);
	strcpy(address.sun_path, instance.socket);
	unlink(instance.socket);
	assert_return_code(bind(fd, (struct sockaddr *)&address, sizeof(address)), errno);
	assert_return_code(listen(fd, 1), errno);
	return fd;
}

static void forget(const char *prefix, const char *name)
{
	struct instance instance;

	instance_init(&instance, prefix, name);
	assert_return_code(unlink(instance.socket), errno);
}

static void test_paths(void **state)
{
	struct instance instance;

	(void)state;
	instance_init(&instance, "agent-", "b1.example");
	assert_string_equal(instance.socket, "/run/weir/agent-b1.example.sock");
	assert_string_equal(instance.lock, "/run/weir/agent-b1.example.lock");
	assert_string_equal(instance.pins, "/sys/fs/bpf/weir/agent-b1:example");
}

static void test_find_socket(void **state)
{
	char path[INSTANCE_PATH_MAX];
	struct err err;
	int agent, one, two;

	(void)state;
	need_root();
	assert_int_equal(instance_find_socket(path, &err), -ENOENT);
	agent = listen_as("agent-", "b1");
	assert_int_equal(instance_find_socket(path, &err), 0);
	assert_string_equal(path, "/run/weir/agent-b1.sock");
	one = listen_as("", "one");
	assert_int_equal(instance_find_socket(path, &err), 0);
	assert_string_equal(path, "/run/weir/one.sock");
	two = listen_as("", "two");
	assert_int_equal(instance_find_socket(path, &err), -EEXIST);
	assert_non_null(strstr(err.text, " one"));
	assert_non_null(strstr(err.text, " two"));
	/* Killed: its socket's name is still there. */
	close(one);
	assert_int_equal(instance_find_socket(path, &err), 0);
	assert_string_equal(path, "/run/weir/two.sock");
	close(two);
	close(agent);
	assert_int_equal(instance_find_socket(path, &err), -ENOENT);
	forget("", "one");
	forget("", "two");
	forget("agent-", "b1");
}

/* From another process. Returns 0 if it was refused, and told who holds it. */
static int try_lock(void)
{
	char mine[32];
	struct instance instance;
	struct err err;
	int status;
	pid_t child;

	snprintf(mine, sizeof(mine), "process %d ", (int)getpid());
	child = fork();
	if (child == 0) {
		instance_init(&instance, "", "node");
		_exit(instance_lock(&instance, &err) == -EBUSY && strstr(err.text, mine) ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

static void test_lock(void **state)
{
	struct instance instance;
	struct err err;

	(void)state;
	need_root();
	instance_init(&instance, "", "node");
	assert_int_equal(instance_lock(&instance, &err), 0);
	assert_int_equal(try_lock(), 0);
	instance_unlock(&instance);
	assert_int_equal(access(instance.lock, F_OK), -1);
	assert_int_equal(instance_lock(&instance, &err), 0);
	instance_unlock(&instance);
}

/* As a user who may ask, but not more: 0 if it finds this process's socket and no other's, and
 * cannot get at the lock. */
static int try_as_other(pid_t holder)
{
	char path[INSTANCE_PATH_MAX];
	struct err err;
	int status;
	pid_t child = fork();

	if (child == 0) {
		if (setgid(65534) || setuid(65534))
			_exit(2);
		if (open("/run/weir/node.lock", O_RDONLY | O_CLOEXEC) >= 0)
			_exit(3);
		if (instance_find_process(holder, path, &err) ||
		    strcmp(path, "/run/weir/node.sock") != 0)
			_exit(4);
		_exit(instance_find_process(getpid(), path, &err) == -ENOENT ? 0 : 5);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

/* Also where an earlier version has left one that all may read. */
static void test_lock_is_its_owners(void **state)
{
	struct instance instance;
	struct err err;
	int listener;

	(void)state;
	need_root();
	instance_init(&instance, "", "node");
	close(open(instance.lock, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	assert_return_code(chmod(instance.lock, 0644), errno);
	assert_int_equal(instance_lock(&instance, &err), 0);
	listener = listen_as("", "node");
	assert_return_code(chmod(instance.socket, 0666), errno);
	assert_int_equal(try_as_other(getpid()), 0);
	instance_unlock(&instance);
	close(listener);
	forget("", "node");
}

/* One that ends, as this process does when it is called again, but for the call. */
static void test_handed_over(void **state)
{
	struct instance node, space, other;
	struct err err;

	(void)state;
	need_root();
	instance_init(&node, "", "node");
	instance_init(&space, "agent@", "1");
	instance_init(&other, "", "other");
	assert_int_equal(instance_lock(&node, &err), 0);
	assert_int_equal(instance_lock(&space, &err), 0);
	assert_int_equal(instance_lock(&other, &err), 0);
	instance_hand_over(&node);
	instance_hand_over(&space);
	instance_hand_over(&other);
	assert_non_null(getenv("WEIR_LOCKS"));
	assert_int_equal(try_lock(), 0);
	/* The next one, which is no other process, but knows no more than its environment. */
	assert_int_equal(instance_lock(&node, &err), 0);
	assert_null(getenv("WEIR_LOCKS"));
	assert_int_equal(try_lock(), 0);
	assert_int_equal(fcntl(node.lock_fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(instance_lock(&space, &err), 0);
	/* It has another name now: the lock of its old one is free. */
	assert_int_equal(instance_lock(&space, &err), -EBUSY);
	instance_take_no_more();
	assert_int_equal(instance_lock(&other, &err), 0);
	instance_unlock(&node);
	instance_unlock(&space);
	instance_unlock(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),       cmocka_unit_test(test_find_socket),
		cmocka_unit_test(test_lock),        cmocka_unit_test(test_lock_is_its_owners),
		cmocka_unit_test(test_handed_over),
	};

	return cmocka_run_group_tests_name("instance", tests, open_world, close_world);
}
