/* SPDX-License-Identifier: BSD-2-Clause */
/* The part of `weir status` on who was told of the VIPs. */
#pragma once

#include <stdbool.h>

#include <jansson.h>

/* On standard output; nothing of a node that announces nothing (null). */
void announced_print(const json_t *announce);
