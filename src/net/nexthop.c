/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Next hops. Three things make one: the kernel's route to the address (interface, gateway, source,
 * MTU), the interface itself (own MAC, MTU, up or down), and the neighbour at the other end of the
 * wire: the gateway, or the address itself. For IPv4 behind an IPv6 gateway (RFC 8950) that is an
 * IPv6 neighbour.
 *
 *   watch -> entry (one an address) -> route     rtnl.c: asked for, one question each
 *                                   -> link      here: a short list
 *                                   -> neighbour neighbour.c: by interface and address
 *
 * The kernel's notifications say what may differ, never what is: an entry whose route may be
 * another is put into a queue and looked up anew. That keeps us from rebuilding the kernel's
 * routing (rules, metrics, multipath) and from believing half of a change. A neighbour's news need
 * no question: they reach the entries that use it, by its list of users.
 *
 * Work is bounded three times. Route changes come in bursts, so a sweep over the entries begins
 * REST_MS after the first of them, and only takes entries within the prefixes that changed; the
 * queue is worked off in batches, one a turn of the loop; and after a long sweep comes a longer
 * rest, so that a router with a flapping full table costs us a part of the loop and not all. News
 * of neighbours and links enter the queue at its head.
 *
 * If notifications were lost (ENOBUFS) everything is read anew. What is unresolved is also tried
 * every second, so that nothing that we misread stays wrong.
 */
#include "net/nexthop.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "net/hop.h"
#include "net/neighbour.h"

enum {
	ENTRY_BUCKETS = 16384,
	BATCH = 64,   /* entries worked on in a turn of the loop */
	REST_MS = 20, /* from the first change of a burst to the sweep */
	REST_MAX_MS = 1000,
	REST_RATIO = 8,   /* a rest is at least so many times the last sweep */
	TURN_MS = 1000,   /* what is unresolved is tried so often */
	CHANGES_MAX = 32, /* prefixes remembered for a sweep; of more, all entries are taken */
};

enum work { WORK_NONE, WORK_REPORT, WORK_LOOKUP };

struct nexthop_watch {
	TAILQ_ENTRY(nexthop_watch) link;
	struct entry *entry;
	nexthop_changed *changed;
	void *arg;
	uint64_t told; /* the entry's version that was last reported */
};

struct entry {
	LIST_ENTRY(entry) bucket;
	LIST_ENTRY(entry) all;
	LIST_ENTRY(entry) user; /* of `neighbour` */
	TAILQ_ENTRY(entry) queue;
	struct nexthops *nexthops;
	struct addr address;
	TAILQ_HEAD(, nexthop_watch) watches; /* those not yet told before those that were */
	struct neighbour *neighbour;
	struct rtnl_route route;
	int route_error; /* -errno: there is none */
	enum hop_missing missing;
	enum work work;
	uint64_t version; /* of `now` */
	struct nexthop now;
	bool telling; /* not to be freed under its feet */
};

struct link {
	LIST_ENTRY(link) link;
	struct rtnl_link kernel;
};

struct nexthops {
	struct rtnl rtnl;
	uv_poll_t events;
	uv_timer_t sweep, turn;
	uv_idle_t work;
	struct neighbours neighbours;
	LIST_HEAD(, link) links;
	LIST_HEAD(, entry) entries;
	LIST_HEAD(, entry) buckets[ENTRY_BUCKETS];
	TAILQ_HEAD(entry_queue, entry) queue;
	struct prefix changes[CHANGES_MAX];
	unsigned change_count; /* above CHANGES_MAX: anything */
	uint64_t sweep_ns;     /* when the current sweep began; 0: none under way */
	uint64_t rest_ns;      /* no sweep before then */
	int handles;
};

static void work_some(uv_idle_t *idle);

