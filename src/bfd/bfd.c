/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bidirectional Forwarding Detection: RFC 5880 (the protocol), 5881 (directly connected), 5883
 * (multihop), 5882 (what others make of it).
 *
 *   loop's thread                      the room's thread
 *   bfd_add, bfd_remove ...  --lock--> sessions: read packets, look at the clock, send
 *   bfd_changed  <--uv_async--         news, kept in the session until they are told
 *
 * The thread is there because a session at 50 ms x 3 is lost after 150 ms of silence, which table
 * builds on the loop may cost. It sleeps until a packet comes or the next deadline; there are so
 * few sessions that it walks over all of them each time. It reads what has come before it looks at
 * detection times, so that a host that stood still for a moment does not blame its peers for it.
 *
 * Files: wire.c the packet, fsm.c a session's state machine (both pure), session.c a session at
 * work, listen.c and socket.c the sockets.
 */
#include "bfd/bfd.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/time.h"
#include "bfd/room.h"

enum { NICE = -10 }; /* of the thread, where we may */

static uint64_t now_us(void)
{
	return time_now_ns() / 1000;
}

static void wake(struct bfd *bfd)
{
	uint64_t one = 1;
	ssize_t ignored = write(bfd->wake_fd, &one, sizeof(one));

	(void)ignored;
}

/* --- the thread --- */

/* Returns when there is something to do again. */
static uint64_t work(struct bfd *bfd)
{
	uint64_t now = now_us();
	uint64_t until = bfd_listeners_tend(bfd, now);
	struct bfd_session *session, *next;

	bfd_listeners_read(bfd, now);
	for (session = LIST_FIRST(&bfd->sessions); session; session = next) {
		uint64_t deadline;

		next = LIST_NEXT(session, link);
		if (!bfd_session_tick(session, now))
			continue;
		deadline = bfd_fsm_deadline(&session->fsm);
		if (session->leaving && session->leave_at_us < deadline)
			deadline = session->leave_at_us;
		until = deadline < until ? deadline : until;
	}
	if (bfd->closing && bfd->close_at_us < until)
		until = bfd->close_at_us;
	return until;
}

static void wait_until(struct bfd *bfd, uint64_t until_us)
{
	struct pollfd polls[1 + BFD_LISTENERS] = {{.fd = bfd->wake_fd, .events = POLLIN}};
	uint64_t now = now_us(), wait_us = until_us > now ? until_us - now : 0, ignored;
	struct timespec timeout = {.tv_sec = (time_t)(wait_us / 1000000),
				   .tv_nsec = (long)(wait_us % 1000000) * 1000};

	/* The thread alone changes them. */
	for (int i = 0; i < BFD_LISTENERS; i++)
		polls[1 + i] = (struct pollfd){.fd = bfd->listeners[i].fd, .events = POLLIN};
	ppoll(polls, 1 + BFD_LISTENERS, until_us == UINT64_MAX ? NULL : &timeout, NULL);
	if (polls[0].revents && read(bfd->wake_fd, &ignored, sizeof(ignored)) < 0)
		return;
}

static bool is_done(const struct bfd *bfd)
{
	return bfd->closing && (LIST_EMPTY(&bfd->sessions) || now_us() >= bfd->close_at_us);
}

static void *run(void *arg)
{
	struct bfd *bfd = arg;

	pthread_setname_np(pthread_self(), "weir-bfd");
	setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
	for (;;) {
		uint64_t until_us;
		bool done;

		pthread_mutex_lock(&bfd->lock);
		until_us = work(bfd);
		done = is_done(bfd);
		pthread_mutex_unlock(&bfd->lock);
		if (done)
			return NULL;
		wait_until(bfd, until_us);
	}
}

/* --- news, on the loop's thread --- */

struct message {
	struct bfd_session *session;
	enum bfd_news news;
};

/* A session's turn comes once a round: one that flaps keeps neither the others nor the loop. */
static bool take_news(struct bfd *bfd, struct message *ret)
{
	struct bfd_session *session;

	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link)) {
		if (session->leaving || session->round == bfd->round ||
		    !(session->down_news || session->up_news))
			continue;
		session->round = bfd->round;
		ret->session = session;
		ret->news = session->down_news ? session->down : BFD_NEWS_UP;
		if (session->down_news)
			session->down_news = false;
		else
			session->up_news = false;
		if (session->up_news)
			uv_async_send(&bfd->async);
		return true;
	}
	return false;
}

static void on_news(uv_async_t *async)
{
	struct bfd *bfd = async->data;
	struct message message;
	bool found;

	bfd->round++;
	for (;;) {
		pthread_mutex_lock(&bfd->lock);
		found = take_news(bfd, &message);
		pthread_mutex_unlock(&bfd->lock);
		if (!found)
			return;
		message.session->changed(message.session->arg, message.session, message.news);
	}
}

/* --- opening --- */

static void init_listeners(struct bfd *bfd)
{
	for (int i = 0; i < BFD_LISTENERS; i++)
		bfd->listeners[i] = (struct bfd_listener){
			.fd = -1,
			.family = i & 1 ? AF_INET6 : AF_INET,
			.multihop = i & 2,
		};
}

