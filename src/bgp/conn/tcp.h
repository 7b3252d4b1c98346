/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets as BGP wants them: keys (RFC 2385), hop limits and GTSM (RFC 5082). Descriptors are the
 * caller's; they do not block. What fails is a -errno. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/addr.h"
#include "bgp/speaker.h"

/* A connection under way. `internal`: a router of our own AS may be any number of hops away. */
int tcp_connect(const struct bgp_peer_spec *spec, bool internal);
/* `local` none: every address of the family. */
int tcp_listen(const struct addr *local, int family, uint16_t port);
/* Only what is signed by the key comes from, or goes to, that address; NULL: no key any more. */
int tcp_set_key(int fd, const struct addr *peer, const char *password);
/* -EAGAIN: nobody waits. `ret_scope`: the interface of a link-local peer, else 0. */
int tcp_accept(int fd, struct addr *ret_peer, uint32_t *ret_scope);
/* What came in gets the peer's hop limits. -EPERM: it came from farther away than GTSM wants. */
int tcp_adopt(int fd, const struct bgp_peer_spec *spec, bool internal);
/* 0, or the -errno that a connect ended with. */
int tcp_outcome(int fd);
int tcp_local(int fd, struct addr *ret);
/* With a reset, so that nothing lingers. */
void tcp_abort(int fd);
