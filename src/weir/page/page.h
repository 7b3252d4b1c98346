/* SPDX-License-Identifier: BSD-2-Clause */
/* The page that a node shows to a browser: the files of web/, which are a part of the program. */
#pragma once

#include "admin/http.h"

enum { PAGE_FILES = 3 };

/* PAGE_FILES routes, with constant bodies and tags of their content; valid for ever. */
const struct http_route *page_routes(void);
