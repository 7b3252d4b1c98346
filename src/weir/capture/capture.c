/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * weir capture: packets as they go into XDP and out of it, with what became of each. The node puts
 * another program over the same tables in its own one's place, and back: with that nobody captures
 * costs nothing. This process has the program's ring, and the node watches this process; whichever
 * way it ends, the balancer's own program is at work again.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "admin/control.h"
#include "base/plural.h"
#include "base/time.h"
#include "engine/capture/ring.h"
#include "weir/capture/output.h"
#include "weir/cli/ask.h"
#include "weir/command.h"
#include "weir/live/tuple.h"
#include "weir/show.h"

enum {
	COUNT_DEFAULT = 1000,
	RATE_DEFAULT = 1000,
	SECONDS_DEFAULT = 60,
	SNAPLEN_DEFAULT = 2048,
	POLL_MS = 100,
	LAST_POLL_MS = 0,
};

static const char name[] = "capture";

static const char help[] =
	"usage: weir capture [OPTION ...]\n"
	"\n"
	"Shows packets as they come in to the node's XDP program and as they leave it, each with\n"
	"its verdict, service and backend. It ends after --count packets or --seconds; while\n"
	"nobody captures nothing of it is in the packets' way. Needs root.\n"
	"\n"
	"      --service NAME  of this service alone\n"
	"      --tuple TUPLE   of this flow: \"tcp 192.0.2.1:40000 198.51.100.10:443\"; each part\n"
	"                      may be any: \"any any 198.51.100.10\"\n"
	"      --verdict LIST  with these verdicts: denied,too_big (`weir explain` lists them)\n"
	"      --drops         with any verdict that ends a packet\n"
	"      --count N       packets at most (1000)\n"
	"      --rate N/s      packets a second of each core at most (1000); others are counted\n"
	"      --seconds N     for how long at most (60)\n"
	"      --snaplen N     bytes of a packet at most (2048; 14 to 9216)\n"
	"  -w, --write FILE    as pcapng, with comments, for tshark and Wireshark; - is standard\n"
	"                      output. Without it: a line a packet\n" ASK_HELP
	"  -j, --json          a JSON object a line\n"
	"  -h, --help          this text\n";

struct options {
	struct ask ask;
	const char *service, *tuple, *verdicts, *count, *rate, *seconds, *snaplen, *write;
	bool drops;
};

struct capture {
	struct options options;
	struct tuple tuple;
	uint64_t verdicts; /* 0: any */
	long count, rate, seconds, snaplen;
	struct names names;
	struct output output;
	struct capture_ring *ring;
	uint64_t packets; /* shown */
	bool skips;       /* what goes out of the packet that is not shown */
};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
	(void)number;
	stopped = 1;
}

/* --- the command line --- */

static int parse_number(const char *option, const char *text, long most, long *ret)
{
	long least = strcmp(option, "snaplen") == 0 ? ABI_CAPTURE_LEAST : 1;
	char *end;

	if (!text)
		return EXIT_OK;
	errno = 0;
	*ret = strtol(text, &end, 10);
	if (strcmp(option, "rate") == 0 && strcmp(end, "/s") == 0)
		end += 2;
	if (errno || end == text || *end || *ret < least || *ret > most)
		return command_usage_error(name, "--%s %s: expected %ld to %ld", option, text,
					   least, most);
	return EXIT_OK;
}

static int parse_verdicts(const char *list, uint64_t *ret)
{
	while (list) {
		size_t length = strcspn(list, ",");
		enum verdict verdict;
		char text[32];

		snprintf(text, sizeof(text), "%.*s", (int)length, list);
		if (length >= sizeof(text) || !show_find_verdict(text, &verdict))
			return command_usage_error(
				name, "--verdict: \"%.*s\" is none; `weir explain` lists them",
				(int)length, list);
		*ret |= 1ULL << verdict;
		list = list[length] ? list + length + 1 : NULL;
	}
	return EXIT_OK;
}

static uint64_t drop_verdicts(void)
{
	uint64_t drops = 0;

	for (uint32_t v = 0; v < VERDICT_COUNT; v++) {
		const char *action = show_verdict_action(v);

		if (strcmp(action, "drop") == 0 || strcmp(action, "aborted") == 0)
			drops |= 1ULL << v;
	}
	return drops;
}

static int parse_values(struct capture *capture)
{
	const struct options *options = &capture->options;
	struct err err;
	int wrong;

	capture->count = COUNT_DEFAULT;
	capture->rate = RATE_DEFAULT;
	capture->seconds = SECONDS_DEFAULT;
	capture->snaplen = SNAPLEN_DEFAULT;
	wrong = parse_number("count", options->count, INT_MAX, &capture->count);
	if (!wrong)
		wrong = parse_number("rate", options->rate, 1000 * 1000, &capture->rate);
	if (!wrong)
		wrong = parse_number("seconds", options->seconds, 24 * 3600, &capture->seconds);
	if (!wrong)
		wrong = parse_number("snaplen", options->snaplen, ABI_CAPTURE_BYTES,
				     &capture->snaplen);
	if (!wrong)
		wrong = parse_verdicts(options->verdicts, &capture->verdicts);
	if (!wrong && options->tuple && tuple_parse_text(options->tuple, &capture->tuple, &err))
		wrong = command_usage_error(name, "--tuple: %s", err.text);
	if (options->drops)
		capture->verdicts |= drop_verdicts();
	if (!wrong && options->ask.json && options->write)
		wrong = command_usage_error(name, "--json and --write exclude each other");
	return wrong;
}

