/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/card/card.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/xdp_features.h"
#include "netlink/netlink.h"

enum { CARDS_MAX = 4096, FEATURES_MAX = 512 };

struct listing {
	struct card *cards;
	uint32_t *below; /* of each: IFLA_LINK, 0 where it is in another namespace */
	size_t count;
};

/* --- rtnetlink: what it is --- */

static int read_kind(const struct nlattr *attribute, void *arg)
{
	struct card *card = arg;

	if (mnl_attr_get_type(attribute) == IFLA_INFO_KIND)
		snprintf(card->kind, sizeof(card->kind), "%.*s",
			 (int)mnl_attr_get_payload_len(attribute),
			 (const char *)mnl_attr_get_payload(attribute));
	return MNL_CB_OK;
}

static int read_xdp(const struct nlattr *attribute, void *arg)
{
	struct card *card = arg;

	if (mnl_attr_get_type(attribute) == IFLA_XDP_PROG_ID)
		card->xdp_id = mnl_attr_get_u32(attribute);
	else if (mnl_attr_get_type(attribute) == IFLA_XDP_ATTACHED)
		card->xdp_generic = mnl_attr_get_u8(attribute) == XDP_ATTACHED_SKB;
	return MNL_CB_OK;
}

struct reading {
	struct card *card;
	uint32_t below;
	bool elsewhere; /* what is below is in another namespace */
};

static int read_attribute(const struct nlattr *attribute, void *arg)
{
	struct reading *reading = arg;
	struct card *card = reading->card;

	switch (mnl_attr_get_type(attribute)) {
	case IFLA_IFNAME:
		snprintf(card->name, sizeof(card->name), "%.*s",
			 (int)mnl_attr_get_payload_len(attribute),
			 (const char *)mnl_attr_get_payload(attribute));
		break;
	case IFLA_MTU: card->mtu = mnl_attr_get_u32(attribute); break;
	case IFLA_LINK: reading->below = mnl_attr_get_u32(attribute); break;
	case IFLA_LINK_NETNSID: reading->elsewhere = true; break;
	case IFLA_LINKINFO: mnl_attr_parse_nested(attribute, read_kind, card); break;
	case IFLA_XDP: mnl_attr_parse_nested(attribute, read_xdp, card); break;
	default: break;
	}
	return MNL_CB_OK;
}

static int read_link(const struct nlmsghdr *message, void *arg)
{
	const struct ifinfomsg *info = mnl_nlmsg_get_payload(message);
	struct listing *listing = arg;
	struct card card = {
		.ifindex = (uint32_t)info->ifi_index,
		.up = info->ifi_flags & IFF_UP,
		.loopback = info->ifi_flags & IFF_LOOPBACK,
	};
	struct reading reading = {.card = &card};

	if (listing->count == CARDS_MAX)
		return MNL_CB_OK;
	mnl_attr_parse(message, sizeof(*info), read_attribute, &reading);
	listing->below[listing->count] = reading.elsewhere ? 0 : reading.below;
	listing->cards[listing->count++] = card;
	return MNL_CB_OK;
}

static void forget_links(void *arg)
{
	((struct listing *)arg)->count = 0;
}

static int read_links(struct listing *listing)
{
	char buffer[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
	struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
	struct ifinfomsg *info;

	message->nlmsg_type = RTM_GETLINK;
	message->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	info = mnl_nlmsg_put_extra_header(message, sizeof(*info));
	info->ifi_family = AF_UNSPEC;
	return netlink_dump(NETLINK_ROUTE, message, read_link, forget_links, listing);
}

static void join_links(struct listing *listing)
{
	for (size_t i = 0; i < listing->count; i++) {
		struct card *card = &listing->cards[i];

		for (size_t k = 0; k < listing->count; k++) {
			struct card *below = &listing->cards[k];

			if (k == i || listing->below[i] != below->ifindex)
				continue;
			memcpy(card->below, below->name, sizeof(card->below));
			below->has_vlans |= strcmp(card->kind, "vlan") == 0;
		}
	}
}

/* --- ethtool: what drives it, and how it is set --- */

static int call(int fd, const char *interface, void *data)
{
	struct ifreq request = {.ifr_data = data};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	return ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
}

static void read_driver(int fd, struct card *card)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};

	if (call(fd, card->name, &info) == 0)
		snprintf(card->driver, sizeof(card->driver), "%.*s", (int)sizeof(info.driver) - 1,
			 info.driver);
}

