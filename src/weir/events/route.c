/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/time.h"
#include "weir/events/events.h"
#include "weir/metrics/exporter.h"

enum { LIMIT_DEFAULT = 100 };

void events_reply(struct events *events, struct http_exchange *exchange)
{
	struct events_wanted wanted = {
		.newest = !http_query(exchange, "since"),
		.kind = http_query(exchange, "kind"),
	};

	if (http_query_number(exchange, "since", 0, INT64_MAX, &wanted.since) ||
	    http_query_number(exchange, "limit", LIMIT_DEFAULT, EVENTS_LIST_MAX, &wanted.limit)) {
		exporter_reply_json(
			exchange, 400,
			json_pack("{s:s}", "error",
				  "since and limit are whole numbers, limit 500 at most"));
		return;
	}
	exporter_reply_json(exchange, 200, events_list(events, &wanted, time_now_ms()));
}
