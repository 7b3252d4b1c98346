/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/again/again.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"

enum { LINE_MAX_BYTES = 16 * 1024, WORDS_MAX = 64, CHECK_MS = 20000 };

extern char **environ;

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

/* What it says, its first line, until it ends: true, or the time is over. */
static bool listen_to(int fd, char *said, size_t room)
{
	bool ended = false;
	uint64_t end_ms = time_now_ms() + CHECK_MS;
	size_t length = 0;

	for (;;) {
		uint64_t now_ms = time_now_ms();
		struct pollfd ready = {.fd = fd, .events = POLLIN};
		char chunk[512];
		ssize_t got;

		if (now_ms >= end_ms || poll(&ready, 1, (int)(end_ms - now_ms)) <= 0)
			break;
		got = read(fd, chunk, sizeof(chunk));
		ended = got == 0;
		if (got <= 0)
			break;
		for (ssize_t i = 0; i < got && length + 1 < room; i++)
			said[length++] = chunk[i];
	}
	said[length] = '\0';
	said[strcspn(said, "\n")] = '\0';
	return ended;
}

static int spawn_check(const char *file, int output, pid_t *ret)
{
	char *arguments[] = {program, (char *)"check", (char *)"--", (char *)file, NULL};
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error)
		return -error;
	error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
	if (!error)
		error = posix_spawn(ret, program, &actions, NULL, arguments, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -error;
}

static int ask_program(const char *file, struct err *err)
{
	int pipes[2], status = 0, error;
	char said[200];
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC))
		return err_set(err, -errno, "pipe: %s", strerror(errno));
	error = spawn_check(file, pipes[1], &child);
	close(pipes[1]);
	if (!error) {
		if (!listen_to(pipes[0], said, sizeof(said)))
			kill(child, SIGKILL);
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
	}
	close(pipes[0]);
	if (error)
		return err_set(err, error, "%s cannot be called: %s", program, strerror(-error));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(err, -EINVAL, "%s does not take %s: %s", program, file,
			       said[0] ? said : "it said nothing");
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

int again_prepare(const char *file, struct err *err)
{
	if (unknown.text[0] || !words[0])
		return err_set(err, -ENOENT, "%s", unknown.text);
	return ask_program(file, err);
}

int again_call(struct err *err)
{
	int error;

	execv(program, words);
	error = -errno;
	return err_set(err, error, "cannot call %s: %s", program, strerror(-error));
}
