/* SPDX-License-Identifier: BSD-2-Clause */
/* Where `weir trace` takes packets from: hex on the command line, capture files by libpcap. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/*
 * Bytes of two digits each, with blanks and colons between them, up to `stop` or the text's end,
 * where *text is left. Counts all of them in *ret_length, writes those that fit. NULL, or what is
 * wrong.
 */
const char *trace_parse_hex(const char **text, char stop, uint8_t *bytes, size_t capacity,
			    size_t *ret_length);

struct trace_capture {
	struct pcap *pcap;
};

struct trace_captured {
	uint64_t time_ns;     /* since 1970; 0: the stamp makes no sense */
	uint32_t length;      /* of what was captured */
	uint32_t wire_length; /* of the packet as it was */
	const uint8_t *bytes; /* until the next call */
};

/* pcap or pcapng, of Ethernet frames alone; "-" is standard input. 0 or -errno. */
int trace_capture_open(const char *path, struct trace_capture *ret, struct err *err);
/* 1: a packet, 0: the end, -EIO: the file is broken from here on. */
int trace_capture_next(struct trace_capture *capture, struct trace_captured *ret, struct err *err);
void trace_capture_close(struct trace_capture *capture);
