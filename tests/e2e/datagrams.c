// SPDX-License-Identifier: BSD-2-Clause
/*
 * Both ends of a talk in datagrams, also such as need fragments.
 *
 *   datagrams answer ADDRESS PORT NAME       answers each with NAME and what it holds, from ADDRESS
 *   datagrams ask ADDRESS PORT BYTES ORDER [FROM]   sends one, from the port FROM if it is given,
 *                                            prints the NAME that answers; 1: no answer
 *
 * ORDER is `kernel`, who then makes the fragments; or of those that are made here `forward`,
 * `reverse`, or a number: so many of the first come last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	BYTES_MAX = 60000,
	NAME_MAX_BYTES = 32,
	PIECE = 1344, /* of what is cut: a multiple of 8 */
	IP4 = 20,
	IP6 = 40,
	FRAGMENT_HEADER = 8,
	UDP = 8,
	WAIT_MS = 3000,
};

union address {
	struct sockaddr any;
	struct sockaddr_in ip4;
	struct sockaddr_in6 ip6;
};

static int fail(const char *what)
{
	fprintf(stderr, "datagrams: %s: %s\n", what, strerror(errno));
	return 2;
}

static bool read_address(const char *text, const char *port, union address *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &ret->ip4.sin_addr) == 1) {
		ret->any.sa_family = AF_INET;
		ret->ip4.sin_port = htons((uint16_t)atoi(port));
		return true;
	}
	ret->any.sa_family = AF_INET6;
	ret->ip6.sin6_port = htons((uint16_t)atoi(port));
	return inet_pton(AF_INET6, text, &ret->ip6.sin6_addr) == 1;
}

static socklen_t address_size(const union address *address)
{
	return address->any.sa_family == AF_INET ? sizeof(address->ip4) : sizeof(address->ip6);
}

static int answer(const union address *at, const char *name)
{
	static uint8_t data[NAME_MAX_BYTES + BYTES_MAX];
	int fd = socket(at->any.sa_family, SOCK_DGRAM, 0);

	if (fd < 0 || bind(fd, &at->any, address_size(at)))
		return fail("cannot listen");
	snprintf((char *)data, NAME_MAX_BYTES, "%s", name);
	for (;;) {
		union address from;
		socklen_t size = sizeof(from);
		ssize_t length =
			recvfrom(fd, data + NAME_MAX_BYTES, BYTES_MAX, 0, &from.any, &size);

		if (length >= 0)
			sendto(fd, data, NAME_MAX_BYTES + (size_t)length, 0, &from.any, size);
	}
}

/* --- pieces --- */

static uint32_t sum(const void *from, size_t length, uint32_t start)
{
	const uint8_t *bytes = from;

	for (size_t i = 0; i < length; i++)
		start += i % 2 ? bytes[i] : (uint32_t)bytes[i] << 8;
	return start;
}

static void put(uint8_t *at, size_t size, uint32_t value)
{
	for (size_t i = 0; i < size; i++)
		at[i] = (uint8_t)(value >> 8 * (size - 1 - i));
}

static uint16_t fold(uint32_t of)
{
	while (of > 0xffff)
		of = (of & 0xffff) + (of >> 16);
	return (uint16_t)~of;
}

struct talk {
	union address from, to;
	uint8_t udp[UDP + BYTES_MAX];
	size_t length; /* with the header */
	uint32_t id;
};

static const void *bytes_of(const union address *address)
{
	bool is4 = address->any.sa_family == AF_INET;

	return is4 ? (const void *)&address->ip4.sin_addr : (const void *)&address->ip6.sin6_addr;
}

static void write_udp(struct talk *talk)
{
	size_t size = talk->to.any.sa_family == AF_INET ? 4 : 16;
	uint32_t pseudo = IPPROTO_UDP + (uint32_t)talk->length;

	/* The port stands at the same place in both. */
	memcpy(talk->udp, &talk->from.ip4.sin_port, 2);
	memcpy(talk->udp + 2, &talk->to.ip4.sin_port, 2);
	put(talk->udp + 4, 2, (uint32_t)talk->length);
	put(talk->udp + 6, 2, 0);
	pseudo = sum(bytes_of(&talk->from), size, pseudo);
	pseudo = sum(bytes_of(&talk->to), size, pseudo);
	put(talk->udp + 6, 2, fold(sum(talk->udp, talk->length, pseudo)));
}

