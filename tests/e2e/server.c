// SPDX-License-Identifier: BSD-2-Clause
/*
 * The server of chaos.sh: takes TCP connections of both families at a port, sends its own name in
 * eight bytes, and then every byte back that it gets.
 *
 *   server NAME PORT
 *
 * A byte goes back when it came, or waits in the receive buffer until there is room for it: there
 * is no queue here, and one connection that nobody reads from stops itself alone.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	NAME_BYTES = 8,
	CHUNK = 4096,
	EVENTS = 256,
	FILES = 20000,
};

static int fail(const char *what)
{
	fprintf(stderr, "server: %s: %s\n", what, strerror(errno));
	return 1;
}

static int listen_at(uint16_t port)
{
	struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0), yes = 1, no = 0;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
	if (bind(fd, (struct sockaddr *)&at, sizeof(at)) || listen(fd, 4096)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void accept_all(int poll_fd, int listener, const char *name)
{
	int fd;

	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
		struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

		if (send(fd, name, NAME_BYTES, MSG_NOSIGNAL) != NAME_BYTES ||
		    epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event))
			close(fd);
	}
}

/* Takes out of the buffer what could be sent, no more. */
static void echo(int fd)
{
	char data[CHUNK];
	ssize_t got = recv(fd, data, sizeof(data), MSG_PEEK), sent;

	if (got < 0 && errno == EAGAIN)
		return;
	if (got <= 0) {
		close(fd);
		return;
	}
	sent = send(fd, data, (size_t)got, MSG_NOSIGNAL);
	if (sent > 0)
		recv(fd, data, (size_t)sent, 0);
	else if (errno != EAGAIN)
		close(fd);
}

int main(int argc, char **argv)
{
	struct rlimit files = {FILES, FILES};
	char name[NAME_BYTES] = "";
	struct epoll_event events[EVENTS], event = {.events = EPOLLIN};
	int poll_fd = epoll_create1(0), listener, count;

	if (argc != 3) {
		fputs("usage: server NAME PORT\n", stderr);
		return 2;
	}
	strncpy(name, argv[1], NAME_BYTES - 1);
	setrlimit(RLIMIT_NOFILE, &files);
	listener = listen_at((uint16_t)atoi(argv[2]));
	event.data.fd = listener;
	if (poll_fd < 0 || listener < 0 || epoll_ctl(poll_fd, EPOLL_CTL_ADD, listener, &event))
		return fail("cannot listen");
	for (;;) {
		count = epoll_wait(poll_fd, events, EVENTS, -1);
		for (int i = 0; i < count; i++) {
			if (events[i].data.fd == listener)
				accept_all(poll_fd, listener, name);
			else
				echo(events[i].data.fd);
		}
	}
}
