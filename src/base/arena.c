/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 16 * 1024, ALIGNMENT = _Alignof(max_align_t) };

struct block {
	struct block *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) char bytes[];
};

struct arena {
	struct block *blocks; /* the newest first; only it has room */
};

static void *must(void *memory)
{
	if (!memory) {
		fputs("weir: out of memory\n", stderr);
		abort();
	}
	return memory;
}

struct arena *arena_new(void)
{
	return must(calloc(1, sizeof(struct arena)));
}

void arena_free(struct arena *arena)
{
	struct block *next;

	if (!arena)
		return;
	for (struct block *block = arena->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	free(arena);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct block *block = arena->blocks;
	void *memory;

	if (size > SIZE_MAX / 2)
		must(NULL);
	size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if (!block || block->size - block->used < size) {
		size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;

		block = must(calloc(1, sizeof(*block) + room));
		block->size = room;
		block->next = arena->blocks;
		arena->blocks = block;
	}
	memory = block->bytes + block->used;
	block->used += size;
	return memory;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
	if (size && count > SIZE_MAX / 2 / size)
		must(NULL);
	return arena_alloc(arena, count * size);
}

char *arena_strdup(struct arena *arena, const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(arena_alloc(arena, size), text, size);
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list args, again;
	char *text;
	int length;

	va_start(args, format);
	va_copy(again, args);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0)
		length = 0;
	text = arena_alloc(arena, (size_t)length + 1);
	vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}
