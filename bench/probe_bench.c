// SPDX-License-Identifier: BSD-2-Clause
/*
 * What a health probe costs: so many targets that RATE probes a second are due, for a few seconds,
 * from one core, against an nginx on another. It prints the processor time of a probe (user and
 * system, of this thread), how many a second really began, the loop's worst lag, and what failed.
 * One core could do 1,000,000 / (microseconds a probe) of them. It reports; it does not judge.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "base/time.h"
#include "bench/report.h"
#include "health/health.h"

enum {
	ROUNDS_MAX = 101,
	WARM_MS = 1200,
	SAMPLE_MS = 1000,
	TICK_MS = 5,
	TARGETS_MAX = 20000,
};

static const struct row {
	const char *name;
	enum health_type type;
	uint16_t port;
	unsigned rate;
} rows[] = {
	{"tcp", HEALTH_TCP, 80, 5000},
	{"http", HEALTH_HTTP, 80, 5000},
	{"https", HEALTH_HTTPS, 443, 500},
	{"icmp", HEALTH_ICMP, 0, 5000},
};

struct sample {
	double us, rate, lag_ms;
};

struct bench {
	uv_loop_t loop;
	struct health *health;
	struct health_check *checks[TARGETS_MAX];
	char dir[64];
	char ca[96];
	pid_t server;
	uint64_t due_ns; /* of the ticker */
	double lag_ms;
	unsigned rounds;
};

