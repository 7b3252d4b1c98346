/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which sysctls, and why no more. The kernel takes the maximum of net.ipv4.conf.all and of the
 * interface for each of the three below, so raising one of the two is enough.
 *
 *  - arp_ignore 1, in `all`: answer only for addresses of the interface that the request came in
 *    at. A VIP on the loopback is then never answered for, on none of the host's interfaces; the
 *    router's neighbour entry for it stays the balancers' affair.
 *  - arp_announce 2, in `all`: a request that the host sends names an address of that interface as
 *    its sender, not the VIP, from which every listener would learn VIP -> this host (RFC 826).
 *  - rp_filter 2 on the interface, only where the effective value is 1: a decapsulated packet
 *    comes in with the client's address as its source, and strict filtering (RFC 3704 section 2.2)
 *    drops it wherever the way back to the client leaves by another interface. Loose wants any
 *    route to the source, which a host that answers clients has. 0 is left at 0.
 */
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_vlan.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netlink/netlink.h"

enum { LOOPBACK_IFINDEX = 1, SYSCTL_PATH_MAX = HOST_SYSCTL_NAME_MAX + 16 };

/* --- addresses --- */

struct address_list {
	struct host_address *addresses;
	size_t count;
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	const struct nlattr **found = arg;
	uint16_t type = mnl_attr_get_type(attribute);

	/* IFA_LOCAL is the host's own end where the two differ (point-to-point). */
	if (type == IFA_LOCAL || (type == IFA_ADDRESS && !*found))
		*found = attribute;
	return MNL_CB_OK;
}

static int add_address(const struct nlmsghdr *message, void *arg)
{
	const struct ifaddrmsg *ifa = mnl_nlmsg_get_payload(message);
	const struct nlattr *attribute = NULL;
	struct address_list *list = arg;
	struct host_address *grown;

	if (message->nlmsg_type != RTM_NEWADDR ||
	    (ifa->ifa_family != AF_INET && ifa->ifa_family != AF_INET6))
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*ifa), read_attribute, &attribute);
	if (!attribute ||
	    mnl_attr_get_payload_len(attribute) < (ifa->ifa_family == AF_INET ? 4 : 16))
		return MNL_CB_OK;
	grown = realloc(list->addresses, (list->count + 1) * sizeof(*grown));
	if (!grown)
		return MNL_CB_ERROR;
	list->addresses = grown;
	grown[list->count++] = (struct host_address){
		.addr = addr_from_bytes(ifa->ifa_family, mnl_attr_get_payload(attribute)),
		.ifindex = ifa->ifa_index,
		.length = ifa->ifa_prefixlen,
	};
	return MNL_CB_OK;
}

static void forget_addresses(void *arg)
{
	((struct address_list *)arg)->count = 0;
}

int host_addresses(struct host_address **ret, size_t *ret_count, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	struct address_list list = {0};
	struct ifaddrmsg *ifa;
	int error;

	request->nlmsg_type = RTM_GETADDR;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	ifa = mnl_nlmsg_put_extra_header(request, sizeof(*ifa));
	ifa->ifa_family = AF_UNSPEC;
	error = netlink_dump(NETLINK_ROUTE, request, add_address, forget_addresses, &list);
	if (error) {
		free(list.addresses);
		return err_set(err, error, "cannot list addresses: %s", strerror(-error));
	}
	*ret = list.addresses;
	*ret_count = list.count;
	return 0;
}

static struct nlmsghdr *address_request(char *buffer, uint16_t type, uint16_t flags,
					const struct addr *addr)
{
	static const struct ifa_cacheinfo deprecated = {.ifa_valid = UINT32_MAX};
	struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
	bool is4 = addr_is4(addr);
	uint32_t be32 = is4 ? addr_be32(addr) : 0;
	const void *bytes = is4 ? (const void *)&be32 : addr->bytes;
	size_t length = is4 ? sizeof(be32) : sizeof(addr->bytes);
	struct ifaddrmsg *ifa;

	request->nlmsg_type = type;
	request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	ifa = mnl_nlmsg_put_extra_header(request, sizeof(*ifa));
	ifa->ifa_family = is4 ? AF_INET : AF_INET6;
	ifa->ifa_prefixlen = is4 ? 32 : 128;
	ifa->ifa_flags = is4 ? 0 : IFA_F_NODAD;
	ifa->ifa_scope = is4 ? RT_SCOPE_HOST : RT_SCOPE_UNIVERSE;
	ifa->ifa_index = LOOPBACK_IFINDEX;
	mnl_attr_put(request, IFA_LOCAL, length, bytes);
	mnl_attr_put(request, IFA_ADDRESS, length, bytes);
	if (!is4)
		mnl_attr_put(request, IFA_CACHEINFO, sizeof(deprecated), &deprecated);
	return request;
}

