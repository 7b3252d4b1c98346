/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BFD sessions alone, for bfd.sh:
 *
 *   bfd_end STATUS LOCAL PEER INTERVAL_MS MULTIPLIER HOPS [LOCAL PEER ...]
 *
 * Prints a line for each piece of news: `up 192.0.2.1 hops=0 state=up ...`. The file STATUS has the
 * same lines as they are now, with the word `is`. SIGUSR1 doubles every interval. SIGTERM says
 * AdminDown and ends.
 */
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "bfd/bfd.h"

enum { WORDS = 5, ENDS_MAX = 8, STATUS_MS = 20 };

struct end {
	struct bfd_spec spec;
	struct bfd_session *session;
};

static uv_loop_t loop;
static struct bfd *bfd;
static struct end ends[ENDS_MAX];
static int count;
static const char *status_file;
static uv_timer_t timer;
static uv_signal_t signals[2];

static void die(const char *what)
{
	fprintf(stderr, "bfd_end: %s\n", what);
	exit(2);
}

static void print(FILE *file, const struct end *end, const char *word)
{
	struct bfd_refusals refusals;
	struct bfd_status status;
	char text[ADDR_TEXT_MAX];

	bfd_status(end->session, &status);
	bfd_refusals(bfd, &refusals);
	fprintf(file,
		"%s %s hops=%d state=%s peer=%s send_us=%u detect_us=%u independent=%d losses=%u "
		"sent=%llu received=%llu refused=%llu kernel=%llu why=\"%s\" peer_why=\"%s\" "
		"error=\"%s\"\n",
		word, addr_format(&end->spec.peer, text), end->spec.hops,
		bfd_state_name(status.state), bfd_state_name(status.peer_state),
		status.send_interval_us, status.detect_us, status.peer_independent, status.losses,
		(unsigned long long)status.sent, (unsigned long long)status.received,
		(unsigned long long)status.refused, (unsigned long long)refusals.kernel, status.why,
		status.peer_why, status.error);
}

static void on_news(void *arg, struct bfd_session *session, enum bfd_news news)
{
	static const char *const words[] = {
		[BFD_NEWS_UP] = "up",
		[BFD_NEWS_LOST] = "lost",
		[BFD_NEWS_OFF] = "off",
	};

	(void)session;
	print(stdout, arg, words[news]);
	fflush(stdout);
}

/* By another name first: who reads finds all lines, of one time. */
static void on_timer(uv_timer_t *unused)
{
	char name[256];
	FILE *file;

	(void)unused;
	snprintf(name, sizeof(name), "%s.new", status_file);
	file = fopen(name, "we");
	if (!file)
		die("the status file");
	for (int i = 0; i < count; i++)
		print(file, &ends[i], "is");
	fclose(file);
	rename(name, status_file);
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct err err;

	(void)handle;
	for (int i = 0; i < count; i++) {
		if (number != SIGUSR1)
			continue;
		ends[i].spec.interval_ms *= 2;
		if (bfd_change(ends[i].session, ends[i].spec.interval_ms, ends[i].spec.multiplier,
			       &err))
			die(err.text);
	}
	if (number != SIGTERM)
		return;
	bfd_close(bfd);
	uv_close((uv_handle_t *)&timer, NULL);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		uv_close((uv_handle_t *)&signals[i], NULL);
}

static void add(char **words)
{
	struct end *end = &ends[count++];
	struct err err;

	if (addr_parse(words[0], &end->spec.local) || addr_parse(words[1], &end->spec.peer))
		die("an address is wrong");
	end->spec.interval_ms = (uint32_t)atoi(words[2]);
	end->spec.multiplier = (uint8_t)atoi(words[3]);
	end->spec.hops = (uint8_t)atoi(words[4]);
	if (bfd_add(bfd, &end->spec, on_news, end, &end->session, &err))
		die(err.text);
}

int main(int argc, char **argv)
{
	static const int numbers[] = {SIGTERM, SIGUSR1};
	struct err err;

	uv_loop_init(&loop);
	if (argc < 2 + WORDS || (argc - 2) % WORDS || (argc - 2) / WORDS > ENDS_MAX)
		die("STATUS, and for each end LOCAL PEER INTERVAL_MS MULTIPLIER HOPS");
	status_file = argv[1];
	if (bfd_open(&loop, &bfd, &err))
		die(err.text);
	for (int i = 2; i < argc; i += WORDS)
		add(argv + i);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++) {
		uv_signal_init(&loop, &signals[i]);
		uv_signal_start(&signals[i], on_signal, numbers[i]);
	}
	uv_timer_init(&loop, &timer);
	uv_timer_start(&timer, on_timer, 0, STATUS_MS);
	uv_run(&loop, UV_RUN_DEFAULT);
	return 0;
}
