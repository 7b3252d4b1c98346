/* SPDX-License-Identifier: BSD-2-Clause */
/* NOTIFICATION: what went wrong, as numbers and in words (RFC 4271 section 4.5, 4486, 9003, 8538,
 * 6608, 9384, 9687). */
#include <errno.h>

#include "bgp/wire/bytes.h"

int notice_fault(struct wire_notice *fault, enum wire_code code, uint8_t subcode)
{
	return notice_fault_data(fault, code << 8 | subcode, NULL, 0);
}

int notice_fault_data(struct wire_notice *fault, unsigned int code_subcode, const void *data,
		      size_t length)
{
	if (length > sizeof(fault->data))
		length = sizeof(fault->data);
	fault->code = (uint8_t)(code_subcode >> 8);
	fault->subcode = (uint8_t)code_subcode;
	fault->length = (uint16_t)length;
	if (length)
		memcpy(fault->data, data, length);
	return -EPROTO;
}

struct wire_notice wire_notice(enum wire_code code, uint8_t subcode)
{
	return (struct wire_notice){.code = (uint8_t)code, .subcode = subcode};
}

/* Of `text`, as many whole characters as fit. */
static size_t text_fit(const char *text, size_t most)
{
	size_t length = strnlen(text, most + 1);

	if (length <= most)
		return length;
	for (length = most; length > 0 && ((uint8_t)text[length] & 0xc0) == 0x80;)
		length--;
	return length;
}

struct wire_notice wire_notice_cease(enum wire_cease_subcode subcode, const char *text)
{
	struct wire_notice notice = wire_notice(WIRE_CEASE, (uint8_t)subcode);
	size_t length;

	if (!text || (subcode != WIRE_CEASE_SHUTDOWN && subcode != WIRE_CEASE_RESET))
		return notice;
	length = text_fit(text, WIRE_SHUTDOWN_TEXT_MAX);
	notice.data[0] = (uint8_t)length;
	memcpy(notice.data + 1, text, length);
	notice.length = (uint16_t)(1 + length);
	return notice;
}

int wire_notice_format(const struct wire_notice *notice, uint8_t *message)
{
	struct writer writer = message_begin(message, WIRE_NOTIFICATION);

	write8(&writer, notice->code);
	write8(&writer, notice->subcode);
	write_bytes(&writer, notice->data, notice->length);
	return message_end(&writer, message);
}

void wire_notice_parse(const uint8_t *message, size_t length, struct wire_notice *ret)
{
	struct reader body = message_body(message, length);
	uint8_t code = read8(&body);
	uint8_t subcode = read8(&body);

	notice_fault_data(ret, (unsigned int)code << 8 | subcode, body.at, body.left);
}

static const char *const code_names[] = {
	[WIRE_ERR_HEADER] = "message header error",
	[WIRE_ERR_OPEN] = "OPEN error",
	[WIRE_ERR_UPDATE] = "UPDATE error",
	[WIRE_ERR_HOLD] = "hold timer expired",
	[WIRE_ERR_FSM] = "unexpected message",
	[WIRE_CEASE] = "cease",
	[WIRE_ERR_REFRESH] = "ROUTE-REFRESH error",
	[WIRE_ERR_SEND_HOLD] = "send hold timer expired",
};

enum { SUBCODES = 12 };

static const char *const subcode_names[][SUBCODES] = {
	[WIRE_ERR_HEADER] = {[WIRE_NOT_SYNCHRONIZED] = "connection not synchronized",
			     [WIRE_BAD_LENGTH] = "bad message length",
			     [WIRE_BAD_TYPE] = "bad message type"},
	[WIRE_ERR_OPEN] = {[WIRE_BAD_VERSION] = "unsupported version",
			   [WIRE_BAD_PEER_AS] = "bad peer AS",
			   [WIRE_BAD_ROUTER_ID] = "bad BGP identifier",
			   [WIRE_BAD_PARAMETER] = "unsupported optional parameter",
			   [5] = "authentication failure",
			   [WIRE_BAD_HOLD_TIME] = "unacceptable hold time",
			   [WIRE_BAD_CAPABILITY] = "unsupported capability",
			   [11] = "role mismatch"},
	[WIRE_ERR_UPDATE] = {[WIRE_BAD_ATTRIBUTES] = "malformed attribute list",
			     [WIRE_UNKNOWN_WELL_KNOWN] = "unrecognized well-known attribute",
			     [3] = "missing well-known attribute",
			     [4] = "attribute flags error",
			     [5] = "attribute length error",
			     [6] = "invalid ORIGIN",
			     [7] = "AS routing loop",
			     [8] = "invalid NEXT_HOP",
			     [WIRE_OPTIONAL_ATTRIBUTE] = "optional attribute error",
			     [WIRE_BAD_NETWORK] = "invalid network field",
			     [11] = "malformed AS_PATH"},
	[WIRE_ERR_FSM] = {[WIRE_IN_OPENSENT] = "in OpenSent",
			  [WIRE_IN_OPENCONFIRM] = "in OpenConfirm",
			  [WIRE_IN_ESTABLISHED] = "in Established"},
	[WIRE_CEASE] = {[WIRE_CEASE_PREFIXES] = "too many prefixes",
			[WIRE_CEASE_SHUTDOWN] = "administrative shutdown",
			[WIRE_CEASE_DECONFIGURED] = "peer de-configured",
			[WIRE_CEASE_RESET] = "administrative reset",
			[WIRE_CEASE_REJECTED] = "connection rejected",
			[WIRE_CEASE_CONFIGURATION] = "other configuration change",
			[WIRE_CEASE_COLLISION] = "connection collision resolution",
			[WIRE_CEASE_RESOURCES] = "out of resources",
			[WIRE_CEASE_HARD_RESET] = "hard reset",
			[WIRE_CEASE_BFD_DOWN] = "BFD down"},
	[WIRE_ERR_REFRESH] = {[1] = "invalid message length"},
};

