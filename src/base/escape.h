/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes written as text: \xHH is any byte, \\ a backslash, all else stands for itself; and texts
 * from outside, as they may be shown. Pure. */
#pragma once

#include <stddef.h>

/* What `text` says into `bytes`, which has room for strlen(text); the same place will do. The
 * length, or -EINVAL: a backslash before something else. */
long escape_decode(const char *text, void *bytes);

/* What a terminal takes for its own, or ends a line, becomes a question mark: controls, also those
 * that UTF-8 has in two bytes (C1). */
void escape_controls(char *text);
