/* SPDX-License-Identifier: BSD-2-Clause */
#include "slow/send.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <string.h>
#include <sys/socket.h>

int slow_send_open(int *ret)
{
	/* Protocol 0: none is received. */
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	*ret = fd;
	return 0;
}

int slow_send(int fd, uint32_t ifindex, const uint8_t *frame, size_t length)
{
	struct sockaddr_ll to = {
		.sll_family = AF_PACKET,
		.sll_ifindex = (int)ifindex,
		.sll_halen = ETH_ALEN,
	};

	if (length < ETH_HLEN)
		return -EINVAL;
	memcpy(to.sll_addr, frame, ETH_ALEN);
	memcpy(&to.sll_protocol, frame + 2 * ETH_ALEN, sizeof(to.sll_protocol));
	if (sendto(fd, frame, length, 0, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return -errno;
	return 0;
}
