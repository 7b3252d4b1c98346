/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IP addresses and prefixes as values. Both families share one shape of 16 bytes in network order;
 * an IPv4 address is held IPv4-mapped (::ffff:a.b.c.d, RFC 4291 section 2.5.5.2), which is also
 * how the data plane's tables hold it. All zero (::) means "none".
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDR_TEXT_MAX = 64 }; /* a prefix's text with the final zero fits */

struct addr {
	uint8_t bytes[16];
};

struct prefix {
	struct addr addr; /* bits past `length` are zero */
	uint8_t length;   /* as written: 0-32 for IPv4, 0-128 for IPv6 */
};

bool addr_is4(const struct addr *addr);
bool addr_is_none(const struct addr *addr);
/* 127.0.0.0/8 and ::1. */
bool addr_is_loopback(const struct addr *addr);
/* IPv6's fe80::/10, which mean something on one link only. */
bool addr_is_link_local(const struct addr *addr);
bool addr_equal(const struct addr *a, const struct addr *b);
/* Network order, the last four bytes; only for IPv4. */
uint32_t addr_be32(const struct addr *addr);
struct addr addr_from4(uint32_t be32);
struct addr addr_from_bytes(int family, const void *bytes);

/* To find addresses by, within this process; `seed` is mixed in. */
uint64_t addr_hash(const struct addr *addr, uint64_t seed);

/* inet_pton's forms. Refuses (-EINVAL) everything else, also IPv4-mapped text, which would name
 * one address in two ways. */
int addr_parse(const char *text, struct addr *ret);
/* An address alone is a full-length prefix. Refuses bits set past the length. */
int prefix_parse(const char *text, struct prefix *ret);
bool prefix_has(const struct prefix *prefix, const struct addr *addr);

/* Return `text`, of ADDR_TEXT_MAX bytes. */
const char *addr_format(const struct addr *addr, char *text);
/* As fe80::1%eth0, where there is an interface (or NULL), of 15 letters at most. */
const char *addr_format_on(const struct addr *addr, const char *interface, char *text);
const char *prefix_format(const struct prefix *prefix, char *text);
/* The same, but a prefix of full length is written as an address. */
const char *prefix_format_short(const struct prefix *prefix, char *text);
bool prefix_is_host(const struct prefix *prefix);
bool prefix_equal(const struct prefix *a, const struct prefix *b);
/* Port in host order. Returns the length of what was written. */
socklen_t addr_sockaddr(const struct addr *addr, uint16_t port, struct sockaddr_storage *ret);
