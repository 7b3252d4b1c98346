/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/kernel/objects.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_LIMIT = 512 };

glob_t objects;

int objects_find(void **state)
{
	char self[PATH_LIMIT], path[PATH_LIMIT + 32];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (length <= 0)
		return -1;
	self[length] = '\0';
	/* BUILD/tests/packet/NAME */
	for (int up = 0; up < 3; up++)
		*strrchr(self, '/') = '\0';
	snprintf(path, sizeof(path), "%s/src/*/*.bpf.o", self);
	return glob(path, 0, NULL, &objects);
}

int objects_forget(void **state)
{
	(void)state;
	globfree(&objects);
	return 0;
}
