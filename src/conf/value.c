/* SPDX-License-Identifier: BSD-2-Clause */
/* Single values: for each type how it is read. The way back is in value_text.c. */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"
#include "hash/maglev.h"

enum { VIP_BITS4_MIN = 8, VIP_BITS6_MIN = 16, LISTED_TEXT_MAX = 1024 };

int choice_find(const char *choices, const char *text)
{
	size_t length = strlen(text);
	int place = 0;

	for (const char *at = choices; *at; place++) {
		size_t part = strcspn(at, "|");

		if (part == length && memcmp(at, text, part) == 0)
			return place;
		at += part + (at[part] == '|');
	}
	return -1;
}

/* A number's field may have 1, 2, 4 or 8 bytes. */

static void store(const struct conf_key *key, void *at, uint64_t value)
{
	if (!at)
		return;
	switch (key->width) {
	case sizeof(uint8_t): *(uint8_t *)at = (uint8_t)value; break;
	case sizeof(uint16_t): *(uint16_t *)at = (uint16_t)value; break;
	case sizeof(uint32_t): *(uint32_t *)at = (uint32_t)value; break;
	default: *(uint64_t *)at = value;
	}
}

/* --- numbers --- */

/* Digits and a unit. A leading zero is refused: other programs read it as octal. */
static const char *parse_units(const char *text, const struct units *units, uint64_t *ret)
{
	const char *at = text + (*text == '-');
	uint64_t value = 0;

	if (!isdigit((unsigned char)*at))
		return units->needed ? "is not a duration" : "is not a whole number";
	if (at != text)
		return "is below 0";
	if (*at == '0' && isdigit((unsigned char)at[1]))
		return "begins with a zero";
	for (; isdigit((unsigned char)*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return "is too large";
	}
	for (size_t i = 0; i < units->count; i++) {
		uint64_t factor = units->list[i].factor;

		if (strcmp(at, units->list[i].suffix) == 0)
			return __builtin_mul_overflow(value, factor, ret) ? "is too large" : NULL;
	}
	if (units->needed)
		return *at ? "has an unknown unit" : "has no unit";
	return "is not a whole number";
}

static const char *parse_number(const struct conf_key *key, const char *text, void *at)
{
	uint64_t value = 0;
	const char *wrong = parse_units(text, value_units(key), &value);

	if (wrong)
		return wrong;
	if (key->type != CONF_TYPE_MTU || value != 0) {
		if (value < key->min)
			return "is too small";
		if (value > key->max)
			return "is too large";
	}
	store(key, at, value);
	return NULL;
}

static const char *parse_table_size(const struct conf_key *key, const char *text, void *at)
{
	uint64_t value = 0;
	const char *wrong;

	if (strcmp(text, "auto") != 0) {
		wrong = parse_units(text, value_units(key), &value);
		if (wrong)
			return wrong;
		if (value < 1)
			return "is too small";
		if (value > MAGLEV_SIZE_MAX)
			return "is too large";
	}
	store(key, at, value);
	return NULL;
}

/* --- words --- */

static const char *parse_choice(const struct conf_key *key, const char *text, void *at)
{
	const char *working = key->works ? key->works : key->choices;
	int place = choice_find(working, text);

	if (place >= 0) {
		store(key, at, (uint64_t)place);
		return NULL;
	}
	if (choice_find(key->choices, text) >= 0)
		return "does not work yet";
	if (key->max && !key->list && (isdigit((unsigned char)*text) || *text == '-'))
		return parse_number(key, text, at);
	return key->type == CONF_TYPE_BOOL ? "is neither true nor false" : "is not known";
}

static bool is_name(const char *text)
{
	size_t length = strlen(text);

	if (length > CONF_NAME_MAX || !isalnum((unsigned char)*text))
		return false;
	for (size_t i = 0; i < length; i++) {
		if (!isalnum((unsigned char)text[i]) && !strchr("._-", text[i]))
			return false;
	}
	return true;
}

/* The kernel's dev_valid_name, and '%', which it takes for a pattern. */
static bool is_interface(const char *text)
{
	if (!*text || strlen(text) > 15 || strcmp(text, ".") == 0 || strcmp(text, "..") == 0)
		return false;
	for (const char *at = text; *at; at++) {
		if (!isgraph((unsigned char)*at) || strchr("/:%", *at))
			return false;
	}
	return true;
}

static const char *parse_text(const struct conf_key *key, const char *text, struct arena *arena,
			      void *at)
{
	if (key->type == CONF_TYPE_INTERFACE && !is_interface(text))
		return "is not an interface's name";
	if ((key->type == CONF_TYPE_NAME || key->type == CONF_TYPE_POOL) && !is_name(text))
		return "is not a name";
	if (key->type == CONF_TYPE_TEXT && strlen(text) > (key->list ? LISTED_TEXT_MAX : key->max))
		return "is too long";
	/* A pool's name is resolved when all pools are read. */
	if (at && key->type != CONF_TYPE_POOL)
		*(const char **)at = arena_strdup(arena, text);
	return NULL;
}

/* --- addresses --- */

static const char *refuse4(uint32_t address)
{
	if (address >> 24 == 0)
		return "is not an address of a host";
	if (address >> 24 == 127)
		return "is a loopback address";
	if (address >> 16 == 0xa9fe)
		return "is a link-local address";
	if (address >> 28 == 0xe)
		return "is a multicast address";
	return address == 0xffffffff ? "is the broadcast address" : NULL;
}

static const char *refuse_address(const struct addr *addr)
{
	const struct addr loopback = {.bytes = {[15] = 1}};

	if (addr_is4(addr))
		return refuse4(ntohl(addr_be32(addr)));
	if (addr_is_none(addr))
		return "is not an address of a host";
	if (addr_equal(addr, &loopback))
		return "is a loopback address";
	if (addr->bytes[0] == 0xff)
		return "is a multicast address";
	if (addr_is_link_local(addr))
		return "is a link-local address";
	return NULL;
}

static const char *parse_address(const struct conf_key *key, const char *text, void *at)
{
	struct prefix prefix;
	const char *wrong;

	if (strchr(text, '/'))
		return "is a prefix";
	if (prefix_parse(text, &prefix))
		return "is not an IP address";
	wrong = key->type == CONF_TYPE_ROUTER && addr_is_link_local(&prefix.addr)
			? NULL
			: refuse_address(&prefix.addr);
	if (at && !wrong)
		*(struct addr *)at = prefix.addr;
	return wrong;
}

/* Tells apart what prefix_parse refuses in one. */
static const char *refuse_prefix(const char *text)
{
	const char *slash = strchr(text, '/');
	char address[ADDR_TEXT_MAX];
	struct prefix alone;
	size_t length = slash ? (size_t)(slash - text) : strlen(text);

	if (length >= sizeof(address))
		return "is not a prefix";
	memcpy(address, text, length);
	address[length] = '\0';
	if (!slash || prefix_parse(address, &alone) || !isdigit((unsigned char)slash[1]) ||
	    strlen(slash + 1) > 3 || strtoul(slash + 1, NULL, 10) > alone.length)
		return "is not a prefix";
	return "has bits set past its length";
}

/* A prefix of addresses of hosts, from its first to its last, link-local ones not among them. */
static const char *refuse_hosts(const struct prefix *prefix)
{
	unsigned first = prefix->length + (addr_is4(&prefix->addr) ? 96U : 0U);
	struct addr last = prefix->addr, local4, local6;

	for (unsigned bit = first; bit < 128; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	if (addr_parse("169.254.0.0", &local4) || addr_parse("fe80::", &local6) ||
	    refuse_address(&prefix->addr) || refuse_address(&last) || prefix_has(prefix, &local4) ||
	    prefix_has(prefix, &local6))
		return "has addresses that no host can have";
	return NULL;
}

/* An address that is none says which kind of none it is; a wide prefix is a slip of the pen. */
static const char *parse_vip(const char *text, void *at)
{
	struct prefix prefix;
	const char *wrong;

	if (prefix_parse(text, &prefix))
		return strchr(text, '/') ? refuse_prefix(text) : "is not an IP address";
	if (prefix_is_host(&prefix))
		wrong = refuse_address(&prefix.addr);
	else if (prefix.length < (addr_is4(&prefix.addr) ? VIP_BITS4_MIN : VIP_BITS6_MIN))
		wrong = "is too wide a prefix";
	else
		wrong = refuse_hosts(&prefix);
	if (at && !wrong)
		*(struct prefix *)at = prefix;
	return wrong;
}

static const char *parse_prefix(const struct conf_key *key, const char *text, void *at)
{
	struct prefix prefix;
	const char *wrong = NULL;

	if (prefix_parse(text, &prefix))
		return refuse_prefix(text);
	if (key->type == CONF_TYPE_PREFIX4 && !addr_is4(&prefix.addr))
		return "is not IPv4";
	if (key->type == CONF_TYPE_PREFIX6 && addr_is4(&prefix.addr))
		return "is not IPv6";
	if (key->type != CONF_TYPE_PREFIX)
		wrong = refuse_hosts(&prefix);
	if (at && !wrong)
		*(struct prefix *)at = prefix;
	return wrong;
}

/* "tcp/80", "tcp/8000-8099", "tcp/any": what comes after the slash. */
static const char *parse_ports(const char *text, struct conf_listen *listen)
{
	static const struct conf_key port = {.type = CONF_TYPE_NUMBER,
					     .min = 1,
					     .max = UINT16_MAX,
					     .width = sizeof(listen->first)};
	char first[8];
	size_t length = strcspn(text, "-");
	const char *wrong;

	if (strcmp(text, "any") == 0) {
		listen->last = UINT16_MAX;
		return NULL;
	}
	if (!isdigit((unsigned char)*text) ||
	    (text[length] == '-' && !isdigit((unsigned char)text[length + 1])))
		return "is not a protocol and port";
	snprintf(first, sizeof(first), "%.*s", (int)length, text);
	wrong = length < sizeof(first) ? parse_number(&port, first, &listen->first)
				       : "is too large";
	listen->last = listen->first;
	if (!wrong && text[length])
		wrong = parse_number(&port, text + length + 1, &listen->last);
	if (wrong)
		return strcmp(wrong, "is not a whole number") == 0 ? "is not a protocol and port"
								   : "has a port out of range";
	return listen->last < listen->first ? "is a range that ends before it begins" : NULL;
}

static const char *parse_listen(const struct conf_key *key, const char *text, void *at)
{
	struct conf_listen listen = {0};
	const char *wrong;

	if (strcmp(text, "any") == 0) {
		listen = (struct conf_listen){CONF_PROTO_ANY, 0, UINT16_MAX};
	} else if (strncmp(text, "tcp/", 4) == 0 || strncmp(text, "udp/", 4) == 0) {
		listen.proto = *text == 't' ? IPPROTO_TCP : IPPROTO_UDP;
		wrong = parse_ports(text + 4, &listen);
		if (wrong)
			return wrong;
	} else {
		return "is not a protocol and port";
	}
	if (key->type == CONF_TYPE_LISTEN_ONE && listen.first != listen.last)
		return "is more than one port";
	if (at)
		*(struct conf_listen *)at = listen;
	return NULL;
}

/* The port stands after the last colon, and IPv6 addresses are in brackets. */
static const char *parse_endpoint(const char *text, void *at)
{
	const struct conf_key port = {
		.type = CONF_TYPE_NUMBER, .min = 1, .max = UINT16_MAX, .width = sizeof(uint16_t)};
	const char *colon = strrchr(text, ':');
	bool is_six = *text == '[';
	struct conf_endpoint endpoint = {0};
	char address[ADDR_TEXT_MAX];
	size_t length;

	if (strcmp(text, "off") != 0) {
		length = colon ? (size_t)(colon - text) : 0;
		if (length < 2 || length >= sizeof(address) || (is_six && colon[-1] != ']'))
			return "is not an address and port";
		memcpy(address, text + is_six, length - 2 * is_six);
		address[length - 2 * is_six] = '\0';
		if (addr_parse(address, &endpoint.address) || addr_is4(&endpoint.address) == is_six)
			return "is not an address and port";
		if (parse_number(&port, colon + 1, &endpoint.port))
			return "has a port out of range";
	}
	if (at)
		*(struct conf_endpoint *)at = endpoint;
	return NULL;
}

/* Numbers with a colon between them, each of the range. */
static const char *parse_parts(const char *text, uint64_t max, uint32_t *parts, size_t count)
{
	const struct conf_key part = {
		.type = CONF_TYPE_NUMBER, .max = max, .width = sizeof(*parts)};
	char one[16];

	for (size_t i = 0; i < count; i++) {
		size_t length = strcspn(text, ":");

		if (length == 0 || length >= sizeof(one) || !text[length] != (i + 1 == count))
			return "is not a community";
		memcpy(one, text, length);
		one[length] = '\0';
		if (parse_number(&part, one, &parts[i]))
			return "is not a community";
		text += length + 1;
	}
	return NULL;
}

static const char *parse_community(const char *text, void *at)
{
	uint32_t parts[2] = {0};
	const char *wrong = parse_parts(text, UINT16_MAX, parts, 2);

	if (at && !wrong)
		*(uint32_t *)at = parts[0] << 16 | parts[1];
	return wrong;
}

static const char *parse_large_community(const char *text, void *at)
{
	struct conf_large large = {0};
	const char *wrong = parse_parts(text, UINT32_MAX, large.parts, CONF_LARGE_PARTS);

	if (at && !wrong)
		*(struct conf_large *)at = large;
	return wrong;
}

const char *value_parse(const struct conf_key *key, const char *text, struct arena *arena, void *at)
{
	static const struct conf_key status = {.type = CONF_TYPE_NUMBER,
					       .min = CONF_STATUS_MIN,
					       .max = CONF_STATUS_MAX,
					       .width = sizeof(uint16_t)};

	switch (key->type) {
	case CONF_TYPE_TEXT:
	case CONF_TYPE_NAME:
	case CONF_TYPE_POOL:
	case CONF_TYPE_INTERFACE: return parse_text(key, text, arena, at);
	case CONF_TYPE_CHOICE:
	case CONF_TYPE_BOOL: return parse_choice(key, text, at);
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_COUNT:
	case CONF_TYPE_MTU:
	case CONF_TYPE_DURATION: return parse_number(key, text, at);
	case CONF_TYPE_STATUS: return parse_number(&status, text, at);
	case CONF_TYPE_ADDRESS:
	case CONF_TYPE_ROUTER: return parse_address(key, text, at);
	case CONF_TYPE_VIP: return parse_vip(text, at);
	case CONF_TYPE_PREFIX:
	case CONF_TYPE_PREFIX4:
	case CONF_TYPE_PREFIX6: return parse_prefix(key, text, at);
	case CONF_TYPE_LISTEN:
	case CONF_TYPE_LISTEN_ONE: return parse_listen(key, text, at);
	case CONF_TYPE_ENDPOINT: return parse_endpoint(text, at);
	case CONF_TYPE_COMMUNITY: return parse_community(text, at);
	case CONF_TYPE_LARGE_COMMUNITY: return parse_large_community(text, at);
	case CONF_TYPE_TABLE_SIZE: return parse_table_size(key, text, at);
	case CONF_TYPE_MAP: break;
	}
	return "is not a mapping";
}
