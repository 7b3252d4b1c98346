/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/xsk/xsk.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include "engine/dp_state.h"
#include "engine/native.h"
#include "engine/xsk/counts.h"
#include "engine/xsk/port.h"

enum { TRIES = 4 }; /* in vain in one look: each takes memory, and the loop's time */

/* The path of one worker. */
struct path {
	struct native *native;
	const struct dp_tables *tables;
	int prefixes_fd;
};

struct place {
	struct xsk_worker *worker; /* NULL: none runs */
	struct path path;
	char interface[IF_NAMESIZE];
	uint32_t ifindex;
	uint32_t queue;
};

struct xsk {
	struct abi_steer *steering; /* the kernel's */
	struct xsk_counts counts;
	uint32_t count; /* places that there are */
	uint32_t given; /* and that interfaces have */
	uint32_t turn;  /* the place where the next look begins */
	uint32_t link_count;
	char links[ABI_STEER_LINKS][IF_NAMESIZE];
	uint16_t rooms[ABI_STEER_LINKS]; /* places of each */
	struct place places[XSK_WORKERS_MAX];
};

/* --- the packet path on a worker's thread --- */

/* No packet that is given to a worker needs one; but a table may have changed since. */
static uint32_t find_prefix(const void *arg, uint32_t table, const struct pkt_addr *addr)
{
	const struct path *path = arg;
	struct abi_prefix key = {160, table, *addr};
	uint32_t value;

	return bpf_map_lookup_elem(path->prefixes_fd, &key, &value) ? 0 : value;
}

static int run_path(void *arg, struct pkt_ctx *ctx, uint64_t now_ns, uint32_t *ret_ifindex)
{
	const struct path *path = arg;
	uint32_t backend = 0;
	int verdict = native_forward(path->native, ctx, now_ns, &backend);

	if (verdict == VERDICT_REDIRECTED)
		*ret_ifindex = path->tables->backends[backend].ifindex;
	return verdict;
}

static int make_path(struct dp *dp, struct path *path, struct native_counts *counts)
{
	int error;

	path->tables = &dp->tables;
	path->prefixes_fd = bpf_map__fd(dp->skel->maps.prefixes);
	error = native_borrow(path->tables, &path->native);
	if (error)
		return error;
	native_set_features(path->native, ABI_HAS_ALL);
	native_set_prefixes(path->native, find_prefix, path);
	native_set_counts(path->native, counts);
	return 0;
}

/* --- workers come and go --- */

static void end(struct place *place)
{
	xsk_worker_close(place->worker);
	native_free(place->path.native);
	place->worker = NULL;
	place->path.native = NULL;
}

/* First no packet comes any more: whoever is amid the program has given it what it will. */
static void stop(struct dp *dp, uint32_t first, uint32_t count)
{
	bool any = false;

	for (uint32_t key = first; key < first + count; key++) {
		if (!dp->xsk->places[key].worker)
			continue;
		any = true;
		bpf_map_delete_elem(bpf_map__fd(dp->skel->maps.sockets), &key);
	}
	if (any)
		dp_wait_kernel();
	for (uint32_t key = first; key < first + count; key++)
		end(&dp->xsk->places[key]);
}

static bool is_generic(const struct dp *dp, const char *interface)
{
	const struct link_attached *attached = links_find(&dp->links, interface);

	return attached && attached->mode == LINK_XDP_GENERIC;
}

static int start(struct dp *dp, struct place *place, struct err *err)
{
	uint32_t key = (uint32_t)(place - dp->xsk->places);
	const struct xsk_worker_options options = {
		.interface = place->interface,
		.ifindex = place->ifindex,
		.queue = place->queue,
		.ring = &dp->xsk->steering->rings[key],
		.path = run_path,
		.arg = &place->path,
	};
	int fd, error;

	if (is_generic(dp, place->interface))
		return err_set(err, -EOPNOTSUPP,
			       "%s: XDP is generic, where packets may lack their checksums",
			       place->interface);
	if (make_path(dp, &place->path, &dp->xsk->counts.of[key]))
		return err_set(err, -ENOMEM, "out of memory");
	error = xsk_worker_open(&options, &place->worker, err);
	if (!error)
		error = xsk_worker_start(place->worker, err);
	if (!error) {
		fd = xsk_worker_fd(place->worker);
		error = bpf_map_update_elem(bpf_map__fd(dp->skel->maps.sockets), &key, &fd,
					    BPF_ANY);
		if (error)
			err_set(err, error, "%s, queue %u: the kernel does not take the socket: %s",
				place->interface, place->queue, strerror(-error));
	}
	if (error)
		end(place);
	return error;
}

