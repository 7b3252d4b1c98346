/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Network namespaces by the ids that the caller's own has for them: what programs in the kernel
 * name them by. The kernel gives an id once and keeps it while both namespaces exist; there is
 * nothing to undo.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/net_namespace.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host/host.h"
#include "netlink/netlink.h"

static int read_id(const struct nlattr *attribute, void *arg)
{
	if (mnl_attr_get_type(attribute) == NETNSA_NSID)
		*(int32_t *)arg = (int32_t)mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int read_answer(const struct nlmsghdr *message, void *arg)
{
	if (message->nlmsg_type == RTM_NEWNSID)
		mnl_attr_parse(message, sizeof(struct rtgenmsg), read_id, arg);
	return MNL_CB_OK;
}

static int ask(uint16_t type, int fd, int32_t *ret)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtgenmsg *body;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	body = mnl_nlmsg_put_extra_header(request, sizeof(*body));
	body->rtgen_family = AF_UNSPEC;
	mnl_attr_put_u32(request, NETNSA_FD, (uint32_t)fd);
	if (type == RTM_NEWNSID)
		mnl_attr_put_u32(request, NETNSA_NSID, (uint32_t)NETNSA_NSID_NOT_ASSIGNED);
	return netlink_ask(NETLINK_ROUTE, request, read_answer, ret);
}

int host_netns_id(const char *name, int32_t *ret, struct err *err)
{
	int32_t id = NETNSA_NSID_NOT_ASSIGNED;
	char path[PATH_MAX];
	int fd, error;

	snprintf(path, sizeof(path), "/run/netns/%s", name);
	/* A FIFO's writer is not waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return err_set(err, -errno, "network namespace %s: %s", path, strerror(errno));
	error = ask(RTM_GETNSID, fd, &id);
	if (!error && id < 0) {
		error = ask(RTM_NEWNSID, fd, &id);
		/* Another process may have been faster. */
		if (!error || error == -EEXIST)
			error = ask(RTM_GETNSID, fd, &id);
	}
	close(fd);
	if (!error && id < 0)
		error = -EINVAL;
	if (error)
		return err_set(err, error, "network namespace %s: it has no id: %s", path,
			       strerror(-error));
	*ret = id;
	return 0;
}
