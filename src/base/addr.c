/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

bool addr_is4(const struct addr *addr)
{
	return memcmp(addr->bytes, mapped, sizeof(mapped)) == 0;
}

bool addr_is_none(const struct addr *addr)
{
	static const struct addr none;

	return addr_equal(addr, &none);
}

bool addr_is_loopback(const struct addr *addr)
{
	static const struct addr six = {.bytes = {[15] = 1}};

	return addr_is4(addr) ? addr->bytes[12] == 127 : addr_equal(addr, &six);
}

bool addr_is_link_local(const struct addr *addr)
{
	return addr->bytes[0] == 0xfe && (addr->bytes[1] & 0xc0) == 0x80;
}

bool addr_equal(const struct addr *a, const struct addr *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

uint32_t addr_be32(const struct addr *addr)
{
	uint32_t be32;

	memcpy(&be32, addr->bytes + 12, sizeof(be32));
	return be32;
}

struct addr addr_from4(uint32_t be32)
{
	return addr_from_bytes(AF_INET, &be32);
}

struct addr addr_from_bytes(int family, const void *bytes)
{
	struct addr addr = {0};

	if (family == AF_INET) {
		memcpy(addr.bytes, mapped, sizeof(mapped));
		memcpy(addr.bytes + 12, bytes, 4);
	} else {
		memcpy(addr.bytes, bytes, sizeof(addr.bytes));
	}
	return addr;
}

uint64_t addr_hash(const struct addr *addr, uint64_t seed)
{
	uint64_t words[2], mixed;

	memcpy(words, addr->bytes, sizeof(words));
	mixed = (words[0] ^ seed) * 0x9e3779b97f4a7c15ULL;
	mixed = (mixed ^ words[1] ^ mixed >> 29) * 0xbf58476d1ce4e5b9ULL;
	/* An IPv4 address's last bytes are upper ones here, and a product moves bits upwards. */
	mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111ebULL;
	return mixed ^ mixed >> 32;
}

int addr_parse(const char *text, struct addr *ret)
{
	uint8_t bytes[16];
	struct addr addr;

	if (inet_pton(AF_INET, text, bytes) == 1) {
		*ret = addr_from_bytes(AF_INET, bytes);
		return 0;
	}
	if (inet_pton(AF_INET6, text, bytes) != 1)
		return -EINVAL;
	addr = addr_from_bytes(AF_INET6, bytes);
	if (addr_is4(&addr))
		return -EINVAL;
	*ret = addr;
	return 0;
}

/* Length counted in the 128 bits of the stored shape. */
static unsigned stored_length(const struct prefix *prefix)
{
	return prefix->length + (addr_is4(&prefix->addr) ? 96U : 0U);
}

static void mask(struct addr *addr, unsigned length)
{
	for (unsigned i = 0; i < sizeof(addr->bytes); i++) {
		unsigned keep = length > i * 8 ? length - i * 8 : 0;

		if (keep < 8)
			addr->bytes[i] &= (uint8_t)(0xff00U >> keep);
	}
}

int prefix_parse(const char *text, struct prefix *ret)
{
	const char *slash = strchr(text, '/');
	struct prefix prefix;
	struct addr masked;
	char address[ADDR_TEXT_MAX];
	size_t length = slash ? (size_t)(slash - text) : strlen(text);
	unsigned most;

	if (length >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, length);
	address[length] = '\0';
	if (addr_parse(address, &prefix.addr))
		return -EINVAL;
	most = addr_is4(&prefix.addr) ? 32 : 128;
	prefix.length = (uint8_t)most;
	if (slash) {
		char *end;
		unsigned long bits;

		if (slash[1] < '0' || slash[1] > '9')
			return -EINVAL;
		bits = strtoul(slash + 1, &end, 10);
		if (*end || bits > most)
			return -EINVAL;
		prefix.length = (uint8_t)bits;
	}
	masked = prefix.addr;
	mask(&masked, stored_length(&prefix));
	if (!addr_equal(&masked, &prefix.addr))
		return -EINVAL;
	*ret = prefix;
	return 0;
}

bool prefix_has(const struct prefix *prefix, const struct addr *addr)
{
	struct addr masked = *addr;

	if (addr_is4(&prefix->addr) != addr_is4(addr))
		return false;
	mask(&masked, stored_length(prefix));
	return addr_equal(&masked, &prefix->addr);
}

/* A number of three digits at most; returns where it ends. */
static char *put_byte(uint8_t byte, char *text)
{
	if (byte >= 100)
		*text++ = (char)('0' + byte / 100);
	if (byte >= 10)
		*text++ = (char)('0' + byte / 10 % 10);
	*text++ = (char)('0' + byte % 10);
	return text;
}

/* inet_ntop prints, and takes ten times as long; a large file has thousands of them. */
static void format4(const uint8_t bytes[4], char *text)
{
	for (int i = 0; i < 4; i++) {
		text = put_byte(bytes[i], text);
		*text++ = i < 3 ? '.' : '\0';
	}
}

const char *addr_format(const struct addr *addr, char *text)
{
	if (addr_is4(addr))
		format4(addr->bytes + 12, text);
	else
		inet_ntop(AF_INET6, addr->bytes, text, ADDR_TEXT_MAX);
	return text;
}

const char *addr_format_on(const struct addr *addr, const char *interface, char *text)
{
	size_t length = strlen(addr_format(addr, text));

	if (interface && *interface)
		snprintf(text + length, ADDR_TEXT_MAX - length, "%%%s", interface);
	return text;
}

const char *prefix_format(const struct prefix *prefix, char *text)
{
	size_t length;

	addr_format(&prefix->addr, text);
	length = strlen(text);
	snprintf(text + length, ADDR_TEXT_MAX - length, "/%u", prefix->length);
	return text;
}

bool prefix_is_host(const struct prefix *prefix)
{
	return prefix->length == (addr_is4(&prefix->addr) ? 32 : 128);
}

bool prefix_equal(const struct prefix *a, const struct prefix *b)
{
	return a->length == b->length && addr_equal(&a->addr, &b->addr);
}

const char *prefix_format_short(const struct prefix *prefix, char *text)
{
	return prefix_is_host(prefix) ? addr_format(&prefix->addr, text)
				      : prefix_format(prefix, text);
}

socklen_t addr_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (addr_is4(addr)) {
		struct sockaddr_in *in = (struct sockaddr_in *)ret;

		in->sin_family = AF_INET;
		in->sin_port = htons(port);
		in->sin_addr.s_addr = addr_be32(addr);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ret;

	in6->sin6_family = AF_INET6;
	in6->sin6_port = htons(port);
	memcpy(&in6->sin6_addr, addr->bytes, sizeof(addr->bytes));
	return sizeof(*in6);
}
