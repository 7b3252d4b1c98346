/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/neighbour.h"

#include <errno.h>
#include <linux/neighbour.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"

enum {
	NUD_USABLE = NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_PROBE | NUD_STALE | NUD_DELAY,
	/* `ip neigh flush` shows as a failure and then, from the same call, as a removal. Only a
	 * failure that no removal follows is one. */
	SETTLE_MS = 20,
	SETTLE_AGAIN_MS = 5,
	SETTLE_BATCH = 128, /* at most so many at once: the loop has other work */
	RECLAIMS_MAX = 60,  /* where the kernel does not tell all, once a second */
	QUICK_MAX = 5,      /* requests between two turns: a fight over an entry must not spin */
};

static struct neighbour *find(struct neighbours *neighbours, uint32_t ifindex,
			      const struct addr *addr)
{
	struct neighbour *neighbour =
		LIST_FIRST(&neighbours->buckets[addr_hash(addr, ifindex) % NEIGHBOUR_BUCKETS]);

	while (neighbour &&
	       (neighbour->kernel.ifindex != ifindex || !addr_equal(&neighbour->kernel.addr, addr)))
		neighbour = LIST_NEXT(neighbour, bucket);
	return neighbour;
}

void neighbours_init(struct neighbours *neighbours, uv_loop_t *loop, struct rtnl *rtnl)
{
	memset(neighbours, 0, sizeof(*neighbours));
	neighbours->rtnl = rtnl;
	uv_timer_init(loop, &neighbours->settle);
	neighbours->settle.data = neighbours;
	TAILQ_INIT(&neighbours->failing);
}

struct neighbour *neighbour_hold(struct neighbours *neighbours, uint32_t ifindex,
				 const struct addr *addr)
{
	struct neighbour *neighbour = find(neighbours, ifindex, addr);

	if (neighbour)
		return neighbour;
	neighbour = calloc(1, sizeof(*neighbour));
	if (!neighbour)
		return NULL;
	LIST_INIT(&neighbour->users);
	neighbour->table = neighbours;
	neighbour->kernel.ifindex = ifindex;
	neighbour->kernel.addr = *addr;
	neighbour->stale = true;
	LIST_INSERT_HEAD(&neighbours->buckets[addr_hash(addr, ifindex) % NEIGHBOUR_BUCKETS],
			 neighbour, bucket);
	return neighbour;
}

static void set_failing(struct neighbour *neighbour, bool failing)
{
	if (neighbour->failing && !failing)
		TAILQ_REMOVE(&neighbour->table->failing, neighbour, failing_link);
	if (!neighbour->failing && failing)
		TAILQ_INSERT_TAIL(&neighbour->table->failing, neighbour, failing_link);
	neighbour->failing = failing;
}

/*
 * An entry that works stays, as an ordinary one that the kernel ages; one that we made and that
 * never worked, or no longer does, goes with us.
 */
static void give_back(struct neighbour *neighbour)
{
	struct rtnl *rtnl = neighbour->table->rtnl;

	if (neighbour->made && !(neighbour->kernel.state & NUD_USABLE))
		rtnl_neigh_delete(rtnl, &neighbour->kernel);
	else if (neighbour->marked)
		rtnl_neigh_ask(rtnl, &neighbour->kernel, RTNL_ASK_ONCE);
}

void neighbour_drop(struct neighbour *neighbour)
{
	set_failing(neighbour, false);
	give_back(neighbour);
	LIST_REMOVE(neighbour, bucket);
	free(neighbour);
}

/* Takes in the kernel's state. Returns whether users would see a difference. */
static bool take(struct neighbour *neighbour, const struct rtnl_neigh *kernel)
{
	bool differs = false;

	neighbour->kernel = *kernel;
	/* Our mark on a managed entry of which we know nothing: from a run that was killed. */
	if (kernel->managed && kernel->protocol == RTNL_PROTOCOL)
		neighbour->marked = neighbour->made = true;
	if (kernel->state & NUD_USABLE && kernel->has_mac) {
		differs = !neighbour->has_mac || neighbour->failed ||
			  memcmp(neighbour->mac, kernel->mac, sizeof(kernel->mac)) != 0;
		memcpy(neighbour->mac, kernel->mac, sizeof(kernel->mac));
		neighbour->has_mac = true;
		neighbour->failed = false;
		set_failing(neighbour, false);
	} else if (kernel->state & NUD_FAILED && !neighbour->failing && !neighbour->failed) {
		neighbour->failed_ns = time_now_ns();
		set_failing(neighbour, true);
	}
	return differs;
}

/* The entry is no more. What we know of the MAC stays until the kernel knows better. */
static void forget_kernel(struct neighbour *neighbour)
{
	neighbour->kernel = (struct rtnl_neigh){.ifindex = neighbour->kernel.ifindex,
						.addr = neighbour->kernel.addr};
	neighbour->made = neighbour->marked = false;
	set_failing(neighbour, false);
}

static bool wants_request(const struct neighbour *neighbour)
{
	const struct rtnl_neigh *kernel = &neighbour->kernel;

	/* A request would turn an entry that somebody made permanent into an ordinary one. */
	if (kernel->state & (NUD_PERMANENT | NUD_NOARP))
		return false;
	if (!(kernel->state & (NUD_USABLE | NUD_INCOMPLETE)))
		return true;
	/* Packets of the data plane do not count as use: unasked, an entry would stay stale. */
	return neighbour->table->unmanaged ? kernel->state & NUD_STALE : !kernel->managed;
}