/* The end of a text that is being written; what does not fit is left out. */
static void add(struct writer *text, const char *words)
{
	write_bytes(text, words, strlen(words));
}

static void add_number(struct writer *text, uint8_t number)
{
	char digits[4] = {0};

	digits[0] = (char)('0' + number / 100);
	digits[1] = (char)('0' + number / 10 % 10);
	digits[2] = (char)('0' + number % 10);
	add(text, digits + (number < 10 ? 2 : number < 100 ? 1 : 0));
}

static void add_names(struct writer *text, uint8_t code, uint8_t subcode)
{
	size_t known = sizeof(code_names) / sizeof(code_names[0]);
	const char *name = NULL;

	if (code < known && code_names[code]) {
		add(text, code_names[code]);
	} else {
		add(text, "error ");
		add_number(text, code);
	}
	if (subcode == 0)
		return;
	if (code < sizeof(subcode_names) / sizeof(subcode_names[0]) && subcode < SUBCODES)
		name = subcode_names[code][subcode];
	add(text, name ? ", " : ", subcode ");
	if (name)
		add(text, name);
	else
		add_number(text, subcode);
}

/* The length of the UTF-8 character at `at`; 0: it is none, or none to be shown. */
static size_t character(const uint8_t *at, size_t left)
{
	size_t length = at[0] < 0x80 ? 1 : at[0] < 0xe0 ? 2 : at[0] < 0xf0 ? 3 : 4;
	uint32_t value = at[0] & (length == 1 ? 0x7f : 0xffu >> (length + 1));
	static const uint32_t least[] = {0, 0x20, 0xa0, 0x800, 0x10000};

	if ((at[0] >= 0x80 && at[0] < 0xc2) || at[0] > 0xf4 || length > left)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		value = value << 6 | (at[i] & 0x3f);
	}
	/* Neither surrogates, nor DEL and what changes the direction or the line of what follows. */
	if (value < least[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000))
		return 0;
	if (value == 0x7f || value == '"' || (value >= 0x2028 && value <= 0x202e) ||
	    (value >= 0x2066 && value <= 0x2069) || value == 0x200e || value == 0x200f)
		return 0;
	return length;
}

/* RFC 9003 section 2: a length, then the text; one that lies about its length is left out. */
static void add_shutdown(struct writer *text, const uint8_t *data, size_t length)
{
	if (length < 2 || data[0] == 0 || data[0] > length - 1)
		return;
	add(text, ": \"");
	for (size_t i = 1, end = 1 + (size_t)data[0]; i < end;) {
		size_t one = character(data + i, end - i);

		write_bytes(text, one ? (const void *)(data + i) : "?", one ? one : 1);
		i += one ? one : 1;
	}
	add(text, "\"");
}

const char *wire_notice_text(const struct wire_notice *notice, char *text)
{
	struct writer writer = {.at = (uint8_t *)text, .left = WIRE_NOTICE_TEXT_MAX - 1};
	uint8_t code = notice->code, subcode = notice->subcode;
	const uint8_t *data = notice->data;
	size_t length = notice->length;

	add_names(&writer, code, subcode);
	/* A hard reset has the true reason within (RFC 8538 section 3.1). */
	if (code == WIRE_CEASE && subcode == WIRE_CEASE_HARD_RESET && length >= 2) {
		code = data[0];
		subcode = data[1];
		data += 2;
		length -= 2;
		add(&writer, ", ");
		add_names(&writer, code, subcode);
	}
	if (code == WIRE_CEASE && (subcode == WIRE_CEASE_SHUTDOWN || subcode == WIRE_CEASE_RESET))
		add_shutdown(&writer, data, length);
	*writer.at = '\0';
	return text;
}