/* First: before what waits already. */
static void enqueue(struct entry *entry, enum work work, bool first)
{
	struct nexthops *nexthops = entry->nexthops;

	if (entry->work != WORK_NONE && first)
		TAILQ_REMOVE(&nexthops->queue, entry, queue);
	if (first)
		TAILQ_INSERT_HEAD(&nexthops->queue, entry, queue);
	else if (entry->work == WORK_NONE)
		TAILQ_INSERT_TAIL(&nexthops->queue, entry, queue);
	if (work > entry->work)
		entry->work = work;
	uv_idle_start(&nexthops->work, work_some);
}

/* Links */

static struct link *link_find(struct nexthops *nexthops, uint32_t ifindex)
{
	struct link *link = LIST_FIRST(&nexthops->links);

	while (link && link->kernel.ifindex != ifindex)
		link = LIST_NEXT(link, link);
	return link;
}

static void link_forget(struct link *link)
{
	LIST_REMOVE(link, link);
	free(link);
}

/* NULL: no such interface, or no memory for it. */
static const struct rtnl_link *link_get(struct nexthops *nexthops, uint32_t ifindex)
{
	struct link *link = link_find(nexthops, ifindex);

	if (link)
		return &link->kernel;
	link = calloc(1, sizeof(*link));
	if (!link)
		return NULL;
	if (rtnl_link_get(&nexthops->rtnl, ifindex, &link->kernel)) {
		free(link);
		return NULL;
	}
	LIST_INSERT_HEAD(&nexthops->links, link, link);
	return &link->kernel;
}

/* Entries */

static void leave_neighbour(struct entry *entry)
{
	struct neighbour *neighbour = entry->neighbour;

	if (!neighbour)
		return;
	entry->neighbour = NULL;
	LIST_REMOVE(entry, user);
	if (LIST_EMPTY(&neighbour->users))
		neighbour_drop(neighbour);
}

static void choose_neighbour(struct entry *entry)
{
	const struct rtnl_route *route = &entry->route;
	const struct addr *addr = addr_is_none(&route->gateway) ? &entry->address : &route->gateway;
	struct neighbour *neighbour = entry->neighbour;

	if (neighbour && neighbour->kernel.ifindex == route->ifindex &&
	    addr_equal(&neighbour->kernel.addr, addr))
		return;
	leave_neighbour(entry);
	neighbour = neighbour_hold(&entry->nexthops->neighbours, route->ifindex, addr);
	if (!neighbour)
		return;
	entry->neighbour = neighbour;
	LIST_INSERT_HEAD(&neighbour->users, entry, user);
}

static void look_up(struct entry *entry)
{
	memset(&entry->route, 0, sizeof(entry->route));
	entry->route_error = rtnl_route_get(&entry->nexthops->rtnl, &entry->address, &entry->route);
}

static enum hop_missing compose(struct entry *entry, struct nexthop *ret)
{
	const struct rtnl_link *link = NULL;
	struct hop_facts facts = {
		.address = entry->address,
		.route_error = entry->route_error,
		.route = entry->route,
		.neighbour = entry->neighbour,
	};

	if (!entry->route_error)
		facts.link = link = link_get(entry->nexthops, entry->route.ifindex);
	for (int i = 0; i < NEXTHOP_TAGS && link && link->vlan; i++)
		facts.below[i] = link = link_get(entry->nexthops, link->over);
	return hop_compose(&facts, ret);
}

/*
 * Only where there are neighbours is one asked for. While route or link are away what we knew of
 * it stays: it may come back the same.
 */
static void refresh(struct entry *entry, struct nexthop *ret)
{
	entry->missing = compose(entry, ret);
	if (entry->missing < HOP_NEIGHBOUR)
		return;
	choose_neighbour(entry);
	if (entry->neighbour)
		neighbour_look(entry->neighbour);
	entry->missing = compose(entry, ret);
}

static bool is_pending(const struct entry *entry)
{
	return entry->missing == HOP_NEIGHBOUR && hop_is_pending(entry->neighbour);
}

static bool may_stay(struct entry *entry)
{
	return entry->now.resolved && is_pending(entry) &&
	       hop_may_stay(link_get(entry->nexthops, entry->now.ifindex));
}

