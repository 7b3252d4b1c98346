/* SPDX-License-Identifier: BSD-2-Clause */
/* weir/check/rules.h: hosts and cards, and what is found of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "weir/check/rules.h"

static const struct rules_host usual = {
	.release = {6, 1},
	.processors = 4,
	.jit = true,
	.root = true,
};

/* --- an interface --- */

static const struct card_case {
	const char *name;
	struct card card;
	bool generic; /* is all that is wanted */
	enum rules_kind kind;
	const char *text; /* a part; NULL: nothing is found */
	const char *mend; /* a part; NULL: none */
} card_cases[] = {
	{"a virtio card with room",
	 {.driver = "virtio_net", .mtu = 1500, .queues = 4, .queues_max = 8, .up = true},
	 .text = NULL},
	{"one without queues to spare",
	 {.driver = "virtio_net", .mtu = 1500, .queues = 4, .queues_max = 4, .up = true},
	 .kind = RULES_SLOWS,
	 .text = "queues=8"},
	{"half of the queues in use",
	 {.driver = "virtio_net", .mtu = 1500, .queues = 2, .queues_max = 8, .up = true},
	 .kind = RULES_SLOWS,
	 .text = "2 of 8 queues",
	 .mend = "ethtool -L e0 combined 4"},
	{"AWS's MTU by default",
	 {.driver = "ena", .mtu = 9001, .queues = 2, .queues_max = 4, .up = true},
	 .kind = RULES_HINDERS,
	 .text = "9001 is more than the 3498",
	 .mend = "ip link set dev e0 mtu 3498"},
	{"AWS's queues by default",
	 {.driver = "ena", .mtu = 1500, .queues = 4, .queues_max = 4, .up = true},
	 .kind = RULES_HINDERS,
	 .text = "4 queues of 4",
	 .mend = "ethtool -L e0 combined 2"},
	{"the same where queues are not combined",
	 {.driver = "ena",
	  .mtu = 1500,
	  .queues = 4,
	  .queues_max = 4,
	  .queues_apart = true,
	  .up = true},
	 .kind = RULES_HINDERS,
	 .text = "4 queues of 4",
	 .mend = "ethtool -L e0 rx 2 tx 2"},
	{"a single queue",
	 {.driver = "ena", .mtu = 1500, .queues = 1, .queues_max = 1, .up = true},
	 .kind = RULES_HINDERS,
	 .text = "one queue is too few"},
	{"the largest MTU",
	 {.driver = "veth", .kind = "veth", .mtu = 3506, .queues = 1, .queues_max = 0, .up = true},
	 .text = NULL},
	{"a byte more",
	 {.driver = "veth", .kind = "veth", .mtu = 3507, .up = true},
	 .kind = RULES_HINDERS,
	 .text = "the peer's",
	 .mend = "mtu 3506"},
	{"it is down",
	 {.driver = "ice", .mtu = 1500},
	 .kind = RULES_HINDERS,
	 .text = "down",
	 .mend = "ip link set dev e0 up"},
	{"it is down for generic XDP, too",
	 {.driver = "ice", .mtu = 9000},
	 .generic = true,
	 .kind = RULES_HINDERS,
	 .text = "down",
	 .mend = "up"},
	{"generic XDP takes any MTU", {.driver = "ice", .mtu = 9000, .up = true}, .generic = true},
	{"a bridge",
	 {.driver = "bridge", .kind = "bridge", .mtu = 1500, .up = true, .native = CARD_NOT_NATIVE},
	 .kind = RULES_HINDERS,
	 .text = "kind bridge"},
	{"case 22: a VLAN's device",
	 {.driver = "802.1Q VLAN Support", .kind = "vlan", .below = "e1", .mtu = 1500, .up = true},
	 .kind = RULES_HINDERS,
	 .text = "below it, e1"},
	{"a driver that cannot, says the kernel",
	 {.driver = "e1000", .mtu = 1500, .up = true, .native = CARD_NOT_NATIVE},
	 .kind = RULES_HINDERS,
	 .text = "e1000 has no native XDP"},
	{"one that nobody knows",
	 {.mtu = 1500, .up = true},
	 .kind = RULES_NOTES,
	 .text = "unknown"},
	{"one that nobody knows, but the kernel",
	 {.driver = "new", .mtu = 1500, .up = true, .native = CARD_NATIVE},
	 .text = NULL},
	{"one that a newer kernel has",
	 {.driver = "gve", .mtu = 1460, .up = true, .queues = 4, .queues_max = 8},
	 .kind = RULES_HINDERS,
	 .text = "a newer kernel's has"},
	{"LRO where the driver refuses",
	 {.driver = "mlx5_core", .mtu = 1500, .up = true, .lro = true},
	 .kind = RULES_HINDERS,
	 .text = "LRO",
	 .mend = "ethtool -K e0 lro off"},
	{"LRO elsewhere",
	 {.driver = "ice", .mtu = 1500, .up = true, .lro = true},
	 .kind = RULES_SLOWS,
	 .text = "LRO",
	 .mend = "lro off"},
	{"tags that the card takes off",
	 {.driver = "ice", .mtu = 1500, .up = true, .rx_vlan = true, .has_vlans = true},
	 .kind = RULES_HINDERS,
	 .text = "VLAN tags",
	 .mend = "rxvlan off"},
	{"tags of no VLAN in use",
	 {.driver = "ice", .mtu = 1500, .up = true, .rx_vlan = true},
	 .text = NULL},
	{"another's program",
	 {.driver = "ice", .mtu = 1500, .up = true, .xdp_id = 7, .xdp_generic = true},
	 .kind = RULES_HINDERS,
	 .text = "number 7 in generic mode",
	 .mend = "xdpgeneric off"},
};

