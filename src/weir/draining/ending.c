/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/draining/ending.h"

#include <inttypes.h>
#include <stdio.h>

void ending_begin(struct ending *ending, uint64_t packets, uint64_t now_ms)
{
	*ending = (struct ending){.packets = packets, .quiet_ms = now_ms};
}

void ending_hear(struct ending *ending, bool counted, uint64_t connections, uint64_t now_ms)
{
	if (!counted) {
		ending->failures++;
		return;
	}
	ending->connections = connections;
	ending->counted_ms = now_ms;
	ending->failures = 0;
}

/* One question that was lost is no silence. */
enum ending_agent ending_agent(const struct ending *ending, uint64_t now_ms)
{
	if (!ending->has_agent)
		return ENDING_NO_AGENT;
	if (!ending->counted_ms)
		return ending->failures ? ENDING_SILENT : ENDING_ASKED;
	if (ending->failures && now_ms - ending->counted_ms > ENDING_BELIEVED_MS)
		return ENDING_SILENT;
	return ENDING_COUNTS;
}

static enum ending_by judge(const struct ending *ending, bool over, uint64_t now_ms)
{
	uint64_t quiet = now_ms - ending->quiet_ms;

	if (over)
		return ENDING_BY_LIMIT;
	switch (ending_agent(ending, now_ms)) {
	case ENDING_ASKED: return ENDING_NOT;
	case ENDING_COUNTS:
		return ending->connections == 0 && quiet >= ENDING_COUNTED_MS ? ENDING_BY_AGENT
									      : ENDING_NOT;
	default: return quiet >= ENDING_QUIET_MS ? ENDING_BY_PACKETS : ENDING_NOT;
	}
}

bool ending_step(struct ending *ending, uint64_t packets, bool over, uint64_t now_ms)
{
	enum ending_by before = ending->by;

	if (packets != ending->packets)
		ending->quiet_ms = now_ms;
	ending->packets = packets;
	ending->by = judge(ending, over, now_ms);
	return ending->by != before;
}

const char *ending_by_name(enum ending_by by)
{
	static const char *const names[] = {
		[ENDING_NOT] = NULL,
		[ENDING_BY_AGENT] = "agent",
		[ENDING_BY_PACKETS] = "packets",
		[ENDING_BY_LIMIT] = "limit",
	};

	return names[by];
}

static const char *say_counted(const struct ending *ending, char *text)
{
	if (ending->by == ENDING_BY_AGENT)
		snprintf(text, ENDING_WORDS_MAX, "drained: no connection by its agent");
	else if (ending->connections == 0)
		snprintf(text, ENDING_WORDS_MAX,
			 "no connection by its agent, but packets came until just now");
	else
		snprintf(text, ENDING_WORDS_MAX, "%" PRIu64 " connection%s by its agent",
			 ending->connections, ending->connections == 1 ? "" : "s");
	return text;
}

const char *ending_words(const struct ending *ending, const char *why, uint64_t now_ms,
			 char text[ENDING_WORDS_MAX])
{
	uint64_t quiet_s = (now_ms - ending->quiet_ms) / 1000;
	enum ending_agent agent = ending_agent(ending, now_ms);
	int used = 0;

	if (ending->by == ENDING_BY_LIMIT) {
		snprintf(text, ENDING_WORDS_MAX, "drained: its time was over");
		return text;
	}
	if (agent == ENDING_COUNTS)
		return say_counted(ending, text);
	if (agent == ENDING_ASKED) {
		snprintf(text, ENDING_WORDS_MAX, "its agent is being asked");
		return text;
	}
	if (agent == ENDING_SILENT)
		used = snprintf(text, ENDING_WORDS_MAX, "agent not reachable (%.120s): ", why);
	snprintf(text + used, ENDING_WORDS_MAX - (size_t)used,
		 "%sby packets, none for %" PRIu64 " s",
		 ending->by == ENDING_BY_PACKETS ? "drained " : "", quiet_s);
	return text;
}