static void entry_free(struct entry *entry)
{
	leave_neighbour(entry);
	if (entry->work != WORK_NONE)
		TAILQ_REMOVE(&entry->nexthops->queue, entry, queue);
	LIST_REMOVE(entry, bucket);
	LIST_REMOVE(entry, all);
	free(entry);
}

/*
 * A callback may unwatch any watch, this one too, and add some. So the list is taken up again from
 * its head after each, and whoever was told moves to its end.
 */
static void tell(struct entry *entry)
{
	struct nexthop_watch *watch;

	entry->telling = true;
	while ((watch = TAILQ_FIRST(&entry->watches)) && watch->told != entry->version) {
		watch->told = entry->version;
		TAILQ_REMOVE(&entry->watches, watch, link);
		TAILQ_INSERT_TAIL(&entry->watches, watch, link);
		watch->changed(watch->arg, &entry->now);
	}
	entry->telling = false;
	if (!watch)
		entry_free(entry);
}

static void work_on(struct entry *entry)
{
	enum work work = entry->work;
	struct nexthop nexthop;

	TAILQ_REMOVE(&entry->nexthops->queue, entry, queue);
	entry->work = WORK_NONE;
	if (work == WORK_LOOKUP)
		look_up(entry);
	refresh(entry, &nexthop);
	if (may_stay(entry))
		nexthop = entry->now;
	if (!entry->version || !hop_same(&nexthop, &entry->now)) {
		entry->now = nexthop;
		/* Before the first answer nothing is known: what our user has may still hold. */
		if (!entry->version && is_pending(entry))
			return;
		entry->version++;
	}
	tell(entry);
}

/* Changes and sweeps */

static void sweep(uv_timer_t *timer);

static void plan_sweep(struct nexthops *nexthops)
{
	uint64_t now_ns = time_now_ns();
	uint64_t wait_ms = REST_MS;

	if (nexthops->sweep_ns || uv_is_active((uv_handle_t *)&nexthops->sweep))
		return;
	if (nexthops->rest_ns > now_ns + REST_MS * TIME_MILLI_NS)
		wait_ms = (nexthops->rest_ns - now_ns) / TIME_MILLI_NS;
	uv_timer_start(&nexthops->sweep, sweep, wait_ms, 0);
}

static void change_all(struct nexthops *nexthops)
{
	nexthops->change_count = CHANGES_MAX + 1;
	plan_sweep(nexthops);
}

static void change_prefix(struct nexthops *nexthops, const struct prefix *prefix)
{
	if (nexthops->change_count < CHANGES_MAX)
		nexthops->changes[nexthops->change_count++] = *prefix;
	else
		nexthops->change_count = CHANGES_MAX + 1;
	plan_sweep(nexthops);
}

static bool is_changed(const struct nexthops *nexthops, const struct entry *entry)
{
	if (nexthops->change_count > CHANGES_MAX)
		return true;
	for (unsigned i = 0; i < nexthops->change_count; i++) {
		if (prefix_has(&nexthops->changes[i], &entry->address))
			return true;
	}
	return false;
}

static void sweep(uv_timer_t *timer)
{
	struct nexthops *nexthops = timer->data;
	struct entry *entry = LIST_FIRST(&nexthops->entries);

	for (; entry; entry = LIST_NEXT(entry, all)) {
		if (is_changed(nexthops, entry))
			enqueue(entry, WORK_LOOKUP, false);
	}
	nexthops->change_count = 0;
	nexthops->sweep_ns = time_now_ns();
	uv_idle_start(&nexthops->work, work_some);
}

static void end_sweep(struct nexthops *nexthops)
{
	uint64_t now_ns = time_now_ns();
	uint64_t rest_ns = (now_ns - nexthops->sweep_ns) * REST_RATIO;

	if (rest_ns > REST_MAX_MS * TIME_MILLI_NS)
		rest_ns = REST_MAX_MS * TIME_MILLI_NS;
	nexthops->rest_ns = now_ns + rest_ns;
	nexthops->sweep_ns = 0;
	if (nexthops->change_count)
		plan_sweep(nexthops);
}

