/* SPDX-License-Identifier: BSD-2-Clause */
/* What probes with sockets of their own have alike. */
#pragma once

#include "health/probe/probe.h"

/* What this host ran out of says nothing about the backend. `code` is an errno. */
bool socket_is_ours(int code);
/* In the words of libuv, for an errno; 0: a success. */
enum probe_result socket_verdict(int code, const char **ret_error);
/* Closing sends RST, so that thousands of probes leave no TIME_WAIT and no work for the backend. */
void socket_reset_on_close(int fd);
/* Before it is connected. Returns an errno. */
int socket_prepare(const struct probe_order *order, int fd);
/* A socket of `type` (SOCK_STREAM, SOCK_DGRAM), connected to the spec's address and port, or about
 * to be: *ret is a descriptor, or -1. Returns an errno; EINPROGRESS with a descriptor. */
int socket_connect(const struct probe_order *order, int type, int *ret);
