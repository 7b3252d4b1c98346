/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket: a Unix stream socket on which the command line asks a running daemon. One
 * request a connection: a JSON object on one line; one JSON object back, then the end. An answer
 * that failed is {"error": "text"}. Requests are at most CONTROL_REQUEST_MAX bytes, connections
 * at most CONTROL_CLIENTS_MAX; a client that dawdles is cut after CONTROL_TIMEOUT_MS. Root, the
 * socket's owner and its group are answered; others are told that they may not ask, whatever the
 * path's mode says. The server runs on the loop's thread; control_call blocks and is for the
 * command line.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <jansson.h>
#include <uv.h>

#include "base/err.h"

enum {
	CONTROL_REQUEST_MAX = 64 * 1024,
	CONTROL_ANSWER_MAX = 64 * 1024 * 1024,
	CONTROL_CLIENTS_MAX = 32,
	CONTROL_TIMEOUT_MS = 5000,
};

struct control;

/* Who asks, as the kernel noted it when that process connected, whatever the request says. */
struct control_peer {
	bool is_trusted; /* root, or the user as whom this process runs; the path let others in */
	pid_t pid;       /* 0: it is not seen from here, as from another container */
};

/* Gets the request (an object), returns a new reference to the answer, never NULL. */
typedef json_t *control_handler(void *arg, const json_t *request, const struct control_peer *peer);

/* Makes `path` (mode 0660, missing parent directories too) and replaces a socket left there by a
 * daemon that is gone; the caller holds the lock that says so. */
int control_listen(uv_loop_t *loop, const char *path, control_handler *handler, void *arg,
		   struct control **ret, struct err *err);
/* Stops, unlinks the path, frees when the loop has closed its handles. */
void control_close(struct control *control);

/* Sends the request and waits for the answer, timeout_ms at most. An answer with "error" is an
 * error here. *ret is a new reference. */
int control_call(const char *path, const json_t *request, int timeout_ms, json_t **ret,
		 struct err *err);
