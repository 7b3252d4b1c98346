/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Floods a BFD port, for bfd.sh, until it is ended:
 *
 *   bfd_flood FROM TO
 *
 * IPv4, TTL 255, as fast as the host can: random bytes, and control packets that are right but for
 * what they say, in turn. FROM should be a session's peer, whom alone it may cost anything.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PORT = 3784, BYTES = 24, BATCH = 64 };

static uint32_t state = 1;

static uint32_t chance(void)
{
	state = state * 1664525 + 1013904223;
	return state >> 8;
}

static void fill(uint8_t *bytes, unsigned number)
{
	for (int i = 0; i < BYTES; i++)
		bytes[i] = (uint8_t)chance();
	if (number % 2)
		return;
	bytes[0] = 0x20;
	bytes[1] = (uint8_t)((number % 4 ? 0x40 : 0x80) | (number % 3 ? 0x20 : 0));
	bytes[3] = BYTES;
	if (number % 4)
		memset(bytes + 8, 0, 4); /* no discriminator: found by the address */
}

int main(int argc, char **argv)
{
	struct sockaddr_in from = {.sin_family = AF_INET};
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	uint8_t bytes[BATCH][BYTES];
	struct iovec parts[BATCH];
	struct mmsghdr messages[BATCH] = {0};
	int fd = socket(AF_INET, SOCK_DGRAM, 0), ttl = 255;

	if (argc != 3 || inet_pton(AF_INET, argv[1], &from.sin_addr) != 1 ||
	    inet_pton(AF_INET, argv[2], &to.sin_addr) != 1 ||
	    setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof(ttl)) ||
	    bind(fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to))) {
		perror("bfd_flood FROM TO");
		return 2;
	}
	for (int i = 0; i < BATCH; i++) {
		parts[i] = (struct iovec){bytes[i], BYTES};
		messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
	}
	for (;;) {
		for (unsigned i = 0; i < BATCH; i++)
			fill(bytes[i], i);
		sendmmsg(fd, messages, BATCH, 0);
	}
}