static int set_once(const char **field, const char *option)
{
	return command_set_once(field, name, option, optarg);
}

static int parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {{"service", required_argument, NULL, 'S'},
					      {"tuple", required_argument, NULL, 't'},
					      {"verdict", required_argument, NULL, 'v'},
					      {"drops", no_argument, NULL, 'd'},
					      {"count", required_argument, NULL, 'c'},
					      {"rate", required_argument, NULL, 'r'},
					      {"seconds", required_argument, NULL, 'T'},
					      {"snaplen", required_argument, NULL, 'l'},
					      {"write", required_argument, NULL, 'w'},
					      ASK_OPTIONS,
					      {0}};
	int wrong = EXIT_OK, option;

	while (!wrong && (option = command_option(argc, argv, ASK_LETTERS "w:", known)) != -1) {
		switch (option) {
		case 'S': wrong = set_once(&options->service, "service"); break;
		case 't': wrong = set_once(&options->tuple, "tuple"); break;
		case 'v': wrong = set_once(&options->verdicts, "verdict"); break;
		case 'd': options->drops = true; break;
		case 'c': wrong = set_once(&options->count, "count"); break;
		case 'r': wrong = set_once(&options->rate, "rate"); break;
		case 'T': wrong = set_once(&options->seconds, "seconds"); break;
		case 'l': wrong = set_once(&options->snaplen, "snaplen"); break;
		case 'w': wrong = set_once(&options->write, "write"); break;
		case 'h': fputs(help, stdout); exit(EXIT_OK);
		default: wrong = ask_option(&options->ask, name, option, optarg);
		}
	}
	if (!wrong && optind != argc)
		wrong = command_usage_error(name, "\"%s\" is too much", argv[optind]);
	return wrong;
}

/* --- the node --- */

static void set_addr(json_t *request, const char *key, const struct addr *addr)
{
	char text[ADDR_TEXT_MAX];

	if (!addr_is_none(addr))
		json_object_set_new(request, key, json_string(addr_format(addr, text)));
}

static json_t *make_request(const struct capture *capture)
{
	const struct tuple *tuple = &capture->tuple;
	json_t *request = json_pack("{s:s, s:i, s:i, s:i, s:I, s:i, s:i, s:i, s:i}", "op",
				    "capture", "sport", (int)tuple->sport, "dport",
				    (int)tuple->dport, "proto", (int)tuple->proto, "verdicts",
				    (json_int_t)capture->verdicts, "rate", (int)capture->rate,
				    "count", (int)capture->count, "snaplen", (int)capture->snaplen,
				    "seconds", (int)capture->seconds);

	set_addr(request, "src", &tuple->src);
	set_addr(request, "dst", &tuple->dst);
	if (capture->options.service)
		json_object_set_new(request, "service", json_string(capture->options.service));
	return request;
}

static uint32_t id_of(const json_t *answer, const char *key)
{
	return (uint32_t)json_integer_value(json_object_get(answer, key));
}

/* Only now, so that no packet comes before there is a ring. */
static int tell_begin(const struct capture *capture)
{
	json_t *answer = NULL;
	int status = ask_daemon(&capture->options.ask, name,
				json_pack("{s:s}", "op", "capture_begin"), &answer);

	json_decref(answer);
	return status;
}

static void tell_end(const struct capture *capture)
{
	char path[INSTANCE_PATH_MAX];
	json_t *request, *answer;
	struct err err;

	/* Whoever is gone needs no word, and of any other end the node knows by itself. */
	if (ask_socket(&capture->options.ask, name, path))
		return;
	request = json_pack("{s:s}", "op", "capture_end");
	if (control_call(path, request, 2000, &answer, &err) == 0)
		json_decref(answer);
	json_decref(request);
}

/* --- what comes --- */

/* The program knows no ports of what is not for a VIP: what it let through is looked at again. */
static bool fits(struct capture *capture, const struct abi_capture *record, const uint8_t *bytes)
{
	const struct tuple *tuple = &capture->tuple;
	struct output_ports ports;

	if (record->service || (!tuple->sport && !tuple->dport))
		return true;
	ports = output_ports(&capture->output, record, bytes);
	return (!tuple->sport || tuple->sport == ports.sport) &&
	       (!tuple->dport || tuple->dport == ports.dport);
}

static void take(void *arg, const struct abi_capture *record, const uint8_t *bytes)
{
	struct capture *capture = arg;

	if (record->way == ABI_CAPTURE_IN) {
		capture->skips = capture->packets >= (uint64_t)capture->count ||
				 !fits(capture, record, bytes);
		capture->packets += !capture->skips;
	}
	if (!capture->skips)
		output_record(&capture->output, record, bytes);
}

