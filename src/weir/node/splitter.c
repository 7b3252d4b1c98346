/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/node/splitter.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "engine/native.h"
#include "engine/slow_ring.h"
#include "slow/cut.h"
#include "slow/send.h"

struct splitter {
	uv_poll_t poll;
	struct slow_ring *ring;
	struct native *native; /* over the engine's tables */
	const struct dp_tables *tables;
	int socket;
	struct splitter_counts counts;
	struct log_limit log;
	uint8_t buffer[NATIVE_HEADROOM + NATIVE_SLOW_MAX];
};

/* Wraps the piece that stands after the headroom and room for its Ethernet header, and sends it. */
static int send_piece(struct splitter *splitter, const struct abi_slow *slow, const uint8_t *eth,
		      size_t length)
{
	struct native_frame frame = {splitter->buffer, NATIVE_HEADROOM, ETH_HLEN + length};
	const struct abi_backend *backend = &splitter->tables->backends[slow->backend];
	int ret;

	memcpy(splitter->buffer + frame.at, eth, ETH_HLEN);
	ret = native_wrap(splitter->native, slow, &frame);
	if (ret)
		return ret;
	return slow_send(splitter->socket, backend->ifindex, frame.buffer + frame.at, frame.length);
}

/* The first piece that fails is the last: without it the others are of no use. */
static int send_pieces(struct splitter *splitter, const struct abi_slow *slow, const uint8_t *eth,
		       struct slow_cut *cut)
{
	uint8_t *piece = splitter->buffer + NATIVE_HEADROOM + ETH_HLEN;
	size_t length;
	int ret = 0;

	while (!ret && (length = slow_cut_next(cut, piece)) != 0) {
		ret = send_piece(splitter, slow, eth, length);
		splitter->counts.pieces += !ret;
	}
	return ret;
}

static void take(void *arg, const struct abi_slow *slow, const uint8_t *frame)
{
	struct splitter *splitter = arg;
	struct slow_cut cut;
	int ret = -EINVAL;

	/* A piece is never longer than the frame that it comes from, which is bounded. */
	if (slow->length >= ETH_HLEN && slow->length <= NATIVE_SLOW_MAX &&
	    slow->backend < ABI_BACKENDS)
		ret = slow_cut_begin(&cut, frame + ETH_HLEN, slow->length - ETH_HLEN, slow->mtu);
	if (ret) {
		splitter->counts.refused++;
		return;
	}
	ret = send_pieces(splitter, slow, frame, &cut);
	if (!ret) {
		splitter->counts.packets++;
		return;
	}
	splitter->counts.failed++;
	log_write(LOG_WARN, &splitter->log, "a packet that was too big could not be sent in pieces",
		  "reason=%s", log_quote(strerror(-ret)).text);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct splitter *splitter = poll->data;

	(void)status;
	(void)events;
	slow_ring_read(splitter->ring);
}

static void close_parts(struct splitter *splitter)
{
	slow_ring_close(splitter->ring);
	native_free(splitter->native);
	if (splitter->socket >= 0)
		close(splitter->socket);
}

static int open_parts(struct splitter *splitter, struct dp *dp, struct err *err)
{
	int ret = slow_send_open(&splitter->socket);

	if (ret)
		return err_set(err, ret, "no packet socket: %s", strerror(-ret));
	ret = native_borrow(splitter->tables, &splitter->native);
	if (ret)
		return err_set(err, ret, "out of memory");
	return slow_ring_open(dp, take, splitter, &splitter->ring, err);
}

int splitter_open(uv_loop_t *loop, struct dp *dp, struct splitter **ret, struct err *err)
{
	struct splitter *splitter = calloc(1, sizeof(*splitter));
	int error;

	if (!splitter)
		return err_set(err, -ENOMEM, "out of memory");
	splitter->socket = -1;
	splitter->tables = dp_tables(dp);
	error = open_parts(splitter, dp, err);
	if (!error) {
		error = uv_poll_init(loop, &splitter->poll, slow_ring_fd(splitter->ring));
		if (error)
			err_set(err, error, "cannot watch the rings: %s", uv_strerror(error));
	}
	if (error) {
		close_parts(splitter);
		free(splitter);
		return error;
	}
	splitter->poll.data = splitter;
	uv_poll_start(&splitter->poll, UV_READABLE, on_readable);
	*ret = splitter;
	return 0;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

void splitter_close(struct splitter *splitter)
{
	if (!splitter)
		return;
	uv_close((uv_handle_t *)&splitter->poll, on_closed);
	close_parts(splitter);
}

struct splitter_counts splitter_counts(const struct splitter *splitter)
{
	return splitter ? splitter->counts : (struct splitter_counts){0};
}
