/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of one turn: chunks that were sent are free again; a batch is taken; each of its frames
 * goes through the packet path, and on into the ring to the interface, into the list for other
 * interfaces, or back to the free chunks; then the kernel is asked to send. A batch is as much as
 * two calls of the kernel send.
 */
#include "engine/xsk/worker.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "dp/abi_steer.h"
#include "engine/xsk/port.h"
#include "pkt/ctx.h"

enum {
	BATCH = 64,
	SEND_BYTES = 4 * 1024 * 1024,
	IDLE_MS = 1000,                       /* until a look whether all was taken */
	AGAIN_MS = 1,                         /* until another try to send */
	DOWN_MS = 100,                        /* the same while the interface is down */
	LAST_TURNS = XSK_CHUNKS / BATCH + 16, /* of a worker that is to end */
};

/* Frames for other interfaces. */
struct others {
	unsigned int count;
	struct mmsghdr messages[BATCH];
	struct iovec frames[BATCH];
	struct sockaddr_ll to[BATCH];
	uint64_t chunks[BATCH];
};

struct xsk_worker {
	struct xsk_worker_options options;
	struct xsk_port port;
	int stop_fd, packet_fd;
	pthread_t thread;
	bool runs;
	struct others others;
	/* What others read has a line of its own. */
	uint32_t turn __attribute__((aligned(64))); /* odd: amid a batch */
	struct xsk_figures figures;
};

/* The worker's own count, which others read. */
static void bump(uint64_t *count, uint64_t more)
{
	__atomic_store_n(count, *count + more, __ATOMIC_RELAXED);
}

/* --- frames --- */

static void put(struct xsk_worker *worker, const struct pkt_ctx *ctx)
{
	struct xsk_port *port = &worker->port;
	struct xdp_desc *desc;
	uint32_t at;

	/* Never so: there is room for every chunk. */
	if (!xsk_ring_prod__reserve(&port->tx, 1, &at)) {
		xsk_port_free(port, (uint64_t)(ctx->head - port->memory));
		bump(&worker->figures.refused, 1);
		return;
	}
	desc = xsk_ring_prod__tx_desc(&port->tx, at);
	desc->addr = (uint64_t)(ctx->data - port->memory);
	desc->len = (uint32_t)(ctx->data_end - ctx->data);
	desc->options = 0;
	port->unfinished++;
	bump(&worker->figures.sent, 1);
}

static void put_other(struct xsk_worker *worker, const struct pkt_ctx *ctx, uint32_t ifindex)
{
	struct others *others = &worker->others;
	unsigned int at = others->count++;

	others->chunks[at] = (uint64_t)(ctx->head - worker->port.memory);
	others->frames[at].iov_base = ctx->data;
	others->frames[at].iov_len = (size_t)(ctx->data_end - ctx->data);
	others->to[at].sll_ifindex = (int)ifindex;
	memcpy(others->to[at].sll_addr, ctx->data, ETH_ALEN);
	memcpy(&others->to[at].sll_protocol, ctx->data + (ptrdiff_t)2 * ETH_ALEN,
	       sizeof(others->to[at].sll_protocol));
}

/* One that cannot leave does not keep the others; where there is no room for more, these are lost,
 * as in any other queue. */
static void send_others(struct xsk_worker *worker)
{
	struct others *others = &worker->others;
	unsigned int done = 0;

	while (done < others->count) {
		int sent = sendmmsg(worker->packet_fd, others->messages + done,
				    others->count - done, MSG_DONTWAIT);

		if (sent > 0) {
			bump(&worker->figures.redirected, (unsigned int)sent);
			done += (unsigned int)sent;
			continue;
		}
		bump(&worker->figures.refused, 1);
		done++;
	}
	for (unsigned int i = 0; i < others->count; i++)
		xsk_port_free(&worker->port, others->chunks[i]);
	others->count = 0;
}

