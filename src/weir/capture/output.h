/* SPDX-License-Identifier: BSD-2-Clause */
/* How `weir capture` shows packets: a pcapng file, lines of words, or JSON objects. */
#pragma once

#include <stdbool.h>

#include "dp/abi_capture.h"
#include "weir/capture/pcapng.h"
#include "weir/live/names.h"

enum output_form { OUTPUT_WORDS, OUTPUT_JSON, OUTPUT_PCAPNG };

struct output {
	enum output_form form;
	FILE *file;
	const struct names *names;
	struct pcapng pcapng;
	struct {
		uint32_t ifindex;
		uint8_t way;
	} interfaces[PCAPNG_INTERFACES_MAX];
	uint64_t wall_ns; /* what the clock of records is behind the wall's */
	uint8_t frame[ABI_CAPTURE_BYTES];
};

/* The caller sets form, file and names. */
void output_begin(struct output *output, uint32_t snaplen);
void output_record(struct output *output, const struct abi_capture *record, const uint8_t *bytes);

/* Of a frame that may be cut short, in host order; 0: there are none. */
struct output_ports {
	uint16_t sport, dport;
};
struct output_ports output_ports(struct output *output, const struct abi_capture *record,
				 const uint8_t *bytes);
