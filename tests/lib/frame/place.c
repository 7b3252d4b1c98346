// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/frame/place.h"

#include <netinet/in.h>
#include <string.h>

enum { ICMP_HEADER = 8 };

static uint16_t get16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static bool is_extension(uint8_t proto)
{
	return proto == IPPROTO_HOPOPTS || proto == IPPROTO_ROUTING || proto == IPPROTO_DSTOPTS ||
	       proto == IPPROTO_FRAGMENT;
}

struct place place_find(const uint8_t *ip, size_t length)
{
	struct place place = {0};

	if (ip[0] >> 4 == 4) {
		place.proto = ip[9];
		place.later = (get16(ip + 6) & 0x1fff) != 0;
		place.at = (size_t)(ip[0] & 15) * 4;
		return place;
	}
	place.proto = ip[6];
	place.at = 40;
	while (is_extension(place.proto) && !place.later && place.at + 8 <= length) {
		const uint8_t *header = ip + place.at;

		place.later = place.proto == IPPROTO_FRAGMENT && get16(header + 2) >> 3 != 0;
		place.at += place.proto == IPPROTO_FRAGMENT ? 8 : (size_t)(header[1] + 1) * 8;
		place.proto = header[0];
	}
	return place;
}

static bool has_ports(const struct place *place, size_t length)
{
	return !place->later && (place->proto == IPPROTO_TCP || place->proto == IPPROTO_UDP) &&
	       place->at + 4 <= length;
}

static bool is_error(uint8_t version, uint8_t proto, uint8_t type)
{
	if (version == 4)
		return proto == IPPROTO_ICMP && (type == 3 || type == 11 || type == 12);
	return proto == IPPROTO_ICMPV6 && type >= 1 && type <= 4;
}

uint16_t place_vip_port(const uint8_t *ip, size_t length)
{
	struct place place = place_find(ip, length);
	size_t header = ip[0] >> 4 == 4 ? 20 : 40, address = header == 20 ? 4 : 16;
	const uint8_t *quote;

	if (has_ports(&place, length))
		return get16(ip + place.at + 2);
	if (place.later || place.at + ICMP_HEADER + header > length ||
	    !is_error(ip[0] >> 4, place.proto, ip[place.at]))
		return 0;
	length -= place.at + ICMP_HEADER;
	quote = ip + place.at + ICMP_HEADER;
	/* What the VIP sent, and no other. */
	if (quote[0] >> 4 != ip[0] >> 4 ||
	    memcmp(quote + header - 2 * address, ip + header - address, address) != 0)
		return 0;
	place = place_find(quote, length);
	return has_ports(&place, length) ? get16(quote + place.at) : 0;
}
