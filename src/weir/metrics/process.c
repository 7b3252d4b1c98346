/* SPDX-License-Identifier: BSD-2-Clause */
/* What every daemon shows: itself as a process, under the names that all exporters use, its loop
 * and its port. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/time.h"
#include "weir/metrics/exporter.h"

struct process {
	unsigned long long start_ticks;
	double cpu_s;
	uint64_t virtual_bytes, resident_bytes, threads;
};

/* proc(5), /proc/self/stat; the name in parentheses may hold anything. */
static struct process read_process(void)
{
	struct process ret = {0};
	unsigned long user = 0, system = 0, virtual = 0;
	long threads = 0, resident = 0;
	char line[1024];
	FILE *file = fopen("/proc/self/stat", "re");
	size_t length = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
	const char *rest;

	if (file)
		fclose(file);
	line[length] = '\0';
	rest = strrchr(line, ')');
	if (!rest || sscanf(rest + 1,
			    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d "
			    "%*d %ld %*d %llu %lu %ld",
			    &user, &system, &threads, &ret.start_ticks, &virtual, &resident) != 6)
		return ret;
	ret.cpu_s = (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
	ret.virtual_bytes = virtual;
	ret.resident_bytes = (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
	ret.threads = (uint64_t)threads;
	return ret;
}

static void sample_cpu(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample_real(&scrape->text, NULL, 0, read_process().cpu_s);
}

static void sample_resident(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, read_process().resident_bytes);
}

static void sample_virtual(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, read_process().virtual_bytes);
}

static void sample_threads(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_sample(&scrape->text, NULL, 0, read_process().threads);
}

/* Of the wall's clock as it is set now. */
static void sample_start(struct scrape *scrape, size_t at)
{
	struct timespec now;
	double age_s;

	(void)at;
	clock_gettime(CLOCK_BOOTTIME, &now);
	age_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 -
		(double)read_process().start_ticks / (double)sysconf(_SC_CLK_TCK);
	metrics_sample_real(&scrape->text, NULL, 0, (double)time_wall_ms() / 1e3 - age_s);
}

static void sample_fds(struct scrape *scrape, size_t at)
{
	DIR *dir = opendir("/proc/self/fd");
	uint64_t count = 0;

	(void)at;
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	/* But for `.`, `..` and the directory's own. */
	metrics_sample(&scrape->text, NULL, 0, count > 3 ? count - 3 : 0);
}

static void sample_max_fds(struct scrape *scrape, size_t at)
{
	struct rlimit limit = {0};

	(void)at;
	getrlimit(RLIMIT_NOFILE, &limit);
	metrics_sample(&scrape->text, NULL, 0, limit.rlim_cur);
}

static void sample_build(struct scrape *scrape, size_t at)
{
	(void)at;
	metrics_put(&scrape->text, 1, {"version", WEIR_VERSION});
}

static const struct family families[] = {
	{"weir_build_info", METRIC_GAUGE, "1; which version runs", NULL, sample_build},
	{"process_cpu_seconds", METRIC_COUNTER, "CPU time of the daemon, user and system", NULL,
	 sample_cpu},
	{"process_resident_memory_bytes", METRIC_GAUGE, "memory of the daemon that is in RAM", NULL,
	 sample_resident},
	{"process_virtual_memory_bytes", METRIC_GAUGE, "address space of the daemon", NULL,
	 sample_virtual},
	{"process_threads", METRIC_GAUGE, "threads of the daemon", NULL, sample_threads},
	{"process_open_fds", METRIC_GAUGE, "open file descriptors", NULL, sample_fds},
	{"process_max_fds", METRIC_GAUGE, "file descriptors that may be open", NULL,
	 sample_max_fds},
	{"process_start_time_seconds", METRIC_GAUGE, "when the daemon started, since the epoch",
	 NULL, sample_start},
};

const struct family_list metrics_process_families = {families,
						     sizeof(families) / sizeof(families[0])};

void metrics_put_self(struct metrics_text *text, const struct exporter_self *self)
{
	metrics_family(text, "weir_loop_lag_seconds", METRIC_HISTOGRAM,
		       "how late the event loop was for a timer of every 100 ms");
	metrics_put_histogram(text, self->lag);
	metrics_family(text, "weir_admin_requests", METRIC_COUNTER,
		       "requests on the admin port that got an answer");
	metrics_sample(text, NULL, 0, self->http.requests);
	metrics_family(text, "weir_admin_refused", METRIC_COUNTER,
		       "of the admin port: requests that were denied (method, host) or too many "
		       "at once, connections that gave way to others or took too long");
	metrics_put(text, self->http.denied, {"reason", "denied"});
	metrics_put(text, self->http.busy, {"reason", "busy"});
	metrics_put(text, self->http.refused, {"reason", "full"});
	metrics_put(text, self->http.timed_out, {"reason", "slow"});
	metrics_family(text, "weir_admin_connections", METRIC_GAUGE,
		       "open connections of the admin port");
	metrics_sample(text, NULL, 0, self->http.clients);
	metrics_family(text, "weir_scrapes", METRIC_COUNTER, "texts of metrics that were made");
	metrics_sample(text, NULL, 0, self->scrapes);
	metrics_family(text, "weir_scrape_loop_seconds", METRIC_GAUGE,
		       "what the last such text took of the event loop, in pieces");
	metrics_sample_real(text, NULL, 0, (double)self->scrape_ns / 1e9);
}
