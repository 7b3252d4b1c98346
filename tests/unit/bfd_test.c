/* SPDX-License-Identifier: BSD-2-Clause */
/* BFD sessions between two rooms of ours, on real sockets in two network namespaces. */
#include "tests/unit/bfd_ends.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bfd/socket.h"

/* That is later than both_up: who came up last has yet to be heard. */
static bool both_know(void *arg)
{
	struct bfd_status status[] = {status_of(&here), status_of(&there)};

	(void)arg;
	return status[0].state == BFD_UP && status[0].peer_state == BFD_UP &&
	       status[1].state == BFD_UP && status[1].peer_state == BFD_UP &&
	       status[0].detect_us == BRIEF * INTERVAL_MS * 1000;
}

static void test_up_and_lost(const char *local, const char *peer, uint8_t hops)
{
	struct bfd_spec one = spec_of(local, peer), other = spec_of(peer, local);
	struct bfd_status status;

	one.hops = other.hops = hops;
	one.multiplier = other.multiplier = BRIEF;
	add(&here, &one);
	add(&there, &other);
	assert_true(loop_until(&loop, both_know, NULL));
	status = status_of(&here);
	assert_int_equal(status.peer_discriminator, status_of(&there).discriminator);
	assert_false(status.peer_independent);
	assert_string_equal(status.error, "");
	assert_string_equal(status.why, "");

	pairs_run("PEER ip link set v1 down");
	assert_true(loop_until(&loop, is_lost, &here));
	assert_true(loop_until(&loop, is_lost, &there));
	status = status_of(&here);
	assert_int_equal(status.state, BFD_DOWN);
	assert_int_equal(status.losses, 1);
	assert_string_equal(status.why, "nothing received within the detection time");
	assert_string_equal(bfd_state_name(status.state), "down");

	/* Back, by themselves. */
	here.ups = there.ups = 0;
	pairs_run("PEER ip link set v1 up");
	pairs_run("PEER ip addr replace 2001:db8::2/64 dev v1 nodad");
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(here.losses, 1);
	assert_int_equal(here.offs, 0);
}

static void test_ipv4(void **state)
{
	(void)state;
	test_up_and_lost("10.0.0.1", "10.0.0.2", 0);
}

static void test_ipv6(void **state)
{
	(void)state;
	test_up_and_lost("2001:db8::1", "2001:db8::2", 0);
}

static void test_multihop(void **state)
{
	(void)state;
	test_up_and_lost("10.0.0.1", "10.0.0.2", 3);
}

static void test_no_local_address(void **state)
{
	struct bfd_spec one = spec_of("", "10.0.0.2"), other = spec_of("", "10.0.0.1");

	(void)state;
	add(&here, &one);
	add(&there, &other);
	assert_true(loop_until(&loop, both_up, NULL));
}

static bool is_up(void *arg)
{
	return ((struct end *)arg)->ups > 0;
}

/* Both kinds and families at once, to one and the same peer. */
static void test_four_sessions(void **state)
{
	static const char *const texts[2][2] = {{"10.0.0.1", "10.0.0.2"},
						{"2001:db8::1", "2001:db8::2"}};
	struct end ends[2][4] = {0};

	(void)state;
	for (int i = 0; i < 8; i++) {
		struct end *end = &ends[i & 1][i >> 1];
		const char *const *pair = texts[(i >> 1) & 1];
		struct bfd_spec spec = spec_of(pair[i & 1], pair[!(i & 1)]);

		spec.hops = i & 4 ? 255 : 0;
		end->bfd = (i & 1 ? &there : &here)->bfd;
		add(end, &spec);
	}
	for (int i = 0; i < 4; i++) {
		assert_true(loop_until(&loop, is_up, &ends[0][i]));
		assert_true(loop_until(&loop, is_up, &ends[1][i]));
		assert_int_equal(status_of(&ends[0][i]).peer_discriminator,
				 status_of(&ends[1][i]).discriminator);
	}
}

