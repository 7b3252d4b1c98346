/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a daemon's XDP program is attached, and those interfaces' links. */
#include "host/host.h"
#include "weir/metrics/exporter.h"

static size_t count_links(const struct scrape *scrape)
{
	return scrape->links->count;
}

static void sample_attached(struct scrape *scrape, size_t at)
{
	const struct link_attached *link = &scrape->links->attached[at];

	metrics_put(&scrape->text, !link_is_lost(link), {"interface", link->interface},
		    {"mode", link_xdp_name(link->mode)});
}

static void sample_native(struct scrape *scrape, size_t at)
{
	const struct link_attached *link = &scrape->links->attached[at];

	metrics_put(&scrape->text, link->mode == LINK_XDP_NATIVE && !link_is_lost(link),
		    {"interface", link->interface});
}

static void sample_carrier(struct scrape *scrape, size_t at)
{
	const struct link_attached *link = &scrape->links->attached[at];
	uint32_t changes;

	if (!host_interface_carrier_changes(link->interface, &changes))
		metrics_put(&scrape->text, changes, {"interface", link->interface});
}

static const struct family families[] = {
	{"weir_xdp_attached", METRIC_GAUGE,
	 "1: the program is attached to the interface, in that mode", count_links, sample_attached},
	{"weir_xdp_native", METRIC_GAUGE,
	 "1: it runs in the driver; 0: in the slower generic mode, or not at all", count_links,
	 sample_native},
	{"weir_link_carrier_changes", METRIC_COUNTER,
	 "how often the interface's link went up or down", count_links, sample_carrier},
};

const struct family_list metrics_link_families = {families, sizeof(families) / sizeof(families[0])};
