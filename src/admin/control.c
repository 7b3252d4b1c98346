/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket's server. A client goes one way only:
 *
 *   accepted -> its line is read -> the handler is asked -> the answer is written -> closed
 *
 * and a timer over each half closes it early. So whoever connects and says nothing, or asks and
 * does not read, holds one of CONTROL_CLIENTS_MAX places for a bounded time. While all places are
 * taken nothing is accepted, and later clients wait in the kernel's queue.
 *
 * Sockets are polled and written to by hand, since the loop's streams would raise SIGPIPE for a
 * client that hangs up, and a library must not change what signals do. The path gets its final
 * mode before anybody can connect, and is removed at the end only if it is still ours.
 */
#include "admin/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
	MODE = 0660,
	DIRECTORY_MODE = 0755,
	BACKLOG = 64,
	GROUPS_MAX = 256,          /* of a client, that are looked at */
	PAUSE_MS = 100,            /* after a failed accept, until the next */
	SEND_MAX = 256 * 1024,     /* bytes a send */
	SENDS_MAX = 16,            /* sends a turn of the loop */
	ANSWER_RATE = 1024 * 1024, /* bytes a second that a client reads at least */
};

struct client {
	LIST_ENTRY(client) link;
	struct control *control;
	uv_poll_t poll;
	uv_timer_t timer;
	int fd;
	int handles;
	char *answer; /* NULL: still reading */
	size_t answer_length, sent;
	size_t request_length;
	bool is_stranger;                      /* may not ask */
	char request[CONTROL_REQUEST_MAX + 1]; /* and its newline */
};

struct control {
	uv_loop_t *loop;
	uv_poll_t listener;
	uv_timer_t pause;
	int fd;
	int handles; /* and clients, until their memory is free */
	unsigned clients;
	LIST_HEAD(, client) list;
	control_handler *handler;
	void *arg;
	bool closing;
	dev_t device; /* of the socket's name in the file system */
	ino_t inode;
	uid_t owner;
	gid_t group;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
};

static void on_listener(uv_poll_t *poll, int status, int events);

static void release(struct control *control)
{
	if (--control->handles == 0)
		free(control);
}

static void on_client_closed(uv_handle_t *handle)
{
	struct client *client = handle->data;
	struct control *control = client->control;

	if (--client->handles)
		return;
	free(client->answer);
	free(client);
	release(control);
}

static void client_end(struct client *client)
{
	struct control *control = client->control;

	LIST_REMOVE(client, link);
	uv_close((uv_handle_t *)&client->poll, on_client_closed);
	uv_close((uv_handle_t *)&client->timer, on_client_closed);
	close(client->fd);
	client->fd = -1;
	control->clients--;
	if (!control->closing && !uv_is_active((uv_handle_t *)&control->pause))
		uv_poll_start(&control->listener, UV_READABLE, on_listener);
}

static void on_late(uv_timer_t *timer)
{
	client_end(timer->data);
}

/* The answer */

static json_t *error_answer(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static struct control_peer look_at_peer(int fd)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return (struct control_peer){0};
	return (struct control_peer){.is_trusted = peer.uid == 0 || peer.uid == geteuid(),
				     .pid = peer.pid};
}

static json_t *ask_handler(struct client *client)
{
	struct control *control = client->control;
	const struct control_peer peer = look_at_peer(client->fd);
	json_error_t error;
	json_t *request, *answer;

	if (client->is_stranger)
		return error_answer("permission denied: root and the socket's group may ask");
	request =
		json_loadb(client->request, client->request_length, JSON_REJECT_DUPLICATES, &error);
	if (!request)
		return error_answer("the request is no JSON, or has a key twice");
	if (json_is_object(request))
		answer = control->handler(control->arg, request, &peer);
	else
		answer = error_answer("the request is no JSON object");
	json_decref(request);
	return answer;
}

/* Takes the reference. The text's final zero becomes the newline. */
static void set_answer(struct client *client, json_t *answer)
{
	char *text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;

	json_decref(answer);
	if (text && strlen(text) >= CONTROL_ANSWER_MAX) {
		free(text);
		text = strdup("{\"error\":\"the answer is too large\"}");
	}
	if (!text)
		text = strdup("{\"error\":\"there is no answer\"}");
	if (!text)
		return;
	client->answer = text;
	client->answer_length = strlen(text);
	client->answer[client->answer_length++] = '\n';
}