static void test_removed_is_off_and_not_lost(void **state)
{
	(void)state;
	add_both("10.0.0.1", "10.0.0.2");
	assert_true(loop_until(&loop, both_up, NULL));
	bfd_remove(here.session);
	assert_true(loop_until(&loop, is_off, &there));
	assert_int_equal(there.losses, 0);
	assert_int_equal(status_of(&there).losses, 0);
	assert_int_equal(status_of(&there).peer_state, BFD_ADMIN_DOWN);
	assert_string_equal(status_of(&there).peer_why, "switched off");

	/* The same peer again, at once. */
	struct bfd_spec spec = spec_of("10.0.0.1", "10.0.0.2");

	here.ups = there.ups = 0;
	add(&here, &spec);
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(there.losses, 0);
}

static void test_closed_is_off_and_not_lost(void **state)
{
	(void)state;
	add_both("2001:db8::1", "2001:db8::2");
	assert_true(loop_until(&loop, both_up, NULL));
	close_end(&here);
	assert_true(loop_until(&loop, is_off, &there));
	assert_int_equal(there.losses, 0);
}

static bool is_slower(void *arg)
{
	(void)arg;
	return status_of(&here).send_interval_us == 80000 &&
	       status_of(&there).send_interval_us == 80000 &&
	       status_of(&there).detect_us == 80000 * (LONG + 1);
}

static void test_change_keeps_the_session(void **state)
{
	struct err err;

	(void)state;
	add_both("10.0.0.1", "10.0.0.2");
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(bfd_change(here.session, 80, LONG + 1, &err), 0);
	assert_true(loop_until(&loop, is_slower, NULL));
	assert_int_equal(bfd_change(here.session, 9, 4, &err), -EINVAL);
	assert_int_equal(bfd_change(here.session, 80, 0, &err), -EINVAL);
	assert_int_equal(here.losses + there.losses + here.offs + there.offs, 0);
	assert_int_equal(status_of(&here).state, BFD_UP);
}

/* Packets come and go while the loop stands still. */
static void test_a_busy_loop_costs_no_session(void **state)
{
	uint64_t received;

	(void)state;
	add_both("10.0.0.1", "10.0.0.2");
	assert_true(loop_until(&loop, both_up, NULL));
	received = status_of(&here).received;
	while (status_of(&here).received < received + 20)
		usleep(1000);
	uv_run(&loop, UV_RUN_NOWAIT);
	assert_int_equal(status_of(&here).state, BFD_UP);
	assert_int_equal(here.losses + there.losses, 0);
}

static bool is_error(void *arg)
{
	return strstr(status_of(&here).error, arg) != NULL;
}

/* The same address on two links are two peers, of which each is heard on its own. */
static void test_link_local(void **state)
{
	struct bfd_spec one = spec_of("", "fe80::ff:fe00:1"),
			other = spec_of("", "fe80::ff:fe00:0");
	struct end twin = {.bfd = here.bfd};
	struct err err;

	(void)state;
	one.interface = "v0";
	other.interface = "v1";
	add(&here, &one);
	add(&there, &other);
	assert_int_equal(bfd_add(here.bfd, &one, on_news, &here, &here.session, &err), -EEXIST);
	assert_non_null(strstr(err.text, "%v0"));
	one.interface = "lo";
	add(&twin, &one);
	assert_true(loop_until(&loop, both_up, NULL));
	assert_int_equal(status_of(&twin).received, 0);
	assert_int_equal(twin.ups, 0);
}

static void test_an_interface_that_is_not_there(void **state)
{
	struct bfd_spec one = spec_of("", "fe80::1");

	(void)state;
	one.interface = "none";
	add(&here, &one);
	assert_true(loop_until(&loop, is_error, "No such device"));
}

static bool is_fine(void *arg)
{
	(void)arg;
	return both_up(NULL) && status_of(&here).error[0] == '\0';
}

