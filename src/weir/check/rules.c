/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The limits of drivers are those of Linux 6.1 to 6.12 for a program without fragments, as Weir's
 * is: a frame has to lie in one page, together with 256 bytes before it and the kernel's 320
 * behind, or in what the driver takes for a buffer. They differ by a few bytes between versions;
 * where a version takes more, a smaller MTU does no harm.
 */
#include "weir/check/rules.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

enum queue_rule {
	QUEUES_ANY,
	QUEUES_SPARE, /* one for sending beside each processor, or they share with locks */
	QUEUES_HALF,  /* at most half of them may be in use */
};

struct driver {
	const char *name;
	uint32_t mtu_max; /* 0: not known to be less than what it can be set to */
	enum queue_rule queues;
	bool refuses_lro;
	unsigned since[2]; /* the kernel that has native XDP for it */
};

static const struct driver drivers[] = {
	{"virtio_net", 3506, QUEUES_SPARE, false, {0}}, {"veth", 3506, QUEUES_ANY, false, {0}},
	{"ena", 3498, QUEUES_HALF, false, {0}},         {"gve", 2032, QUEUES_HALF, true, {6, 4}},
	{"hv_netvsc", 3506, QUEUES_ANY, true, {0}},     {"vmxnet3", 3494, QUEUES_ANY, true, {6, 6}},
	{"mlx5_core", 3498, QUEUES_ANY, true, {0}},     {"mlx4_en", 3498, QUEUES_ANY, false, {0}},
	{"ixgbe", 3050, QUEUES_ANY, true, {0}},         {"ixgbevf", 3050, QUEUES_ANY, false, {0}},
	{"i40e", 3046, QUEUES_ANY, false, {0}},         {"ice", 3046, QUEUES_ANY, false, {0}},
	{"igb", 3050, QUEUES_ANY, false, {0}},          {"igc", 1500, QUEUES_ANY, false, {0}},
	{"bnxt_en", 3502, QUEUES_ANY, true, {0}},       {"tun", 0, QUEUES_ANY, false, {0}},
	{"bonding", 0, QUEUES_ANY, false, {0}},
};

static const struct driver *driver_of(const struct card *card)
{
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (strcmp(drivers[i].name, card->driver) == 0)
			return &drivers[i];
	}
	return NULL;
}

enum rules_cloud rules_cloud_of(const char *vendor)
{
	if (strncmp(vendor, "Amazon EC2", 10) == 0)
		return RULES_AWS;
	if (strncmp(vendor, "Microsoft Corporation", 21) == 0)
		return RULES_AZURE;
	return strncmp(vendor, "Google", 6) == 0 ? RULES_GOOGLE : RULES_NO_CLOUD;
}

const char *rules_cloud_name(enum rules_cloud cloud)
{
	static const char *const names[] = {
		[RULES_NO_CLOUD] = "",
		[RULES_AWS] = "AWS",
		[RULES_AZURE] = "Azure",
		[RULES_GOOGLE] = "Google Cloud",
	};

	return names[cloud];
}

const char *rules_kind_name(enum rules_kind kind)
{
	static const char *const names[] = {
		[RULES_HINDERS] = "hinders",
		[RULES_SLOWS] = "slows",
		[RULES_NOTES] = "note",
	};

	return names[kind];
}

bool rules_hinder(const struct rules_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		if (findings->list[i].kind == RULES_HINDERS)
			return true;
	}
	return false;
}

__attribute__((format(printf, 3, 4))) static void say(struct rules_findings *findings,
						      enum rules_kind kind, const char *format, ...)
{
	struct rules_finding *finding = &findings->list[findings->count];
	va_list args;

	if (findings->count == RULES_MAX)
		return;
	*finding = (struct rules_finding){.kind = kind};
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
	findings->count++;
}

/* The command for what was said last. */
__attribute__((format(printf, 2, 3))) static void mend(struct rules_findings *findings,
						       const char *format, ...)
{
	struct rules_finding *finding = &findings->list[findings->count - 1];
	va_list args;

	va_start(args, format);
	vsnprintf(finding->mend, sizeof(finding->mend), format, args);
	va_end(args);
}

