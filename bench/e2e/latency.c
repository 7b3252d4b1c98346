// SPDX-License-Identifier: BSD-2-Clause
/*
 * Requests by HTTP at a steady rate, each on a connection of its own, however long others take:
 *
 *   latency ADDRESS PORT RATE SECONDS
 *
 * prints `latency DONE FAILED MEDIAN P99`, microseconds from when a request was due (before its
 * first SYN) to the end of its answer, which is the server's FIN. wrk, for which see e2e_bench.sh,
 * counts from when the connection stands, so that what a balancer does for a new one is in no
 * figure; and it asks the quicker way more often, so that each way is measured at another load.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OPEN_MAX = 4096, RATE_MAX = 100000, SECONDS_MAX = 60, GRACE_MS = 3000 };
static const uint64_t SECOND_NS = 1000000000;

static const char request[] = "GET / HTTP/1.0\r\nHost: bench\r\nConnection: close\r\n\r\n";

struct open {
	int fd;
	uint64_t due_ns;
	bool asked;    /* connected, and the request sent */
	bool answered; /* some of it came */
};

struct run {
	struct sockaddr_in to;
	int epoll;
	struct open open[OPEN_MAX];
	unsigned free[OPEN_MAX]; /* places, as a stack */
	unsigned free_count;
	uint64_t *took_ns;
	size_t done, failed;
};

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void end(struct run *run, struct open *open, bool well)
{
	if (well)
		run->took_ns[run->done++] = now_ns() - open->due_ns;
	else
		run->failed++;
	close(open->fd);
	run->free[run->free_count++] = (unsigned)(open - run->open);
}

static void begin(struct run *run, uint64_t due_ns)
{
	struct epoll_event event = {.events = EPOLLOUT};
	struct open *open;

	if (!run->free_count) {
		run->failed++;
		return;
	}
	open = &run->open[run->free[--run->free_count]];
	*open = (struct open){.due_ns = due_ns};
	open->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	event.data.ptr = open;
	if (open->fd < 0 ||
	    (connect(open->fd, (struct sockaddr *)&run->to, sizeof(run->to)) &&
	     errno != EINPROGRESS) ||
	    epoll_ctl(run->epoll, EPOLL_CTL_ADD, open->fd, &event))
		end(run, open, false);
}

static void ask(struct run *run, struct open *open)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = open};

	open->asked = true;
	if (send(open->fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != sizeof(request) - 1 ||
	    epoll_ctl(run->epoll, EPOLL_CTL_MOD, open->fd, &event))
		end(run, open, false);
}

static void hear(struct run *run, struct open *open)
{
	char buffer[8192];
	ssize_t got = read(open->fd, buffer, sizeof(buffer));

	if (got > 0)
		open->answered = true;
	else if (got == 0 || errno != EAGAIN)
		end(run, open, got == 0 && open->answered);
}

/* Takes what comes, until then or until something has come. */
static void serve(struct run *run, uint64_t until_ns)
{
	struct epoll_event events[64];
	uint64_t now = now_ns();
	uint64_t wait_ns = until_ns > now ? until_ns - now : 0;
	const struct timespec wait = {.tv_sec = (time_t)(wait_ns / SECOND_NS),
				      .tv_nsec = (long)(wait_ns % SECOND_NS)};
	int count = epoll_pwait2(run->epoll, events, 64, &wait, NULL);

	for (int i = 0; i < count; i++) {
		struct open *open = events[i].data.ptr;

		if (open->asked)
			hear(run, open);
		else
			ask(run, open);
	}
}

static void run_all(struct run *run, uint64_t rate, uint64_t seconds)
{
	uint64_t first_ns = now_ns(), last_ns = first_ns + seconds * SECOND_NS;
	uint64_t gap_ns = SECOND_NS / rate, due_ns = first_ns;

	while (due_ns < last_ns) {
		for (; due_ns <= now_ns() && due_ns < last_ns; due_ns += gap_ns)
			begin(run, due_ns);
		serve(run, due_ns);
	}
	last_ns += GRACE_MS * (SECOND_NS / 1000);
	while (run->free_count < OPEN_MAX && now_ns() < last_ns)
		serve(run, last_ns);
	run->failed += OPEN_MAX - run->free_count;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t at_us(const struct run *run, size_t percent)
{
	return run->done ? run->took_ns[(run->done - 1) * percent / 100] / 1000 : 0;
}

static uint64_t number(const char *text, uint64_t max)
{
	char *rest;
	unsigned long long value = strtoull(text, &rest, 10);

	if (*rest || !value || value > max) {
		fprintf(stderr, "latency: %s is no number from 1 to %llu\n", text,
			(unsigned long long)max);
		exit(2);
	}
	return value;
}

int main(int argc, char **argv)
{
	static struct run run;
	uint64_t rate, seconds;

	if (argc != 5 || inet_pton(AF_INET, argv[1], &run.to.sin_addr) != 1) {
		fputs("usage: latency ADDRESS PORT RATE SECONDS\n", stderr);
		return 2;
	}
	run.to.sin_family = AF_INET;
	run.to.sin_port = htons((uint16_t)number(argv[2], UINT16_MAX));
	rate = number(argv[3], RATE_MAX);
	seconds = number(argv[4], SECONDS_MAX);
	run.epoll = epoll_create1(EPOLL_CLOEXEC);
	run.took_ns = calloc(rate * seconds + rate, sizeof(*run.took_ns));
	if (run.epoll < 0 || !run.took_ns) {
		fputs("latency: out of memory or descriptors\n", stderr);
		return 1;
	}
	while (run.free_count < OPEN_MAX) {
		run.free[run.free_count] = run.free_count;
		run.free_count++;
	}
	run_all(&run, rate, seconds);
	qsort(run.took_ns, run.done, sizeof(*run.took_ns), compare);
	printf("latency %zu %zu %llu %llu\n", run.done, run.failed,
	       (unsigned long long)at_us(&run, 50), (unsigned long long)at_us(&run, 99));
	free(run.took_ns);
	close(run.epoll);
	return 0;
}