/* --- places --- */

static void set_link(struct xsk *xsk, uint32_t at, struct abi_steer_link link)
{
	_Static_assert(sizeof(link) == sizeof(uint64_t), "a link is one store");
	__atomic_store(&xsk->steering->links[at], &link, __ATOMIC_RELEASE);
}

/* An interface that is new gets its places; which they are, it keeps. */
static void find_link(struct xsk *xsk, const char *interface)
{
	uint32_t queues;

	for (uint32_t i = 0; i < xsk->link_count; i++) {
		if (strcmp(xsk->links[i], interface) == 0)
			return;
	}
	if (xsk->link_count == ABI_STEER_LINKS)
		return;
	strncpy(xsk->links[xsk->link_count], interface, IF_NAMESIZE - 1);
	queues = xsk_port_queues(interface);
	if (queues > xsk->count - xsk->given)
		queues = xsk->count - xsk->given;
	for (uint32_t i = 0; i < queues; i++) {
		struct place *place = &xsk->places[xsk->given + i];

		strncpy(place->interface, interface, IF_NAMESIZE - 1);
		place->queue = i;
	}
	set_link(xsk, xsk->link_count, (struct abi_steer_link){0, (uint16_t)xsk->given, 0});
	xsk->rooms[xsk->link_count] = (uint16_t)queues;
	xsk->link_count++;
	xsk->given += queues;
}

/* Workers end where it has another number, or has lost their queues. */
static void move_link(struct dp *dp, uint32_t at, uint32_t ifindex, uint32_t queues)
{
	struct xsk *xsk = dp->xsk;
	struct abi_steer_link link = xsk->steering->links[at];
	uint32_t stays = link.ifindex == ifindex ? queues : 0;

	if (link.ifindex == ifindex && link.queues == queues)
		return;
	if (stays < link.queues)
		stop(dp, link.first + stays, link.queues - stays);
	for (uint32_t i = 0; i < xsk->rooms[at]; i++)
		xsk->places[link.first + i].ifindex = i < queues ? ifindex : 0;
	link.ifindex = ifindex;
	link.queues = (uint16_t)queues;
	set_link(xsk, at, link);
}

static void follow_link(struct dp *dp, uint32_t at)
{
	const struct xsk *xsk = dp->xsk;
	const struct link_attached *attached = links_find(&dp->links, xsk->links[at]);
	uint32_t queues;

	if (!attached || link_is_lost(attached)) {
		move_link(dp, at, 0, 0);
		return;
	}
	queues = xsk_port_queues(xsk->links[at]);
	move_link(dp, at, (uint32_t)attached->ifindex,
		  queues < xsk->rooms[at] ? queues : xsk->rooms[at]);
}

void xsk_forget_link(struct dp *dp, const char *interface)
{
	for (uint32_t i = 0; dp->xsk && i < dp->xsk->link_count; i++) {
		if (strcmp(dp->xsk->links[i], interface) == 0)
			move_link(dp, i, 0, 0);
	}
}

/* A place that has a queue, and no worker of use. */
static bool lacks(struct dp *dp, uint32_t at)
{
	const struct place *place = &dp->xsk->places[at];

	if (place->worker && !xsk_worker_is_bound(place->worker))
		stop(dp, at, 1);
	return !place->worker && place->ifindex;
}

