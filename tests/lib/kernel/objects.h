/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The compiled programs, found beside the running test in its build directory (BUILD/tests/packet):
 * a new one needs no line anywhere. For one thread.
 */
#pragma once

#include <glob.h>

extern glob_t objects;

/* For cmocka, a group's. */
int objects_find(void **state);
int objects_forget(void **state);