static bool is_older(const struct rules_host *host, const unsigned since[2])
{
	return host->release[0] < since[0] ||
	       (host->release[0] == since[0] && host->release[1] < since[1]);
}

/* --- the host --- */

static void check_cloud(const struct rules_host *host, struct rules_findings *ret)
{
	switch (host->cloud) {
	case RULES_AWS:
		say(ret, RULES_NOTES,
		    "AWS drops what an interface sends with, or gets for, an address that is not "
		    "its own, unless the source/destination check is off; so for backends that "
		    "answer from a VIP, too");
		mend(ret, "aws ec2 modify-instance-attribute --no-source-dest-check "
			  "--instance-id ID");
		break;
	case RULES_AZURE:
		if (host->by_ip) {
			say(ret, RULES_HINDERS,
			    "Azure's network drops IP in IP and GRE: such services lose every "
			    "packet, `forward: gue` or geneve gets through");
		}
		say(ret, RULES_NOTES,
		    "Azure drops what an interface sends with, or gets for, an address that is "
		    "not its own, unless IP forwarding is on; so for backends, too");
		mend(ret, "az network nic update --ip-forwarding true --resource-group GROUP "
			  "--name NIC");
		break;
	case RULES_GOOGLE:
		say(ret, RULES_NOTES,
		    "Google Cloud drops what an instance sends with, or gets for, an address that "
		    "is not its own, unless it was made with --can-ip-forward; its networks have "
		    "an MTU of 1460 unless told otherwise");
		mend(ret, "gcloud compute networks update NETWORK --mtu=1600");
		break;
	case RULES_NO_CLOUD: break;
	}
}

void rules_of_host(const struct rules_host *host, struct rules_findings *ret)
{
	static const unsigned oldest[2] = {6, 1};

	if (is_older(host, oldest))
		say(ret, RULES_HINDERS, "Linux %u.%u lacks what the program needs; it takes 6.1",
		    host->release[0], host->release[1]);
	if (!host->root)
		say(ret, RULES_NOTES, "this was not asked by root, as who weir run has to run");
	if (!host->jit) {
		say(ret, RULES_SLOWS, "BPF programs are interpreted, not compiled");
		mend(ret, "sysctl -w net.core.bpf_jit_enable=1");
	}
	check_cloud(host, ret);
}

/* --- an interface --- */

/* What stacks on others runs XDP where the packets come in, below it. */
static bool is_stacked(const struct card *card)
{
	static const char *const kinds[] = {"vlan",    "bridge", "team",   "macvlan", "ipvlan",
					    "vxlan",   "vrf",    "ipip",   "gre",     "geneve",
					    "macvtap", "dummy",  "ip6tnl", "sit",     "wireguard"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(card->kind, kinds[i]) == 0)
			return true;
	}
	return false;
}

static void check_driver(const struct rules_host *host, const struct card *card,
			 const struct driver *driver, struct rules_findings *ret)
{
	if (is_stacked(card)) {
		say(ret, RULES_HINDERS,
		    "a device of kind %s has no native XDP: attach to what is below it%s%s, or "
		    "take `xdp: auto`, which is several times slower",
		    card->kind, card->below[0] ? ", " : "", card->below);
	} else if (card->native == CARD_NOT_NATIVE || (driver && is_older(host, driver->since))) {
		say(ret, RULES_HINDERS,
		    "the driver %s has no native XDP here%s: `xdp: auto` takes generic mode, which "
		    "is several times slower",
		    card->driver[0] ? card->driver : "(unknown)",
		    driver && is_older(host, driver->since) ? ", a newer kernel's has" : "");
	} else if (card->native == CARD_UNTOLD && !driver) {
		say(ret, RULES_NOTES,
		    "whether the driver %s has native XDP is not known here: weir run says",
		    card->driver[0] ? card->driver : "(unknown)");
	}
}

static void check_mtu(const struct card *card, const struct driver *driver,
		      struct rules_findings *ret)
{
	if (!driver || !driver->mtu_max || card->mtu <= driver->mtu_max)
		return;
	say(ret, RULES_HINDERS, "MTU %u is more than the %u that %s takes with XDP%s", card->mtu,
	    driver->mtu_max, driver->name,
	    strcmp(driver->name, "veth") == 0 ? " (it is the peer's that counts)" : "");
	mend(ret, "ip link set dev %s mtu %u", card->name, driver->mtu_max);
}

