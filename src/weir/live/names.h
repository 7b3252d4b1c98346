/* SPDX-License-Identifier: BSD-2-Clause */
/* Which service and backend a record of the tables is, as the running node says it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "weir/cli/ask.h"

/* All zero: nobody was asked, and records have numbers for names. */
struct names {
	json_t *answer;
};

/* "pool/backend", both of 63 bytes at most, fits. */
struct name_text {
	char text[160];
};

/* Asks for them; `name` is the command's. EXIT_OK, or a failure that is said. */
int names_ask(const struct ask *ask, const char *name, struct names *ret);
/* The same without a word. Whether a node has answered. */
bool names_try(const struct ask *ask, struct names *ret);
void names_fini(struct names *names);

/* Empty for record 0, which is none. */
struct name_text names_service(const struct names *names, uint32_t record);
/* With its pool, as it is named everywhere: "web/b1". */
struct name_text names_backend(const struct names *names, uint32_t record);
/* As the node calls it, which may run in another network namespace. */
struct name_text names_interface(const struct names *names, uint32_t index);
