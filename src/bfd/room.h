/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files of this room share: the sessions and who may touch them. All of it is under the
 * lock, but for what is said to belong to one thread. Nobody holds the lock while he waits or calls
 * back; the thread holds it for a batch of packets at most.
 */
#pragma once

#include <net/if.h>
#include <pthread.h>
#include <sys/queue.h>

#include "base/log.h"
#include "bfd/fsm.h"
#include "bfd/socket.h"

enum { BFD_LISTENERS = 4 }; /* two kinds, two families */

struct bfd_session {
	LIST_ENTRY(bfd_session) link;
	struct bfd *bfd;
	struct bfd_spec spec;
	char interface[IF_NAMESIZE]; /* "": its peer has no link-local address */
	uint32_t scope;              /* that one's index, as of the socket's opening */
	struct bfd_fsm fsm;
	int fd; /* to send; -1: not open */
	uint64_t open_at_us;
	bool leaving; /* removed, and says so to its peer until this time */
	uint64_t leave_at_us;

	bfd_changed *changed; /* the loop's thread alone */
	void *arg;
	uint64_t round; /* of the last news */
	bool up_news;   /* to be told, after the other one */
	bool down_news;
	enum bfd_news down; /* BFD_NEWS_LOST or BFD_NEWS_OFF */

	uint64_t since_ns;
	uint8_t why, peer_why;
	char error[128];
	uint32_t ups, losses;
	uint64_t sent, received, refused, send_errors;
	struct log_limit limit;
};

LIST_HEAD(bfd_sessions, bfd_session);

struct bfd_listener {
	int fd; /* -1: not open */
	int family;
	bool multihop;
	bool stale; /* its filter knows other sessions than there are */
	uint64_t open_at_us;
	uint64_t drops; /* of its sockets that were closed */
	char error[128];
	struct log_limit limit;
};

struct bfd {
	uv_async_t async;
	uint64_t round; /* of telling news; the loop's thread alone */
	pthread_t thread;
	pthread_mutex_t lock;
	int wake_fd;
	struct bfd_listener listeners[BFD_LISTENERS];
	struct bfd_sessions sessions;
	size_t count; /* not leaving */
	struct bfd_refusals refusals;
	uint32_t random;
	bool closing;
	uint64_t close_at_us;
};

uint32_t bfd_random(struct bfd *bfd);
struct bfd_session *bfd_session_of(struct bfd *bfd, uint32_t discriminator);

/* One datagram that came to a listener. */
void bfd_session_receive(struct bfd *bfd, const struct bfd_listener *listener,
			 const struct bfd_datagram *datagram, uint64_t now_us);
/* What is due. False if it has left: then it is freed. */
bool bfd_session_tick(struct bfd_session *session, uint64_t now_us);
void bfd_session_leave(struct bfd_session *session, uint64_t now_us);
void bfd_session_free(struct bfd_session *session);

/* Opens, closes and filters as the sessions want it. Returns when to call it again. */
uint64_t bfd_listeners_tend(struct bfd *bfd, uint64_t now_us);
/* Sessions are others now. */
void bfd_listeners_renew(struct bfd *bfd);
void bfd_listeners_read(struct bfd *bfd, uint64_t now_us);
void bfd_listeners_close(struct bfd *bfd);
