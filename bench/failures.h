/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Base tables, and what events of backends cost in many pools at once, beside the plain loop that
 * builds a Maglev table anew over those who are left: rows of bench/timing.h.
 */
#pragma once

void failures_run(void);
