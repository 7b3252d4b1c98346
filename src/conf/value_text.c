/* SPDX-License-Identifier: BSD-2-Clause */
/* Single values: for each type how it is printed, and what to say was expected. */
#include <netinet/in.h>
#include <string.h>

#include "conf/room.h"
#include "hash/maglev.h"

/* --- numbers --- */

static uint64_t fetch(const struct conf_key *key, const void *at)
{
	switch (key->width) {
	case sizeof(uint8_t): return *(const uint8_t *)at;
	case sizeof(uint16_t): return *(const uint16_t *)at;
	case sizeof(uint32_t): return *(const uint32_t *)at;
	default: return *(const uint64_t *)at;
	}
}

/* The printer takes the first that divides the number. */
static const struct unit counts[] = {
	{"G", 1000000000}, {"Gi", 1 << 30}, {"M", 1000000}, {"Mi", 1 << 20},
	{"k", 1000},       {"Ki", 1 << 10}, {"", 1},
};
static const struct unit times[] = {{"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}};
static const struct unit none[] = {{"", 1}};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

const struct units *value_units(const struct conf_key *key)
{
	static const struct units of_counts = {counts, LENGTH(counts), false},
				  of_times = {times, LENGTH(times), true},
				  of_none = {none, LENGTH(none), false};

	switch (key->type) {
	case CONF_TYPE_COUNT: return &of_counts;
	case CONF_TYPE_DURATION: return &of_times;
	default: return &of_none;
	}
}

/* Returns where they end. */
static char *put_digits(uint64_t value, char *text)
{
	char digits[20];
	size_t count = 0;

	do {
		digits[count++] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	while (count)
		*text++ = digits[--count];
	return text;
}

static const char *format_number(const struct conf_key *key, uint64_t value, char *text)
{
	const struct units *units = value_units(key);
	const struct unit *unit = &units->list[units->count - 1];

	for (size_t i = 0; i < units->count && value; i++) {
		if (value % units->list[i].factor == 0) {
			unit = &units->list[i];
			break;
		}
	}
	strcpy(put_digits(value / unit->factor, text), unit->suffix);
	return text;
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
	uint64_t value = fetch(key, at);

	for (uint64_t place = value; choice && place; place--) {
		choice = strchr(choice, '|');
		if (choice)
			choice++;
	}
	if (!choice)
		return format_number(key, value, text);
	while (*choice && *choice != '|')
		*text++ = *choice++;
	*text = '\0';
	return true;
}

static void format_address(const struct addr *addr, char *text)
{
	bool is4 = addr_is4(addr);

	addr_format(addr, text + !is4);
	if (is4)
		return;
	*text = '"';
	strcat(text, "\"");
}

static void format_prefix(const struct prefix *prefix, char *text)
{
	char plain[ADDR_TEXT_MAX];

	sprintf(text, "\"%s\"", prefix_format(prefix, plain));
}

/* Of a prefix alone, all zero stands for "not given"; in a list it is ::/0. */
static bool format_source(const struct prefix *prefix, char *text)
{
	format_prefix(prefix, text);
	return prefix->length || !addr_is_none(&prefix->addr);
}

static void format_vip(const struct prefix *vip, char *text)
{
	if (prefix_is_host(vip))
		format_address(&vip->addr, text);
	else
		format_prefix(vip, text);
}

const char *conf_listen_format(const struct conf_listen *listen, char *text)
{
	const char *proto = listen->proto == IPPROTO_TCP ? "tcp" : "udp";

	if (listen->proto == CONF_PROTO_ANY)
		strcpy(text, "any");
	else if (listen->first == 0)
		snprintf(text, CONF_LISTEN_TEXT_MAX, "%s/any", proto);
	else if (listen->first == listen->last)
		snprintf(text, CONF_LISTEN_TEXT_MAX, "%s/%u", proto, listen->first);
	else
		snprintf(text, CONF_LISTEN_TEXT_MAX, "%s/%u-%u", proto, listen->first,
			 listen->last);
	return text;
}

const char *conf_endpoint_format(const struct conf_endpoint *endpoint, char *text)
{
	char address[ADDR_TEXT_MAX];

	if (!endpoint->port)
		return strcpy(text, "off");
	snprintf(text, CONF_ENDPOINT_TEXT_MAX, addr_is4(&endpoint->address) ? "%s:%u" : "[%s]:%u",
		 addr_format(&endpoint->address, address), endpoint->port);
	return text;
}

static void format_endpoint(const struct conf_endpoint *endpoint, char *text)
{
	char plain[CONF_ENDPOINT_TEXT_MAX];

	sprintf(text, endpoint->port ? "\"%s\"" : "%s", conf_endpoint_format(endpoint, plain));
}

static bool format_communities(const struct conf_key *key, const void *at, char *text)
{
	const struct conf_large *large = at;

	if (key->type == CONF_TYPE_COMMUNITY)
		sprintf(text, "\"%u:%u\"", *(const uint32_t *)at >> 16,
			*(const uint32_t *)at & UINT16_MAX);
	else
		sprintf(text, "\"%u:%u:%u\"", large->parts[0], large->parts[1], large->parts[2]);
	return true;
}

static bool format_optional(const char *value, char *text)
{
	if (value)
		format_text(value, text);
	return value != NULL;
}

bool value_format(const struct conf_key *key, const void *at, char *text)
{
	switch (key->type) {
	case CONF_TYPE_TEXT:
		if (!*(const char *const *)at)
			return false;
		format_text(*(const char *const *)at, text);
		return true;
	case CONF_TYPE_NAME:
	case CONF_TYPE_INTERFACE: return format_optional(*(const char *const *)at, text);
	case CONF_TYPE_POOL:
		format_text((*(const struct conf_pool *const *)at)->name, text);
		return true;
	case CONF_TYPE_CHOICE:
	case CONF_TYPE_BOOL: return format_choice(key, at, text);
	case CONF_TYPE_NUMBER:
	case CONF_TYPE_STATUS:
	case CONF_TYPE_COUNT:
	case CONF_TYPE_DURATION:
		/* Zero stands for "not given" where it is out of range. */
		return format_number(key, fetch(key, at), text) && fetch(key, at) >= key->min;
	case CONF_TYPE_MTU:
	case CONF_TYPE_TABLE_SIZE: format_number(key, fetch(key, at), text); return true;
	case CONF_TYPE_ROUTER:
	case CONF_TYPE_ADDRESS: format_address(at, text); return !addr_is_none(at);
	case CONF_TYPE_VIP: format_vip(at, text); return true;
	case CONF_TYPE_PREFIX: format_prefix(at, text); return true;
	case CONF_TYPE_PREFIX4:
	case CONF_TYPE_PREFIX6: return format_source(at, text);
	case CONF_TYPE_LISTEN:
	case CONF_TYPE_LISTEN_ONE: conf_listen_format(at, text); return true;
	case CONF_TYPE_ENDPOINT: format_endpoint(at, text); return true;
	case CONF_TYPE_COMMUNITY:
	case CONF_TYPE_LARGE_COMMUNITY: return format_communities(key, at, text);
	case CONF_TYPE_MAP: break;
	}
	return false;
}

/* --- what to say --- */

static size_t put_choices(const char *choices, char *text, size_t size)
{
	size_t used = 0;

	for (const char *at = choices; *at && used < size; at++) {
		const char one[] = {*at, '\0'};

		used += (size_t)snprintf(text + used, size - used, "%s", *at == '|' ? ", " : one);
	}
	return used;
}

static void expect_choice(const struct conf_key *key, char *text, size_t size)
{
	const char *working = key->works && *key->works ? key->works : key->choices;
	bool numbers = key->max && !key->list;
	size_t used = 0;

	if (strchr(working, '|') && !numbers)
		used = (size_t)snprintf(text, size, "one of ");
	used += put_choices(working, text + used, size - used);
	if (numbers && used < size)
		snprintf(text + used, size - used, ", or a number from %u to %u",
			 (unsigned)key->min, (unsigned)key->max);
}

/* A range as wide as its type is not worth a word. */
static void expect_number(const struct conf_key *key, const char *what, char *text, size_t size)
{
	char least[32], most[32];

	if (key->max == 0 || (key->max == UINT32_MAX && key->min == 0)) {
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
	[CONF_TYPE_STATUS] = "a status from 100 to 599",
	[CONF_TYPE_ADDRESS] = "a unicast IPv4 or IPv6 address",
	[CONF_TYPE_ROUTER] = "a unicast IPv4 or IPv6 address",
	[CONF_TYPE_VIP] = "a unicast IPv4 or IPv6 address, or a prefix from /8 (IPv6: /16) on",
	[CONF_TYPE_PREFIX] = "an address or a prefix, such as 100.64.1.0/24 or "
			     "\"2001:db8:f::/64\"",
	[CONF_TYPE_PREFIX4] = "an IPv4 prefix, such as 100.64.1.0/24",
	[CONF_TYPE_PREFIX6] = "an IPv6 prefix, such as \"2001:db8:f::/64\"",
	[CONF_TYPE_LISTEN] = "PROTO/PORT, PROTO/PORT-PORT, PROTO/any (PROTO is tcp or udp, a PORT "
			     "from 1 to 65535) or any",
	[CONF_TYPE_ENDPOINT] = "ADDRESS:PORT, such as 127.0.0.1:9700 or \"[::1]:9700\", or off",
	[CONF_TYPE_COMMUNITY] = "two numbers from 0 to 65535, such as \"65010:100\"",
	[CONF_TYPE_LARGE_COMMUNITY] = "three numbers from 0 to 4294967295, such as "
				      "\"65010:100:1\"",
	[CONF_TYPE_LISTEN_ONE] = "tcp/PORT or udp/PORT with a port from 1 to 65535",
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
		if (key->type == CONF_TYPE_TEXT && key->max && !key->list)
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
