/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/live/tuple.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ENDPOINT_MAX = 64, TEXT_MAX = 200, WINDOW = 65535, TTL = 64 };

/* --- words --- */

static int parse_port(const char *text, uint16_t *ret, struct err *err)
{
	unsigned long port;
	char *end;

	if (strcmp(text, "any") == 0)
		return 0;
	port = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || port < 1 || port > 65535)
		return err_set(err, -EINVAL, "\"%s\": expected a port, 1 to 65535", text);
	*ret = (uint16_t)port;
	return 0;
}

/* Where the port begins, whose colon becomes the address's end; NULL: there is none. */
static char *split_port(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return NULL;
	/* Two colons without brackets: an IPv6 address, and no port. */
	if (text[0] != '[' && strchr(text, ':') != colon)
		return NULL;
	if (text[0] == '[' && colon > text && colon[-1] != ']')
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static int parse_endpoint(const char *word, struct addr *addr, uint16_t *port, struct err *err)
{
	char text[ENDPOINT_MAX], *at = text, *port_text;
	size_t length;

	if (strlen(word) >= sizeof(text))
		return err_set(err, -EINVAL, "an endpoint that is too long: %.80s", word);
	strcpy(text, word);
	port_text = split_port(text);
	length = strlen(at);
	if (at[0] == '[' && length > 1 && at[length - 1] == ']') {
		at[length - 1] = '\0';
		at++;
	}
	if (strcmp(at, "any") != 0 && addr_parse(at, addr))
		return err_set(err, -EINVAL, "\"%s\": expected ADDRESS:PORT, [ADDRESS]:PORT or any",
			       word);
	return port_text ? parse_port(port_text, port, err) : 0;
}

int tuple_parse(const char *const words[3], struct tuple *ret, struct err *err)
{
	struct tuple tuple = {0};
	int error;

	if (strcasecmp(words[0], "tcp") == 0)
		tuple.proto = IPPROTO_TCP;
	else if (strcasecmp(words[0], "udp") == 0)
		tuple.proto = IPPROTO_UDP;
	else if (strcmp(words[0], "any") != 0)
		return err_set(err, -EINVAL, "\"%s\": expected tcp or udp", words[0]);
	error = parse_endpoint(words[1], &tuple.src, &tuple.sport, err);
	if (!error)
		error = parse_endpoint(words[2], &tuple.dst, &tuple.dport, err);
	if (error)
		return error;
	if (!addr_is_none(&tuple.src) && !addr_is_none(&tuple.dst) &&
	    addr_is4(&tuple.src) != addr_is4(&tuple.dst))
		return err_set(err, -EINVAL, "one address is IPv4 and the other IPv6");
	*ret = tuple;
	return 0;
}

int tuple_parse_text(const char *text, struct tuple *ret, struct err *err)
{
	const char *words[3];
	char copy[TEXT_MAX], *rest, *word;
	size_t count = 0;

	if (strlen(text) >= sizeof(copy))
		return err_set(err, -EINVAL, "a tuple that is too long");
	strcpy(copy, text);
	for (word = strtok_r(copy, " \t", &rest); word; word = strtok_r(NULL, " \t", &rest)) {
		if (count < 3)
			words[count] = word;
		count++;
	}
	if (count != 3)
		return err_set(err, -EINVAL,
			       "\"%s\": expected PROTOCOL SOURCE DESTINATION, as "
			       "\"tcp any 198.51.100.10:443\"",
			       text);
	return tuple_parse(words, ret, err);
}

int tuple_is_whole(const struct tuple *tuple, struct err *err)
{
	if (!tuple->proto)
		return err_set(err, -EINVAL, "expected tcp or udp");
	if (addr_is_none(&tuple->src) || addr_is_none(&tuple->dst))
		return err_set(err, -EINVAL, "source and destination must be addresses");
	if (!tuple->sport || !tuple->dport)
		return err_set(err, -EINVAL, "source and destination need a port each, as in %s",
			       "192.0.2.1:40000");
	return 0;
}

/* --- the frame --- */

static uint32_t sum(const void *bytes, size_t length, uint32_t before)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < length; i++)
		before += i & 1 ? at[i] : (uint32_t)at[i] << 8;
	return before;
}