static void run_frame(struct xsk_worker *worker, const struct xdp_desc *desc, uint64_t now_ns)
{
	static const uint8_t actions[VERDICT_COUNT] = {
#define ACTION(name, action, help) XDP_##action,
		VERDICTS(ACTION)
#undef ACTION
	};
	struct xsk_port *port = &worker->port;
	struct pkt_ctx ctx = {
		.head = port->memory + (desc->addr & ~(uint64_t)(XSK_CHUNK - 1)),
		.data = port->memory + desc->addr,
		.data_end = port->memory + desc->addr + desc->len,
		.ingress_ifindex = worker->options.ifindex,
	};
	uint32_t ifindex = 0;
	int verdict = worker->options.path(worker->options.arg, &ctx, now_ns, &ifindex);

	switch (actions[verdict]) {
	case XDP_TX: put(worker, &ctx); return;
	case XDP_REDIRECT: put_other(worker, &ctx, ifindex); return;
	case XDP_PASS: bump(&worker->figures.late, 1); break;
	default:
		/* It was given away before the path got shorter: nobody here cuts it. */
		if (verdict == VERDICT_TOO_BIG_SPLIT)
			bump(&worker->figures.late, 1);
		break;
	}
	xsk_port_free(port, desc->addr);
}

/* What was given, and is not there, will not come: it was lost on the way. */
static void take_all(struct xsk_worker *worker)
{
	struct abi_steer_ring *ring = worker->options.ring;

	__atomic_store_n(&ring->taken, __atomic_load_n(&ring->given, __ATOMIC_RELAXED),
			 __ATOMIC_RELAXED);
}

static void take(struct xsk_worker *worker, uint32_t count)
{
	struct abi_steer_ring *ring = worker->options.ring;

	__atomic_store_n(&ring->taken, ring->taken + count, __ATOMIC_RELAXED);
}