/* Signals are the loop's. */
static int start_thread(struct bfd *bfd)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&bfd->thread, NULL, run, bfd);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

int bfd_open(uv_loop_t *loop, struct bfd **ret, struct err *err)
{
	struct bfd *bfd = calloc(1, sizeof(*bfd));
	int error;

	if (!bfd)
		return err_set(err, -ENOMEM, "no memory for BFD");
	init_listeners(bfd);
	LIST_INIT(&bfd->sessions);
	pthread_mutex_init(&bfd->lock, NULL);
	if (getrandom(&bfd->random, sizeof(bfd->random), GRND_NONBLOCK) < 0)
		bfd->random = (uint32_t)time_now_ns();
	bfd->random |= 1;
	bfd->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (bfd->wake_fd < 0) {
		error = -errno;
		free(bfd);
		return err_set(err, error, "no descriptor for BFD: %s", strerror(-error));
	}
	bfd->async.data = bfd;
	error = uv_async_init(loop, &bfd->async, on_news);
	if (error)
		goto out;
	error = start_thread(bfd);
	if (!error) {
		*ret = bfd;
		return 0;
	}
	close(bfd->wake_fd);
	uv_close((uv_handle_t *)&bfd->async, on_closed);
	return err_set(err, error, "no thread for BFD: %s", strerror(-error));
out:
	close(bfd->wake_fd);
	free(bfd);
	return err_set(err, error, "no handle for BFD: %s", uv_strerror(error));
}

void bfd_close(struct bfd *bfd)
{
	struct bfd_session *session;

	if (!bfd)
		return;
	pthread_mutex_lock(&bfd->lock);
	for (session = LIST_FIRST(&bfd->sessions); session; session = LIST_NEXT(session, link))
		bfd_session_leave(session, now_us());
	bfd->closing = true;
	bfd->close_at_us = now_us() + BFD_CLOSE_MS * 1000;
	pthread_mutex_unlock(&bfd->lock);
	wake(bfd);
	pthread_join(bfd->thread, NULL);
	while (!LIST_EMPTY(&bfd->sessions))
		bfd_session_free(LIST_FIRST(&bfd->sessions));
	bfd_listeners_close(bfd);
	pthread_mutex_destroy(&bfd->lock);
	close(bfd->wake_fd);
	uv_close((uv_handle_t *)&bfd->async, on_closed);
}

/* --- sessions --- */

static int check_times(uint32_t interval_ms, uint8_t multiplier, struct err *err)
{
	if (interval_ms < BFD_INTERVAL_MIN_MS || interval_ms > BFD_INTERVAL_MAX_MS)
		return err_set(err, -EINVAL, "a BFD interval is %d to %d ms", BFD_INTERVAL_MIN_MS,
			       BFD_INTERVAL_MAX_MS);
	if (!multiplier)
		return err_set(err, -EINVAL, "a BFD multiplier is 1 to %d", BFD_MULTIPLIER_MAX);
	return 0;
}

static int check_link(const struct bfd_spec *spec, struct err *err)
{
	bool is_local = addr_is_link_local(&spec->peer);

	if (is_local != (spec->interface != NULL))
		return err_set(err, -EINVAL,
			       is_local ? "a link-local peer needs an interface"
					: "an interface is for a link-local peer");
	if (spec->interface && (!*spec->interface || strlen(spec->interface) >= IF_NAMESIZE))
		return err_set(err, -EINVAL, "no interface is named so");
	if (addr_is_link_local(&spec->local) || (is_local && !addr_is_none(&spec->local)))
		return err_set(err, -EINVAL, "the local address of a link is the interface's own");
	if (is_local && spec->hops)
		return err_set(err, -EINVAL, "a link-local peer is on the link, not hops away");
	return 0;
}

static int check_spec(const struct bfd_spec *spec, struct err *err)
{
	bool local = !addr_is_none(&spec->local);

	if (addr_is_none(&spec->peer))
		return err_set(err, -EINVAL, "a BFD session needs its peer's address");
	if (check_link(spec, err))
		return -EINVAL;
	if (local && addr_is4(&spec->local) != addr_is4(&spec->peer))
		return err_set(err, -EINVAL, "a BFD session's addresses are of one family");
	return check_times(spec->interval_ms, spec->multiplier, err);
}

/* One with the same peer that still says its goodbye ends here. */
static int make_room(struct bfd *bfd, const struct bfd_spec *spec, struct err *err)
{
	struct bfd_session *session, *next;
	char text[ADDR_TEXT_MAX];

	for (session = LIST_FIRST(&bfd->sessions); session; session = next) {
		next = LIST_NEXT(session, link);
		if (!session->spec.hops != !spec->hops ||
		    !addr_equal(&session->spec.peer, &spec->peer) ||
		    strcmp(session->interface, spec->interface ? spec->interface : "") != 0)
			continue;
		if (!session->leaving)
			return err_set(err, -EEXIST, "there is a BFD session with %s",
				       addr_format_on(&spec->peer, spec->interface, text));
		bfd_session_free(session);
	}
	if (bfd->count >= BFD_SESSIONS_MAX)
		return err_set(err, -ENOSPC, "more than %d BFD sessions", BFD_SESSIONS_MAX);
	return 0;
}

