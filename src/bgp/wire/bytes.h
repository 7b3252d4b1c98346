/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounded reading and writing of network-order bytes. Past the end, a reader gives zeros and a
 * writer writes nothing; both keep in mind that it happened, so that it is asked once, at the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bgp/wire/wire.h"

struct reader {
	const uint8_t *at;
	size_t left;
	bool over; /* more was asked for than there was */
};

/* The next `count` bytes, or NULL. */
static inline const uint8_t *read_bytes(struct reader *reader, size_t count)
{
	const uint8_t *bytes = reader->at;

	if (reader->over || count > reader->left) {
		reader->over = true;
		reader->left = 0;
		return NULL;
	}
	reader->at += count;
	reader->left -= count;
	return bytes;
}

/* A part of `count` bytes as a reader of its own; an empty one if they are not there. */
static inline struct reader read_part(struct reader *reader, size_t count)
{
	const uint8_t *bytes = read_bytes(reader, count);

	return (struct reader){.at = bytes, .left = bytes ? count : 0, .over = !bytes};
}

static inline uint32_t read_number(struct reader *reader, size_t bytes)
{
	const uint8_t *at = read_bytes(reader, bytes);
	uint32_t number = 0;

	for (size_t i = 0; at && i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

static inline uint8_t read8(struct reader *reader)
{
	return (uint8_t)read_number(reader, 1);
}

static inline uint16_t read16(struct reader *reader)
{
	return (uint16_t)read_number(reader, 2);
}

static inline uint32_t read32(struct reader *reader)
{
	return read_number(reader, 4);
}

struct writer {
	uint8_t *at;
	size_t left;
	bool full;
};

static inline void write_bytes(struct writer *writer, const void *bytes, size_t count)
{
	if (writer->full || count > writer->left) {
		writer->full = true;
		return;
	}
	if (count)
		memcpy(writer->at, bytes, count);
	writer->at += count;
	writer->left -= count;
}

static inline void write_number(struct writer *writer, uint32_t number, size_t bytes)
{
	uint8_t be[4];

	for (size_t i = 0; i < bytes; i++)
		be[i] = (uint8_t)(number >> 8 * (bytes - 1 - i));
	write_bytes(writer, be, bytes);
}

static inline void write8(struct writer *writer, uint32_t number)
{
	write_number(writer, number, 1);
}

static inline void write16(struct writer *writer, uint32_t number)
{
	write_number(writer, number, 2);
}

static inline void write32(struct writer *writer, uint32_t number)
{
	write_number(writer, number, 4);
}

/* message.c: a message's header, whose length message_end fills in and returns. */
struct writer message_begin(uint8_t *message, enum wire_type type);
int message_end(const struct writer *writer, uint8_t *message);
/* What comes after the header of a message that wire_frame found. */
struct reader message_body(const uint8_t *message, size_t length);

/* notice.c: fills a fault, with data or not. Returns -EPROTO. */
int notice_fault(struct wire_notice *fault, enum wire_code code, uint8_t subcode);
int notice_fault_data(struct wire_notice *fault, unsigned int code_subcode, const void *data,
		      size_t length);
