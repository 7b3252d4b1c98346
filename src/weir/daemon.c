/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/event.h"
#include "base/time.h"
#include "bpf/link.h"
#include "host/host.h"
#include "weir/again/again.h"
#include "weir/events/events.h"
#include "weir/show.h"

enum {
	WATCH_MS = 1000, /* between looks at whether the programs are still attached */
	LINGER_MS = 50,  /* for an answer to leave */
};

/* --- the end --- */

static void on_linger(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

void daemon_end_now(struct daemon *daemon)
{
	uv_timer_start(&daemon->linger, on_linger, LINGER_MS, 0);
}

void daemon_before_end(struct daemon *daemon, daemon_ending *ending, void *arg)
{
	daemon->ending = ending;
	daemon->ending_arg = arg;
}

static void begin_end(struct daemon *daemon, enum daemon_end end)
{
	daemon->end = end;
	if (end == DAEMON_STOP || daemon->leaves)
		notify_stopping();
	else
		notify_again();
	if (daemon->ending)
		daemon->ending(daemon->ending_arg, end);
	else
		daemon_end_now(daemon);
}

/*
 * It leaves all at work already, and its sessions with routers are closed, so that nothing could be
 * withdrawn any more. So the successor ends, which meets them again. Where somebody else starts
 * that one it is theirs to end it.
 */
static void signal_late(struct daemon *daemon, int number)
{
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL},
		   daemon->leaves ? "leaving at once" : "the successor will be stopped",
		   "signal=%d", number);
	if (daemon->leaves)
		uv_stop(&daemon->loop);
	else
		daemon->handed_signal = number;
}

static void on_signal(uv_signal_t *signal, int number)
{
	struct daemon *daemon = signal->data;

	if (number == SIGHUP && daemon->hangup) {
		daemon->hangup(daemon->arg);
		return;
	}
	if (number == SIGHUP) {
		log_warn("SIGHUP has no effect: a restart loads a changed file "
			 "without a gap",
			 "file=%s", log_quote(daemon->file).text);
		return;
	}
	if (daemon->end == DAEMON_RESTART) {
		signal_late(daemon, number);
		return;
	}
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "stopping", "signal=%d",
		   number);
	if (daemon->end == DAEMON_STOP) {
		uv_stop(&daemon->loop);
		return;
	}
	begin_end(daemon, DAEMON_STOP);
}

static void do_nothing(uv_work_t *work)
{
	(void)work;
}

/*
 * The loop's threads begin with the first work for them, with the mask of who asks for it. They are
 * to take no signal: one that waits for another program, as this thread holds it back, would come
 * to one of them, and be lost.
 */
static void start_workers(struct daemon *daemon)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	uv_queue_work(&daemon->loop, &daemon->first_work, do_nothing, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void start_signals(struct daemon *daemon)
{
	static const int numbers[] = AGAIN_SIGNALS;

	signal(SIGPIPE, SIG_IGN);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uv_signal_init(&daemon->loop, &daemon->signals[i]);
		daemon->signals[i].data = daemon;
		uv_signal_start(&daemon->signals[i], on_signal, numbers[i]);
	}
	again_take_signals();
}

/* A probe under way holds a descriptor, and the usual soft limit of 1024 is no limit of ours. */
static void raise_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur == limit.rlim_max)
		return;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		log_warn("the limit of open files stays low", "reason=%s",
			 log_quote(strerror(errno)).text);
}

/* What only the first start after a boot needs; then nothing else of it. */
static int drop_privileges(const struct privileges_files *files, enum privileges privileges,
			   struct err *err)
{
	int error = link_mount_bpffs(err);

	return error ? error : privileges_drop(privileges, files, err);
}

static void keep_event(void *arg, const struct event *event)
{
	events_note(arg, event, time_now_ms());
}

int daemon_open(struct daemon *daemon, enum privileges privileges, const char *name,
		const struct privileges_files *files, struct err *err)
{
	const char *prefix = privileges == PRIVILEGES_AGENT ? "agent-" : "";
	int error;

	*daemon = (struct daemon){
		.file = files->first, .started_ns = time_now_ns(), .events = events_new()};
	if (!daemon->events)
		return err_set(err, -ENOMEM, "out of memory");
	instance_init(&daemon->instance, prefix, name);
	error = instance_lock(&daemon->instance, err);
	if (error) {
		events_free(daemon->events);
		return error;
	}
	error = drop_privileges(files, privileges, err);
	if (error) {
		instance_unlock(&daemon->instance);
		events_free(daemon->events);
		return error;
	}
	error = uv_loop_init(&daemon->loop);
	if (error) {
		instance_unlock(&daemon->instance);
		events_free(daemon->events);
		return err_set(err, error, "event loop: %s", uv_strerror(error));
	}
	start_workers(daemon);
	start_signals(daemon);
	uv_timer_init(&daemon->loop, &daemon->watch);
	uv_timer_init(&daemon->loop, &daemon->linger);
	daemon->watch.data = daemon;
	notify_open(&daemon->notify, &daemon->loop);
	raise_descriptors();
	again_remember();
	event_keep(keep_event, daemon->events);
	return 0;
}

