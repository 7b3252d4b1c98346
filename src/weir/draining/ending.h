/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When a backend's drain has ended: judged by the packets that went to it, and, where its agent
 * answers, by the connections that its host has. Idle connections send nothing, so packets alone
 * can only guess. Told what there is, and the time; pure. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	ENDING_QUIET_MS = 10000,    /* without a packet, where nobody counts connections */
	ENDING_COUNTED_MS = 3000,   /* the same where its agent counts none: of handshakes, UDP */
	ENDING_BELIEVED_MS = 10000, /* an agent's count, after which its silence counts */
	ENDING_WORDS_MAX = 256,     /* bytes of ending_words, with the final zero */
};

enum ending_agent {
	ENDING_NO_AGENT, /* none is asked */
	ENDING_ASKED,    /* it has not answered yet */
	ENDING_COUNTS,   /* it has */
	ENDING_SILENT,   /* it does not, or nothing that is believed */
};

enum ending_by { ENDING_NOT, ENDING_BY_AGENT, ENDING_BY_PACKETS, ENDING_BY_LIMIT };

/* Zero-initialise, and begin. */
struct ending {
	enum ending_by by;
	uint64_t packets;  /* as of the last step */
	uint64_t quiet_ms; /* since when none came */
	/* What its agent said. */
	bool has_agent;
	uint64_t connections, counted_ms; /* counted_ms 0: never */
	uint64_t failures;                /* since then */
};

void ending_begin(struct ending *ending, uint64_t packets, uint64_t now_ms);
/* An agent's answer, or (counted false) none. */
void ending_hear(struct ending *ending, bool counted, uint64_t connections, uint64_t now_ms);
/* What of the agent holds now. */
enum ending_agent ending_agent(const struct ending *ending, uint64_t now_ms);
/* `over`: its flows were cut. Whether it has another end now, or none any more. */
bool ending_step(struct ending *ending, uint64_t packets, bool over, uint64_t now_ms);
/* "agent", "packets", "limit"; NULL: not ended. */
const char *ending_by_name(enum ending_by by);
/* All of it in words, `why` the agent's silence; returns `text`. */
const char *ending_words(const struct ending *ending, const char *why, uint64_t now_ms,
			 char text[ENDING_WORDS_MAX]);
