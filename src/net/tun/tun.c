/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/tun/tun.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fib_rules.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink/netlink.h"

enum {
	DEVICE_MASK = 0xffff,
	STALE_MAX = 64,
};

static const unsigned char families[] = {AF_INET, AF_INET6};

/* --- rules --- */

static struct nlmsghdr *rule(char *buffer, uint16_t type, uint16_t flags, unsigned char family)
{
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct fib_rule_hdr *header;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | flags;
	header = mnl_nlmsg_put_extra_header(request, sizeof(*header));
	header->family = family;
	return request;
}

static int change_rule(uint16_t type, uint16_t flags, unsigned char family, uint32_t mark)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = rule(buffer, type, NLM_F_ACK | flags, family);
	struct fib_rule_hdr *header = mnl_nlmsg_get_payload(request);

	header->action = FR_ACT_TO_TBL;
	mnl_attr_put_u32(request, FRA_PRIORITY, TUN_PRIORITY);
	mnl_attr_put_u32(request, FRA_FWMARK, mark);
	mnl_attr_put_u32(request, FRA_FWMASK, UINT32_MAX);
	mnl_attr_put_u32(request, FRA_TABLE, mark);
	mnl_attr_put_u8(request, FRA_PROTOCOL, NETLINK_PROTOCOL);
	return netlink_ask(NETLINK_ROUTE, request, NULL, NULL);
}

struct stale {
	uint32_t marks[STALE_MAX];
	size_t count;
};

static int read_mark(const struct nlattr *attribute, void *arg)
{
	if (mnl_attr_get_type(attribute) == FRA_FWMARK &&
	    mnl_attr_get_payload_len(attribute) >= sizeof(uint32_t))
		*(uint32_t *)arg = mnl_attr_get_u32(attribute);
	return MNL_CB_OK;
}

static int look_at(const struct nlmsghdr *message, void *arg)
{
	struct stale *stale = arg;
	char name[IF_NAMESIZE];
	uint32_t mark = 0;

	if (message->nlmsg_type != RTM_NEWRULE ||
	    mnl_nlmsg_get_payload_len(message) < sizeof(struct fib_rule_hdr))
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(struct fib_rule_hdr), read_mark, &mark);
	if ((mark & ~(uint32_t)DEVICE_MASK) == TUN_MARK && stale->count < STALE_MAX &&
	    !if_indextoname(mark & DEVICE_MASK, name))
		stale->marks[stale->count++] = mark;
	return MNL_CB_OK;
}

static void forget(void *arg)
{
	((struct stale *)arg)->count = 0;
}

/* Of devices that are no more: a daemon was killed. */
static void remove_stale(void)
{
	for (size_t i = 0; i < sizeof(families); i++) {
		char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
		struct stale stale = {0};

		if (netlink_dump(NETLINK_ROUTE, rule(buffer, RTM_GETRULE, NLM_F_DUMP, families[i]),
				 look_at, forget, &stale))
			continue;
		for (size_t j = 0; j < stale.count; j++)
			change_rule(RTM_DELRULE, 0, families[i], stale.marks[j]);
	}
}

static int add_route(unsigned char family, const struct tun *tun)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct rtmsg *route;

	request->nlmsg_type = RTM_NEWROUTE;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
	route = mnl_nlmsg_put_extra_header(request, sizeof(*route));
	route->rtm_family = family;
	route->rtm_protocol = NETLINK_PROTOCOL;
	route->rtm_scope = RT_SCOPE_LINK;
	route->rtm_type = RTN_UNICAST;
	mnl_attr_put_u32(request, RTA_TABLE, tun->mark);
	mnl_attr_put_u32(request, RTA_OIF, tun->ifindex);
	return netlink_ask(NETLINK_ROUTE, request, NULL, NULL);
}

/* A host without IPv6 has none to send. */
static int add_ways(const struct tun *tun)
{
	for (size_t i = 0; i < sizeof(families); i++) {
		int ret = add_route(families[i], tun);

		if (!ret)
			ret = change_rule(RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, families[i],
					  tun->mark);
		if (ret && families[i] == AF_INET)
			return ret;
	}
	return 0;
}

/* --- the device --- */

static int set_up(struct ifreq *request, uint32_t *ret_ifindex)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), ret = 0;

	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFINDEX, request))
		ret = -errno;
	*ret_ifindex = (uint32_t)request->ifr_ifindex;
	request->ifr_mtu = TUN_MTU;
	if (!ret && ioctl(fd, SIOCSIFMTU, request))
		ret = -errno;
	request->ifr_flags = IFF_UP | IFF_NOARP;
	if (!ret && ioctl(fd, SIOCSIFFLAGS, request))
		ret = -errno;
	close(fd);
	return ret;
}

int tun_open(const char *pattern, struct tun *ret, struct err *err)
{
	struct ifreq request = {.ifr_flags = IFF_TUN | IFF_NO_PI};
	struct tun tun = {.fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)};
	int code;

	if (tun.fd < 0)
		return err_set(err, -errno, "/dev/net/tun: %s", strerror(errno));
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", pattern);
	code = ioctl(tun.fd, TUNSETIFF, &request) ? -errno : set_up(&request, &tun.ifindex);
	if (!code && tun.ifindex > DEVICE_MASK)
		code = -ERANGE;
	if (!code) {
		remove_stale();
		tun.mark = TUN_MARK | tun.ifindex;
		code = add_ways(&tun);
	}
	if (code) {
		close(tun.fd);
		return err_set(err, code, "a tun device for probes: %s", strerror(-code));
	}
	*ret = tun;
	return 0;
}

void tun_close(struct tun *tun)
{
	for (size_t i = 0; i < sizeof(families); i++)
		change_rule(RTM_DELRULE, 0, families[i], tun->mark);
	close(tun->fd);
}