static void work_some(uv_idle_t *idle)
{
	struct nexthops *nexthops = idle->data;

	for (int i = 0; i < BATCH; i++) {
		struct entry *entry = TAILQ_FIRST(&nexthops->queue);

		if (!entry) {
			uv_idle_stop(idle);
			if (nexthops->sweep_ns)
				end_sweep(nexthops);
			return;
		}
		work_on(entry);
	}
}

static bool needs_turn(struct entry *entry)
{
	if (entry->missing < HOP_NEIGHBOUR || !entry->neighbour)
		return true;
	/* Looked after once for all its users. */
	return neighbour_turn(entry->neighbour);
}

static void turn(uv_timer_t *timer)
{
	struct nexthops *nexthops = timer->data;
	struct entry *entry = LIST_FIRST(&nexthops->entries);

	neighbours_reclaim(&nexthops->neighbours);
	for (; entry; entry = LIST_NEXT(entry, all)) {
		if (needs_turn(entry))
			enqueue(entry, WORK_LOOKUP, false);
	}
}

/* Notifications */

static void on_neighbour(void *arg, struct neighbour *neighbour)
{
	struct entry *entry = LIST_FIRST(&neighbour->users);

	(void)arg;
	for (; entry; entry = LIST_NEXT(entry, user))
		enqueue(entry, WORK_REPORT, true);
}

static void report_link(struct nexthops *nexthops, uint32_t ifindex)
{
	struct entry *entry = LIST_FIRST(&nexthops->entries);

	for (; entry; entry = LIST_NEXT(entry, all)) {
		if (entry->route.ifindex == ifindex || entry->now.ifindex == ifindex)
			enqueue(entry, WORK_REPORT, true);
	}
}

/* An interface that goes takes its IPv4 routes along without a word about them. */
static void on_link(struct nexthops *nexthops, const struct rtnl_link *kernel, bool gone)
{
	struct link *link = link_find(nexthops, kernel->ifindex);

	if (link && !gone && hop_same_link(&link->kernel, kernel))
		return;
	change_all(nexthops);
	if (!link)
		return;
	if (gone)
		link_forget(link);
	else
		link->kernel = *kernel;
	neighbours_expire(&nexthops->neighbours, kernel->ifindex);
	report_link(nexthops, kernel->ifindex);
}

static void on_event(void *arg, const struct rtnl_event *event)
{
	struct nexthops *nexthops = arg;

	switch (event->kind) {
	case RTNL_NEIGH: neighbours_event(&nexthops->neighbours, &event->neigh, false); break;
	case RTNL_NEIGH_GONE: neighbours_event(&nexthops->neighbours, &event->neigh, true); break;
	case RTNL_LINK: on_link(nexthops, &event->link, false); break;
	case RTNL_LINK_GONE: on_link(nexthops, &event->link, true); break;
	case RTNL_ROUTE: change_prefix(nexthops, &event->prefix); break;
	case RTNL_RULES: change_all(nexthops); break;
	}
}

static void resync(struct nexthops *nexthops)
{
	struct link *link;

	while ((link = LIST_FIRST(&nexthops->links)))
		link_forget(link);
	neighbours_expire(&nexthops->neighbours, 0);
	change_all(nexthops);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct nexthops *nexthops = poll->data;

	(void)events;
	if (rtnl_events_read(&nexthops->rtnl, on_event, nexthops))
		resync(nexthops);
	/* A loss is also an error of the socket, at which libuv stops watching it. */
	if (status < 0)
		uv_poll_start(poll, UV_READABLE, on_readable);
}

/* The public part */