/* Whether packets can come at all is as much of the state as the program. */
static void look_at_carrier(struct daemon *daemon, size_t at)
{
	const char *interface = daemon->links->attached[at].interface;
	uint32_t changes, *known = &daemon->carrier_changes[at];
	bool up = false;
	struct err err;

	if (host_interface_carrier_changes(interface, &changes))
		return;
	/* What is attached may stand at another place after a reload. */
	if (strcmp(daemon->carrier_of[at], interface) == 0 && changes != *known &&
	    !host_interface_has_carrier(interface, &up, &err))
		event_note(&(struct event_about){"link", 1, up ? LOG_INFO : LOG_WARN,
						 &daemon->carrier_log},
			   up ? "the link is up, after a change" : "the link is down",
			   "interface=%s changes=%u", interface, changes);
	snprintf(daemon->carrier_of[at], sizeof(daemon->carrier_of[at]), "%s", interface);
	*known = changes;
}

/* An interface that is deleted takes the program along; one of the same name may come later. */
static void on_watch(uv_timer_t *timer)
{
	struct daemon *daemon = timer->data;

	for (size_t i = 0; i < daemon->links->count; i++) {
		const struct link_attached *attached = &daemon->links->attached[i];
		struct err err;

		if (!link_is_lost(attached)) {
			look_at_carrier(daemon, i);
			continue;
		}
		if (!daemon->lost[i])
			event_note(&(struct event_about){"xdp", 1, LOG_ERROR, NULL},
				   "the interface is gone: nothing is attached", "interface=%s",
				   attached->interface);
		daemon->lost[i] = daemon->reattach(daemon->watch_arg, i, &err) != 0;
	}
}

void daemon_watch(struct daemon *daemon, const struct links *links, daemon_reattach *reattach,
		  void *arg)
{
	daemon->links = links;
	daemon->reattach = reattach;
	daemon->watch_arg = arg;
	uv_timer_start(&daemon->watch, on_watch, WATCH_MS, WATCH_MS);
}

/* --- requests --- */

static json_t *on_stop(void *arg, const struct daemon_request *request)
{
	struct daemon *daemon = arg;

	(void)request;
	if (daemon->end != DAEMON_RUNS)
		return json_pack("{s:s}", "error", "its end is under way already");
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "stopping", "asked=socket");
	begin_end(daemon, DAEMON_STOP);
	return json_pack("{s:i}", "pid", (int)getpid());
}

/* Who comes next is somebody else's to start. */
static json_t *on_leave(void *arg, const struct daemon_request *request)
{
	struct daemon *daemon = arg;

	(void)request;
	if (daemon->end != DAEMON_RUNS)
		return json_pack("{s:s}", "error", "its end is under way already");
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "leaving", "asked=socket");
	daemon->leaves = true;
	begin_end(daemon, DAEMON_RESTART);
	return json_pack("{s:i}", "pid", (int)getpid());
}

/* Nothing is ended before who comes after is known to take the file. */
static void on_answered(void *arg, const struct err *err)
{
	struct daemon *daemon = arg;

	daemon->asks = NULL;
	if (daemon->end != DAEMON_RUNS)
		return;
	if (err) {
		daemon->refusal = *err;
		event_note(&(struct event_about){"daemon", 0, LOG_ERROR, NULL}, "no restart",
			   "reason=%s", log_quote(err->text).text);
		return;
	}
	event_note(&(struct event_about){"daemon", 0, LOG_INFO, NULL}, "restarting",
		   "asked=socket");
	begin_end(daemon, DAEMON_RESTART);
}

/* Who is asked takes its time; how it went is asked for then. */
static json_t *on_restart(void *arg, const struct daemon_request *request)
{
	struct daemon *daemon = arg;
	struct err err;

	(void)request;
	if (daemon->end != DAEMON_RUNS)
		return json_pack("{s:s}", "error", "its end is under way already");
	daemon->refusal.text[0] = '\0';
	if (!daemon->asks &&
	    again_ask_start(&daemon->loop, daemon->file, on_answered, daemon, &daemon->asks, &err))
		return json_pack("{s:o}", "error", show_bytes(err.text));
	return json_pack("{s:i, s:b}", "pid", (int)getpid(), "asks", 1);
}

static json_t *on_restart_result(void *arg, const struct daemon_request *request)
{
	const struct daemon *daemon = arg;

	(void)request;
	if (daemon->refusal.text[0])
		return json_pack("{s:o}", "refused", show_bytes(daemon->refusal.text));
	return json_pack("{s:i, s:b}", "pid", (int)getpid(), "asks", daemon->asks != NULL);
}

static json_t *on_status(void *arg, const struct daemon_request *request)
{
	struct daemon *daemon = arg;

	(void)request;
	return daemon->report(daemon->arg);
}

