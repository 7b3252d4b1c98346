/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generic receive offload (GRO) of an interface: the kernel joins a flow's segments to packets of
 * up to 64 KB. A program in the driver runs before that; in generic mode it runs after, and a
 * joined packet fits into no tunnel. So GRO is off while XDP is generic, and a mark beside the
 * pins says that it was on, for whoever detaches. Any thread.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* Switches it off where it is on, and marks that in `dir`. */
int gro_suspend(const char *dir, const char *interface, struct err *err);
/* Switches on again what is marked in `dir`, but where `keep` says no; NULL: everywhere. */
void gro_resume(const char *dir, bool (*keep)(void *arg, const char *interface), void *arg);
