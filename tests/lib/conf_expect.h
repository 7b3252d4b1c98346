/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tests of the configuration share: pieces of files that make right what a case is not about,
 * each on a line of its own, and what must be said of wrong ones. Fails the running test.
 */
#pragma once

#include <stddef.h>

#include "conf/conf.h"

#define NODE    "node: {interfaces: [eth0]}\n"
#define POOL    "pools: [{name: web, backends: [{name: b1, address: 10.0.1.1}]}]\n"
#define SERVICE "services: [{name: shop, vips: [192.0.2.1], listen: [tcp/80], pool: web}]\n"

/* What is given stands in line 2 or 3. */
#define BACKENDS(text) NODE "pools: [{name: web, backends: [" text "]}]\n" SERVICE
#define POOL_OF(text) \
	NODE "pools: [{name: web, " text ", backends: [{name: b1, address: 10.0.1.1}]}]\n" SERVICE
#define SERVED(text) NODE POOL "services: [{" text "}]\n"
#define SHOP(text)   SERVED("name: shop, pool: web, vips: [192.0.2.1], listen: [tcp/80], " text)

struct wrong {
	int line, column;
	const char *part;
};

struct wrong_case {
	const char *text;
	struct wrong wrongs[8]; /* ended by line 0 */
};

/* Every error, in order, by its place and a part of its text. `most` wrongs at most. */
void conf_expect_wrongs(const char *text, const struct err_list *errors, const struct wrong *wrongs,
			size_t most);
/* Nodes' files, each refused with its errors and no others. */
void conf_expect_refused(const struct wrong_case *cases, size_t count);
/* Agents' files. */
void conf_expect_agents_refused(const struct wrong_case *cases, size_t count);
/* What the file says. */
struct conf *conf_expect_right(const char *text);
struct conf_agent *conf_expect_agent_right(const char *text);
