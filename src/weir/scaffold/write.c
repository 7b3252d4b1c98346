/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <string.h>
#include <sys/random.h>

#include "base/plural.h"
#include "weir/scaffold/scaffold.h"

/* Of the blocks that are for documents (RFC 5737, RFC 6598): nobody's. */
#define A_VIP        "198.51.100.10"
#define A_BACKEND    "203.0.113.11"
#define OTHER        "203.0.113.12"
#define SOME_SOURCES "100.64.1.0/24"

static void put_list(FILE *out, const char *const *texts, size_t count, const char *without)
{
	fputc('[', out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", texts[i]);
	if (!count)
		fprintf(out, "\"%s\"", without);
	fputc(']', out);
}

static bool is_link_local(const struct addr *addr)
{
	return !addr_is4(addr) && addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;
}

/* Its first address of that family that others reach; NULL: none. */
static const struct host_address *address_of(const struct scaffold_host *host,
					     const struct card *card, bool is4)
{
	for (size_t i = 0; i < host->address_count; i++) {
		const struct host_address *address = &host->addresses[i];

		if (address->ifindex == card->ifindex && addr_is4(&address->addr) == is4 &&
		    !is_link_local(&address->addr))
			return address;
	}
	return NULL;
}

static void put_card(FILE *out, const struct scaffold_host *host, const struct card *card)
{
	char text[ADDR_TEXT_MAX];

	fprintf(out, "  # %s: %s, MTU %u", card->name, card->up ? "up" : "down", card->mtu);
	if (card->driver[0])
		fprintf(out, ", driver %s", card->driver);
	if (card->queues)
		fprintf(out, ", %u %s", card->queues, plural(card->queues, "queue", "queues"));
	for (size_t i = 0; i < host->address_count; i++) {
		const struct host_address *address = &host->addresses[i];

		if (address->ifindex == card->ifindex && !is_link_local(&address->addr))
			fprintf(out, "; %s/%u", addr_format(&address->addr, text), address->length);
	}
	for (size_t i = 0; i < 2; i++) {
		if (host->gateways[i].ifindex == card->ifindex)
			fprintf(out, "; router %s", addr_format(&host->gateways[i].addr, text));
	}
	fputc('\n', out);
}

static void put_interfaces(FILE *out, const struct scaffold_host *host)
{
	for (size_t i = 0; i < host->chosen_count; i++)
		put_card(out, host, host->chosen[i]);
	fputs("  interfaces: [", out);
	for (size_t i = 0; i < host->chosen_count; i++)
		fprintf(out, "%s\"%s\"", i ? ", " : "", host->chosen[i]->name);
	fputs("]\n", out);
}

/* What the slowest of them can, as far as drivers tell. */
static void put_xdp(FILE *out, const struct scaffold_host *host)
{
	bool untold = false, generic = false;

	for (size_t i = 0; i < host->chosen_count; i++) {
		untold |= host->chosen[i]->native == CARD_UNTOLD;
		generic |= host->chosen[i]->native == CARD_NOT_NATIVE;
	}
	if (generic)
		fputs("  xdp: generic         # a driver here cannot run XDP itself\n", out);
	else if (untold)
		fputs("  xdp: auto            # native where the driver can, else generic: `weir "
		      "check --host`\n",
		      out);
	else
		fputs("  xdp: native          # in the driver; a start fails where that is not "
		      "possible\n",
		      out);
}

static void put_head(FILE *out, const char *what, const char *path)
{
	fprintf(out,
		"# %s for this host, as `weir scaffold` found it.\n"
		"# Lines with <- are guesses: put your own there. Then `weir check FILE`, and "
		"start it\n"
		"# as %s. Every key is in weir.yaml(5).\n",
		what, path);
}

static void put_tunnel(FILE *out, const struct scaffold_host *host)
{
	const struct host_address *own = address_of(host, host->chosen[0], true);
	char text[ADDR_TEXT_MAX];

	fprintf(out,
		"  # The outer source of tunnels varies in a prefix that is routed to this node, "
		"so "
		"that\n"
		"  # backends' cards spread them. Without it, it is the node's own address%s%s.\n"
		"  # tunnel: {source4: " SOME_SOURCES "}\n",
		own ? ", " : "", own ? addr_format(&own->addr, text) : "");
}

static void put_bgp(FILE *out, const struct scaffold_host *host)
{
	const struct host_address *own = address_of(host, host->chosen[0], true);
	char id[ADDR_TEXT_MAX] = "192.0.2.11", router[ADDR_TEXT_MAX] = "192.0.2.1";

	if (own)
		addr_format(&own->addr, id);
	if (host->gateways[0].ifindex)
		addr_format(&host->gateways[0].addr, router);
	fprintf(out,
		"\n# Routers learn of the VIPs by BGP, and of a dead node by BFD. Without this "
		"they "
		"need static\n"
		"# routes to this node.\n"
		"# bgp:\n"
		"#   asn: 65010\n"
		"#   router_id: %s\n"
		"#   peers:\n"
		"#   - {address: \"%s\", asn: 65000, bfd: {interval: 300ms, multiplier: 3}}\n",
		id, router);
}

static void put_seed(FILE *out)
{
	uint64_t seed = 0;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = 0;
	fprintf(out,
		"\n# From here on the same on every node: copy it, this seed too.\n"
		"seed: \"%016" PRIx64 "\"\n",
		seed);
}

static const char *port_of(const struct scaffold *wanted)
{
	const char *slash = wanted->listen_count ? strchr(wanted->listens[0], '/') : NULL;

	return slash && slash[1] >= '1' && slash[1] <= '9' && !strchr(slash, '-') ? slash + 1
										  : "80";
}

static void put_pool(FILE *out, const struct scaffold *wanted)
{
	static const char *const none[] = {A_BACKEND, OTHER};
	const char *const *backends = wanted->backend_count ? wanted->backends : none;
	size_t count = wanted->backend_count ? wanted->backend_count : 2;

	fprintf(out,
		"pools:\n"
		"- name: web\n"
		"  check: {type: tcp, port: %s, interval: 2s, timeout: 1s, rise: 2, fall: 3}\n"
		"  backends:\n",
		port_of(wanted));
	for (size_t i = 0; i < count; i++)
		fprintf(out, "  - {name: b%zu, address: \"%s\", weight: 100}%s\n", i + 1,
			backends[i], wanted->backend_count ? "" : "   # <-");
}

static void put_service(FILE *out, const struct scaffold *wanted)
{
	fputs("services:\n- name: web\n  vips: ", out);
	put_list(out, wanted->vips, wanted->vip_count, A_VIP);
	fputs(wanted->vip_count ? "\n  listen: " : "   # <-\n  listen: ", out);
	put_list(out, wanted->listens, wanted->listen_count, "tcp/80");
	fputs("\n"
	      "  pool: web\n"
	      "  forward: ipip          # in an IP tunnel, which the backends' agents take off\n",
	      out);
}

/* What to call on a backend, so that it believes this node. */
static void put_agents(FILE *out, const struct scaffold *wanted, const struct scaffold_host *host)
{
	fputs("\n# On each backend: weir scaffold --agent", out);
	for (size_t i = 0; i < host->chosen_count; i++) {
		for (int family = 0; family < 2; family++) {
			const struct host_address *own =
				address_of(host, host->chosen[i], family == 0);
			char text[ADDR_TEXT_MAX];

			if (own)
				fprintf(out, " --balancer %s", addr_format(&own->addr, text));
		}
	}
	for (size_t i = 0; i < wanted->vip_count; i++)
		fprintf(out, " --vip %s", wanted->vips[i]);
	fputs(wanted->vip_count ? "\n" : " --vip " A_VIP "\n", out);
}

void scaffold_write_node(FILE *out, const struct scaffold *wanted, const struct scaffold_host *host)
{
	put_head(out, "A node's services file", "/etc/weir/weir.yaml: systemctl start weir");
	fprintf(out, "node:\n  name: \"%s\"\n", host->name);
	put_interfaces(out, host);
	put_xdp(out, host);
	put_tunnel(out, host);
	put_bgp(out, host);
	put_seed(out);
	put_pool(out, wanted);
	put_service(out, wanted);
	put_agents(out, wanted, host);
}

void scaffold_write_agent(FILE *out, const struct scaffold *wanted,
			  const struct scaffold_host *host)
{
	put_head(out, "A backend's file", "/etc/weir/agent.yaml: systemctl start weir-agent");
	fprintf(out, "agent:\n  name: \"%s\"\n", host->name);
	put_interfaces(out, host);
	put_xdp(out, host);
	fputs("  # Whose tunnels are believed: each node's node.tunnel, or its own address.\n"
	      "  balancers: ",
	      out);
	put_list(out, wanted->balancers, wanted->balancer_count, SOME_SOURCES);
	fputs(wanted->balancer_count ? "\n" : "   # <-\n", out);
	fputs("  # Put on the loopback, and never spoken of in ARP.\n  vips: ", out);
	put_list(out, wanted->vips, wanted->vip_count, A_VIP);
	fputs(wanted->vip_count ? "\n" : "   # <-\n", out);
}
