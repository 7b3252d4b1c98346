/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/announce/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROOM = SECRET_MAX + 3 }; /* a line's end, and one byte more to see that there are more */

static const char *refuse(const struct stat *stat)
{
	if (!S_ISREG(stat->st_mode))
		return "it is no regular file";
	return stat->st_mode & S_IROTH ? "any user may read it, expected mode 0600 or 0640" : NULL;
}

static int read_up(int fd, char *text, size_t room, size_t *ret_length)
{
	size_t used = 0;

	while (used < room) {
		ssize_t got = read(fd, text + used, room - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	*ret_length = used;
	return 0;
}

/* NULL and the password's length, or what is wrong. */
static const char *measure(const char *text, size_t length, size_t *ret)
{
	if (length && text[length - 1] == '\n')
		length--;
	if (length && text[length - 1] == '\r')
		length--;
	if (length == 0)
		return "it is empty";
	if (length > SECRET_MAX)
		return "it is longer than 80 bytes";
	if (memchr(text, '\n', length) || memchr(text, '\0', length))
		return "it is more than one line of text";
	*ret = length;
	return NULL;
}

int secret_read(const char *path, char ret[SECRET_MAX + 1], struct err *err)
{
	char text[ROOM];
	size_t length = 0;
	struct stat stat;
	const char *wrong = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code = 0;

	if (fd < 0 || fstat(fd, &stat))
		code = -errno;
	else
		wrong = refuse(&stat);
	if (!code && !wrong)
		code = read_up(fd, text, sizeof(text), &length);
	if (!code && !wrong)
		wrong = measure(text, length, &length);
	if (fd >= 0)
		close(fd);
	if (!code && !wrong) {
		memcpy(ret, text, length);
		ret[length] = '\0';
	}
	explicit_bzero(text, sizeof(text));
	if (wrong)
		return err_set(err, -EINVAL, "password file %s: %s", path, wrong);
	return code ? err_set(err, code, "password file %s: %s", path, strerror(-code)) : 0;
}

void secret_wipe(char secret[SECRET_MAX + 1])
{
	explicit_bzero(secret, SECRET_MAX + 1);
}
