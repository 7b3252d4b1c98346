/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/again/again.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 16 * 1024, WORDS_MAX = 64 };

static struct err unknown; /* why it is not known how this process was called; "" */
static char program[PATH_MAX];
static char line[LINE_MAX_BYTES];
static char *words[WORDS_MAX + 1];

/* A program that was replaced has this behind its path, which is the new one's. */
static int read_program(struct err *err)
{
	static const char gone[] = " (deleted)";
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);
	size_t tail = sizeof(gone) - 1;

	if (length < 0)
		return err_set(err, -errno, "/proc/self/exe: %s", strerror(errno));
	program[length] = '\0';
	if ((size_t)length > tail && strcmp(program + length - tail, gone) == 0)
		program[(size_t)length - tail] = '\0';
	return 0;
}

static int read_words(struct err *err)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, line, sizeof(line)) : -1;
	size_t count = 0;

	if (fd >= 0)
		close(fd);
	if (length <= 0 || length == (ssize_t)sizeof(line) || line[length - 1] != '\0')
		return err_set(err, -E2BIG, "how this process was called cannot be read");
	for (char *at = line; at < line + length; at += strlen(at) + 1) {
		if (count == WORDS_MAX)
			return err_set(err, -E2BIG, "this process was called with too many words");
		words[count++] = at;
	}
	words[count] = NULL;
	return 0;
}

static void mask_signals(int how)
{
	static const int ends[] = AGAIN_SIGNALS;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		sigaddset(&set, ends[i]);
	pthread_sigmask(how, &set, NULL);
}

void again_hold_signals(void)
{
	mask_signals(SIG_BLOCK);
}

void again_take_signals(void)
{
	mask_signals(SIG_UNBLOCK);
}

void again_remember(void)
{
	unknown.text[0] = '\0';
	if (read_program(&unknown) == 0)
		read_words(&unknown);
}

int again_program(const char **ret, struct err *err)
{
	if (unknown.text[0] || !words[0])
		return err_set(err, -ENOENT, "%s", unknown.text);
	*ret = program;
	return 0;
}

int again_call(struct err *err)
{
	int error;

	execv(program, words);
	error = -errno;
	return err_set(err, error, "cannot call %s: %s", program, strerror(-error));
}
