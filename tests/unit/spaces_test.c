/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections that are counted in several network namespaces: the test's own, and two named ones
 * with servers and clients of their own, on real sockets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/host.h"
#include "host/spaces.h"

enum { SPACES = 2, PAIRS_MAX = 8 };

#define VIP "198.51.100.10"

static char names[SPACES][32];
static const char *const list[SPACES] = {names[0], names[1]};
static struct prefix vips[2]; /* VIP, and a prefix that has 198.51.100.129 */
static int home;

static void run(const char *format, const char *name)
{
	char command[512];

	snprintf(command, sizeof(command), format, name, name);
	if (system(command))
		fail_msg("%s", command);
}

static void make_space(const char *name)
{
	run("ip netns add %s && ip -n %s link set lo up", name);
	run("ip -n %s addr add " VIP "/32 dev lo", name);
	run("ip -n %s addr add 198.51.100.129/32 dev lo", name);
}

static void enter(const char *name)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(setns(fd, CLONE_NEWNET), 0);
	close(fd);
}

static void leave(void)
{
	assert_int_equal(setns(home, CLONE_NEWNET), 0);
}

/* Both ends of a connection; the server's has the address. */
struct pair {
	int client, server;
};

static struct pair connect_pair(const char *address)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t length = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pair pair = {.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
	struct sockaddr_in from = {.sin_family = AF_INET};

	/* The client's own end is no VIP's. */
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	inet_pton(AF_INET, address, &at.sin_addr);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 8), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &length), 0);
	assert_int_equal(bind(pair.client, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(pair.client, (struct sockaddr *)&at, sizeof(at)), 0);
	pair.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(pair.server >= 0);
	close(listener);
	return pair;
}

static struct pair connect_in(const char *name, const char *address)
{
	struct pair pair;

	enter(name);
	pair = connect_pair(address);
	leave();
	return pair;
}

static void close_pair(struct pair pair)
{
	close(pair.client);
	close(pair.server);
}

/* What is counted now, into counts of both VIPs. */
static struct host_sockets count(struct host_space *spaces, size_t space_count, uint64_t *counts)
{
	struct host_sockets sockets = {.established = counts};

	assert_int_equal(host_sockets_count(vips, 2, spaces, space_count, &sockets), 0);
	return sockets;
}

static void test_all_are_counted(void **state)
{
	struct host_space spaces[SPACES];
	struct pair pairs[3];
	uint64_t counts[2];
	struct err err;

	(void)state;
	pairs[0] = connect_in(names[0], VIP);
	pairs[1] = connect_in(names[1], VIP);
	pairs[2] = connect_in(names[1], "198.51.100.129");
	assert_int_equal(host_spaces_open(list, SPACES, spaces, &err), 0);
	for (int again = 0; again < 3; again++) {
		assert_false(count(spaces, SPACES, counts).is_cut);
		assert_int_equal(counts[0], 2);
		assert_int_equal(counts[1], 1);
	}
	count(spaces, 1, counts);
	assert_int_equal(counts[0], 1);
	count(NULL, 0, counts);
	assert_int_equal(counts[0], 0);
	for (int i = 0; i < 3; i++)
		close_pair(pairs[i]);
	assert_false(count(spaces, SPACES, counts).is_cut);
	assert_int_equal(counts[0], 0);
	host_spaces_close(spaces, SPACES);
}

