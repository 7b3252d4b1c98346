/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of what routers are told: VIPs, BGP sessions, BFD. None where nothing is announced. */
#include "weir/figures/node.h"
#include "weir/node/announcer_state.h"
#include "weir/routing/state.h"

/* --- VIPs --- */

static size_t count_vips(const struct scrape *scrape)
{
	const struct announcer *announcer = scrape_app(scrape)->announcer;

	return announcer ? announcer->told_count : 0;
}

static void sample_announced(struct scrape *scrape, size_t at)
{
	const struct announcer *announcer = scrape_app(scrape)->announcer;
	char text[ADDR_TEXT_MAX];

	metrics_put(&scrape->text, announcer->told[at].there,
		    {"vip", prefix_format_short(&policy_vip(announcer->policy, at)->prefix, text)});
}

static size_t count_announcer(const struct scrape *scrape)
{
	return scrape_app(scrape)->announcer != NULL;
}

static void sample_drained(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0,
		       scrape_app(scrape)->announcer->drain.phase != DRAIN_NONE);
}

/* --- routers --- */

static const struct routers *routers_of(const struct scrape *scrape)
{
	const struct announcer *announcer = scrape_app(scrape)->announcer;

	return announcer ? announcer->routers : NULL;
}

static size_t count_routers(const struct scrape *scrape)
{
	const struct routers *routers = routers_of(scrape);

	return routers ? routers->count : 0;
}

static const struct router *router_at(const struct scrape *scrape, size_t at)
{
	return routers_of(scrape)->list[at];
}

static const struct bgp_peer_status *bgp_at(const struct scrape *scrape, size_t at)
{
	return bgp_peer_status(router_at(scrape, at)->peer);
}

/* With its interface: of routers on several links one link-local address may be another's too. */
static const char *peer_text(const struct scrape *scrape, size_t at, char text[ADDR_TEXT_MAX])
{
	const struct router *router = router_at(scrape, at);

	return addr_format_on(&router->conf.address, router->interface, text);
}

static void put_peer(struct scrape *scrape, size_t at, uint64_t value)
{
	char text[ADDR_TEXT_MAX];

	metrics_put(&scrape->text, value, {"peer", peer_text(scrape, at, text)});
}

static void sample_up(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->state == BGP_PEER_ESTABLISHED);
}

static void sample_prefixes(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->prefixes);
}

static void sample_pending(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->pending);
}

static void sample_ups(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->ups);
}

static void sample_downs(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->downs);
}

static void put_both_ways(struct scrape *scrape, size_t at, uint64_t in, uint64_t out)
{
	char text[ADDR_TEXT_MAX];
	const char *peer = peer_text(scrape, at, text);

	metrics_put(&scrape->text, in, {"peer", peer}, {"direction", "in"});
	metrics_put(&scrape->text, out, {"peer", peer}, {"direction", "out"});
}

static void sample_messages(struct scrape *scrape, size_t at)
{
	const struct bgp_peer_status *status = bgp_at(scrape, at);

	put_both_ways(scrape, at, status->messages_in, status->messages_out);
}

static void sample_notifications(struct scrape *scrape, size_t at)
{
	const struct bgp_peer_status *status = bgp_at(scrape, at);

	put_both_ways(scrape, at, status->notifications_in, status->notifications_out);
}

static void sample_malformed(struct scrape *scrape, size_t at)
{
	put_peer(scrape, at, bgp_at(scrape, at)->malformed);
}

static size_t count_speaker(const struct scrape *scrape)
{
	return routers_of(scrape) != NULL;
}

static void sample_routes(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, bgp_status(routers_of(scrape)->bgp)->routes);
}

/* --- BFD --- */

static size_t count_bfd(const struct scrape *scrape)
{
	const struct routers *routers = routers_of(scrape);

	return routers && routers->bfd ? routers->count : 0;
}

static bool bfd_at(const struct scrape *scrape, size_t at, struct bfd_status *ret)
{
	const struct bfd_session *session = router_at(scrape, at)->session;

	if (session)
		bfd_status(session, ret);
	return session != NULL;
}

static void sample_bfd_up(struct scrape *scrape, size_t at)
{
	struct bfd_status status;

	if (bfd_at(scrape, at, &status))
		put_peer(scrape, at, status.state == BFD_UP);
}

static void sample_bfd_losses(struct scrape *scrape, size_t at)
{
	struct bfd_status status;

	if (bfd_at(scrape, at, &status))
		put_peer(scrape, at, status.losses);
}

static void sample_bfd_detect(struct scrape *scrape, size_t at)
{
	struct bfd_status status;
	char text[ADDR_TEXT_MAX];

	if (bfd_at(scrape, at, &status))
		metrics_put_real(&scrape->text, (double)status.detect_us / 1e6,
				 {"peer", peer_text(scrape, at, text)});
}

static const struct family families[] = {
	{"weir_vip_announced", METRIC_GAUGE,
	 "1: the VIP's route is announced, or in the routing "
	 "table",
	 count_vips, sample_announced},
	{"weir_node_drained", METRIC_GAUGE,
	 "1: this node drains or is drained: it announces "
	 "nothing",
	 count_announcer, sample_drained},
	{"weir_bgp_routes", METRIC_GAUGE, "routes that routers are to be told of", count_speaker,
	 sample_routes},
	{"weir_bgp_session_up", METRIC_GAUGE, "1: the session with the router is established",
	 count_routers, sample_up},
	{"weir_bgp_session_prefixes", METRIC_GAUGE, "prefixes that the router was told",
	 count_routers, sample_prefixes},
	{"weir_bgp_session_pending", METRIC_GAUGE, "changes that the router was not told yet",
	 count_routers, sample_pending},
	{"weir_bgp_session_ups", METRIC_COUNTER, "how often the session came up", count_routers,
	 sample_ups},
	{"weir_bgp_session_downs", METRIC_COUNTER, "how often it went down", count_routers,
	 sample_downs},
	{"weir_bgp_messages", METRIC_COUNTER, "messages of the session", count_routers,
	 sample_messages},
	{"weir_bgp_notifications", METRIC_COUNTER, "NOTIFICATIONs among them, which end a session",
	 count_routers, sample_notifications},
	{"weir_bgp_malformed", METRIC_COUNTER, "messages of the router with an error",
	 count_routers, sample_malformed},
	{"weir_bfd_session_up", METRIC_GAUGE, "1: BFD with the router is up", count_bfd,
	 sample_bfd_up},
	{"weir_bfd_losses", METRIC_COUNTER, "how often BFD lost the router", count_bfd,
	 sample_bfd_losses},
	{"weir_bfd_detect_seconds", METRIC_GAUGE, "silence after which it is lost", count_bfd,
	 sample_bfd_detect},
};

const struct family_list node_routing_families = {families, sizeof(families) / sizeof(families[0])};
