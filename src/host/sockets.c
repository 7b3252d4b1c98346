/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that are at work, by sock_diag(7): the kernel lists them, we count. */
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>

#include "host/host.h"
#include "host/spaces.h"
#include "netlink/netlink.h"

struct counting {
	const struct prefix **hosts; /* sorted: VIPs of full length */
	size_t host_count;
	const struct prefix *vips;
	size_t vip_count;
	struct host_sockets *result;
};

static int compare(const void *a, const void *b)
{
	const struct prefix *const *one = a, *const *two = b;

	return memcmp(&(*one)->addr, &(*two)->addr, sizeof((*one)->addr));
}

static void count_one(struct counting *counting, const struct addr *addr)
{
	const struct prefix wanted = {.addr = *addr}, *key = &wanted;
	const struct prefix *const *host =
		bsearch(&key, counting->hosts, counting->host_count, sizeof(key), compare);

	if (host) {
		counting->result->established[*host - counting->vips]++;
		return;
	}
	if (counting->host_count == counting->vip_count)
		return;
	for (size_t i = 0; i < counting->vip_count; i++) {
		if (prefix_has(&counting->vips[i], addr)) {
			counting->result->established[i]++;
			return;
		}
	}
}

static int on_socket(const struct nlmsghdr *message, void *arg)
{
	struct counting *counting = arg;
	const struct inet_diag_msg *socket = mnl_nlmsg_get_payload(message);
	struct addr addr;

	if (mnl_nlmsg_get_payload_len(message) < sizeof(*socket))
		return MNL_CB_OK;
	if (counting->result->seen == HOST_SOCKETS_MAX) {
		counting->result->is_cut = true;
		return MNL_CB_STOP;
	}
	counting->result->seen++;
	addr = addr_from_bytes(socket->idiag_family, socket->id.idiag_src);
	count_one(counting, &addr);
	return MNL_CB_OK;
}

enum { HERE = -1 }; /* in place of a space's descriptor */

static int ask_family(int fd, uint8_t family, struct counting *counting)
{
	const struct inet_diag_req_v2 wanted = {
		.sdiag_family = family,
		.sdiag_protocol = IPPROTO_TCP,
		.idiag_states = 1U << TCP_ESTABLISHED,
	};
	char room[NETLINK_REQUEST_MAX];
	struct nlmsghdr *message = mnl_nlmsg_put_header(room);

	message->nlmsg_type = SOCK_DIAG_BY_FAMILY;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	memcpy(mnl_nlmsg_put_extra_header(message, sizeof(wanted)), &wanted, sizeof(wanted));
	if (fd != HERE)
		return netlink_ask_on(fd, message, on_socket, counting);
	return netlink_ask(NETLINK_SOCK_DIAG, message, on_socket, counting);
}

static int ask(int fd, struct counting *counting)
{
	int error = ask_family(fd, AF_INET, counting);

	/* Sockets of IPv4 that an IPv6 listener accepted are of that family. */
	if (!error && !counting->result->is_cut)
		error = ask_family(fd, AF_INET6, counting);
	return error;
}

static void ask_space(struct host_space *space, struct counting *counting)
{
	int error;

	host_space_look(space);
	error = space->fd < 0 ? -ENOENT : ask(space->fd, counting);
	if (error && space->fd >= 0)
		err_set(&space->err, error, "its sockets cannot be listed: %s", strerror(-error));
	else if (!error)
		space->err.text[0] = '\0';
	counting->result->is_cut |= error != 0;
}

int host_sockets_count(const struct prefix *vips, size_t count, struct host_space *spaces,
		       size_t space_count, struct host_sockets *ret)
{
	struct counting counting = {.vips = vips, .vip_count = count, .result = ret};
	int error;

	ret->seen = 0;
	ret->is_cut = false;
	memset(ret->established, 0, count * sizeof(*ret->established));
	counting.hosts = calloc(count + 1, sizeof(const struct prefix *));
	if (!counting.hosts)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (prefix_is_host(&vips[i]))
			counting.hosts[counting.host_count++] = &vips[i];
	}
	qsort(counting.hosts, counting.host_count, sizeof(const struct prefix *), compare);
	error = ask(HERE, &counting);
	for (size_t i = 0; !error && i < space_count && ret->seen < HOST_SOCKETS_MAX; i++)
		ask_space(&spaces[i], &counting);
	free(counting.hosts);
	return error;
}