int nexthops_open(uv_loop_t *loop, struct nexthops **ret, struct err *err)
{
	struct nexthops *nexthops = calloc(1, sizeof(*nexthops));
	int code;

	if (!nexthops)
		return err_set(err, -ENOMEM, "next hops: out of memory");
	code = rtnl_open(&nexthops->rtnl);
	if (code) {
		free(nexthops);
		return err_set(err, code, "rtnetlink: %s", strerror(-code));
	}
	code = uv_poll_init(loop, &nexthops->events, rtnl_events_fd(&nexthops->rtnl));
	if (code) {
		rtnl_close(&nexthops->rtnl);
		free(nexthops);
		return err_set(err, code, "rtnetlink: %s", uv_strerror(code));
	}
	uv_timer_init(loop, &nexthops->sweep);
	uv_timer_init(loop, &nexthops->turn);
	uv_idle_init(loop, &nexthops->work);
	nexthops->events.data = nexthops->sweep.data = nexthops;
	nexthops->turn.data = nexthops->work.data = nexthops;
	TAILQ_INIT(&nexthops->queue);
	neighbours_init(&nexthops->neighbours, loop, &nexthops->rtnl);
	nexthops->neighbours.changed = on_neighbour;
	uv_poll_start(&nexthops->events, UV_READABLE, on_readable);
	uv_timer_start(&nexthops->turn, turn, TURN_MS, TURN_MS);
	*ret = nexthops;
	return 0;
}

static struct entry *entry_get(struct nexthops *nexthops, const struct addr *address)
{
	size_t bucket = addr_hash(address, 0) % ENTRY_BUCKETS;
	struct entry *entry = LIST_FIRST(&nexthops->buckets[bucket]);

	while (entry && !addr_equal(&entry->address, address))
		entry = LIST_NEXT(entry, bucket);
	if (entry)
		return entry;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->nexthops = nexthops;
	entry->address = *address;
	TAILQ_INIT(&entry->watches);
	snprintf(entry->now.why, sizeof(entry->now.why), "not looked up yet");
	LIST_INSERT_HEAD(&nexthops->buckets[bucket], entry, bucket);
	LIST_INSERT_HEAD(&nexthops->entries, entry, all);
	return entry;
}

int nexthops_watch(struct nexthops *nexthops, const struct addr *address, nexthop_changed *changed,
		   void *arg, struct nexthop_watch **ret)
{
	struct nexthop_watch *watch = calloc(1, sizeof(*watch));
	struct entry *entry = watch ? entry_get(nexthops, address) : NULL;

	if (!entry) {
		free(watch);
		return -ENOMEM;
	}
	watch->entry = entry;
	watch->changed = changed;
	watch->arg = arg;
	TAILQ_INSERT_HEAD(&entry->watches, watch, link);
	enqueue(entry, entry->version ? WORK_REPORT : WORK_LOOKUP, false);
	*ret = watch;
	return 0;
}

const struct nexthop *nexthop_now(const struct nexthop_watch *watch)
{
	return &watch->entry->now;
}

void nexthops_unwatch(struct nexthop_watch *watch)
{
	struct entry *entry = watch->entry;

	TAILQ_REMOVE(&entry->watches, watch, link);
	free(watch);
	if (TAILQ_EMPTY(&entry->watches) && !entry->telling)
		entry_free(entry);
}

static void on_closed(uv_handle_t *handle)
{
	struct nexthops *nexthops = handle->data;

	if (--nexthops->handles == 0)
		free(nexthops);
}

static void close_handle(struct nexthops *nexthops, void *handle)
{
	nexthops->handles++;
	((uv_handle_t *)handle)->data = nexthops;
	uv_close(handle, on_closed);
}

void nexthops_close(struct nexthops *nexthops)
{
	struct entry *entry;
	struct link *link;

	while ((entry = LIST_FIRST(&nexthops->entries))) {
		struct nexthop_watch *watch;

		while ((watch = TAILQ_FIRST(&entry->watches))) {
			TAILQ_REMOVE(&entry->watches, watch, link);
			free(watch);
		}
		entry_free(entry);
	}
	while ((link = LIST_FIRST(&nexthops->links)))
		link_forget(link);
	close_handle(nexthops, &nexthops->events);
	close_handle(nexthops, &nexthops->sweep);
	close_handle(nexthops, &nexthops->turn);
	close_handle(nexthops, &nexthops->work);
	close_handle(nexthops, &nexthops->neighbours.settle);
	rtnl_close(&nexthops->rtnl);
}