static int address_change(uint16_t type, uint16_t flags, const struct addr *addr, struct err *err)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	char text[ADDR_TEXT_MAX];
	int error =
		netlink_ask(NETLINK_ROUTE, address_request(buffer, type, flags, addr), NULL, NULL);

	if (error)
		return err_set(err, error, "cannot %s %s %s the loopback: %s",
			       type == RTM_NEWADDR ? "put" : "take", addr_format(addr, text),
			       type == RTM_NEWADDR ? "on" : "off", strerror(-error));
	return 0;
}

int host_loopback_add(const struct addr *addr, struct err *err)
{
	return address_change(RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, addr, err);
}

int host_loopback_remove(const struct addr *addr, struct err *err)
{
	return address_change(RTM_DELADDR, 0, addr, err);
}

/* --- interfaces --- */

static int ask(const char *interface, unsigned long what, struct ifreq *ret, struct err *err)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), error = 0;

	if (fd < 0)
		return err_set(err, -errno, "%s: %s", interface, strerror(errno));
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->ifr_name, sizeof(ret->ifr_name), "%s", interface);
	if (ioctl(fd, what, ret))
		error = err_set(err, -errno, "%s: %s", interface,
				errno == ENODEV ? "there is no such interface" : strerror(errno));
	close(fd);
	return error;
}

int host_interface_mtu(const char *interface, uint32_t *ret, struct err *err)
{
	struct ifreq answer;
	int error = ask(interface, SIOCGIFMTU, &answer, err);

	if (!error)
		*ret = (uint32_t)answer.ifr_mtu;
	return error;
}

int host_interface_below(const char *interface, char *ret)
{
	struct vlan_ioctl_args args = {.cmd = GET_VLAN_REALDEV_NAME_CMD};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), answer;

	if (fd < 0)
		return -errno;
	snprintf(args.device1, sizeof(args.device1), "%s", interface);
	answer = ioctl(fd, SIOCGIFVLAN, &args);
	close(fd);
	if (answer < 0)
		return -ENOENT;
	snprintf(ret, IF_NAMESIZE, "%.*s", IF_NAMESIZE - 1, args.u.device2);
	return 0;
}

int host_interface_is_up(const char *interface, bool *ret, struct err *err)
{
	struct ifreq answer;
	int error = ask(interface, SIOCGIFFLAGS, &answer, err);

	if (!error)
		*ret = answer.ifr_flags & IFF_UP;
	return error;
}

int host_interface_has_carrier(const char *interface, bool *ret, struct err *err)
{
	struct ifreq answer;
	int error = ask(interface, SIOCGIFFLAGS, &answer, err);

	if (!error)
		*ret = answer.ifr_flags & IFF_RUNNING;
	return error;
}

static int note_filter(const struct nlmsghdr *message, void *arg)
{
	if (message->nlmsg_type == RTM_NEWTFILTER)
		*(bool *)arg = true;
	return MNL_CB_OK;
}

static void forget_filter(void *arg)
{
	*(bool *)arg = false;
}

int host_has_filters(const char *interface, bool *ret, struct err *err)
{
	static const uint32_t sides[] = {TC_H_MIN_INGRESS, TC_H_MIN_EGRESS};
	bool found = false;

	for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]) && !found; i++) {
		char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
		struct nlmsghdr *request = mnl_nlmsg_put_header(buffer);
		struct tcmsg *tc;
		int error;

		request->nlmsg_type = RTM_GETTFILTER;
		request->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
		tc = mnl_nlmsg_put_extra_header(request, sizeof(*tc));
		tc->tcm_ifindex = (int)if_nametoindex(interface);
		tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, sides[i]);
		error = netlink_dump(NETLINK_ROUTE, request, note_filter, forget_filter, &found);
		if (error)
			return err_set(err, error, "%s: cannot list filters: %s", interface,
				       strerror(-error));
	}
	*ret = found;
	return 0;
}

