/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of the workers of engine af_xdp; of none where the engine is another. */
#include <stdio.h>

#include "engine/xsk/xsk.h"
#include "weir/figures/node.h"
#include "weir/workers/workers.h"

static size_t count_places(const struct scrape *scrape)
{
	return xsk_count(scrape_app(scrape)->dp);
}

struct seen {
	struct xsk_seen worker;
	char queue[12];
};

static bool see(struct scrape *scrape, size_t at, struct seen *ret)
{
	if (!xsk_see(scrape_app(scrape)->dp, (uint32_t)at, &ret->worker))
		return false;
	snprintf(ret->queue, sizeof(ret->queue), "%u", ret->worker.queue);
	return true;
}

static void sample_received(struct scrape *scrape, size_t at)
{
	struct seen seen;

	if (see(scrape, at, &seen))
		metrics_put(&scrape->text, seen.worker.figures.received,
			    {"interface", seen.worker.interface}, {"queue", seen.queue});
}

static void sample_sent(struct scrape *scrape, size_t at)
{
	struct seen seen;

	if (!see(scrape, at, &seen))
		return;
	metrics_put(&scrape->text, seen.worker.figures.sent, {"interface", seen.worker.interface},
		    {"queue", seen.queue}, {"to", "same"});
	metrics_put(&scrape->text, seen.worker.figures.redirected,
		    {"interface", seen.worker.interface}, {"queue", seen.queue}, {"to", "other"});
}

static void put_lost(struct scrape *scrape, const struct seen *seen, const char *reason,
		     uint64_t count)
{
	metrics_put(&scrape->text, count, {"interface", seen->worker.interface},
		    {"queue", seen->queue}, {"reason", reason});
}

static void sample_lost(struct scrape *scrape, size_t at)
{
	struct seen seen;

	if (!see(scrape, at, &seen))
		return;
	put_lost(scrape, &seen, "ring_full", seen.worker.figures.ring_full);
	put_lost(scrape, &seen, "refused", seen.worker.figures.refused);
	put_lost(scrape, &seen, "late", seen.worker.figures.late);
	put_lost(scrape, &seen, "other", seen.worker.figures.other);
}

static size_t count_one(const struct scrape *scrape)
{
	return scrape_app(scrape)->workers != NULL;
}

static void sample_missing(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, workers_missing(scrape_app(scrape)));
}

static const struct family families[] = {
	{"weir_worker_received_packets", METRIC_COUNTER,
	 "frames that a worker of engine af_xdp took from its socket", count_places,
	 sample_received},
	{"weir_worker_sent_packets", METRIC_COUNTER,
	 "frames that it sent, where they came in (same) or at another interface", count_places,
	 sample_sent},
	{"weir_worker_lost_packets", METRIC_COUNTER,
	 "frames lost: they came while it was behind (ring_full), no interface took them "
	 "(refused), the host should have had them by a table that had just changed (late), or the "
	 "kernel could not handle them (other)",
	 count_places, sample_lost},
	{"weir_workers_missing", METRIC_GAUGE,
	 "queues without the worker that they should have: the kernel forwards what comes there",
	 count_one, sample_missing},
};

const struct family_list node_worker_families = {families, sizeof(families) / sizeof(families[0])};
