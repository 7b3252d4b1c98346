/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/again/ask.h"

#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "weir/again/again.h"

enum {
	CHECK_MS = 20000,
	SAID_MAX = 200, /* of its first line */
	CHUNK = 512,
	HANDLES = 3,
};

struct again_ask {
	uv_process_t process;
	uv_pipe_t output;
	uv_timer_t late;
	unsigned handles; /* that are open */
	bool has_exited, has_said_all, was_late;
	int64_t status;
	int signal;
	const char *program, *file;
	char said[SAID_MAX];
	size_t said_length;
	char chunk[CHUNK];
	again_answered *answered; /* NULL: it was abandoned, or has been told */
	void *arg;
};

static void on_closed(uv_handle_t *handle)
{
	struct again_ask *ask = handle->data;

	if (--ask->handles == 0)
		free(ask);
}

static void close_all(struct again_ask *ask)
{
	uv_close((uv_handle_t *)&ask->process, on_closed);
	uv_close((uv_handle_t *)&ask->output, on_closed);
	uv_close((uv_handle_t *)&ask->late, on_closed);
}

static void answer(struct again_ask *ask)
{
	again_answered *answered = ask->answered;
	struct err err;

	close_all(ask);
	if (!answered)
		return;
	ask->said[strcspn(ask->said, "\n")] = '\0';
	if (!ask->was_late && !ask->status && !ask->signal) {
		answered(ask->arg, NULL);
		return;
	}
	err_set(&err, -EINVAL, "%s does not take %s: %s", ask->program, ask->file,
		ask->said[0]    ? ask->said
		: ask->was_late ? "it did not end within 20 s"
				: "it said nothing");
	answered(ask->arg, &err);
}

/* What it left behind may have its output still, and is not waited for beyond its time. */
static void end(struct again_ask *ask)
{
	if (ask->has_exited && (ask->has_said_all || ask->was_late || !ask->answered))
		answer(ask);
}

static void on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	struct again_ask *ask = process->data;

	ask->has_exited = true;
	ask->status = status;
	ask->signal = signal;
	end(ask);
}

static void on_late(uv_timer_t *timer)
{
	struct again_ask *ask = timer->data;

	ask->was_late = true;
	uv_process_kill(&ask->process, SIGKILL);
	end(ask);
}

static void on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *ret)
{
	struct again_ask *ask = handle->data;

	(void)suggested;
	*ret = uv_buf_init(ask->chunk, sizeof(ask->chunk));
}

static void on_said(uv_stream_t *stream, ssize_t got, const uv_buf_t *buffer)
{
	struct again_ask *ask = stream->data;
	size_t room = sizeof(ask->said) - 1 - ask->said_length;
	size_t length = got > 0 && (size_t)got < room ? (size_t)got : room;

	if (got < 0) {
		uv_read_stop(stream);
		ask->has_said_all = true;
		end(ask);
		return;
	}
	if (got == 0)
		return;
	memcpy(ask->said + ask->said_length, buffer->base, length);
	ask->said_length += length;
}

static int spawn(uv_loop_t *loop, struct again_ask *ask)
{
	char *words[] = {(char *)ask->program, (char *)"check", (char *)"--", (char *)ask->file,
			 NULL};
	uv_stdio_container_t stdio[] = {
		{.flags = UV_IGNORE},
		{.flags = UV_IGNORE},
		{.flags = (uv_stdio_flags)(UV_CREATE_PIPE | UV_WRITABLE_PIPE),
		 .data.stream = (uv_stream_t *)&ask->output},
	};
	const uv_process_options_t options = {
		.file = ask->program,
		.args = words,
		.stdio = stdio,
		.stdio_count = sizeof(stdio) / sizeof(stdio[0]),
		.exit_cb = on_exit_of,
	};

	/* Libraries keep some that are not for it. */
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	return uv_spawn(loop, &ask->process, &options);
}

int again_ask_start(uv_loop_t *loop, const char *file, again_answered *answered, void *arg,
		    struct again_ask **ret, struct err *err)
{
	struct again_ask *ask = calloc(1, sizeof(*ask));
	int error;

	if (!ask)
		return err_set(err, -ENOMEM, "out of memory");
	error = again_program(&ask->program, err);
	if (error) {
		free(ask);
		return error;
	}
	ask->file = file;
	ask->handles = HANDLES;
	ask->process.data = ask->output.data = ask->late.data = ask;
	uv_pipe_init(loop, &ask->output, 0);
	uv_timer_init(loop, &ask->late);
	error = spawn(loop, ask);
	if (error) {
		close_all(ask);
		return err_set(err, error, "%s cannot be called: %s", ask->program,
			       strerror(-error));
	}
	ask->answered = answered;
	ask->arg = arg;
	uv_timer_start(&ask->late, on_late, CHECK_MS, 0);
	uv_read_start((uv_stream_t *)&ask->output, on_room, on_said);
	*ret = ask;
	return 0;
}

/* It is waited for nevertheless, as one that nobody waits for stays as a zombie. */
void again_ask_abandon(struct again_ask *ask)
{
	ask->answered = NULL;
	if (ask->has_exited)
		close_all(ask);
	else
		uv_process_kill(&ask->process, SIGKILL);
}
