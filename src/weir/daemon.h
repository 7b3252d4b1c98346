/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `weir run` and `weir agent` have alike: the lock of an instance, the loop, the signals that
 * end it, the control socket that shows it, how it attaches. The struct is the caller's, and its
 * address must not change between open and close. One thread.
 */
#pragma once

#include <jansson.h>
#include <net/if.h>
#include <uv.h>

#include "admin/control.h"
#include "base/log.h"
#include "bpf/links.h"
#include "conf/conf.h"
#include "weir/again/ask.h"
#include "weir/instance.h"
#include "weir/service/notify.h"
#include "weir/service/privileges.h"

/* The daemon's state as JSON; a new reference. */
typedef json_t *daemon_report(void *arg);

struct daemon_request {
	const char *op;
	const json_t *json; /* all of it, `op` too */
	pid_t pid;          /* whose process asks; 0: not seen from here */
};

/* A new reference, never NULL. */
typedef json_t *daemon_answer(void *arg, const struct daemon_request *request);

/*
 * What can be asked for. Each says whether it changes anything, for then it is for root alone; who
 * else the socket lets in may ask for what reads. Tables end with {0}.
 */
enum daemon_access { DAEMON_CHANGES, DAEMON_READS };
struct daemon_op {
	const char *name;
	enum daemon_access access;
	daemon_answer *answer;
};

/* Attaches anew the link at that place, and does what belongs to it. 0 or -errno. */
typedef int daemon_reattach(void *arg, size_t at, struct err *err);

/*
 * How a daemon ends: STOP leaves nothing behind; RESTART leaves all that is pinned at work, for the
 * process is called again (weir/again).
 */
enum daemon_end { DAEMON_RUNS, DAEMON_STOP, DAEMON_RESTART };

/*
 * What comes before the end, as routes that are withdrawn: calls daemon_end_now when it is done, at
 * once or later. A second signal does not wait for it.
 */
typedef void daemon_ending(void *arg, enum daemon_end end);

struct daemon {
	struct instance instance;
	const char *file;
	uint64_t started_ns;
	struct events *events; /* what changed of late */
	uv_loop_t loop;
	uv_work_t first_work;
	uv_signal_t signals[3];
	struct control *control; /* NULL: not listening yet */
	daemon_report *report;
	const struct daemon_op *const *ops; /* of `arg`; NULL: the daemon's own are all there are */
	void (*hangup)(void *arg);          /* SIGHUP; NULL: it has no effect */
	void *arg;
	struct notify notify;
	uv_timer_t watch;
	const struct links *links; /* watched */
	bool lost[LINKS_MAX];      /* of these: said so */
	uint32_t carrier_changes[LINKS_MAX];
	char carrier_of[LINKS_MAX][IF_NAMESIZE]; /* whose these are */
	struct log_limit carrier_log;
	daemon_reattach *reattach;
	void *watch_arg;
	struct again_ask *asks; /* whether the successor takes the file; NULL: it is not asked */
	struct err refusal;     /* what it said; "" */
	enum daemon_end end;
	int handed_signal; /* came amid the end before a restart; 0: none did */
	bool leaves;       /* its end is as before a restart, but the process is not called again */
	daemon_ending *ending; /* NULL: nothing comes before */
	void *ending_arg;
	uv_timer_t linger; /* runs until who asked for the end has the answer */
};

/* Takes the lock, gives privileges up, readies the loop. `name` as instance_init. */
int daemon_open(struct daemon *daemon, enum privileges privileges, const char *name,
		const struct privileges_files *files, struct err *err);
/* Answers on the control socket from now on: what all daemons know, and the tables `ops`, of which
 * the last is NULL; or NULL. */
int daemon_listen(struct daemon *daemon, daemon_report *report, const struct daemon_op *const *ops,
		  void *arg, struct err *err);
/* What all daemons know: status, events, stop, leave, restart; of a struct daemon. */
extern const struct daemon_op daemon_ops[];
/* In the tables, of which the last is NULL; NULL: none of them has it. */
const struct daemon_op *daemon_op_find(const struct daemon_op *const *tables, const char *name);
/* From now on says in the log when an interface goes, and attaches to a new one of its name. */
void daemon_watch(struct daemon *daemon, const struct links *links, daemon_reattach *reattach,
		  void *arg);
/* What is to be done before the end from now on. */
void daemon_before_end(struct daemon *daemon, daemon_ending *ending, void *arg);
/* The loop ends a moment from now. */
void daemon_end_now(struct daemon *daemon);
/* Serves until a signal or a request ends it: how. */
enum daemon_end daemon_run(struct daemon *daemon);
/* Is this process called again, once it is closed? */
bool daemon_calls_again(const struct daemon *daemon);
/* The end of a lock: the process that is called again has it, else it is let go. */
void daemon_let_go(const struct daemon *daemon, struct instance *instance);
/* Closes all that daemon_open and daemon_listen opened, when the caller has closed its own handles;
 * waits for these too. */
void daemon_close(struct daemon *daemon);

enum link_xdp daemon_xdp(enum conf_xdp xdp);
/* Says in the log how XDP was attached. */
void daemon_log_attached(const struct link_attached *attached);