static uint16_t checksum(uint32_t total)
{
	while (total >> 16)
		total = (total & 0xffff) + (total >> 16);
	return htons((uint16_t)~total);
}

/* Writes the transport header; the rest of the packet is zero. */
static void write_l4(const struct tuple_packet *packet, uint8_t *l4, size_t length)
{
	const struct tuple *tuple = &packet->tuple;
	uint32_t total = sum(&tuple->src.bytes, 16, tuple->proto + (uint32_t)length);
	struct udphdr udp = {.uh_sport = htons(tuple->sport),
			     .uh_dport = htons(tuple->dport),
			     .uh_ulen = htons((uint16_t)length)};
	struct tcphdr tcp = {.th_sport = htons(tuple->sport),
			     .th_dport = htons(tuple->dport),
			     .th_seq = htonl(1),
			     .th_ack = htonl(packet->tcp_flags & TH_ACK ? 1 : 0),
			     .th_off = sizeof(tcp) / 4,
			     .th_flags = packet->tcp_flags,
			     .th_win = htons(WINDOW)};

	total = sum(&tuple->dst.bytes, 16, total);
	/* An IPv4 address is held after ff:ff, which is zero in the sum, as both halves are. */
	if (tuple->proto == IPPROTO_UDP) {
		memcpy(l4, &udp, sizeof(udp));
		udp.uh_sum = checksum(sum(l4, length, total));
		memcpy(l4, &udp, sizeof(udp));
	} else {
		memcpy(l4, &tcp, sizeof(tcp));
		tcp.th_sum = checksum(sum(l4, length, total));
		memcpy(l4, &tcp, sizeof(tcp));
	}
}

static void write_ip4(const struct tuple *tuple, uint8_t *at, size_t length)
{
	struct iphdr ip = {.version = 4,
			   .ihl = sizeof(ip) / 4,
			   .tot_len = htons((uint16_t)length),
			   .frag_off = htons(IP_DF),
			   .ttl = TTL,
			   .protocol = tuple->proto,
			   .saddr = addr_be32(&tuple->src),
			   .daddr = addr_be32(&tuple->dst)};

	memcpy(at, &ip, sizeof(ip));
	ip.check = checksum(sum(at, sizeof(ip), 0));
	memcpy(at, &ip, sizeof(ip));
}

static void write_ip6(const struct tuple *tuple, uint8_t *at, size_t length)
{
	struct ip6_hdr ip = {
		.ip6_ctlun.ip6_un1 = {.ip6_un1_flow = htonl(6U << 28),
				      .ip6_un1_plen = htons((uint16_t)(length - sizeof(ip))),
				      .ip6_un1_nxt = tuple->proto,
				      .ip6_un1_hlim = TTL}};

	memcpy(&ip.ip6_src, tuple->src.bytes, 16);
	memcpy(&ip.ip6_dst, tuple->dst.bytes, 16);
	memcpy(at, &ip, sizeof(ip));
}

size_t tuple_frame(const struct tuple_packet *packet, uint8_t frame[TUPLE_FRAME_MAX])
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	const struct tuple *tuple = &packet->tuple;
	bool is4 = addr_is4(&tuple->dst);
	size_t ip = is4 ? sizeof(struct iphdr) : sizeof(struct ip6_hdr);
	size_t least =
		ip + (tuple->proto == IPPROTO_UDP ? sizeof(struct udphdr) : sizeof(struct tcphdr));
	size_t length = packet->length ? packet->length : least;

	if (length < least || ETH_HLEN + length > TUPLE_FRAME_MAX)
		return 0;
	memset(frame, 0, ETH_HLEN + length);
	memcpy(frame, macs, sizeof(macs));
	frame[12] = is4 ? 0x08 : 0x86;
	frame[13] = is4 ? 0x00 : 0xdd;
	write_l4(packet, frame + ETH_HLEN + ip, length - ip);
	if (is4)
		write_ip4(tuple, frame + ETH_HLEN, length);
	else
		write_ip6(tuple, frame + ETH_HLEN, length);
	return ETH_HLEN + length;
}