static void test_cards(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(card_cases) / sizeof(card_cases[0]); i++) {
		const struct card_case *row = &card_cases[i];
		struct rules_wanted wanted = {.native = !row->generic};
		struct rules_findings found = {0};
		struct card card = row->card;

		print_message("# %s\n", row->name);
		strcpy(card.name, "e0");
		rules_of_card(&usual, &card, wanted, &found);
		assert_int_equal(found.count, row->text ? 1 : 0);
		assert_int_equal(rules_hinder(&found), row->text && row->kind == RULES_HINDERS);
		if (!row->text)
			continue;
		assert_int_equal(found.list[0].kind, row->kind);
		assert_non_null(strstr(found.list[0].text, row->text));
		if (row->mend)
			assert_non_null(strstr(found.list[0].mend, row->mend));
		else
			assert_string_equal(found.list[0].mend, "");
	}
}

static void test_own_program(void **state)
{
	struct card card = {.name = "e0", .driver = "ice", .mtu = 1500, .up = true, .xdp_id = 7};
	struct rules_findings found = {0};

	(void)state;
	rules_of_card(&usual, &card, (struct rules_wanted){.native = true, .ours = true}, &found);
	assert_int_equal(found.count, 0);
}

/* --- the host --- */

static void test_host(void **state)
{
	struct rules_findings found = {0};
	struct rules_host host = usual;

	(void)state;
	rules_of_host(&host, &found);
	assert_int_equal(found.count, 0);
	host.release[0] = 5;
	host.release[1] = 15;
	rules_of_host(&host, &found);
	assert_true(rules_hinder(&found));
	found.count = 0;
	host = usual;
	host.jit = false;
	rules_of_host(&host, &found);
	assert_int_equal(found.count, 1);
	assert_false(rules_hinder(&found));
	assert_non_null(strstr(found.list[0].mend, "bpf_jit_enable=1"));
}

static void test_clouds(void **state)
{
	static const struct {
		const char *vendor;
		enum rules_cloud cloud;
		bool by_ip, hinders;
		const char *mend;
	} rows[] = {
		{"Amazon EC2\n", RULES_AWS, true, false, "--no-source-dest-check"},
		{"Microsoft Corporation\n", RULES_AZURE, true, true, ""},
		{"Microsoft Corporation\n", RULES_AZURE, false, false, "--ip-forwarding"},
		{"Google\n", RULES_GOOGLE, true, false, "--mtu=1600"},
		{"QEMU\n", RULES_NO_CLOUD, true, false, NULL},
		{"", RULES_NO_CLOUD, true, false, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rules_findings found = {0};
		struct rules_host host = usual;

		host.cloud = rules_cloud_of(rows[i].vendor);
		host.by_ip = rows[i].by_ip;
		assert_int_equal(host.cloud, rows[i].cloud);
		rules_of_host(&host, &found);
		assert_int_equal(rules_hinder(&found), rows[i].hinders);
		assert_int_equal(found.count > 0, rows[i].mend != NULL);
		if (rows[i].mend)
			assert_non_null(strstr(found.list[0].mend, rows[i].mend));
	}
}

static void test_bounds(void **state)
{
	struct rules_findings found = {.count = RULES_MAX};
	struct card card = {.name = "e0", .mtu = 1500};

	(void)state;
	rules_of_card(&usual, &card, (struct rules_wanted){.native = true}, &found);
	assert_int_equal(found.count, RULES_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cards),  cmocka_unit_test(test_own_program),
		cmocka_unit_test(test_host),   cmocka_unit_test(test_clouds),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
