/* SPDX-License-Identifier: BSD-2-Clause */
/* Single values: for each type how it is read, how it is printed, and what to say was expected. */
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "conf/room.h"
#include "hash/maglev.h"

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

/* --- storing and fetching: a number's field may have 2, 4 or 8 bytes --- */

static void store(const struct conf_key *key, void *at, uint64_t value)
{
	if (!at)
		return;
	switch (key->width) {
	case sizeof(uint16_t): *(uint16_t *)at = (uint16_t)value; break;
	case sizeof(uint32_t): *(uint32_t *)at = (uint32_t)value; break;
	default: *(uint64_t *)at = value;
	}
}

static uint64_t fetch(const struct conf_key *key, const void *at)
{
	switch (key->width) {
	case sizeof(uint16_t): return *(const uint16_t *)at;
	case sizeof(uint32_t): return *(const uint32_t *)at;
	default: return *(const uint64_t *)at;
	}
}

/* --- numbers --- */

struct unit {
	const char *suffix;
	uint64_t factor;
};

/* The printer takes the first that divides the number. */
static const struct unit count_units[] = {
	{"G", 1000000000}, {"Gi", 1 << 30}, {"M", 1000000}, {"Mi", 1 << 20},
	{"k", 1000},       {"Ki", 1 << 10}, {"", 1},
};
static const struct unit time_units[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit no_units[] = {{"", 1}};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* Digits and a unit. A leading zero is refused: other programs read it as octal. */
static const char *parse_units(const char *text, const struct unit *units, size_t count,
			       uint64_t *ret)
{
	const char *at = text + (*text == '-');
	uint64_t value = 0;

	if (!isdigit((unsigned char)*at))
		return units == time_units ? "is not a duration" : "is not a whole number";
	if (at != text)
		return "is below 0";
	if (*at == '0' && isdigit((unsigned char)at[1]))
		return "begins with a zero";
	for (; isdigit((unsigned char)*at); at++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*at - '0'), &value))
			return "is too large";
	}
	for (size_t i = 0; i < count; i++) {
		if (strcmp(at, units[i].suffix) != 0)
			continue;
		return __builtin_mul_overflow(value, units[i].factor, ret) ? "is too large" : NULL;
	}
	if (units == time_units)
		return *at ? "has an unknown unit" : "has no unit";
	return "is not a whole number";
}

static const char *format_units(uint64_t value, const struct unit *units, size_t count, char *text)
{
	const struct unit *unit = &units[count - 1];

	for (size_t i = 0; i < count && value; i++) {
		if (value % units[i].factor == 0) {
			unit = &units[i];
			break;
		}
	}
	snprintf(text, 32, "%llu%s", (unsigned long long)(value / unit->factor), unit->suffix);
	return text;
}

static const struct unit *units_of(const struct conf_key *key, size_t *ret_count)
{
	switch (key->type) {
	case CONF_TYPE_COUNT: *ret_count = LENGTH(count_units); return count_units;
	case CONF_TYPE_DURATION: *ret_count = LENGTH(time_units); return time_units;
	default: *ret_count = LENGTH(no_units); return no_units;
	}
}

static const char *format_number(const struct conf_key *key, uint64_t value, char *text)
{
	size_t count;
	const struct unit *units = units_of(key, &count);

	return format_units(value, units, count, text);
}

static const char *parse_number(const struct conf_key *key, const char *text, void *at)
{
	uint64_t value = 0;
	size_t count;
	const struct unit *units = units_of(key, &count);
	const char *wrong = parse_units(text, units, count, &value);

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
		wrong = parse_units(text, no_units, LENGTH(no_units), &value);
		if (wrong)
			return wrong;
		if (value > UINT32_MAX || !maglev_size_allowed((uint32_t)value))
			return "is not a size that Maglev allows";
	}
	store(key, at, value);
	return NULL;
}

/* --- words --- */

static const char *parse_choice(const struct conf_key *key, const char *text, void *at)
{
	const char *working = key->works ? key->works : key->choices;
	int place = choice_find(working, text);
	uint64_t number;

	if (place >= 0) {
		store(key, at, (uint64_t)place);
		return NULL;
	}
	if (choice_find(key->choices, text) >= 0 ||
	    (key->max && !parse_units(text, no_units, LENGTH(no_units), &number)))
		return "does not work yet";
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
	if (key->type == CONF_TYPE_TEXT && strlen(text) > key->max)
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
	if (addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80)
		return "is a link-local address";
	return NULL;
}