/* Returns how many frames there were. */
static uint32_t run_batch(struct xsk_worker *worker)
{
	struct xsk_port *port = &worker->port;
	uint64_t sent = worker->figures.sent, now_ns;
	uint32_t at, count = xsk_ring_cons__peek(&port->rx, BATCH, &at);

	if (!count) {
		take_all(worker);
		return 0;
	}
	now_ns = time_coarse_ns();
	__atomic_store_n(&worker->turn, worker->turn + 1, __ATOMIC_RELAXED);
	/* Whoever waits for readers sees it before any of them has read. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < count; i++)
		run_frame(worker, xsk_ring_cons__rx_desc(&port->rx, at + i), now_ns);
	__atomic_store_n(&worker->turn, worker->turn + 1, __ATOMIC_RELEASE);
	xsk_ring_cons__release(&port->rx, count);
	xsk_ring_prod__submit(&port->tx, (uint32_t)(worker->figures.sent - sent));
	if (worker->others.count)
		send_others(worker);
	take(worker, count);
	bump(&worker->figures.received, count);
	return count;
}

/* --- the thread --- */

/* Until something comes, or may be sent that could not be. Returns whether it is to end. */
static bool rest(struct xsk_worker *worker, int sending)
{
	struct pollfd fds[] = {
		{.fd = xsk_port_fd(&worker->port), .events = POLLIN},
		{.fd = worker->stop_fd, .events = POLLIN},
	};
	int wait_ms = IDLE_MS;

	if (sending == -EAGAIN || worker->port.unfinished > XSK_CHUNKS / 2)
		wait_ms = AGAIN_MS;
	else if (sending)
		wait_ms = DOWN_MS;
	poll(fds, 2, wait_ms);
	return fds[1].revents != 0;
}

static void *work(void *arg)
{
	struct xsk_worker *worker = arg;
	bool ends = false;

	for (int last = 0; last < LAST_TURNS; last += ends) {
		uint32_t count;
		int sending;

		xsk_port_reclaim(&worker->port);
		count = run_batch(worker);
		sending = xsk_port_kick(&worker->port);
		if (count)
			continue;
		if (ends && sending != -EAGAIN)
			break;
		ends |= rest(worker, sending);
	}
	return NULL;
}

/* --- from outside --- */

static void init_others(struct others *others)
{
	for (unsigned int i = 0; i < BATCH; i++) {
		others->to[i].sll_family = AF_PACKET;
		others->to[i].sll_halen = ETH_ALEN;
		others->messages[i].msg_hdr = (struct msghdr){
			.msg_name = &others->to[i],
			.msg_namelen = sizeof(others->to[i]),
			.msg_iov = &others->frames[i],
			.msg_iovlen = 1,
		};
	}
}

static int open_packet_socket(int *ret)
{
	const int on = 1, bytes = SEND_BYTES;

	/* Protocol 0: none is received. */
	*ret = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (*ret < 0)
		return -errno;
	setsockopt(*ret, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on));
	if (setsockopt(*ret, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		setsockopt(*ret, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	return 0;
}

static int open_parts(struct xsk_worker *worker, struct err *err)
{
	const struct xsk_worker_options *options = &worker->options;
	int error;

	worker->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->stop_fd < 0)
		return err_set(err, -errno, "no eventfd: %s", strerror(errno));
	error = open_packet_socket(&worker->packet_fd);
	if (error)
		return err_set(err, error, "no packet socket: %s", strerror(-error));
	return xsk_port_open(options->interface, options->queue, &worker->port, err);
}

int xsk_worker_open(const struct xsk_worker_options *options, struct xsk_worker **ret,
		    struct err *err)
{
	struct xsk_worker *worker = aligned_alloc(64, sizeof(*worker));
	int error;

	if (!worker)
		return err_set(err, -ENOMEM, "out of memory");
	memset(worker, 0, sizeof(*worker));
	worker->options = *options;
	worker->stop_fd = worker->packet_fd = -1;
	init_others(&worker->others);
	error = open_parts(worker, err);
	if (error)
		xsk_worker_close(worker);
	else
		*ret = worker;
	return error;
}

/* Signals are the first thread's. */
int xsk_worker_start(struct xsk_worker *worker, struct err *err)
{
	sigset_t all, before;
	char name[16];
	int error;

	take_all(worker);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return err_set(err, -error, "no thread: %s", strerror(error));
	worker->runs = true;
	snprintf(name, sizeof(name), "xsk-%u-%u", worker->options.ifindex % 100000,
		 worker->options.queue % 10000);
	pthread_setname_np(worker->thread, name);
	return 0;
}

void xsk_worker_close(struct xsk_worker *worker)
{
	if (!worker)
		return;
	if (worker->runs) {
		eventfd_write(worker->stop_fd, 1);
		pthread_join(worker->thread, NULL);
	}
	xsk_port_close(&worker->port);
	if (worker->packet_fd >= 0)
		close(worker->packet_fd);
	if (worker->stop_fd >= 0)
		close(worker->stop_fd);
	free(worker);
}

int xsk_worker_fd(const struct xsk_worker *worker)
{
	return xsk_port_fd(&worker->port);
}

bool xsk_worker_is_bound(const struct xsk_worker *worker)
{
	return xsk_port_is_bound(&worker->port);
}

bool xsk_worker_is_zero_copy(const struct xsk_worker *worker)
{
	return worker->port.zero_copy;
}

struct xsk_figures xsk_worker_figures(const struct xsk_worker *worker)
{
	const struct xsk_figures *figures = &worker->figures;
	struct xsk_port_drops drops = xsk_port_drops(&worker->port);
	struct xsk_figures ret = {
		.received = __atomic_load_n(&figures->received, __ATOMIC_RELAXED),
		.sent = __atomic_load_n(&figures->sent, __ATOMIC_RELAXED),
		.redirected = __atomic_load_n(&figures->redirected, __ATOMIC_RELAXED),
		.refused = __atomic_load_n(&figures->refused, __ATOMIC_RELAXED),
		.late = __atomic_load_n(&figures->late, __ATOMIC_RELAXED),
		.ring_full = drops.ring_full,
		.other = drops.other,
	};
	return ret;
}

void xsk_worker_wait(const struct xsk_worker *worker)
{
	uint32_t turn = __atomic_load_n(&worker->turn, __ATOMIC_SEQ_CST);

	while (turn % 2 && __atomic_load_n(&worker->turn, __ATOMIC_ACQUIRE) == turn)
		sched_yield();
}
