/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who captures is known by a descriptor of its process, which the kernel makes readable when that
 * ends, in whatever way: so a killed `weir capture` leaves nothing, and needs to say nothing.
 */
#include "weir/node/capturer.h"

#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/event.h"
#include "base/time.h"
#include "dp/verdict.h"
#include "engine/capture/capture.h"
#include "weir/show.h"

enum {
	SECONDS_MAX = 24 * 3600,
	RATE_MAX = 1000 * 1000,
	GRACE_S = 5, /* in which the process ends by itself */
};

struct capturer {
	struct app *app;
	uv_poll_t process;
	uv_timer_t deadline;
	int pidfd;
	pid_t pid;
	int seconds;
	int handles;
};

static json_t *refuse(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static void on_closed(uv_handle_t *handle)
{
	struct capturer *capturer = handle->data;

	if (--capturer->handles == 0)
		free(capturer);
}

static void end(struct capturer *capturer, const char *why)
{
	struct app *app = capturer->app;

	capture_stop(app->dp);
	event_note(&(struct event_about){"capture", 1, LOG_INFO, NULL}, "capturing has ended",
		   "pid=%d reason=%s", (int)capturer->pid, log_quote(why).text);
	app->capturer = NULL;
	uv_close((uv_handle_t *)&capturer->process, on_closed);
	uv_close((uv_handle_t *)&capturer->deadline, on_closed);
	close(capturer->pidfd);
}

static void on_process(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	end(poll->data, "its process has ended");
}

static void on_deadline(uv_timer_t *timer)
{
	end(timer->data, "its time is over");
}

void capturer_close(struct app *app)
{
	if (app->capturer)
		end(app->capturer, "the node ends");
}

/* --- the request --- */

struct wanted {
	const char *src, *dst, *service;
	int sport, dport, proto, rate, count, snaplen, seconds;
	json_int_t verdicts;
};

static bool set_addr(const char *text, struct pkt_addr *ret)
{
	struct addr addr;

	if (!text)
		return true;
	if (addr_parse(text, &addr))
		return false;
	*ret = dp_addr(&addr);
	return true;
}

static bool set_service(const struct app *app, const char *name, uint32_t *ret)
{
	for (size_t i = 0; name && i < app->conf->service_count; i++) {
		if (strcmp(app->conf->services[i].name, name) != 0)
			continue;
		*ret = balancer_service_record(app->balancer, i);
		return true;
	}
	return !name;
}

static bool in_range(int value, int least, int most)
{
	return value >= least && value <= most;
}

/* NULL, or what is wrong. */
static const char *make_filter(const struct app *app, const struct wanted *wanted,
			       struct abi_capture_filter *ret)
{
	static const uint64_t all = (1ULL << VERDICT_COUNT) - 1;

	if (!in_range(wanted->sport, 0, 65535) || !in_range(wanted->dport, 0, 65535) ||
	    !in_range(wanted->proto, 0, 255) || !in_range(wanted->rate, 1, RATE_MAX) ||
	    !in_range(wanted->snaplen, ABI_CAPTURE_LEAST, ABI_CAPTURE_BYTES) || wanted->count < 1 ||
	    !in_range(wanted->seconds, 1, SECONDS_MAX) || wanted->verdicts < 0)
		return "a number that is too large, or too small";
	*ret = (struct abi_capture_filter){
		.sport = htons((uint16_t)wanted->sport),
		.dport = htons((uint16_t)wanted->dport),
		.proto = (uint8_t)wanted->proto,
		.snaplen = (uint32_t)wanted->snaplen,
		.verdicts = wanted->verdicts ? (uint64_t)wanted->verdicts & all : all,
		.gap_ns = TIME_SECOND_NS / (uint64_t)wanted->rate,
		.limit = (uint32_t)wanted->count,
	};
	if (!set_addr(wanted->src, &ret->src) || !set_addr(wanted->dst, &ret->dst))
		return "what is no address";
	return set_service(app, wanted->service, &ret->service) ? NULL : "no such service";
}

/* Watches the process. 0 or -errno. */
static int capturer_new(struct app *app, pid_t pid, int seconds)
{
	struct capturer *capturer = calloc(1, sizeof(*capturer));
	int error;

	if (!capturer)
		return -ENOMEM;
	capturer->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	error = capturer->pidfd < 0 ? -errno : 0;
	if (!error)
		error = uv_poll_init(&app->daemon.loop, &capturer->process, capturer->pidfd);
	if (error) {
		if (capturer->pidfd >= 0)
			close(capturer->pidfd);
		free(capturer);
		return error;
	}
	uv_timer_init(&app->daemon.loop, &capturer->deadline);
	capturer->app = app;
	capturer->pid = pid;
	capturer->seconds = seconds;
	capturer->handles = 2;
	capturer->process.data = capturer->deadline.data = capturer;
	uv_poll_start(&capturer->process, UV_READABLE, on_process);
	uv_update_time(&app->daemon.loop);
	uv_timer_start(&capturer->deadline, on_deadline, ((uint64_t)seconds + GRACE_S) * 1000, 0);
	app->capturer = capturer;
	return 0;
}

static json_t *on_capture(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;
	struct wanted wanted = {.rate = 1, .count = 1, .snaplen = 1, .seconds = 1};
	struct abi_capture_filter filter;
	struct capture_ids ids;
	const char *op, *wrong;
	struct err err;

	if (json_unpack((json_t *)request->json,
			"{s:s, s?s, s?s, s?i, s?i, s?i, s?s, s?I, s:i, s:i, s:i, s:i !}", "op", &op,
			"src", &wanted.src, "dst", &wanted.dst, "sport", &wanted.sport, "dport",
			&wanted.dport, "proto", &wanted.proto, "service", &wanted.service,
			"verdicts", &wanted.verdicts, "rate", &wanted.rate, "count", &wanted.count,
			"snaplen", &wanted.snaplen, "seconds", &wanted.seconds))
		return refuse("the request is not what this weir's `weir capture` would send");
	wrong = make_filter(app, &wanted, &filter);
	if (wrong)
		return refuse(wrong);
	if (app->capturer)
		return json_pack(
			"{s:o}", "error",
			json_sprintf("process %d captures already", (int)app->capturer->pid));
	if (capture_start(app->dp, &filter, &ids, &err))
		return refuse(err.text);
	if (capturer_new(app, request->pid, wanted.seconds)) {
		capture_stop(app->dp);
		return refuse("the process that asks is not seen from here (another container?)");
	}
	event_note(&(struct event_about){"capture", 1, LOG_INFO, NULL}, "capturing",
		   "pid=%d seconds=%d count=%d rate=%d", (int)request->pid, wanted.seconds,
		   wanted.count, wanted.rate);
	return json_pack("{s:I, s:I, s:I}", "program", (json_int_t)ids.program, "ring",
			 (json_int_t)ids.ring, "counts", (json_int_t)ids.counts);
}

/* Is it the one whose process asks? */
static bool is_capturer(const struct app *app, const struct daemon_request *request)
{
	return app->capturer && request->pid == app->capturer->pid;
}

/* Its ring is open. */
static json_t *on_capture_begin(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;
	uint64_t span_ns;

	if (!is_capturer(app, request))
		return refuse("it does not capture any more");
	span_ns = (uint64_t)app->capturer->seconds * TIME_SECOND_NS;
	if (capture_begin(app->dp, time_now_ns() + span_ns))
		return refuse("another program has come in its place");
	return json_object();
}

static json_t *on_capture_end(void *arg, const struct daemon_request *request)
{
	struct app *app = arg;

	if (is_capturer(app, request))
		end(app->capturer, "asked for");
	return json_object();
}

/* --- which record is whose --- */

static void set_by_number(json_t *object, uint32_t number, json_t *value)
{
	char key[16];

	snprintf(key, sizeof(key), "%u", number);
	json_object_set_new(object, key, value);
}

/* Asks the kernel once for each. */
static void set_interface(json_t *interfaces, uint32_t index)
{
	char name[IF_NAMESIZE], key[16];

	snprintf(key, sizeof(key), "%u", index);
	if (index && !json_object_get(interfaces, key) && if_indextoname(index, name))
		set_by_number(interfaces, index, show_bytes(name));
}

static json_t *on_records(void *arg, const struct daemon_request *request)
{
	const struct app *app = arg;
	const struct dp_tables *tables = dp_tables(app->dp);
	const struct links *links = dp_links(app->dp);
	json_t *services = json_object(), *backends = json_object(), *interfaces = json_object();
	const struct conf *conf = app->conf;

	(void)request;
	for (size_t s = 0; s < conf->service_count; s++)
		set_by_number(services, balancer_service_record(app->balancer, s),
			      json_string(conf->services[s].name));
	for (size_t p = 0; p < conf->pool_count; p++) {
		for (size_t m = 0; m < conf->pools[p].backend_count; m++) {
			uint32_t record = balancer_backend_record(app->balancer, p, m);

			set_by_number(backends, record,
				      json_sprintf("%s/%s", conf->pools[p].name,
						   conf->pools[p].backends[m].name));
			set_interface(interfaces, tables->backends[record].ifindex);
		}
	}
	for (size_t i = 0; i < links->count; i++)
		set_interface(interfaces, (uint32_t)links->attached[i].ifindex);
	return json_pack("{s:s, s:o, s:o, s:o}", "node", conf->node.name, "services", services,
			 "backends", backends, "interfaces", interfaces);
}

const struct daemon_op capturer_ops[] = {
	{"capture", DAEMON_CHANGES, on_capture},
	{"capture_begin", DAEMON_CHANGES, on_capture_begin},
	{"capture_end", DAEMON_CHANGES, on_capture_end},
	{"records", DAEMON_READS, on_records},
	{0},
};