/* Ends the client when all is written or nothing more can be. */
static void send_some(struct client *client)
{
	for (int i = 0; i < SENDS_MAX && client->sent < client->answer_length; i++) {
		size_t left = client->answer_length - client->sent;
		ssize_t sent = send(client->fd, client->answer + client->sent,
				    left < SEND_MAX ? left : SEND_MAX, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (sent < 0)
			break;
		client->sent += (size_t)sent;
		if (i + 1 == SENDS_MAX && client->sent < client->answer_length)
			return;
	}
	client_end(client);
}

static void on_client(uv_poll_t *poll, int status, int events);

/* The handler may have closed the control socket, and with it this client. */
static void answer(struct client *client, json_t *json)
{
	uint64_t time_ms;

	if (client->fd < 0) {
		json_decref(json);
		return;
	}
	set_answer(client, json);
	if (!client->answer) {
		client_end(client);
		return;
	}
	time_ms = CONTROL_TIMEOUT_MS + client->answer_length * 1000 / ANSWER_RATE;
	uv_update_time(client->control->loop);
	uv_timer_start(&client->timer, on_late, time_ms, 0);
	uv_poll_start(&client->poll, UV_WRITABLE, on_client);
}

static void receive_some(struct client *client)
{
	char *end = client->request + client->request_length;
	size_t room = sizeof(client->request) - client->request_length;
	ssize_t got = recv(client->fd, end, room, MSG_DONTWAIT);
	const char *newline;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got < 0 || (got == 0 && client->request_length == 0)) {
		client_end(client);
		return;
	}
	newline = memchr(end, '\n', (size_t)got);
	client->request_length += (size_t)got;
	if (newline)
		client->request_length = (size_t)(newline - client->request);
	/* A client that has shut its side down needs no newline. */
	if (newline || got == 0)
		answer(client, ask_handler(client));
	else if (client->request_length > CONTROL_REQUEST_MAX)
		answer(client, error_answer("the request is too large"));
}

static void on_client(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;

	(void)events;
	if (status < 0)
		client_end(client);
	else if (client->answer)
		send_some(client);
	else
		receive_some(client);
}

/* Clients arrive */

/* Who asks has groups that its credentials name as one, or among those beside. */
static bool has_group(int fd, const struct ucred *peer, gid_t group)
{
	gid_t groups[GROUPS_MAX];
	socklen_t length = sizeof(groups);

	if (peer->gid == group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &length))
		return false;
	for (size_t i = 0; i < length / sizeof(groups[0]); i++) {
		if (groups[i] == group)
			return true;
	}
	return false;
}

/*
 * The name's mode keeps others out already; but a mode is changed in a moment, and a descriptor may
 * be handed on. As the kernel says it, of when the client connected. Where it does not, nobody but
 * root has a say.
 */
static bool may_ask(const struct control *control, int fd)
{
	struct ucred peer = {.uid = (uid_t)-1};
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		return false;
	return peer.uid == 0 || peer.uid == control->owner || has_group(fd, &peer, control->group);
}

static int client_new(struct control *control, int fd)
{
	struct client *client = calloc(1, sizeof(*client));
	int code;

	if (!client)
		return -ENOMEM;
	code = uv_poll_init(control->loop, &client->poll, fd);
	if (code) {
		free(client);
		return code;
	}
	uv_timer_init(control->loop, &client->timer);
	client->control = control;
	client->fd = fd;
	client->handles = 2;
	client->poll.data = client->timer.data = client;
	LIST_INSERT_HEAD(&control->list, client, link);
	control->clients++;
	control->handles++;
	uv_poll_start(&client->poll, UV_READABLE, on_client);
	uv_timer_start(&client->timer, on_late, CONTROL_TIMEOUT_MS, 0);
	client->is_stranger = !may_ask(control, fd);
	return 0;
}

static void on_paused(uv_timer_t *timer)
{
	struct control *control = timer->data;

	if (control->clients < CONTROL_CLIENTS_MAX)
		uv_poll_start(&control->listener, UV_READABLE, on_listener);
}

/* Out of descriptors or memory: who waits is still there a moment later. */
static void pause_listener(struct control *control)
{
	uv_poll_stop(&control->listener);
	uv_timer_start(&control->pause, on_paused, PAUSE_MS, 0);
}

