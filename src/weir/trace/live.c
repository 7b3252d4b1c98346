/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir trace of the tables that packets meet on this node: those that are pinned, whether or not
 * the daemon runs that wrote them. What it knows of names comes from the daemon.
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "base/time.h"
#include "engine/live/live.h"
#include "weir/command.h"
#include "weir/instance.h"
#include "weir/live/names.h"
#include "weir/live/steps.h"
#include "weir/trace/input.h"
#include "weir/trace/options.h"
#include "weir/trace/print.h"

enum { FRAME_MAX = TUPLE_FRAME_MAX };

static const char name[] = "trace";

struct tracer {
	const struct trace_options *options;
	struct live *live;
	struct names names;
	bool daemon; /* it runs */
	uint64_t packets, failed;
	uint8_t frame[FRAME_MAX + NATIVE_HEADROOM];
};

/* --- which node --- */

struct left {
	size_t count;
	char pins[INSTANCE_SEEN_MAX]; /* the last one's */
	char names[200];
};

/* What nodes have left pinned, or have at work. */
static void find_left(struct left *left)
{
	char path[INSTANCE_SEEN_MAX];
	DIR *dir = opendir(instance_see_pin_dir(path));
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		size_t used = strlen(left->names);

		if (entry->d_name[0] == '.' || strncmp(entry->d_name, "agent-", 6) == 0 ||
		    snprintf(left->pins, sizeof(left->pins), "%s/%s", path, entry->d_name) >=
			    INSTANCE_SEEN_MAX)
			continue;
		left->count++;
		snprintf(left->names + used, sizeof(left->names) - used, " %.80s", entry->d_name);
	}
	if (dir)
		closedir(dir);
}

/* /run/weir/NAME.sock is of NAME; "": of an agent. */
static void name_of_socket(const char *path, char ret[INSTANCE_PATH_MAX])
{
	const char *base = strrchr(path, '/');

	snprintf(ret, INSTANCE_PATH_MAX, "%s", base ? base + 1 : path);
	ret[strcspn(ret, "\n")] = '\0';
	if (strlen(ret) > 5 && strcmp(ret + strlen(ret) - 5, ".sock") == 0)
		ret[strlen(ret) - 5] = '\0';
	if (strncmp(ret, "agent-", 6) == 0)
		ret[0] = '\0';
}

static int find_pins_left(char pins[INSTANCE_SEEN_MAX])
{
	struct left left = {0};

	find_left(&left);
	if (left.count > 1)
		return command_fail(name,
				    "no node runs here, and several have left tables:%s; "
				    "choose by --node NAME",
				    left.names);
	if (!left.count)
		return command_fail(name,
				    "no node runs here, and none has left tables in %s; "
				    "--config FILE asks what a file would do",
				    INSTANCE_PIN_DIR);
	strcpy(pins, left.pins);
	return EXIT_OK;
}

/* The pins of the node that was named, of the only one that runs, or of the only one that did. */
static int find_pins(const struct trace_options *options, char pins[INSTANCE_SEEN_MAX])
{
	char path[INSTANCE_PATH_MAX], node[INSTANCE_PATH_MAX];
	struct instance instance;
	struct err err;
	int ret;

	if (ask_is_named(&options->ask)) {
		ret = ask_socket(&options->ask, name, path);
		if (ret)
			return ret;
	} else {
		ret = instance_find_socket(path, &err);
		if (ret == -EEXIST)
			return command_fail(name, "%s", err.text);
		if (ret)
			return find_pins_left(pins);
	}
	name_of_socket(path, node);
	if (!node[0])
		return find_pins_left(pins);
	instance_init(&instance, "", node);
	instance_see_pins(&instance, pins);
	return EXIT_OK;
}

/* The names that the daemon has; without it records have numbers, which is said. */
static void ask_names(struct tracer *tracer)
{
	const struct live_link *link = live_link(tracer->live);

	tracer->daemon = names_try(&tracer->options->ask, &tracer->names);
	if (tracer->daemon)
		return;
	if (link->ifindex)
		fprintf(stderr,
			"weir trace: no daemon answers: these are the tables that it left, which "
			"packets at %s still meet; services and backends have numbers for names\n",
			link->interface);
	else
		fprintf(stderr,
			"weir trace: no daemon answers, and no program is attached: these are "
			"tables that it left, which no packet meets; services and backends have "
			"numbers for names\n");
}

static int open_tracer(struct tracer *tracer)
{
	char pins[INSTANCE_SEEN_MAX];
	struct err err;
	int status = find_pins(tracer->options, pins);

	if (status)
		return status;
	status = live_open(pins, &tracer->live, &err);
	if (status == -ENOENT)
		return command_fail(name,
				    "nothing is pinned in %s: that node does not run, and has "
				    "left no tables; --config FILE asks what a file would do",
				    pins);
	if (status)
		return command_fail(name, "%s%s", err.text,
				    status == -EACCES || status == -EPERM ? " (run it as root)"
									  : "");
	ask_names(tracer);
	live_set_rates(tracer->live, time_now_ns());
	return EXIT_OK;
}

