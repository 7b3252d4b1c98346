/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/capture/pcapng.h"

#include <string.h>

enum {
	SECTION = 0x0a0d0d0a,
	INTERFACE = 1,
	PACKET = 6,
	MAGIC = 0x1a2b3c4d,
	LINK_ETHERNET = 1,
	OPTION_END = 0,
	OPTION_COMMENT = 1,
	SECTION_APPLICATION = 4,
	INTERFACE_NAME = 2,
	INTERFACE_DESCRIPTION = 3,
	INTERFACE_TIME = 9,
	PACKET_FLAGS = 2,
	NANOSECONDS = 9, /* powers of ten in a second */
	TEXT_MAX = 1024,
};

/* The file is in this machine's byte order, which the section's header tells. */
static void put32(FILE *file, uint32_t value)
{
	fwrite(&value, sizeof(value), 1, file);
}

static void put16(FILE *file, uint16_t value)
{
	fwrite(&value, sizeof(value), 1, file);
}

static uint32_t padded(uint32_t length)
{
	return (length + 3) & ~3U;
}

static void put_padded(FILE *file, const void *bytes, uint32_t length)
{
	static const uint8_t zero[4];

	fwrite(bytes, 1, length, file);
	fwrite(zero, 1, padded(length) - length, file);
}

static uint32_t text_length(const char *text)
{
	return (uint32_t)strnlen(text, TEXT_MAX);
}

static uint32_t option_size(uint32_t length)
{
	return 4 + padded(length);
}

static void put_option(FILE *file, uint16_t code, const void *bytes, uint32_t length)
{
	put16(file, code);
	put16(file, (uint16_t)length);
	put_padded(file, bytes, length);
}

static void put_text(FILE *file, uint16_t code, const char *text)
{
	put_option(file, code, text, text_length(text));
}

void pcapng_begin(struct pcapng *pcapng, FILE *file, uint32_t snaplen, const char *application)
{
	uint32_t size = 28 + option_size(text_length(application)) + option_size(0);

	*pcapng = (struct pcapng){.file = file, .snaplen = snaplen};
	put32(file, SECTION);
	put32(file, size);
	put32(file, MAGIC);
	put16(file, 1);
	put16(file, 0);
	/* How long the section is: not known. */
	put32(file, UINT32_MAX);
	put32(file, UINT32_MAX);
	put_text(file, SECTION_APPLICATION, application);
	put_text(file, OPTION_END, "");
	put32(file, size);
}

uint32_t pcapng_interface(struct pcapng *pcapng, const char *name, const char *description)
{
	static const uint8_t resolution = NANOSECONDS;
	FILE *file = pcapng->file;
	uint32_t size = 20 + option_size(text_length(name)) +
			option_size(text_length(description)) + option_size(1) + option_size(0);

	put32(file, INTERFACE);
	put32(file, size);
	put16(file, LINK_ETHERNET);
	put16(file, 0);
	put32(file, pcapng->snaplen);
	put_text(file, INTERFACE_NAME, name);
	put_text(file, INTERFACE_DESCRIPTION, description);
	put_option(file, INTERFACE_TIME, &resolution, sizeof(resolution));
	put_text(file, OPTION_END, "");
	put32(file, size);
	return pcapng->interfaces++;
}

void pcapng_packet(struct pcapng *pcapng, const struct pcapng_packet *packet)
{
	FILE *file = pcapng->file;
	uint32_t flags = packet->way;
	uint32_t size = 32 + padded(packet->captured) + option_size(text_length(packet->comment)) +
			option_size(sizeof(flags)) + option_size(0);

	put32(file, PACKET);
	put32(file, size);
	put32(file, packet->interface);
	put32(file, (uint32_t)(packet->time_ns >> 32));
	put32(file, (uint32_t)packet->time_ns);
	put32(file, packet->captured);
	put32(file, packet->length);
	put_padded(file, packet->bytes, packet->captured);
	put_text(file, OPTION_COMMENT, packet->comment);
	put_option(file, PACKET_FLAGS, &flags, sizeof(flags));
	put_text(file, OPTION_END, "");
	put32(file, size);
}