/* --- sysctls --- */

static int sysctl_open(const char *name, int flags, struct err *err)
{
	char path[SYSCTL_PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	fd = open(path, flags | O_CLOEXEC);
	if (fd < 0)
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	return fd;
}

int host_sysctl_read(const char *name, int *ret, struct err *err)
{
	int fd = sysctl_open(name, O_RDONLY, err);
	char text[32], *end;
	ssize_t length;
	long value;

	if (fd < 0)
		return fd;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[length > 0 ? length : 0] = '\0';
	value = strtol(text, &end, 10);
	if (end == text || value < INT_MIN || value > INT_MAX)
		return err_set(err, -EINVAL, "/proc/sys/%s is not a number", name);
	*ret = (int)value;
	return 0;
}

int host_sysctl_write(const char *name, int value, struct err *err)
{
	int fd = sysctl_open(name, O_WRONLY, err);
	char text[32];
	int length = snprintf(text, sizeof(text), "%d\n", value);
	int error = 0;

	if (fd < 0)
		return fd;
	if (write(fd, text, (size_t)length) != length)
		error = err_set(err, -errno, "cannot write /proc/sys/%s: %s", name,
				strerror(errno));
	close(fd);
	return error;
}

/* The larger of `all` and of the interface is what counts. */
static int effective(const char *interface, const char *key, int *ret, struct err *err)
{
	char name[HOST_SYSCTL_NAME_MAX];
	int all, own, error;

	snprintf(name, sizeof(name), "net/ipv4/conf/all/%s", key);
	error = host_sysctl_read(name, &all, err);
	if (error)
		return error;
	snprintf(name, sizeof(name), "net/ipv4/conf/%s/%s", interface, key);
	error = host_sysctl_read(name, &own, err);
	if (error)
		return error;
	*ret = all > own ? all : own;
	return 0;
}

int host_sysctls_needed(const char *interface, struct host_sysctl ret[HOST_SYSCTLS_MAX],
			size_t *ret_count, struct err *err)
{
	/* Needed where the effective value is from `low` to `high`. */
	const struct {
		const char *where, *key;
		int low, high, value;
	} wanted[HOST_SYSCTLS_MAX] = {
		{"all", "arp_ignore", 0, 0, 1},
		{"all", "arp_announce", 0, 1, 2},
		{interface, "rp_filter", 1, 1, 2},
	};
	size_t count = 0;

	for (size_t i = 0; i < HOST_SYSCTLS_MAX; i++) {
		int now, error = effective(interface, wanted[i].key, &now, err);

		if (error)
			return error;
		if (now < wanted[i].low || now > wanted[i].high)
			continue;
		snprintf(ret[count].name, sizeof(ret[count].name), "net/ipv4/conf/%s/%s",
			 wanted[i].where, wanted[i].key);
		ret[count++].value = wanted[i].value;
	}
	*ret_count = count;
	return 0;
}

int host_sysctls_onwards(struct host_sysctl ret[HOST_SYSCTLS_ONWARDS], size_t *ret_count,
			 struct err *err)
{
	static const char *const names[HOST_SYSCTLS_ONWARDS] = {"net/ipv4/conf/lo/forwarding",
								"net/ipv6/conf/lo/forwarding"};
	size_t count = 0;

	for (size_t i = 0; i < HOST_SYSCTLS_ONWARDS; i++) {
		int now, error = host_sysctl_read(names[i], &now, err);

		if (error == -ENOENT) /* a kernel without IPv6 */
			continue;
		if (error)
			return error;
		if (now)
			continue;
		snprintf(ret[count].name, sizeof(ret[count].name), "%s", names[i]);
		ret[count++].value = 1;
	}
	*ret_count = count;
	return 0;
}