/* --- packets --- */

static void refuse(struct tracer *tracer, const char *problem)
{
	tracer->failed++;
	if (tracer->options->ask.json)
		trace_print_refused_json(problem);
	else
		trace_print_refused(tracer->packets, problem);
}

static void print(const struct tracer *tracer, const struct steps *why)
{
	json_t *json = steps_json(why);

	json_object_set_new(json, "daemon", json_boolean(tracer->daemon));
	json_object_set_new(json, "attached", json_boolean(live_link(tracer->live)->ifindex));
	if (tracer->options->ask.json) {
		json_dumpf(json, stdout, JSON_COMPACT);
		putchar('\n');
	} else {
		steps_print(tracer->packets, json);
	}
	json_decref(json);
}

/* Runs what stands in tracer->frame, now. */
static int run_packet(struct tracer *tracer, size_t length)
{
	struct trace_packet packet = {.number = tracer->packets, .length = length};
	struct dp_result result = {0};
	struct steps why = {
		.live = tracer->live,
		.names = &tracer->names,
		.result = &result,
		.out = tracer->frame,
		.length = length,
		.now_ns = time_now_ns(),
		.packet = packet.text,
	};

	trace_packet_describe(&packet, tracer->frame, length);
	if (native_run(live_native(tracer->live), tracer->frame, length, length + NATIVE_HEADROOM,
		       why.now_ns, &result))
		return command_fail(name, "packet %llu cannot be run",
				    (unsigned long long)tracer->packets);
	print(tracer, &why);
	return EXIT_OK;
}

static int run_hex(struct tracer *tracer)
{
	const struct trace_options *options = tracer->options;
	int status = EXIT_OK;

	for (size_t i = 0; i < options->packet_count && !status; i++) {
		const char *text = options->packets[i];
		size_t length = 0;
		const char *wrong = trace_parse_hex(&text, '\0', tracer->frame, FRAME_MAX, &length);

		tracer->packets++;
		if (wrong)
			return command_usage_error(name, "--packet number %zu: %s", i + 1, wrong);
		if (length > FRAME_MAX)
			refuse(tracer, "longer than can be run");
		else
			status = run_packet(tracer, length);
	}
	return status;
}

static int run_captured(struct tracer *tracer, const struct trace_captured *captured)
{
	tracer->packets++;
	if (captured->length < captured->wire_length || captured->length > FRAME_MAX) {
		refuse(tracer, "captured short, or longer than can be run");
		return EXIT_OK;
	}
	memcpy(tracer->frame, captured->bytes, captured->length);
	return run_packet(tracer, captured->length);
}

static int run_pcap(struct tracer *tracer)
{
	const char *path = tracer->options->pcap;
	struct trace_captured captured;
	struct trace_capture capture;
	struct err err = {0};
	int got, status = EXIT_OK;

	if (trace_capture_open(path, &capture, &err))
		return command_fail(name, "%s: %s", path, err.text);
	while (!status && !ferror(stdout)) {
		got = trace_capture_next(&capture, &captured, &err);
		if (got <= 0)
			break;
		status = run_captured(tracer, &captured);
	}
	if (!status && err.text[0])
		status = command_fail(name, "%s: after packet %llu: %s", path,
				      (unsigned long long)tracer->packets, err.text);
	trace_capture_close(&capture);
	return status;
}

static int run_tuple(struct tracer *tracer)
{
	size_t length = tuple_frame(&tracer->options->tuple, tracer->frame);

	tracer->packets++;
	if (length)
		return run_packet(tracer, length);
	return command_usage_error(name, "--length %zu: shorter than its headers, or too long",
				   tracer->options->tuple.length);
}

static int run_all(struct tracer *tracer)
{
	int status;

	if (tracer->options->pcap)
		status = run_pcap(tracer);
	else if (tracer->options->packet_count)
		status = run_hex(tracer);
	else
		status = run_tuple(tracer);
	if (!status && tracer->failed)
		status = command_fail(name, "%llu of %llu %s could not be run",
				      (unsigned long long)tracer->failed,
				      (unsigned long long)tracer->packets,
				      plural(tracer->packets, "packet", "packets"));
	return status;
}

int trace_live(const struct trace_options *options)
{
	struct tracer *tracer = calloc(1, sizeof(*tracer));
	int status;

	if (!tracer)
		return command_fail(name, "out of memory");
	tracer->options = options;
	status = open_tracer(tracer);
	if (!status)
		status = run_all(tracer);
	names_fini(&tracer->names);
	live_close(tracer->live);
	free(tracer);
	return status;
}