static void check_offloads(const struct card *card, const struct driver *driver,
			   struct rules_findings *ret)
{
	if (card->lro) {
		say(ret, driver && driver->refuses_lro ? RULES_HINDERS : RULES_SLOWS,
		    "the card joins what it receives (LRO)%s",
		    driver && driver->refuses_lro
			    ? ", which the driver does not have together with XDP"
			    : ": joined packets fit no tunnel; most drivers end it with XDP");
		mend(ret, "ethtool -K %s lro off", card->name);
	}
	if (card->gro_hw) {
		say(ret, RULES_NOTES,
		    "the card joins what it receives (rx-gro-hw); most drivers "
		    "end it with XDP, some refuse");
		mend(ret, "ethtool -K %s rx-gro-hw off", card->name);
	}
	if (card->rx_vlan && card->has_vlans) {
		say(ret, RULES_HINDERS,
		    "the card takes VLAN tags off before XDP sees them, and VLANs are in use: "
		    "their packets would be taken for untagged ones");
		mend(ret, "ethtool -K %s rxvlan off", card->name);
	}
}

static void mend_queues(const struct card *card, uint32_t count, struct rules_findings *ret)
{
	if (card->queues_apart)
		mend(ret, "ethtool -L %s rx %u tx %u", card->name, count, count);
	else
		mend(ret, "ethtool -L %s combined %u", card->name, count);
}

static void check_queues(const struct rules_host *host, const struct card *card,
			 const struct driver *driver, struct rules_findings *ret)
{
	enum queue_rule rule = driver ? driver->queues : QUEUES_ANY;
	uint32_t half = card->queues_max / 2;

	if (!card->queues || !card->queues_max)
		return;
	if (rule == QUEUES_HALF && card->queues > half) {
		if (half) {
			say(ret, RULES_HINDERS,
			    "%u queues of %u are in use; with XDP it may be half of them, for as "
			    "many send",
			    card->queues, card->queues_max);
			mend_queues(card, half, ret);
		} else {
			say(ret, RULES_HINDERS,
			    "one queue is too few: with XDP it takes another "
			    "to send by; a larger instance has more");
		}
		return;
	}
	if (rule == QUEUES_SPARE && card->queues + host->processors > card->queues_max)
		say(ret, RULES_SLOWS,
		    "%u %s of %u %s in use and there %s %u %s: with less than one "
		    "more for each, what XDP sends takes a lock; the host that runs this machine "
		    "gives it more (queues=%u)",
		    card->queues, plural(card->queues, "queue", "queues"), card->queues_max,
		    plural(card->queues, "is", "are"), plural(host->processors, "is", "are"),
		    host->processors, plural(host->processors, "processor", "processors"),
		    card->queues + host->processors);
	if (rule != QUEUES_HALF)
		half = card->queues_max;
	if (card->queues >= host->processors || card->queues >= half)
		return;
	say(ret, RULES_SLOWS, "%u of %u queues %s in use, by as many of %u processors",
	    card->queues, card->queues_max, plural(card->queues, "is", "are"), host->processors);
	mend_queues(card, half < host->processors ? half : host->processors, ret);
}

void rules_of_card(const struct rules_host *host, const struct card *card,
		   struct rules_wanted wanted, struct rules_findings *ret)
{
	const struct driver *driver = driver_of(card);

	if (!card->up) {
		say(ret, RULES_HINDERS, "it is down");
		mend(ret, "ip link set dev %s up", card->name);
	}
	if (card->xdp_id && !wanted.ours) {
		say(ret, RULES_HINDERS,
		    "another's XDP program is attached, number %u in %s mode; `bpftool link` and "
		    "`bpftool net` show whose it is",
		    card->xdp_id, card->xdp_generic ? "generic" : "native");
		mend(ret, "ip link set dev %s xdp%s off", card->name,
		     card->xdp_generic ? "generic" : "");
	}
	if (!wanted.native)
		return;
	check_driver(host, card, driver, ret);
	check_mtu(card, driver, ret);
	check_offloads(card, driver, ret);
	check_queues(host, card, driver, ret);
}
