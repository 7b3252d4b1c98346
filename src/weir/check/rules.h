/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What of a host would hinder native XDP, or make it slow, and the command that mends it. Pure: the
 * facts are given, what drivers refuse is a table here. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/card/card.h"

enum rules_kind {
	RULES_HINDERS, /* native XDP is refused, or packets are lost */
	RULES_SLOWS,
	RULES_NOTES, /* what to know */
};

enum { RULES_MAX = 16, RULES_TEXT_MAX = 240, RULES_MEND_MAX = 160 };

struct rules_finding {
	enum rules_kind kind;
	char text[RULES_TEXT_MAX];
	char mend[RULES_MEND_MAX]; /* a command; "": there is none */
};

struct rules_findings {
	struct rules_finding list[RULES_MAX];
	size_t count; /* more than RULES_MAX are left out */
};

enum rules_cloud { RULES_NO_CLOUD, RULES_AWS, RULES_AZURE, RULES_GOOGLE };

struct rules_host {
	unsigned release[2]; /* of the kernel: 6, 1 */
	unsigned processors;
	bool jit; /* BPF programs are compiled */
	bool root;
	enum rules_cloud cloud;
	bool by_ip; /* some service's tunnel is IPIP or GRE */
};

/* By /sys/class/dmi/id/sys_vendor, as it stands there. */
enum rules_cloud rules_cloud_of(const char *vendor);
/* "", "AWS" ... */
const char *rules_cloud_name(enum rules_cloud cloud);
/* "hinders", "slows" or "note". */
const char *rules_kind_name(enum rules_kind kind);

void rules_of_host(const struct rules_host *host, struct rules_findings *ret);
/*
 * `native`: generic is not what is wanted. `ours`: the program that is attached belongs to the node
 * that is checked.
 */
struct rules_wanted {
	bool native, ours;
};
void rules_of_card(const struct rules_host *host, const struct card *card,
		   struct rules_wanted wanted, struct rules_findings *ret);
bool rules_hinder(const struct rules_findings *findings);
