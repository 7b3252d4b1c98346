/* SPDX-License-Identifier: BSD-2-Clause */
/* The JSON schema of what works now, made from the configuration's table. */
#pragma once

#include <jansson.h>

#include "conf/keys/schema.h"

/* A new reference; NULL when out of memory. */
json_t *schema_json(enum conf_file file);
