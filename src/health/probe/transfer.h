/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libcurl's transfers on the loop: its sockets and its one timer are the loop's, so that nothing
 * blocks and nothing is polled in vain. The loop's thread.
 */
#pragma once

#include <curl/curl.h>
#include <uv.h>

struct transfers;

/* The transfer of `easy`, which is no longer on the loop, has ended. `private` is CURLOPT_PRIVATE's
 * value. Never called from within transfers_add. It may add and remove transfers. */
typedef void transfers_done(CURL *easy, CURLcode code, void *private);

/* NULL: out of memory. */
struct transfers *transfers_new(uv_loop_t *loop, transfers_done *done);
/* All transfers are removed before. The loop must run on until its handles are closed. */
void transfers_close(struct transfers *transfers);
/* HTTP/1.1 to an address, by a connection of its own, without proxy, signals or a look at names;
 * libcurl reads so many bytes at once. */
void transfers_set(CURL *easy, long buffer);
/* 0, or -ENOMEM. */
int transfers_add(struct transfers *transfers, CURL *easy);
/* Its connection is closed at once. */
void transfers_remove(struct transfers *transfers, CURL *easy);