static bool is_done(const struct capture *capture, uint64_t end_ns)
{
	return stopped || capture->packets >= (uint64_t)capture->count || time_now_ns() >= end_ns ||
	       ferror(capture->output.file);
}

static int follow(struct capture *capture)
{
	uint64_t end_ns = time_now_ns() + (uint64_t)capture->seconds * TIME_SECOND_NS;
	int error;

	while (!is_done(capture, end_ns)) {
		error = capture_ring_poll(capture->ring, POLL_MS);
		if (error && error != -EINTR)
			return command_fail(name, "the ring: %s", strerror(-error));
		/* Who reads them is to see packets when they come. */
		fflush(capture->output.file);
		if (!capture_ring_is_fed(capture->ring))
			return command_fail(name, "the node has ended it: another program has come "
						  "in its place (a reload, a restart, the end)");
	}
	capture_ring_poll(capture->ring, LAST_POLL_MS);
	return EXIT_OK;
}

static void print_summary(const struct capture *capture)
{
	struct abi_capture_counts counts = capture_ring_counts(capture->ring);

	fprintf(stderr,
		"weir capture: %llu %s; beyond the rate or count: %llu; lost in the ring: "
		"%llu\n",
		(unsigned long long)capture->packets, plural(capture->packets, "packet", "packets"),
		(unsigned long long)counts.limited, (unsigned long long)counts.lost);
}

/* --- beginning and end --- */

/* What packets carry is not for all users. What the file had stays until the node has agreed. */
static FILE *open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;

	if (!file && fd >= 0)
		close(fd);
	return file;
}

/* 0 or -errno; a device or a pipe has nothing to lose. */
static int empty_file(FILE *file)
{
	struct stat stat;

	if (fstat(fileno(file), &stat))
		return -errno;
	return S_ISREG(stat.st_mode) && ftruncate(fileno(file), 0) ? -errno : 0;
}

static int open_output(struct capture *capture)
{
	const char *path = capture->options.write;
	struct output *output = &capture->output;

	output->names = &capture->names;
	output->form = path                        ? OUTPUT_PCAPNG
		       : capture->options.ask.json ? OUTPUT_JSON
						   : OUTPUT_WORDS;
	output->file = path && strcmp(path, "-") != 0 ? open_file(path) : stdout;
	if (!output->file)
		return command_fail(name, "%s: %s", path, strerror(errno));
	if (output->form == OUTPUT_PCAPNG && output->file == stdout && isatty(STDOUT_FILENO))
		return command_fail(name, "a terminal shows no pcapng: pipe it, or leave -w out");
	return EXIT_OK;
}

/* The node captures. */
static int begin_output(struct capture *capture)
{
	FILE *file = capture->output.file;
	int error = file == stdout ? 0 : empty_file(file);

	if (error)
		return command_fail(name, "%s: %s", capture->options.write, strerror(-error));
	output_begin(&capture->output, (uint32_t)capture->snaplen);
	return EXIT_OK;
}

static int close_output(struct capture *capture)
{
	FILE *file = capture->output.file;
	bool failed;

	if (!file)
		return EXIT_OK;
	failed = fflush(file) != 0 || ferror(file);
	if (file != stdout)
		failed |= fclose(file) != 0;
	/* Who has read enough, as `head`, hangs up. */
	if (failed && errno != EPIPE)
		return command_fail(name, "cannot write the output: %s", strerror(errno));
	return EXIT_OK;
}

static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = on_signal};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
}

static int run(struct capture *capture)
{
	struct capture_ids ids;
	json_t *answer;
	struct err err;
	int status = ask_daemon(&capture->options.ask, name, make_request(capture), &answer);

	if (status)
		return status;
	ids = (struct capture_ids){id_of(answer, "program"), id_of(answer, "ring"),
				   id_of(answer, "counts")};
	json_decref(answer);
	if (capture_ring_open(&ids, take, capture, &capture->ring, &err))
		return command_fail(name, "%s%s", err.text, geteuid() ? " (run it as root)" : "");
	status = begin_output(capture);
	if (!status)
		status = tell_begin(capture);
	if (status)
		return status;
	fprintf(stderr, "weir capture: capturing up to %ld %s for %ld s\n", capture->count,
		plural((uint64_t)capture->count, "packet", "packets"), capture->seconds);
	status = follow(capture);
	print_summary(capture);
	return status;
}

int command_capture(int argc, char **argv)
{
	struct capture *capture = calloc(1, sizeof(*capture));
	int status, closed;

	if (!capture)
		return command_fail(name, "out of memory");
	status = parse(argc, argv, &capture->options);
	if (!status)
		status = parse_values(capture);
	if (!status)
		status = names_ask(&capture->options.ask, name, &capture->names);
	if (!status)
		status = open_output(capture);
	if (!status) {
		catch_signals();
		status = run(capture);
		tell_end(capture);
	}
	capture_ring_close(capture->ring);
	closed = close_output(capture);
	names_fini(&capture->names);
	free(capture);
	return status ? status : closed;
}
