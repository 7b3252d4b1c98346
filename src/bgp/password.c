/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp/password.h"

#include <string.h>
#include <sys/mman.h>

#include "bgp/speaker.h"

enum { ROOM = BGP_PASSWORD_MAX + 1 }; /* the kernel makes a page of it */

char *password_new(const char *text)
{
	size_t length = strlen(text);
	char *password;

	if (length >= ROOM)
		return NULL;
	password = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (password == MAP_FAILED)
		return NULL;
	madvise(password, ROOM, MADV_DONTDUMP);
	memcpy(password, text, length);
	return password;
}

void password_free(char *password)
{
	if (!password)
		return;
	explicit_bzero(password, ROOM);
	munmap(password, ROOM);
}