static void on_listener(uv_poll_t *poll, int status, int events)
{
	struct control *control = poll->data;

	(void)status;
	(void)events;
	while (control->clients < CONTROL_CLIENTS_MAX) {
		int fd = accept4(control->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd < 0) {
			if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
				pause_listener(control);
			return;
		}
		if (client_new(control, fd)) {
			close(fd);
			pause_listener(control);
			return;
		}
	}
	uv_poll_stop(poll);
}

/* The path */

static int make_directory(const char *path, struct err *err)
{
	if (mkdir(path, DIRECTORY_MODE) == 0) {
		chmod(path, DIRECTORY_MODE); /* whatever the umask says */
		return 0;
	}
	if (errno == EEXIST)
		return 0;
	return err_set(err, -errno, "cannot make directory %s: %s", path, strerror(errno));
}

static int make_parents(const char *path, struct err *err)
{
	char partial[sizeof(((struct control *)0)->path)];
	char *slash = partial;

	strcpy(partial, path);
	while ((slash = strchr(slash + 1, '/'))) {
		int code;

		*slash = '\0';
		code = make_directory(partial, err);
		if (code)
			return code;
		*slash = '/';
	}
	return 0;
}

static int clear_path(const char *path, struct err *err)
{
	struct stat found;

	if (lstat(path, &found))
		return errno == ENOENT ? 0 : err_set(err, -errno, "%s: %s", path, strerror(errno));
	if (!S_ISSOCK(found.st_mode))
		return err_set(err, -EEXIST, "%s is there already and is no socket", path);
	if (unlink(path))
		return err_set(err, -errno, "cannot replace %s: %s", path, strerror(errno));
	return 0;
}

/* The socket's mode is the name's when it is bound, less the umask: never more than MODE. */
static int bind_path(struct control *control, struct err *err)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	struct stat made;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return err_set(err, -errno, "control socket: %s", strerror(errno));
	strcpy(name.sun_path, control->path);
	if (fchmod(fd, MODE) || bind(fd, (struct sockaddr *)&name, sizeof(name)) ||
	    chmod(control->path, MODE) || stat(control->path, &made) || listen(fd, BACKLOG)) {
		int code = -errno;

		close(fd);
		return err_set(err, code, "cannot listen on %s: %s", control->path,
			       strerror(-code));
	}
	control->device = made.st_dev;
	control->inode = made.st_ino;
	control->owner = made.st_uid;
	control->group = made.st_gid;
	control->fd = fd;
	return 0;
}

static int prepare(struct control *control, const char *path, struct err *err)
{
	int code;

	if (!*path || strlen(path) >= sizeof(control->path))
		return err_set(err, -ENAMETOOLONG,
			       "the control socket's path must have 1 to %zu bytes: %.150s",
			       sizeof(control->path) - 1, path);
	strcpy(control->path, path);
	code = make_parents(path, err);
	if (!code)
		code = clear_path(path, err);
	return code ? code : bind_path(control, err);
}

/* Another daemon may have put its own there since. */
static void remove_path(const struct control *control)
{
	struct stat found;

	if (lstat(control->path, &found) == 0 && found.st_dev == control->device &&
	    found.st_ino == control->inode)
		unlink(control->path);
}

int control_listen(uv_loop_t *loop, const char *path, control_handler *handler, void *arg,
		   struct control **ret, struct err *err)
{
	struct control *control = calloc(1, sizeof(*control));
	int code;

	if (!control)
		return err_set(err, -ENOMEM, "control socket: out of memory");
	control->loop = loop;
	control->handler = handler;
	control->arg = arg;
	code = prepare(control, path, err);
	if (code) {
		free(control);
		return code;
	}
	code = uv_poll_init(loop, &control->listener, control->fd);
	if (code) {
		remove_path(control);
		close(control->fd);
		free(control);
		return err_set(err, code, "control socket: %s", uv_strerror(code));
	}
	uv_timer_init(loop, &control->pause);
	control->listener.data = control->pause.data = control;
	control->handles = 2;
	uv_poll_start(&control->listener, UV_READABLE, on_listener);
	*ret = control;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	release(handle->data);
}

void control_close(struct control *control)
{
	struct client *client;

	control->closing = true;
	while ((client = LIST_FIRST(&control->list)))
		client_end(client);
	uv_close((uv_handle_t *)&control->listener, on_closed);
	uv_close((uv_handle_t *)&control->pause, on_closed);
	remove_path(control);
	close(control->fd);
}
