/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes written as text: \xHH is any byte, \\ a backslash, all else stands for itself. Pure. */
#pragma once

#include <stddef.h>

/* What `text` says into `bytes`, which has room for strlen(text); the same place will do. The
 * length, or -EINVAL: a backslash before something else. */
long escape_decode(const char *text, void *bytes);