static size_t write_header(const struct talk *talk, size_t offset, size_t length, uint8_t *to)
{
	bool more = offset + length < talk->length, is4 = talk->to.any.sa_family == AF_INET;
	size_t size = is4 ? 4 : 16, at = is4 ? 12 : 8;

	memset(to, 0, IP6 + FRAGMENT_HEADER);
	memcpy(to + at, bytes_of(&talk->from), size);
	memcpy(to + at + size, bytes_of(&talk->to), size);
	if (is4) {
		to[0] = 0x45;
		put(to + 2, 2, (uint32_t)(IP4 + length));
		put(to + 4, 2, talk->id);
		put(to + 6, 2, (uint32_t)(offset / 8) | (more ? 0x2000 : 0));
		to[8] = 64;
		to[9] = IPPROTO_UDP;
		return IP4;
	}
	to[0] = 0x60;
	put(to + 4, 2, (uint32_t)(FRAGMENT_HEADER + length));
	to[6] = IPPROTO_FRAGMENT;
	to[7] = 64;
	to[IP6] = IPPROTO_UDP;
	put(to + IP6 + 2, 2, (uint32_t)offset | (more ? 1 : 0));
	put(to + IP6 + 4, 4, talk->id);
	return IP6 + FRAGMENT_HEADER;
}

static int send_piece(int raw, const struct talk *talk, size_t number)
{
	uint8_t packet[IP6 + FRAGMENT_HEADER + PIECE];
	size_t offset = number * PIECE, rest = talk->length - offset, header;
	size_t length = rest < PIECE ? rest : PIECE;
	union address to = talk->to;

	header = write_header(talk, offset, length, packet);
	memcpy(packet + header, talk->udp + offset, length);
	/* Of a raw socket this is a protocol. */
	to.ip4.sin_port = 0;
	return sendto(raw, packet, header + length, 0, &to.any, address_size(&to)) < 0 ? -1 : 0;
}

static int send_pieces(const struct talk *talk, const char *order)
{
	size_t count = (talk->length + PIECE - 1) / PIECE, late = (size_t)atoi(order);
	int raw = socket(talk->to.any.sa_family, SOCK_RAW, IPPROTO_RAW), failed = raw < 0;

	for (size_t i = 0; i < count && !failed; i++) {
		size_t number = strcmp(order, "reverse") == 0 ? count - 1 - i : (i + late) % count;

		failed = send_piece(raw, talk, number);
	}
	if (raw >= 0)
		close(raw);
	return failed ? -1 : 0;
}

/* --- the one who asks --- */

static int expect_answer(int fd, const struct talk *talk)
{
	static uint8_t data[NAME_MAX_BYTES + BYTES_MAX];
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	size_t bytes = talk->length - UDP;

	if (poll(&poll_fd, 1, WAIT_MS) != 1)
		return 1;
	if (recv(fd, data, sizeof(data), 0) != (ssize_t)(NAME_MAX_BYTES + bytes) ||
	    memcmp(data + NAME_MAX_BYTES, talk->udp + UDP, bytes) != 0)
		return fail("an answer that is not what was sent");
	data[NAME_MAX_BYTES - 1] = '\0';
	puts((const char *)data);
	return 0;
}

/* Takes the port of `from`, 0: any. */
static int open_from(const struct talk *talk)
{
	int fd = socket(talk->to.any.sa_family, SOCK_DGRAM, 0);

	if (fd >= 0 && talk->from.ip4.sin_port &&
	    bind(fd, &talk->from.any, address_size(&talk->from)))
		return -1;
	return fd;
}

static int ask(struct talk *talk, size_t bytes, const char *order)
{
	int fd = open_from(talk), failed;
	socklen_t size = sizeof(talk->from);

	talk->length = UDP + bytes;
	if (fd < 0 || connect(fd, &talk->to.any, address_size(&talk->to)) ||
	    getsockname(fd, &talk->from.any, &size) ||
	    getrandom(talk->udp + UDP, bytes, 0) != (ssize_t)bytes ||
	    getrandom(&talk->id, sizeof(talk->id), 0) != sizeof(talk->id))
		return fail("cannot ask");
	write_udp(talk);
	if (strcmp(order, "kernel") == 0)
		failed = send(fd, talk->udp + UDP, bytes, 0) < 0;
	else
		failed = send_pieces(talk, order);
	if (failed)
		return fail("cannot send");
	failed = expect_answer(fd, talk);
	close(fd);
	return failed;
}

int main(int argc, char **argv)
{
	static struct talk talk;
	size_t bytes;

	if (argc < 5 || !read_address(argv[2], argv[3], &talk.to)) {
		fputs("usage: datagrams answer ADDRESS PORT NAME | "
		      "ask ADDRESS PORT BYTES ORDER [FROM]\n",
		      stderr);
		return 2;
	}
	if (strcmp(argv[1], "answer") == 0)
		return answer(&talk.to, argv[4]);
	bytes = (size_t)atoi(argv[4]);
	talk.from.any.sa_family = talk.to.any.sa_family;
	if (argc == 7)
		talk.from.ip4.sin_port = htons((uint16_t)atoi(argv[6]));
	return argc >= 6 && argc <= 7 && bytes <= BYTES_MAX ? ask(&talk, bytes, argv[5]) : 2;
}
