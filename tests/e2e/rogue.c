// SPDX-License-Identifier: BSD-2-Clause
/*
 * A router that means no good, for bgp.sh. Connects to a speaker, again and again, and waits for
 * its connections, on whichever there is:
 *
 *   rogue MODE PEER ASN ROUTER_ID
 *
 *   garbage  random bytes, some behind a good OPEN
 *   silent   not a word
 *   stall    a session, of which it reads nothing any more
 *   flood    a session, with UPDATEs as fast as they are taken
 *   flap     a session, and closed as soon as it is up
 *   far      comes with a hop limit of 1
 *   stranger connects and is gone, as fast as it can
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "bgp/wire/update.h"

enum { ROUTES = 500, SMALL = 4096, PAUSE_US = 20 * 1000 };

static const char *mode;
static struct addr peer;
static uint32_t asn, router_id;

static bool is(const char *name)
{
	return !strcmp(mode, name);
}

static void set(int fd, int level, int option, int value)
{
	setsockopt(fd, level, option, &value, sizeof(value));
}

static int listener(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(WIRE_PORT)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	set(fd, SOL_SOCKET, SO_RCVBUF, SMALL);
	if (bind(fd, (struct sockaddr *)&any, sizeof(any)) || listen(fd, 8)) {
		perror("rogue: listen");
		exit(2);
	}
	return fd;
}

/* A connection of ours, or one that waits at `waiting`. */
static int connection(int waiting)
{
	struct pollfd poll_fd = {.fd = waiting, .events = POLLIN};
	struct sockaddr_storage to;
	socklen_t length = addr_sockaddr(&peer, WIRE_PORT, &to);
	struct timeval limit = {.tv_sec = 2};
	int fd;

	if (poll(&poll_fd, 1, 0) > 0)
		return accept(waiting, NULL, NULL);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	set(fd, SOL_SOCKET, SO_RCVBUF, SMALL);
	if (is("far"))
		set(fd, IPPROTO_IP, IP_TTL, 1);
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (connect(fd, (struct sockaddr *)&to, length) == 0)
		return fd;
	close(fd);
	return -1;
}

static bool put(int fd, const uint8_t *bytes, size_t length)
{
	return send(fd, bytes, length, MSG_NOSIGNAL) == (ssize_t)length;
}

/* Reads until a KEEPALIVE has come, which says that our OPEN was taken; false: it ended. */
static bool await_keepalive(int fd)
{
	uint8_t buffer[2 * WIRE_MAX];
	struct wire_notice fault;
	enum wire_type type;
	size_t length = 0;

	for (;;) {
		ssize_t got = recv(fd, buffer + length, sizeof(buffer) - length, 0);
		int message;

		if (got <= 0)
			return false;
		length += (size_t)got;
		while ((message = wire_frame(buffer, length, &type, &fault)) > 0) {
			if (type == WIRE_KEEPALIVE)
				return true;
			length -= (size_t)message;
			memmove(buffer, buffer + message, length);
		}
	}
}

static bool say_open(int fd)
{
	struct wire_open open = {
		.asn = asn,
		.router_id = router_id,
		.hold_s = 9,
		.as4 = true,
		.ipv4 = true,
		.refresh = true,
	};
	uint8_t message[WIRE_MAX];
	int length = wire_open_format(&open, message);

	return length > 0 && put(fd, message, (size_t)length);
}

static bool say_keepalive(int fd)
{
	uint8_t message[WIRE_MAX];

	return put(fd, message, (size_t)wire_keepalive_format(message));
}

static bool establish(int fd)
{
	return say_open(fd) && say_keepalive(fd) && await_keepalive(fd);
}

static void garbage(int fd)
{
	uint8_t bytes[WIRE_MAX];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)rand();
	if (rand() % 2)
		say_open(fd);
	/* Now and then a header that looks right. */
	if (rand() % 2)
		memset(bytes, 0xff, 16);
	put(fd, bytes, sizeof(bytes));
}

static void silent(int fd)
{
	uint8_t byte;

	while (recv(fd, &byte, 1, 0) > 0)
		;
}

static void stall(int fd)
{
	if (!establish(fd))
		return;
	while (say_keepalive(fd))
		sleep(1);
}

static int update(uint8_t *message)
{
	static struct prefix prefixes[ROUTES];
	struct wire_session session = {.asn = asn, .as4 = true, .ipv4 = true};
	struct wire_path path = {.next_hop = addr_from4(htonl(router_id))};
	size_t taken;

	for (uint32_t i = 0; i < ROUTES; i++)
		prefixes[i] = (struct prefix){addr_from4(htonl(0x0b000000 + i)), 32};
	return wire_update_announce(&session, &path, prefixes, ROUTES, message, &taken);
}

static void flood(int fd)
{
	uint8_t message[WIRE_MAX], sink[WIRE_MAX];
	int length = update(message);

	if (!establish(fd))
		return;
	while (put(fd, message, (size_t)length))
		while (recv(fd, sink, sizeof(sink), MSG_DONTWAIT) > 0)
			;
}

static void flap(int fd)
{
	establish(fd);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int fd);
	} modes[] = {
		{"garbage", garbage}, {"silent", silent}, {"stall", stall},
		{"flood", flood},     {"flap", flap},     {"far", silent},
	};
	struct in_addr id;
	int waiting;

	if (argc != 5 || addr_parse(argv[2], &peer) || inet_pton(AF_INET, argv[4], &id) != 1) {
		fprintf(stderr, "usage: rogue MODE PEER ASN ROUTER_ID\n");
		return 2;
	}
	mode = argv[1];
	asn = (uint32_t)strtoul(argv[3], NULL, 10);
	router_id = ntohl(id.s_addr);
	waiting = listener();
	for (;;) {
		int fd = connection(waiting);

		for (size_t i = 0; fd >= 0 && i < sizeof(modes) / sizeof(*modes); i++)
			if (is(modes[i].name))
				modes[i].run(fd);
		if (fd >= 0)
			close(fd);
		if (fd < 0 || !is("stranger"))
			usleep(PAUSE_US);
	}
}