/* As after exec(): what is there is taken, what nobody wants is closed. */
static void test_an_earlier_calls_are_taken(void **state)
{
	struct host_space before[SPACES], after[1];
	uint64_t counts[2];
	struct pair pair;
	struct err err;

	(void)state;
	assert_int_equal(host_spaces_open(list, SPACES, before, &err), 0);
	/* What the program starts meanwhile does not get them. */
	assert_true(fcntl(before[1].fd, F_GETFD) & FD_CLOEXEC);
	host_spaces_hand_over(before, SPACES);
	assert_false(fcntl(before[1].fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(host_spaces_open(&list[1], 1, after, &err), 0);
	assert_int_equal(after[0].fd, before[1].fd);
	assert_true(fcntl(after[0].fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(before[0].fd, F_GETFD), -1);
	pair = connect_in(names[1], VIP);
	count(after, 1, counts);
	assert_int_equal(counts[0], 1);
	close_pair(pair);
	host_spaces_close(after, 1);
}

static void test_another_of_the_name_is_not_asked(void **state)
{
	struct host_space spaces[SPACES];
	uint64_t counts[2];
	struct err err;

	(void)state;
	assert_int_equal(host_spaces_open(list, SPACES, spaces, &err), 0);
	run("ip netns del %s", names[1]);
	/* Its inode's number may be the next one's, but not while our socket holds it. */
	make_space(names[1]);
	assert_true(count(spaces, SPACES, counts).is_cut);
	assert_int_equal(spaces[1].fd, -1);
	assert_non_null(strstr(spaces[1].err.text, "start the agent again"));
	assert_true(spaces[0].fd >= 0);
	assert_string_equal(spaces[0].err.text, "");
	host_spaces_close(spaces, SPACES);
}

static void test_one_that_is_missing_says_so(void **state)
{
	const char *const missing[] = {names[0], "weir-no-such-space"};
	struct host_space spaces[2];
	uint64_t counts[2];
	struct err err;

	(void)state;
	assert_int_equal(host_spaces_open(missing, 2, spaces, &err), 0);
	assert_true(spaces[0].fd >= 0);
	assert_int_equal(spaces[1].fd, -1);
	assert_non_null(strstr(spaces[1].err.text, "weir-no-such-space: No such file"));
	assert_true(count(spaces, 2, counts).is_cut);
	host_spaces_close(spaces, 2);
}

/* More than are looked at once: what was left unread does not answer the next question. */
static void test_a_listing_that_was_left_is_read(void **state)
{
	struct host_space space[1];
	struct pair pairs[PAIRS_MAX];
	uint64_t counts[2];
	struct {
		struct nlmsghdr head;
		char body[56]; /* struct inet_diag_req_v2: family, protocol, ..., states */
	} listing = {.head = {.nlmsg_len = sizeof(listing),
			      .nlmsg_type = 20, /* SOCK_DIAG_BY_FAMILY */
			      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			      .nlmsg_seq = 77}};
	struct err err;

	(void)state;
	listing.body[0] = AF_INET;
	listing.body[1] = IPPROTO_TCP;
	memset(listing.body + 4, 0xff, 4);
	for (int i = 0; i < PAIRS_MAX; i++)
		pairs[i] = connect_in(names[0], VIP);
	assert_int_equal(host_spaces_open(list, 1, space, &err), 0);
	assert_int_equal(send(space[0].fd, &listing, sizeof(listing), 0), sizeof(listing));
	assert_false(count(space, 1, counts).is_cut);
	assert_int_equal(counts[0], PAIRS_MAX);
	for (int i = 0; i < PAIRS_MAX; i++)
		close_pair(pairs[i]);
	host_spaces_close(space, 1);
}

/* Who may not enter it hears why; a child gives up the right, for it does not come back. */
static void test_without_the_right_it_says_so(void **state)
{
	pid_t child;
	int status;

	(void)state;
	child = fork();
	if (child == 0) {
		struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct none[2] = {{0}};
		struct host_space spaces[1];
		struct err err;

		if (syscall(SYS_capset, &head, none))
			_exit(1);
		if (host_spaces_open(list, 1, spaces, &err))
			_exit(2);
		_exit(spaces[0].fd == -1 && strstr(spaces[0].err.text, "CAP_SYS_ADMIN") ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static int set_up(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET))
		return -1;
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	for (int i = 0; i < SPACES; i++) {
		snprintf(names[i], sizeof(names[i]), "weir-%d-space%d", (int)getpid(), i);
		make_space(names[i]);
	}
	prefix_parse(VIP, &vips[0]);
	prefix_parse("198.51.100.128/25", &vips[1]);
	return home < 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < SPACES; i++)
		run("ip netns del %s", names[i]);
	close(home);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_are_counted),
		cmocka_unit_test(test_an_earlier_calls_are_taken),
		cmocka_unit_test(test_another_of_the_name_is_not_asked),
		cmocka_unit_test(test_one_that_is_missing_says_so),
		cmocka_unit_test(test_a_listing_that_was_left_is_read),
		cmocka_unit_test(test_without_the_right_it_says_so),
	};

	if (geteuid() != 0) {
		puts("skipped: needs root for network namespaces");
		return 77;
	}
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