static void read_queues(int fd, struct card *card)
{
	struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};

	if (call(fd, card->name, &channels))
		return;
	card->queues = channels.combined_count + channels.rx_count;
	card->queues_max = channels.max_combined ? channels.max_combined : channels.max_rx;
	card->queues_apart = !channels.max_combined;
}

static void set_feature(struct card *card, const char *name)
{
	card->lro |= strcmp(name, "rx-lro") == 0;
	card->gro_hw |= strcmp(name, "rx-gro-hw") == 0;
	card->rx_vlan |= strcmp(name, "rx-vlan-hw-parse") == 0;
}

/* How many features this kernel knows. 0: it does not say, or more than we have room for. */
static uint32_t count_features(int fd, const struct card *card)
{
	uint32_t room[(sizeof(struct ethtool_sset_info) + sizeof(uint32_t)) / sizeof(uint32_t)] = {
		0};
	struct ethtool_sset_info *set = (void *)room;

	set->cmd = ETHTOOL_GSSET_INFO;
	set->sset_mask = 1 << ETH_SS_FEATURES;
	return call(fd, card->name, set) || set->data[0] > FEATURES_MAX ? 0 : set->data[0];
}

/* Their numbers are the kernel's own affair; their names are told. */
static void read_features(int fd, struct card *card)
{
	const uint32_t blocks = FEATURES_MAX / 32;
	uint32_t count = count_features(fd, card);
	struct ethtool_gstrings *strings;
	struct ethtool_gfeatures *features;

	strings = calloc(1, sizeof(*strings) + FEATURES_MAX * ETH_GSTRING_LEN);
	features = calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));
	if (!strings || !features)
		goto out;
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	features->cmd = ETHTOOL_GFEATURES;
	features->size = blocks;
	if (!count || call(fd, card->name, strings) || call(fd, card->name, features))
		goto out;
	for (uint32_t i = 0; i < count && i / 32 < features->size; i++) {
		char *name = (char *)strings->data + (size_t)i * ETH_GSTRING_LEN;

		name[ETH_GSTRING_LEN - 1] = '\0';
		if (features->features[i / 32].active >> i % 32 & 1)
			set_feature(card, name);
	}
out:
	free(strings);
	free(features);
}

static void read_settings(struct listing *listing)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	for (size_t i = 0; i < listing->count && fd >= 0; i++) {
		struct card *card = &listing->cards[i];
		bool native;

		read_driver(fd, card);
		read_queues(fd, card);
		read_features(fd, card);
		if (xdp_features_native(card->name, &native) == 0)
			card->native = native ? CARD_NATIVE : CARD_NOT_NATIVE;
	}
	if (fd >= 0)
		close(fd);
}

int card_list(struct card **ret, size_t *ret_count, struct err *err)
{
	struct listing listing = {
		.cards = calloc(CARDS_MAX, sizeof(*listing.cards)),
		.below = calloc(CARDS_MAX, sizeof(*listing.below)),
	};
	int error = -ENOMEM;

	if (listing.cards && listing.below)
		error = read_links(&listing);
	if (!error) {
		join_links(&listing);
		read_settings(&listing);
	}
	free(listing.below);
	if (error) {
		free(listing.cards);
		return err_set(err, error, "cannot list the network interfaces: %s",
			       strerror(-error));
	}
	*ret = listing.cards;
	*ret_count = listing.count;
	return 0;
}