static void request(struct neighbour *neighbour)
{
	struct neighbours *table = neighbour->table;
	bool existed = neighbour->kernel.state != 0;
	int code = -EOPNOTSUPP;

	if (!table->unmanaged)
		code = rtnl_neigh_ask(table->rtnl, &neighbour->kernel, RTNL_ASK_MANAGED);
	if (code == 0) {
		neighbour->marked |= !neighbour->kernel.managed;
		neighbour->kernel.managed = true;
	} else if (code == -EINVAL || code == -EOPNOTSUPP) {
		code = rtnl_neigh_ask(table->rtnl, &neighbour->kernel, RTNL_ASK_ONCE);
		table->unmanaged |= code == 0;
	}
	if (code == 0) {
		neighbour->made |= !existed;
		/* A failed entry begins anew by this, of which the kernel tells nobody. */
		if (!(neighbour->kernel.state & NUD_USABLE))
			neighbour->kernel.state = NUD_INCOMPLETE;
	}
	neighbour->refused = code;
}

/* Returns whether users would see a difference. */
static bool read_kernel(struct neighbour *neighbour)
{
	struct rtnl_neigh kernel;
	int code = rtnl_neigh_get(neighbour->table->rtnl, &neighbour->kernel, &kernel);

	if (code == 0)
		return take(neighbour, &kernel);
	if (code == -ENOENT)
		forget_kernel(neighbour);
	return false;
}

static void request_quick(struct neighbour *neighbour)
{
	if (neighbour->failing || neighbour->quick >= QUICK_MAX || !wants_request(neighbour))
		return;
	neighbour->quick++;
	request(neighbour);
}

/* A failure is old enough to be believed, unless the entry was removed or has answered since. */
static void settle(struct neighbour *neighbour)
{
	bool differs = read_kernel(neighbour);

	if (neighbour->failing) {
		set_failing(neighbour, false);
		neighbour->failed = true;
		neighbour->has_mac = false;
		differs = true;
	}
	request_quick(neighbour);
	if (differs)
		neighbour->table->changed(neighbour->table->arg, neighbour);
}

static void settle_due(uv_timer_t *timer)
{
	struct neighbours *neighbours = timer->data;
	uint64_t due_ns = time_now_ns() - SETTLE_MS * TIME_MILLI_NS;
	struct neighbour *neighbour;

	/* In the order of failing, so the first that is too young ends it. */
	for (int i = 0; i < SETTLE_BATCH; i++) {
		neighbour = TAILQ_FIRST(&neighbours->failing);
		if (!neighbour || neighbour->failed_ns > due_ns)
			break;
		settle(neighbour);
	}
	if (!TAILQ_EMPTY(&neighbours->failing))
		uv_timer_start(timer, settle_due, SETTLE_AGAIN_MS, 0);
}

static void watch_failing(struct neighbours *neighbours)
{
	if (!TAILQ_EMPTY(&neighbours->failing) && !uv_is_active((uv_handle_t *)&neighbours->settle))
		uv_timer_start(&neighbours->settle, settle_due, SETTLE_MS, 0);
}

void neighbour_look(struct neighbour *neighbour)
{
	int refused = neighbour->refused;
	bool differs;

	if (!neighbour->stale)
		return;
	neighbour->stale = false;
	differs = read_kernel(neighbour);
	if (!neighbour->failing && wants_request(neighbour))
		request(neighbour);
	watch_failing(neighbour->table);
	if (differs || neighbour->refused != refused)
		neighbour->table->changed(neighbour->table->arg, neighbour);
}

bool neighbour_turn(struct neighbour *neighbour)
{
	neighbour->quick = 0;
	if (neighbour->stale || !wants_request(neighbour))
		return false;
	neighbour->stale = true;
	return true;
}

void neighbours_event(struct neighbours *neighbours, const struct rtnl_neigh *neigh, bool gone)
{
	struct neighbour *neighbour = find(neighbours, neigh->ifindex, &neigh->addr);
	bool differs = false;

	if (!neighbour)
		return;
	if (gone)
		forget_kernel(neighbour);
	else
		differs = take(neighbour, neigh);
	request_quick(neighbour);
	watch_failing(neighbours);
	if (differs)
		neighbours->changed(neighbours->arg, neighbour);
}

static void reclaim(void *arg, const struct rtnl_neigh *neigh)
{
	struct neighbours *neighbours = arg;

	if (!neigh->managed || neigh->protocol != RTNL_PROTOCOL ||
	    find(neighbours, neigh->ifindex, &neigh->addr))
		return;
	if (neigh->state & NUD_USABLE)
		rtnl_neigh_ask(neighbours->rtnl, neigh, RTNL_ASK_ONCE);
	else
		rtnl_neigh_delete(neighbours->rtnl, neigh);
}

void neighbours_reclaim(struct neighbours *neighbours)
{
	if (neighbours->reclaimed)
		return;
	neighbours->reclaims++;
	neighbours->reclaimed = rtnl_neigh_each(reclaim, neighbours) == 0 ||
				neighbours->reclaims == RECLAIMS_MAX;
}

void neighbours_expire(struct neighbours *neighbours, uint32_t ifindex)
{
	for (size_t i = 0; i < NEIGHBOUR_BUCKETS; i++) {
		struct neighbour *neighbour = LIST_FIRST(&neighbours->buckets[i]);

		for (; neighbour; neighbour = LIST_NEXT(neighbour, bucket))
			neighbour->stale |= !ifindex || neighbour->kernel.ifindex == ifindex;
	}
}
