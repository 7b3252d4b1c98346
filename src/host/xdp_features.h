/* SPDX-License-Identifier: BSD-2-Clause */
/* What an interface's driver says it can do with XDP, without trying it. Linux 6.3. Any thread. */
#pragma once

#include <stdbool.h>

/* *ret: can it run XDP itself (native mode)? -EOPNOTSUPP: this kernel does not tell. */
int xdp_features_native(const char *interface, bool *ret);