static json_t *on_events(void *arg, const struct daemon_request *request)
{
	return events_answer(((struct daemon *)arg)->events, request->json);
}

const struct daemon_op daemon_ops[] = {
	{"status", DAEMON_READS, on_status},
	{"events", DAEMON_READS, on_events},
	{"stop", DAEMON_CHANGES, on_stop},
	{"leave", DAEMON_CHANGES, on_leave},
	{"restart", DAEMON_CHANGES, on_restart},
	{"restart_result", DAEMON_READS, on_restart_result},
	{0},
};

static const struct daemon_op *find_in(const struct daemon_op *op, const char *name)
{
	while (op->name && strcmp(op->name, name) != 0)
		op++;
	return op->name ? op : NULL;
}

const struct daemon_op *daemon_op_find(const struct daemon_op *const *tables, const char *name)
{
	const struct daemon_op *found = NULL;

	while (tables && *tables && !found)
		found = find_in(*tables++, name);
	return found;
}

static json_t *on_request(void *arg, const json_t *json, const struct control_peer *peer)
{
	struct daemon *daemon = arg;
	const char *name = json_string_value(json_object_get(json, "op"));
	const struct daemon_request request = {name, json, peer->pid};
	const struct daemon_op *own = name ? find_in(daemon_ops, name) : NULL;
	const struct daemon_op *op = own || !name ? own : daemon_op_find(daemon->ops, name);

	if (!op)
		return json_pack("{s:s}", "error",
				 daemon->ops ? "this node knows no such request"
					     : "unknown request; an agent knows: status, events, "
					       "stop, leave, restart");
	if (!peer->is_trusted && op->access != DAEMON_READS)
		return json_pack("{s:s}", "error",
				 "that is for root alone; others may ask for the status");
	return op->answer(own ? daemon : daemon->arg, &request);
}

int daemon_listen(struct daemon *daemon, daemon_report *report, const struct daemon_op *const *ops,
		  void *arg, struct err *err)
{
	daemon->report = report;
	daemon->ops = ops;
	daemon->arg = arg;
	return control_listen(&daemon->loop, daemon->instance.socket, on_request, daemon,
			      &daemon->control, err);
}

/* A signal from now on is the successor's; and so is one that came since its turn was certain: it
 * waits for who is called. */
static void hand_on_signals(struct daemon *daemon)
{
	again_hold_signals();
	uv_run(&daemon->loop, UV_RUN_NOWAIT);
	if (daemon->handed_signal)
		raise(daemon->handed_signal);
}

bool daemon_calls_again(const struct daemon *daemon)
{
	return daemon->end == DAEMON_RESTART && !daemon->leaves;
}

void daemon_let_go(const struct daemon *daemon, struct instance *instance)
{
	if (daemon_calls_again(daemon))
		instance_hand_over(instance);
	else
		instance_unlock(instance);
}

enum daemon_end daemon_run(struct daemon *daemon)
{
	instance_take_no_more();
	if (daemon->end == DAEMON_RUNS) {
		notify_ready(daemon->file);
		uv_run(&daemon->loop, UV_RUN_DEFAULT);
	}
	if (daemon_calls_again(daemon))
		hand_on_signals(daemon);
	return daemon->end;
}

void daemon_close(struct daemon *daemon)
{
	if (daemon->control)
		control_close(daemon->control);
	if (daemon->asks)
		again_ask_abandon(daemon->asks);
	for (size_t i = 0; i < sizeof(daemon->signals) / sizeof(daemon->signals[0]); i++)
		uv_close((uv_handle_t *)&daemon->signals[i], NULL);
	notify_close(&daemon->notify);
	uv_close((uv_handle_t *)&daemon->watch, NULL);
	uv_close((uv_handle_t *)&daemon->linger, NULL);
	uv_run(&daemon->loop, UV_RUN_DEFAULT);
	uv_loop_close(&daemon->loop);
	daemon_let_go(daemon, &daemon->instance);
	event_keep(NULL, NULL);
	events_free(daemon->events);
}

enum link_xdp daemon_xdp(enum conf_xdp xdp)
{
	static const enum link_xdp modes[] = {
		[CONF_XDP_NATIVE] = LINK_XDP_NATIVE,
		[CONF_XDP_GENERIC] = LINK_XDP_GENERIC,
		[CONF_XDP_AUTO] = LINK_XDP_AUTO,
	};

	return modes[xdp];
}

void daemon_log_attached(const struct link_attached *attached)
{
	if (link_fell_back(attached))
		event_note(&(struct event_about){"xdp", 1, LOG_WARN, NULL},
			   "XDP fell back to generic mode, which is several times slower",
			   "interface=%s reason=%s", attached->interface,
			   log_quote(attached->why).text);
	event_note(&(struct event_about){"xdp", 1, LOG_INFO, NULL}, "attached",
		   "interface=%s xdp=%s adopted=%s", attached->interface,
		   link_xdp_name(attached->mode), attached->adopted ? "yes" : "no");
}