static void test_an_address_that_comes_later(void **state)
{
	struct bfd_spec one = spec_of("10.0.0.9", "10.0.0.2"), other = spec_of("", "10.0.0.9");

	(void)state;
	add(&here, &one);
	add(&there, &other);
	assert_true(loop_until(&loop, is_error, "Cannot assign requested address"));
	pairs_run("ip addr add 10.0.0.9/24 dev v0");
	assert_true(loop_until(&loop, is_fine, NULL));
	pairs_run("ip addr del 10.0.0.9/24 dev v0");
}

static void test_a_port_that_another_has(void **state)
{
	int fd = bfd_listener_open(AF_INET, BFD_PORT_DIRECT);

	(void)state;
	assert_true(fd >= 0);
	add_both("10.0.0.1", "10.0.0.2");
	assert_true(loop_until(&loop, is_error, "UDP port 3784: Address already in use"));
	close(fd);
	assert_true(loop_until(&loop, is_fine, NULL));
}

static void test_what_is_refused_to_add(void **state)
{
	struct bfd_spec good = spec_of("10.0.0.1", "10.0.0.2");
	struct bfd_session *session;
	struct err err;
	struct {
		struct bfd_spec spec;
		const char *text;
	} rows[] = {
		{spec_of("10.0.0.1", ""), "needs its peer's address"},
		{spec_of("", "fe80::1"), "needs an interface"},
		{spec_of("fe80::1", "2001:db8::2"), "the interface's own"},
		{spec_of("10.0.0.1", "2001:db8::2"), "one family"},
		{good, "10 to 60000 ms"},
		{good, "10 to 60000 ms"},
		{good, "1 to 255"},
		{good, "for a link-local peer"},
		{spec_of("", "fe80::1"), "named so"},
		{spec_of("fe80::2", "fe80::1"), "the interface's own"},
		{spec_of("", "fe80::1"), "not hops away"},
	};

	(void)state;
	rows[4].spec.interval_ms = 9;
	rows[5].spec.interval_ms = 60001;
	rows[6].spec.multiplier = 0;
	rows[7].spec.interface = rows[9].spec.interface = rows[10].spec.interface = "v0";
	rows[8].spec.interface = "more-than-15-letters";
	rows[10].spec.hops = 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		assert_int_equal(bfd_add(here.bfd, &rows[i].spec, on_news, NULL, &session, &err),
				 -EINVAL);
		if (!strstr(err.text, rows[i].text))
			fail_msg("%s", err.text);
	}
	add(&here, &good);
	assert_int_equal(bfd_add(here.bfd, &good, on_news, NULL, &session, &err), -EEXIST);
	assert_string_equal(err.text, "there is a BFD session with 10.0.0.2");
}

static void test_no_more_than_the_limit(void **state)
{
	struct bfd_session *sessions[BFD_SESSIONS_MAX];
	struct bfd_spec spec = spec_of("10.0.0.1", "10.0.0.2");
	struct err err;

	(void)state;
	for (int i = 0; i < BFD_SESSIONS_MAX; i++) {
		spec.peer = addr_from4(htonl(0x0a010000u + (unsigned)i));
		assert_int_equal(bfd_add(here.bfd, &spec, on_news, &here, &sessions[i], &err), 0);
	}
	spec.peer = addr_of("10.0.0.2");
	assert_int_equal(bfd_add(here.bfd, &spec, on_news, &here, &here.session, &err), -ENOSPC);
	bfd_remove(sessions[7]);
	add_both("10.0.0.1", "10.0.0.2");
	assert_true(loop_until(&loop, both_up, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_ipv4),
		TEST(test_ipv6),
		TEST(test_multihop),
		TEST(test_no_local_address),
		TEST(test_four_sessions),
		TEST(test_removed_is_off_and_not_lost),
		TEST(test_closed_is_off_and_not_lost),
		TEST(test_change_keeps_the_session),
		TEST(test_a_busy_loop_costs_no_session),
		TEST(test_an_address_that_comes_later),
		TEST(test_link_local),
		TEST(test_an_interface_that_is_not_there),
		TEST(test_a_port_that_another_has),
		TEST(test_what_is_refused_to_add),
		TEST(test_no_more_than_the_limit),
	};

	return cmocka_run_group_tests(tests, open_world, pairs_close);
}