static const char *parse_address(const struct conf_key *key, const char *text, void *at)
{
	struct prefix prefix;
	const char *wrong;

	if (strchr(text, '/') && key->type != CONF_TYPE_VIP)
		return "is a prefix";
	if (prefix_parse(text, &prefix))
		return "is not an IP address";
	if (prefix.length != (addr_is4(&prefix.addr) ? 32 : 128))
		return "is a prefix, which does not work yet";
	wrong = refuse_address(&prefix.addr);
	if (wrong || !at)
		return wrong;
	if (key->type == CONF_TYPE_VIP)
		*(struct prefix *)at = prefix;
	else
		*(struct addr *)at = prefix.addr;
	return NULL;
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

/* Outer sources are addresses of hosts, from the prefix's first to its last. */
static const char *refuse_source(const struct prefix *prefix)
{
	unsigned first = prefix->length + (addr_is4(&prefix->addr) ? 96U : 0U);
	struct addr last = prefix->addr;

	for (unsigned bit = first; bit < 128; bit++)
		last.bytes[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	if (refuse_address(&prefix->addr) || refuse_address(&last))
		return "has addresses that no host can have";
	return NULL;
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
		wrong = refuse_source(&prefix);
	if (at && !wrong)
		*(struct prefix *)at = prefix;
	return wrong;
}

static const char *parse_listen(const char *text, void *at)
{
	struct conf_listen listen = {0};
	const struct conf_key range = {.type = CONF_TYPE_NUMBER,
				       .min = 1,
				       .max = UINT16_MAX,
				       .width = sizeof(listen.first)};
	const char *wrong;

	if (strncmp(text, "tcp/", 4) == 0)
		listen.proto = IPPROTO_TCP;
	else if (strncmp(text, "udp/", 4) == 0)
		listen.proto = IPPROTO_UDP;
	else
		return strcmp(text, "any") == 0 ? "does not work yet"
						: "is not a protocol and port";
	text += 4;
	if (isdigit((unsigned char)*text) && text[strspn(text, "0123456789")] == '-')
		return "is a range of ports, which does not work yet";
	wrong = parse_number(&range, text, &listen.first);
	if (wrong)
		return strcmp(wrong, "is not a whole number") == 0 ? "is not a protocol and port"
								   : "has a port out of range";
	listen.last = listen.first;
	if (at)
		*(struct conf_listen *)at = listen;
	return NULL;
}

const char *value_parse(const struct conf_key *key, const char *text, struct arena *arena, void *at)
{
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
	case CONF_TYPE_ADDRESS:
	case CONF_TYPE_VIP: return parse_address(key, text, at);
	case CONF_TYPE_PREFIX:
	case CONF_TYPE_PREFIX4:
	case CONF_TYPE_PREFIX6: return parse_prefix(key, text, at);
	case CONF_TYPE_LISTEN: return parse_listen(text, at);
	case CONF_TYPE_TABLE_SIZE: return parse_table_size(key, text, at);
	case CONF_TYPE_MAP: break;
	}
	return "is not a mapping";
}

/* --- printing --- */

/* A double-quoted scalar of ASCII: nothing in it can be taken for anything else, or folded. */
static void format_text(const char *value, char *text)
{
	const unsigned char *at = (const unsigned char *)value;

	*text++ = '"';
	while (*at) {
		uint32_t code = *at++;

		if (code >= 0x80) {
			int more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : 1;

			code &= 0x3fU >> more;
			for (; more && *at; more--)
				code = code << 6 | (*at++ & 0x3f);
			text += sprintf(text, code > 0xffff ? "\\U%08x" : "\\u%04x", code);
		} else if (code < 0x20 || code == 0x7f) {
			text += sprintf(text, "\\x%02x", code);
		} else {
			if (code == '"' || code == '\\')
				*text++ = '\\';
			*text++ = (char)code;
		}
	}
	strcpy(text, "\"");
}

static bool format_choice(const struct conf_key *key, const void *at, char *text)
{
	const char *choice = key->works ? key->works : key->choices;
	uint64_t place = fetch(key, at);

	for (; place; place--)
		choice = strchr(choice, '|') + 1;
	sprintf(text, "%.*s", (int)strcspn(choice, "|"), choice);
	return true;
}

static void format_address(const struct addr *addr, char *text)
{
	char plain[ADDR_TEXT_MAX];

	sprintf(text, addr_is4(addr) ? "%s" : "\"%s\"", addr_format(addr, plain));
}

static bool format_prefix(const struct prefix *prefix, char *text)
{
	char plain[ADDR_TEXT_MAX];

	if (addr_is_none(&prefix->addr) && prefix->length == 0)
		return false;
	sprintf(text, "\"%s\"", prefix_format(prefix, plain));
	return true;
}

static bool format_vip(const struct prefix *vip, char *text)
{
	if (!prefix_is_host(vip))
		return format_prefix(vip, text);
	format_address(&vip->addr, text);
	return true;
}

const char *conf_listen_format(const struct conf_listen *listen, char *text)
{
	snprintf(text, CONF_LISTEN_TEXT_MAX, "%s/%u", listen->proto == IPPROTO_TCP ? "tcp" : "udp",
		 listen->first);
	return text;
}

bool value_format(const struct conf_key *key, const void *at, char *text)
{
	switch (key->type) {
	case CONF_TYPE_TEXT:
	case CONF_TYPE_NAME:
	case CONF_TYPE_INTERFACE: format_text(*(const char *const *)at, text); return true;
	case CONF_TYPE_POOL:
		format_text((*(const struct conf_pool *const *)at)->name, text);
		return true;
	case CONF_TYPE_CHOICE:
	case CONF_TYPE_BOOL: return format_choice(key, at, text);
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_COUNT:
	case CONF_TYPE_DURATION:
		/* Zero stands for "not given" where it is out of range. */
		return format_number(key, fetch(key, at), text) && fetch(key, at) >= key->min;
	case CONF_TYPE_MTU:
	case CONF_TYPE_TABLE_SIZE: format_number(key, fetch(key, at), text); return true;
	case CONF_TYPE_ADDRESS: format_address(at, text); return true;
	case CONF_TYPE_VIP: return format_vip(at, text);
	case CONF_TYPE_PREFIX:
	case CONF_TYPE_PREFIX4:
	case CONF_TYPE_PREFIX6: return format_prefix(at, text);
	case CONF_TYPE_LISTEN: conf_listen_format(at, text); return true;
	case CONF_TYPE_MAP: break;
	}
	return false;
}

/* --- what to say --- */

static void expect_choice(const struct conf_key *key, char *text, size_t size)
{
	const char *working = key->works && *key->works ? key->works : key->choices;
	size_t used = 0;

	if (strchr(working, '|'))
		used = (size_t)snprintf(text, size, "one of ");
	for (const char *at = working; *at && used < size; at++) {
		const char one[] = {*at, '\0'};

		used += (size_t)snprintf(text + used, size - used, "%s", *at == '|' ? ", " : one);
	}
}

/* A range as wide as its type is not worth a word. */
static void expect_number(const struct conf_key *key, const char *what, char *text, size_t size)
{
	char least[32], most[32];

	if (key->max == 0 || key->max == UINT32_MAX) {
		snprintf(text, size, "%s", what);
		return;
	}
	snprintf(text, size, "%s from %s to %s%s", what, format_number(key, key->min, least),
		 format_number(key, key->max, most),
		 key->type == CONF_TYPE_MTU ? ", or 0 for the interface's" : "");
}

static void expect_table_size(char *text, size_t size)
{
	size_t used = (size_t)snprintf(text, size, "auto, or one of");

	for (const uint32_t *at = maglev_sizes(); *at && used < size; at++)
		used += (size_t)snprintf(text + used, size - used, "%s %u",
					 at == maglev_sizes() ? "" : ",", *at);
}

/* Where no words depend on the row. */
static const char *const expected_words[] = {
	[CONF_TYPE_MAP] = "a mapping",
	[CONF_TYPE_TEXT] = "a text",
	[CONF_TYPE_NAME] = "a name of 1 to 63 letters, digits, '.', '_' and '-', first a letter or "
			   "a digit",
	[CONF_TYPE_POOL] = "the name of a pool in this file",
	[CONF_TYPE_INTERFACE] = "an interface's name of 1 to 15 characters",
	[CONF_TYPE_BOOL] = "true or false",
	[CONF_TYPE_ADDRESS] = "a unicast IPv4 or IPv6 address",
	[CONF_TYPE_VIP] = "a unicast IPv4 or IPv6 address",
	[CONF_TYPE_PREFIX] = "an address or a prefix, such as 100.64.1.0/24 or "
			     "\"2001:db8:f::/64\"",
	[CONF_TYPE_PREFIX4] = "an IPv4 prefix, such as 100.64.1.0/24",
	[CONF_TYPE_PREFIX6] = "an IPv6 prefix, such as \"2001:db8:f::/64\"",
	[CONF_TYPE_LISTEN] = "tcp/PORT or udp/PORT with a port from 1 to 65535",
};

const char *value_expected(const struct conf_key *key, char *text, size_t size)
{
	switch (key->type) {
	case CONF_TYPE_CHOICE: expect_choice(key, text, size); break;
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_MTU: expect_number(key, "a whole number", text, size); break;
	case CONF_TYPE_COUNT:
		expect_number(key, "a number such as 5000 or 125k", text, size);
		break;
	case CONF_TYPE_DURATION:
		expect_number(key, "a duration such as 500ms, 2s, 5m or 2h", text, size);
		break;
	case CONF_TYPE_TABLE_SIZE: expect_table_size(text, size); break;
	default:
		snprintf(text, size, "%s",
			 key->works && *key->works ? key->works : expected_words[key->type]);
		if (key->type == CONF_TYPE_TEXT && key->max)
			snprintf(text, size, "a text of %u bytes at most", (unsigned)key->max);
	}
	return text;
}

const char *conf_key_expected(const struct conf_key *key, char *text, size_t size)
{
	char element[EXPECTED_MAX];

	if (!key->list)
		return value_expected(key, text, size);
	if (key->works && *key->works) {
		snprintf(text, size, "%s", key->fallback);
		return text;
	}
	value_expected(key, element, sizeof(element));
	if (key->max)
		snprintf(text, size, "a list of %u to %u, each %s", (unsigned)key->min,
			 (unsigned)key->max, element);
	else
		snprintf(text, size, "a list, each %s", element);
	return text;
}
