/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/measure/packet.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <string.h>

static uint16_t sum16(const void *bytes, size_t length)
{
	const uint8_t *at = bytes;
	uint32_t sum = 0;

	for (size_t i = 0; i + 1 < length; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return htons((uint16_t)~sum);
}

static size_t put_ipv4(const struct packet *packet, uint8_t *at)
{
	struct iphdr ip = {
		.version = 4,
		.ihl = sizeof(ip) / 4,
		.tot_len = htons((uint16_t)(packet->length - sizeof(struct ethhdr))),
		.frag_off = htons(0x4000),
		.ttl = 64,
		.protocol = IPPROTO_TCP,
	};

	inet_pton(AF_INET, "203.0.113.5", &ip.saddr);
	inet_pton(AF_INET, "198.18.0.0", &ip.daddr);
	ip.daddr |= htonl(packet->vip);
	ip.check = sum16(&ip, sizeof(ip));
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

static size_t put_ipv6(const struct packet *packet, uint8_t *at)
{
	struct ipv6hdr ip = {
		.version = 6,
		.payload_len =
			htons((uint16_t)(packet->length - sizeof(struct ethhdr) - sizeof(ip))),
		.nexthdr = IPPROTO_TCP,
		.hop_limit = 64,
	};

	inet_pton(AF_INET6, "2001:db8:c::5", &ip.saddr);
	inet_pton(AF_INET6, "2001:db8:b::", &ip.daddr);
	ip.daddr.s6_addr[15] = packet->vip;
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

/* TCP's checksum is not looked at on the way. */
void packet_build(struct packet *packet, uint8_t *frame)
{
	struct ethhdr ethernet = {.h_dest = {2, 0, 0, 0, 0, 1},
				  .h_source = {2, 0, 0, 0, 0, 3},
				  .h_proto = htons(packet->ipv6 ? ETH_P_IPV6 : ETH_P_IP)};
	struct tcphdr tcp = {.source = htons(20000), .dest = htons(80), .doff = 5, .ack = 1};
	size_t used = sizeof(ethernet);

	memset(frame, 0, packet->length);
	memcpy(frame, &ethernet, sizeof(ethernet));
	used += packet->ipv6 ? put_ipv6(packet, frame + used) : put_ipv4(packet, frame + used);
	packet->port_at = (uint32_t)used;
	memcpy(frame + used, &tcp, sizeof(tcp));
}
