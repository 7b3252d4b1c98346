/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exec probe: a program that ends with 0. It gets the backend in its environment, nothing to
 * read, and a pipe for all that it says, of which the first line is the reason of a failure. It is
 * the leader of a process group of its own, which is killed as a whole when the probe is cancelled.
 * So many run at once, those that were killed and have not ended yet among them, and no more.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "health/probe/socket.h"
#include "health/spec.h"

enum {
	RUNNING_MAX = 64,
	WORDS_MAX = 64,
	OUTPUT_MAX = 65536, /* then nobody listens any more */
	LETTERS_MAX = 120,
};

struct exec {
	unsigned running;
	bool closed;
};

struct probe {
	struct probe_order order;
	struct exec *exec;
	uv_process_t process;
	uv_poll_t poll;
	int pipe; /* -1: closed */
	unsigned handles;
	bool cancelled;
	size_t output, used;
	bool line_ended;
	char line[LETTERS_MAX + 1];
};

/* --- the end --- */

static void on_closed(uv_handle_t *handle)
{
	struct probe *probe = handle->data;

	if (--probe->handles)
		return;
	if (--probe->exec->running == 0 && probe->exec->closed)
		free(probe->exec);
	free(probe);
}

static void close_pipe(struct probe *probe)
{
	if (probe->pipe < 0)
		return;
	uv_close((uv_handle_t *)&probe->poll, on_closed);
	close(probe->pipe);
	probe->pipe = -1;
}

static void close_all(void *shared)
{
	struct exec *exec = shared;

	exec->closed = true;
	if (!exec->running)
		free(exec);
}

/* The process is reaped when it has ended; only then its number is free for another. */
static void cancel(struct probe *probe)
{
	probe->cancelled = true;
	kill(-probe->process.pid, SIGKILL);
	close_pipe(probe);
}

/* --- what it says --- */

static void take(struct probe *probe, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length && !probe->line_ended; i++) {
		unsigned char letter = (unsigned char)bytes[i];

		if (letter == '\n' || probe->used == LETTERS_MAX)
			probe->line_ended = true;
		else
			probe->line[probe->used++] = (char)(letter < 0x20 ? ' ' : letter);
	}
	probe->output += length;
}

/* Closes the pipe when there is no more, or too much. */
static void drain(struct probe *probe)
{
	char bytes[4096];
	ssize_t length = 1;

	for (int i = 0; i < 16 && length > 0 && probe->output < OUTPUT_MAX; i++) {
		length = read(probe->pipe, bytes, sizeof(bytes));
		if (length > 0)
			take(probe, bytes, (size_t)length);
	}
	if (length == 0 || (length < 0 && errno != EAGAIN) || probe->output >= OUTPUT_MAX)
		close_pipe(probe);
}

static void on_output(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	drain(poll->data);
}

static void on_exit_status(uv_process_t *process, int64_t status, int signal)
{
	struct probe *probe = process->data;
	struct probe_order order = probe->order;
	bool cancelled = probe->cancelled;
	const char *colon;
	char error[HEALTH_ERROR_MAX] = "";

	if (probe->pipe >= 0)
		drain(probe);
	colon = probe->used ? ": " : "";
	if (signal)
		snprintf(error, sizeof(error), "ended by signal %d%s%s", signal, colon,
			 probe->line);
	else if (status)
		snprintf(error, sizeof(error), "exit status %d%s%s", (int)status, colon,
			 probe->line);
	close_pipe(probe);
	uv_close((uv_handle_t *)process, on_closed);
	if (!cancelled)
		order.done(order.arg, *error ? PROBE_FAILED : PROBE_SUCCEEDED, error);
}

/* --- the beginning --- */

/* Cuts the kept command, whose words end with zero bytes, and never writes it. */
static bool split(const struct health_bytes *command, char *words[WORDS_MAX + 1])
{
	const char *at = command->data, *end = at + command->length;
	size_t count = 0;

	for (; at < end && count < WORDS_MAX; at += strlen(at) + 1)
		words[count++] = (char *)(uintptr_t)at;
	words[count] = NULL;
	return at == end && count;
}

static int spawn(struct probe *probe, int output)
{
	const struct health_spec *spec = probe->order.spec;
	char address[ADDR_TEXT_MAX], set_address[ADDR_TEXT_MAX + 16], set_port[32];
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	char *words[WORDS_MAX + 1], *environment[] = {path, set_address, set_port, NULL};
	uv_stdio_container_t stdio[3] = {
		{.flags = UV_IGNORE},
		{.flags = UV_INHERIT_FD, .data.fd = output},
		{.flags = UV_INHERIT_FD, .data.fd = output},
	};
	uv_process_options_t options = {
		.exit_cb = on_exit_status,
		.args = words,
		.env = environment,
		.cwd = "/",
		.flags = UV_PROCESS_DETACHED,
		.stdio = stdio,
		.stdio_count = 3,
	};

	/* Libraries keep some, as curl a pair of sockets, that their calls would hand on. */
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	split(&spec->texts[HEALTH_COMMAND], words);
	options.file = words[0];
	snprintf(set_address, sizeof(set_address), "WEIR_ADDRESS=%s",
		 addr_format(&spec->address, address));
	snprintf(set_port, sizeof(set_port), "WEIR_PORT=%u", spec->port);
	if (!spec->port)
		environment[2] = NULL;
	return uv_spawn(probe->order.loop, &probe->process, &options);
}

/* Returns an errno; from then on the probe frees itself. */
static int begin(struct probe *probe)
{
	int ends[2], code;

	if (pipe2(ends, O_CLOEXEC))
		return errno;
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	probe->process.data = probe->poll.data = probe;
	code = uv_poll_init(probe->order.loop, &probe->poll, ends[0]);
	if (code) {
		close(ends[0]);
		close(ends[1]);
		return -code;
	}
	probe->pipe = ends[0];
	probe->exec->running++;
	probe->handles = 2;
	code = spawn(probe, ends[1]);
	close(ends[1]);
	if (code) {
		probe->cancelled = true;
		close_pipe(probe);
		uv_close((uv_handle_t *)&probe->process, on_closed);
		return -code;
	}
	uv_poll_start(&probe->poll, UV_READABLE, on_output);
	return 0;
}

static enum probe_result start(const struct probe_order *order, struct probe **ret,
			       const char **ret_error)
{
	struct exec *exec = *order->shared;
	struct probe *probe;
	int code;

	if (!exec)
		exec = *order->shared = calloc(1, sizeof(*exec));
	probe = exec && exec->running < RUNNING_MAX ? calloc(1, sizeof(*probe)) : NULL;
	if (!probe) {
		*ret_error = exec && exec->running >= RUNNING_MAX ? "too many programs run already"
								  : "out of memory";
		return PROBE_NOT_RUN;
	}
	probe->order = *order;
	probe->exec = exec;
	probe->pipe = -1;
	code = begin(probe);
	if (!code) {
		*ret = probe;
		return PROBE_RUNNING;
	}
	if (!probe->handles)
		free(probe);
	*ret_error = uv_strerror(-code);
	return PROBE_NOT_RUN;
}

static bool is_valid(const struct health_spec *spec)
{
	const struct health_bytes *command = &spec->texts[HEALTH_COMMAND];
	const char *text = command->data;
	char *words[WORDS_MAX + 1];

	return command->length && *text == '/' && text[command->length - 1] == '\0' &&
	       split(command, words);
}

const struct probe_type probe_exec = {
	.name = "exec",
	.start = start,
	.cancel = cancel,
	.close = close_all,
	.is_valid = is_valid,
};
