/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One question to the kernel, on a netlink socket of its own, for the rooms that ask now and then.
 * (src/net/rtnl.h is for who asks all the time.) It waits for the answer: the kernel's comes at
 * once. Any thread.
 */
#pragma once

#include <libmnl/libmnl.h>
#include <linux/netlink.h>

enum {
	NETLINK_REQUEST_MAX = 256, /* bytes of a request, of all that are made here */
	NETLINK_PROTOCOL = 87,     /* of what we put there: an RTPROT_* that nobody registered */
};

/*
 * Sends `request` on a bus (NETLINK_ROUTE ...) and feeds each answer to `each` (or NULL) until the
 * end; so it has to ask for a dump or an acknowledgement. What a dump's header names is filtered by
 * the kernel where that can (strict checking), and has to be looked at all the same. 0, or -errno:
 * the kernel's, or ours; -EAGAIN after two seconds without a word.
 */
int netlink_ask(int bus, struct nlmsghdr *request, mnl_cb_t each, void *arg);
/*
 * The same on a socket of the bus that is there already, and stays open: made in another network
 * namespace, it asks for that one. What an earlier question left unread is read first; -EBUSY where
 * that takes too long, and the next call goes on with it.
 */
int netlink_ask_on(int fd, struct nlmsghdr *request, mnl_cb_t each, void *arg);
/*
 * netlink_ask for a dump that the kernel may mark as interrupted (NLM_F_DUMP_INTR), as what it
 * lists changed meanwhile: then it is asked again, some times, once `again` has forgotten what
 * `each` was told. -EINTR: it changes all the time.
 */
int netlink_dump(int bus, struct nlmsghdr *request, mnl_cb_t each, void (*again)(void *arg),
		 void *arg);
