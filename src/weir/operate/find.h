/* SPDX-License-Identifier: BSD-2-Clause */
/* Which backend an operator means: NAME where one pool alone has it, else POOL/NAME. Pure. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "conf/conf.h"

/* By places in the configuration. -ENOENT: none is called so, and the error names those that are
 * nearly; -EEXIST: several are, and it names them; -EINVAL: it is no name. */
int find_backend(const struct conf *conf, const char *text, size_t *ret_pool, size_t *ret_member,
		 struct err *err);
