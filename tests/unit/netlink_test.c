/* SPDX-License-Identifier: BSD-2-Clause */
/* A list of the kernel's that changes while it is told, in a network namespace of its own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <linux/if_addr.h>
#include <linux/rtnetlink.h>

#include "host/host.h"
#include "netlink/netlink.h"

enum { MANY = 600 }; /* more than the kernel tells in one piece */

struct list {
	size_t count, begun; /* answers; times that it was asked again */
	size_t changes;      /* that are to come, one with the first answer of each time */
	size_t made;
};

static void add_address(unsigned number)
{
	struct addr addr;
	struct err err;
	char text[32];

	snprintf(text, sizeof(text), "10.1.%u.%u", number / 250, 1 + number % 250);
	assert_int_equal(addr_parse(text, &addr), 0);
	if (host_loopback_add(&addr, &err))
		fail_msg("%s", err.text);
}

static int see(const struct nlmsghdr *message, void *arg)
{
	struct list *list = arg;

	if (message->nlmsg_type != RTM_NEWADDR)
		return MNL_CB_OK;
	if (!list->count && list->made < list->changes)
		add_address(MANY + (unsigned)list->made++);
	list->count++;
	return MNL_CB_OK;
}

static void see_again(void *arg)
{
	struct list *list = arg;

	list->count = 0;
	list->begun++;
}

static int ask(struct list *list)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct ifaddrmsg *about;

	request->nlmsg_type = RTM_GETADDR;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	about = mnl_nlmsg_put_extra_header(request, sizeof(*about));
	about->ifa_family = AF_INET;
	return netlink_dump(NETLINK_ROUTE, request, see, see_again, list);
}

static int open_world(void **state)
{
	(void)state;
	if (geteuid() != 0)
		return 0;
	if (unshare(CLONE_NEWNET))
		return -1;
	for (unsigned i = 0; i < MANY; i++)
		add_address(i);
	return 0;
}

static void test_interrupted(void **state)
{
	struct list list = {.changes = 3};
	size_t all;

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(ask(&list), 0);
	assert_int_equal(list.made, 3);
	assert_int_equal(list.begun, 3);
	all = list.count;
	assert_true(all >= MANY + 3);
	/* In peace it tells as many. */
	list = (struct list){0};
	assert_int_equal(ask(&list), 0);
	assert_int_equal(list.begun, 0);
	assert_int_equal(list.count, all);
}

/* What changes all the time is not waited for without end. */
static void test_never_ends(void **state)
{
	struct list list = {.changes = SIZE_MAX, .made = 100};

	(void)state;
	if (geteuid() != 0)
		skip();
	assert_int_equal(ask(&list), -EINTR);
	assert_true(list.begun > 3 && list.begun < 100);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_never_ends),
	};

	return cmocka_run_group_tests_name("netlink", tests, open_world, NULL);
}
