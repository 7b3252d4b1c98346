/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/host.h"

enum { DISCARD_PORT = 9 }; /* RFC 863 */

union destination {
	struct sockaddr any;
	struct sockaddr_in in4;
	struct sockaddr_in6 in6;
};

void host_nudge(const struct addr *addr)
{
	bool is4 = addr_is4(addr);
	union destination to = {.any.sa_family = is4 ? AF_INET : AF_INET6};
	int fd = socket(to.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return;
	if (is4) {
		to.in4.sin_port = htons(DISCARD_PORT);
		to.in4.sin_addr.s_addr = addr_be32(addr);
	} else {
		to.in6.sin6_port = htons(DISCARD_PORT);
		memcpy(to.in6.sin6_addr.s6_addr, addr->bytes, sizeof(addr->bytes));
	}
	sendto(fd, NULL, 0, 0, &to.any, is4 ? sizeof(to.in4) : sizeof(to.in6));
	close(fd);
}
