/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The assembler puts the files into the program as they are (.incbin, by their path from where the
 * compiler is called), so nothing has to make C of them and nothing is installed beside the binary.
 * The compiler does not see which files these are: the Makefile says it.
 */
#include "weir/page/page.h"

#include <stdio.h>

#include <xxhash.h>

#define EMBED(name, file)                                        \
	extern const char name[], name##_end[];                  \
	__asm__(".pushsection .rodata\n"                         \
		".global " #name ", " #name "_end\n" #name ":\n" \
		".incbin \"" file "\"\n" #name "_end:\n"         \
		".byte 0\n"                                      \
		".popsection\n")

EMBED(page_index, "web/index.html");
EMBED(page_script, "web/app.js");
EMBED(page_style, "web/style.css");

static const struct {
	const char *path, *type, *body, *end;
} files[PAGE_FILES] = {
	{"/", "text/html; charset=utf-8", page_index, page_index_end},
	{"/app.js", "text/javascript; charset=utf-8", page_script, page_script_end},
	{"/style.css", "text/css; charset=utf-8", page_style, page_style_end},
};

const struct http_route *page_routes(void)
{
	static struct http_route routes[PAGE_FILES];
	static char tags[PAGE_FILES][24];

	for (size_t i = 0; i < PAGE_FILES; i++) {
		size_t length = (size_t)(files[i].end - files[i].body);

		snprintf(tags[i], sizeof(tags[i]), "\"%016llx\"",
			 (unsigned long long)XXH3_64bits(files[i].body, length));
		/* Kept, and asked for again each time: another version shows at once. */
		routes[i] = (struct http_route){.path = files[i].path,
						.type = files[i].type,
						.body = files[i].body,
						.length = length,
						.cache = "no-cache",
						.etag = tags[i]};
	}
	return routes;
}