static uint32_t new_discriminator(struct bfd *bfd)
{
	uint32_t discriminator = bfd_random(bfd);

	while (!discriminator || bfd_session_of(bfd, discriminator))
		discriminator = bfd_random(bfd);
	return discriminator;
}

static int add_locked(struct bfd *bfd, const struct bfd_spec *spec, struct bfd_session *session,
		      struct err *err)
{
	int error = make_room(bfd, spec, err);

	if (error)
		return error;
	session->bfd = bfd;
	session->spec = *spec;
	session->spec.interface = NULL; /* the caller's */
	if (spec->interface)
		snprintf(session->interface, sizeof(session->interface), "%s", spec->interface);
	session->fd = -1;
	session->since_ns = time_now_ns();
	bfd_fsm_init(&session->fsm, new_discriminator(bfd), spec->interval_ms * 1000,
		     spec->multiplier, now_us());
	LIST_INSERT_HEAD(&bfd->sessions, session, link);
	bfd->count++;
	bfd_listeners_renew(bfd);
	return 0;
}

int bfd_add(struct bfd *bfd, const struct bfd_spec *spec, bfd_changed *changed, void *arg,
	    struct bfd_session **ret, struct err *err)
{
	struct bfd_session *session;
	int error = check_spec(spec, err);

	if (error)
		return error;
	session = calloc(1, sizeof(*session));
	if (!session)
		return err_set(err, -ENOMEM, "no memory for a BFD session");
	session->changed = changed;
	session->arg = arg;
	pthread_mutex_lock(&bfd->lock);
	error = add_locked(bfd, spec, session, err);
	pthread_mutex_unlock(&bfd->lock);
	if (error) {
		free(session);
		return error;
	}
	wake(bfd);
	*ret = session;
	return 0;
}

int bfd_change(struct bfd_session *session, uint32_t interval_ms, uint8_t multiplier,
	       struct err *err)
{
	struct bfd *bfd = session->bfd;
	int error = check_times(interval_ms, multiplier, err);

	if (error)
		return error;
	pthread_mutex_lock(&bfd->lock);
	session->spec.interval_ms = interval_ms;
	session->spec.multiplier = multiplier;
	bfd_fsm_change(&session->fsm, interval_ms * 1000, multiplier, now_us());
	pthread_mutex_unlock(&bfd->lock);
	wake(bfd);
	return 0;
}

void bfd_remove(struct bfd_session *session)
{
	struct bfd *bfd = session->bfd;

	pthread_mutex_lock(&bfd->lock);
	bfd_session_leave(session, now_us());
	pthread_mutex_unlock(&bfd->lock);
	wake(bfd);
}

/* --- what is --- */

static const struct bfd_listener *listener_of(const struct bfd_session *session)
{
	int family = addr_is4(&session->spec.peer) ? 0 : 1;

	return &session->bfd->listeners[family + (session->spec.hops ? 2 : 0)];
}

void bfd_status(const struct bfd_session *session, struct bfd_status *ret)
{
	const struct bfd_fsm *fsm = &session->fsm;
	const struct bfd_listener *listener = listener_of(session);

	pthread_mutex_lock(&session->bfd->lock);
	*ret = (struct bfd_status){
		.state = fsm->state,
		.peer_state = fsm->peer_state,
		.since_ns = session->since_ns,
		.why = bfd_diag_text(session->why),
		.peer_why = bfd_diag_text(session->peer_why),
		.send_interval_us = bfd_fsm_send_us(fsm),
		.detect_us = fsm->heard_us ? bfd_fsm_detect_us(fsm) : 0,
		.discriminator = fsm->own,
		.peer_discriminator = fsm->your,
		.peer_independent = fsm->peer_independent,
		.ups = session->ups,
		.losses = session->losses,
		.sent = session->sent,
		.received = session->received,
		.refused = session->refused,
		.send_errors = session->send_errors,
	};
	memcpy(ret->error, listener->error[0] ? listener->error : session->error,
	       sizeof(ret->error));
	pthread_mutex_unlock(&session->bfd->lock);
}

void bfd_refusals(const struct bfd *bfd, struct bfd_refusals *ret)
{
	struct bfd *own = (struct bfd *)bfd; /* for the lock alone */

	pthread_mutex_lock(&own->lock);
	*ret = bfd->refusals;
	for (int i = 0; i < BFD_LISTENERS; i++) {
		ret->kernel += bfd->listeners[i].drops;
		if (bfd->listeners[i].fd >= 0)
			ret->kernel += bfd_listener_drops(bfd->listeners[i].fd);
	}
	pthread_mutex_unlock(&own->lock);
}

const char *bfd_state_name(enum bfd_state state)
{
	static const char *const names[] = {
		[BFD_ADMIN_DOWN] = "admin-down",
		[BFD_DOWN] = "down",
		[BFD_INIT] = "init",
		[BFD_UP] = "up",
	};

	return (unsigned)state < sizeof(names) / sizeof(*names) ? names[state] : "?";
}