static void die(const char *what)
{
	fprintf(stderr, "probe_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void run(const char *format, const char *dir)
{
	char command[1024];

	snprintf(command, sizeof(command), format, dir, dir, dir, dir, dir, dir, dir);
	if (system(command) != 0)
		die(command);
}

/* --- the server --- */

static void write_config(const char *dir)
{
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/conf", dir);
	file = fopen(path, "w");
	if (!file)
		die(path);
	fprintf(file,
		"daemon off; master_process off; worker_rlimit_nofile 65536; pid %s/pid;\n"
		"error_log /dev/null; events { worker_connections 32768; }\n"
		"http { access_log off; client_body_temp_path %s/1; proxy_temp_path %s/2;\n"
		"fastcgi_temp_path %s/3; uwsgi_temp_path %s/4; scgi_temp_path %s/5;\n"
		"ssl_certificate %s/crt; ssl_certificate_key %s/key;\n"
		"server { listen 80 backlog=16384; listen 443 ssl backlog=16384;\n"
		"location / { return 200 \"ok\\n\"; } } }\n",
		dir, dir, dir, dir, dir, dir, dir, dir);
	fclose(file);
}

static void on_core(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core % (int)sysconf(_SC_NPROCESSORS_ONLN), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void start_server(struct bench *bench)
{
	char config[96];

	snprintf(config, sizeof(config), "%s/conf", bench->dir);
	bench->server = fork();
	if (bench->server < 0)
		die("fork");
	if (bench->server == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		on_core(1);
		execlp("nginx", "nginx", "-c", config, "-e", "/dev/null", (char *)NULL);
		die("nginx");
	}
	run("for i in $(seq 100); do ss -Hltn 'sport = :443' | grep -q . && exit 0; sleep 0.05; "
	    "done; exit 1 # %s",
	    bench->dir);
}

static void set_up(struct bench *bench)
{
	struct rlimit limit = {65536, 65536};

	if (unshare(CLONE_NEWNET))
		die("a network namespace needs root");
	setrlimit(RLIMIT_NOFILE, &limit);
	strcpy(bench->dir, "/tmp/weir-probe-bench-XXXXXX");
	if (!mkdtemp(bench->dir))
		die("mkdtemp");
	snprintf(bench->ca, sizeof(bench->ca), "%s/crt", bench->dir);
	run("ip link set lo up && sysctl -qw net.ipv4.ip_local_port_range='1024 65535' "
	    "net.core.somaxconn=16384 net.ipv4.tcp_max_syn_backlog=16384 && "
	    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "
	    "/CN=probed.test "
	    "-addext subjectAltName=DNS:probed.test -keyout %s/key -out %s/crt 2>/dev/null",
	    bench->dir);
	write_config(bench->dir);
	start_server(bench);
	on_core(0);
}

/* --- samples --- */

static void on_tick(uv_timer_t *timer)
{
	struct bench *bench = timer->data;
	uint64_t now_ns = time_now_ns();
	double late_ms = ((double)now_ns - (double)bench->due_ns) / (double)TIME_MILLI_NS;

	if (late_ms > bench->lag_ms)
		bench->lag_ms = late_ms;
	bench->due_ns = now_ns + TICK_MS * TIME_MILLI_NS;
	uv_timer_start(timer, on_tick, TICK_MS, 0);
}

static void on_end(uv_timer_t *timer)
{
	uv_stop(timer->loop);
}

static void run_for(struct bench *bench, uint64_t ms)
{
	uv_timer_t timer;

	uv_timer_init(&bench->loop, &timer);
	uv_timer_start(&timer, on_end, ms, 0);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
	uv_close((uv_handle_t *)&timer, NULL);
	uv_run(&bench->loop, UV_RUN_NOWAIT);
}

static double used_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static struct sample take(struct bench *bench)
{
	uint64_t started = health_sums(bench->health).started, begin_ns = time_now_ns();
	double before_us = used_us(), probes, ns;

	bench->lag_ms = 0;
	run_for(bench, SAMPLE_MS);
	probes = (double)(health_sums(bench->health).started - started);
	ns = (double)(time_now_ns() - begin_ns);
	return (struct sample){.us = (used_us() - before_us) / probes,
			       .rate = probes * 1e9 / ns,
			       .lag_ms = bench->lag_ms};
}

static void on_changed(void *arg, struct health_check *check, enum health_state state)
{
	(void)arg;
	(void)check;
	(void)state;
}

/* Each target an address of its own; a probe a second. */
static void add_targets(struct bench *bench, const struct row *row)
{
	struct health_spec spec = {
		.type = row->type,
		.port = row->port,
		.interval_ms = 1000,
		.timeout_ms = 1000,
		.jitter = 10,
		.rise = 1,
		.fall = 1,
	};

	health_expect(&spec, 200);
	if (row->type == HEALTH_HTTP || row->type == HEALTH_HTTPS)
		spec.texts[HEALTH_PATH] = (struct health_bytes){"/", 1};
	if (row->type == HEALTH_HTTPS) {
		spec.texts[HEALTH_SNI] = (struct health_bytes){"probed.test", 11};
		spec.texts[HEALTH_CA_FILE] = (struct health_bytes){bench->ca, strlen(bench->ca)};
	}
	for (unsigned i = 0; i < row->rate; i++) {
		char text[32];

		snprintf(text, sizeof(text), "127.1.%u.%u", i / 250, i % 250 + 1);
		addr_parse(text, &spec.address);
		if (health_add(bench->health, &spec, on_changed, NULL, &bench->checks[i]))
			die("health_add");
	}
}

static void tell(const struct row *row, struct sample sample)
{
	char name[96];

	snprintf(name, sizeof(name), "probe by %s: processor time", row->name);
	report_value(name, "us", sample.us);
	snprintf(name, sizeof(name), "probes by %s, %u a second due: begun", row->name, row->rate);
	report_value(name, "/s", sample.rate);
	snprintf(name, sizeof(name), "probes by %s: the loop's lag", row->name);
	report_value(name, "ms", sample.lag_ms);
}

static void measure(struct bench *bench, const struct row *row)
{
	uint64_t failures = 0;
	uv_timer_t ticker;
	char name[96];

	if (health_open(&bench->loop, &bench->health))
		die("health_open");
	add_targets(bench, row);
	uv_timer_init(&bench->loop, &ticker);
	ticker.data = bench;
	bench->due_ns = time_now_ns();
	on_tick(&ticker);
	run_for(bench, WARM_MS);
	for (unsigned i = 0; i < bench->rounds; i++)
		tell(row, take(bench));
	for (unsigned i = 0; i < row->rate; i++)
		failures += health_status(bench->checks[i])->failures +
			    health_status(bench->checks[i])->not_run;
	snprintf(name, sizeof(name), "probes by %s: failed", row->name);
	report_value(name, "", (double)failures);
	health_close(bench->health);
	uv_close((uv_handle_t *)&ticker, NULL);
	uv_run(&bench->loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"rounds", required_argument, NULL, 'r'},
						{"rate", required_argument, NULL, 'a'},
						{"only", required_argument, NULL, 'o'},
						{0}};
	static struct bench bench = {.rounds = 3};
	const char *only = NULL;
	int option, rate = 0;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'r': bench.rounds = (unsigned)atoi(optarg); break;
		case 'o': only = optarg; break;
		case 'a': rate = atoi(optarg); break;
		default: return 2;
		}
	}
	if (bench.rounds < 1 || bench.rounds > ROUNDS_MAX)
		bench.rounds = 3;
	set_up(&bench);
	uv_loop_init(&bench.loop);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct row row = rows[i];

		if (rate > 0 && rate <= TARGETS_MAX)
			row.rate = (unsigned)rate;
		if (!only || strcmp(row.name, only) == 0)
			measure(&bench, &row);
	}
	report_print();
	kill(bench.server, SIGKILL);
	waitpid(bench.server, NULL, 0);
	run("rm -rf %s", bench.dir);
	return 0;
}
