/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A pcapng file (draft-ietf-opsawg-pcapng) as it is written here: one section, Ethernet interfaces
 * that are described as they come up, packets with a comment each. libpcap writes no comments.
 * Errors of the file are the stream's (ferror).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { PCAPNG_INTERFACES_MAX = 256 };

enum pcapng_way { PCAPNG_IN = 1, PCAPNG_OUT = 2 }; /* as in the packet's flags */

struct pcapng {
	FILE *file;
	uint32_t snaplen;
	uint32_t interfaces; /* described so far */
};

struct pcapng_packet {
	uint32_t interface; /* its number in the file */
	enum pcapng_way way;
	uint64_t time_ns; /* since 1970 */
	uint32_t length;  /* of the frame as it was */
	uint32_t captured;
	const uint8_t *bytes;
	const char *comment;
};

/* Writes the section's header. `application` is who writes it. */
void pcapng_begin(struct pcapng *pcapng, FILE *file, uint32_t snaplen, const char *application);
/* Describes one interface more; its number. */
uint32_t pcapng_interface(struct pcapng *pcapng, const char *name, const char *description);
void pcapng_packet(struct pcapng *pcapng, const struct pcapng_packet *packet);