uint32_t xsk_look(struct dp *dp, struct err *err)
{
	struct xsk *xsk = dp->xsk;
	uint32_t missing = 0, begin = xsk->turn;

	for (size_t i = 0; i < dp->links.count; i++)
		find_link(xsk, dp->links.attached[i].interface);
	for (uint32_t i = 0; i < xsk->link_count; i++)
		follow_link(dp, i);
	for (uint32_t i = 0; i < xsk->given; i++) {
		uint32_t at = (begin + i) % xsk->given;
		struct err why;

		if (!lacks(dp, at) || (missing < TRIES && !start(dp, &xsk->places[at], &why)))
			continue;
		if (!missing)
			*err = why;
		if (++missing == TRIES)
			xsk->turn = at + 1;
	}
	return missing;
}

void xsk_fold(struct dp *dp)
{
	xsk_counts_fold(dp);
}

int xsk_open(struct dp *dp, uint32_t count, struct err *err)
{
	struct xsk *xsk = calloc(1, sizeof(*xsk));
	int error;

	if (!xsk)
		return err_set(err, -ENOMEM, "out of memory");
	xsk->steering = dp->steering;
	xsk->count = count < XSK_WORKERS_MAX ? count : XSK_WORKERS_MAX;
	error = xsk_counts_open(dp, xsk->count, &xsk->counts, err);
	if (error) {
		free(xsk);
		return error;
	}
	xsk->steering->frame_max = XSK_FRAME_MAX;
	dp->xsk = xsk;
	return 0;
}

void xsk_close(struct dp *dp)
{
	if (!dp->xsk)
		return;
	stop(dp, 0, dp->xsk->given);
	xsk_counts_close(&dp->xsk->counts);
	free(dp->xsk);
	dp->xsk = NULL;
}

void xsk_set_packet_max(struct dp *dp, uint32_t length)
{
	__atomic_store_n(&dp->steering->packet_max, length, __ATOMIC_RELEASE);
}

uint32_t xsk_packet_max(const struct dp *dp)
{
	return dp->steering->packet_max;
}

/* --- figures --- */

uint32_t xsk_count(const struct dp *dp)
{
	return dp->xsk ? dp->xsk->given : 0;
}

bool xsk_see(const struct dp *dp, uint32_t at, struct xsk_seen *ret)
{
	const struct place *place = &dp->xsk->places[at];

	if (at >= dp->xsk->given || !place->worker)
		return false;
	*ret = (struct xsk_seen){
		.interface = place->interface,
		.queue = place->queue,
		.zero_copy = xsk_worker_is_zero_copy(place->worker),
		.figures = xsk_worker_figures(place->worker),
	};
	return true;
}

void xsk_wait(const struct xsk *xsk)
{
	for (uint32_t i = 0; xsk && i < xsk->given; i++) {
		if (xsk->places[i].worker)
			xsk_worker_wait(xsk->places[i].worker);
	}
}

static void add(struct abi_count *sum, const struct abi_count *count)
{
	sum->packets += __atomic_load_n(&count->packets, __ATOMIC_RELAXED);
	sum->bytes += __atomic_load_n(&count->bytes, __ATOMIC_RELAXED);
}

struct abi_count xsk_verdict_count(const struct xsk *xsk, uint32_t verdict)
{
	struct abi_count sum = {0};

	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		add(&sum, &xsk->counts.of[i].verdicts[verdict]);
	return sum;
}

struct abi_count xsk_service_count(const struct xsk *xsk, uint32_t service)
{
	struct abi_count sum = {0};

	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		add(&sum, &xsk->counts.of[i].services[service]);
	return sum;
}

struct abi_count xsk_backend_count(const struct xsk *xsk, uint32_t backend)
{
	struct abi_count sum = {0};

	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		add(&sum, &xsk->counts.of[i].backends[backend]);
	return sum;
}

uint64_t xsk_event_count(const struct xsk *xsk, uint32_t event)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		sum += __atomic_load_n(&xsk->counts.of[i].events[event], __ATOMIC_RELAXED);
	return sum;
}

void xsk_reset_service(const struct xsk *xsk, uint32_t service)
{
	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		xsk->counts.of[i].services[service] = (struct abi_count){0};
}

void xsk_reset_backend(const struct xsk *xsk, uint32_t backend)
{
	for (uint32_t i = 0; xsk && i < xsk->given; i++)
		xsk->counts.of[i].backends[backend] = (struct abi_count){0};
}
