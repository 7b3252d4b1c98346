/* SPDX-License-Identifier: BSD-2-Clause */
/* `weir check --host`: this host looked at by the rules, and what they find printed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* For whom. All zero: for no configuration, so every interface that is up but the loopback. */
struct check_host {
	const char *const *interfaces;
	size_t count;
	const char *pins; /* of that node or agent; NULL: none */
	bool generic;     /* generic XDP is all that is wanted */
	bool by_ip;       /* some service's tunnel is IPIP or GRE */
};

/* EXIT_OK, EXIT_NO if something hinders, or it cannot be asked. */
int check_host(const struct check_host *wanted, bool json);
