/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/stage.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "admin/control.h"
#include "base/time.h"
#include "weir/instance.h"

enum { PORT = 80, BACKLOG = 16384, ASK_MS = 10000, END_MS = 20000 };

static struct stage *opened;

static void die(const char *what)
{
	fprintf(stderr, "load_bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	if (system(command) != 0)
		die(command);
}

/* --- the hosts --- */

/* Each connection is taken and let go: the handshake is all that is asked for. */
static void accept_all(void)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(PORT)};
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd;

	if (listener < 0 || bind(listener, (struct sockaddr *)&any, sizeof(any)) ||
	    listen(listener, BACKLOG))
		die("the hosts cannot listen");
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd >= 0)
			close(fd);
	}
}

static void be_hosts(int ready)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (unshare(CLONE_NEWNET))
		die("a network namespace needs root");
	run("ip link set lo up && sysctl -qw net.core.somaxconn=%d net.ipv4.ip_forward=1 "
	    "net.ipv4.tcp_max_syn_backlog=%d net.ipv4.icmp_ratelimit=0",
	    BACKLOG, BACKLOG);
	if (write(ready, "", 1) != 1)
		die("pipe");
	close(ready);
	accept_all();
}

static void start_hosts(struct stage *stage)
{
	int ready[2];
	char byte;

	if (pipe(ready))
		die("pipe");
	stage->hosts = fork();
	if (stage->hosts < 0)
		die("fork");
	if (stage->hosts == 0)
		be_hosts(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) != 1)
		die("the hosts do not start");
	close(ready[0]);
}

/* Also where the benchmark fails amid its work. */
static void clean_up(void)
{
	if (opened->daemon)
		kill(opened->daemon, SIGTERM);
	while (opened->daemon && waitpid(opened->daemon, NULL, 0) < 0 && errno == EINTR)
		continue;
	kill(opened->hosts, SIGKILL);
	waitpid(opened->hosts, NULL, 0);
	run("rm -rf %s /var/lib/weir/%s*", opened->file, opened->name);
}

void stage_open(struct stage *stage)
{
	*stage = (struct stage){.log = -1};
	opened = stage;
	snprintf(stage->name, sizeof(stage->name), "weir-%d-bench", (int)getpid());
	snprintf(stage->file, sizeof(stage->file), "/tmp/%s.yaml", stage->name);
	if (unshare(CLONE_NEWNET))
		die("a network namespace needs root");
	run("mountpoint -q /sys/fs/bpf || mount -t bpf bpf /sys/fs/bpf");
	start_hosts(stage);
	atexit(clean_up);
	run("ip link set lo up && ip link add eth0 type veth peer name h0 netns %d && "
	    "ip link set eth0 up && ip addr add 192.0.2.11/24 dev eth0 && "
	    "ip route add default via 192.0.2.1 && "
	    "sysctl -qw net.ipv4.ip_local_port_range='1024 65535'",
	    (int)stage->hosts);
	run("nsenter --net=/proc/%d/ns/net sh -c 'ip link set h0 up && ip addr add 192.0.2.1/24 "
	    "dev h0 && ip route add local 10.0.0.0/8 dev lo'",
	    (int)stage->hosts);
}

void stage_answer(const struct stage *stage, const char *address, bool answers)
{
	run("nsenter --net=/proc/%d/ns/net ip route %s unreachable %s table local",
	    (int)stage->hosts, answers ? "del" : "add", address);
}

/* --- the daemon --- */

void stage_write(const struct stage *stage, const char *text)
{
	char aside[sizeof(stage->file) + 4];
	FILE *file;

	snprintf(aside, sizeof(aside), "%s.new", stage->file);
	file = fopen(aside, "w");
	if (!file || fputs(text, file) < 0 || fclose(file) || rename(aside, stage->file))
		die(stage->file);
}

/* build/weir, beside build/bench/. */
static void find_daemon(char path[4096])
{
	ssize_t length = readlink("/proc/self/exe", path, 4000);

	if (length <= 0)
		die("/proc/self/exe");
	path[length] = '\0';
	for (int i = 0; i < 2; i++)
		*strrchr(path, '/') = '\0';
	strcat(path, "/weir");
}

void stage_start(struct stage *stage)
{
	char path[4096];
	int out[2];

	find_daemon(path);
	if (pipe2(out, O_CLOEXEC))
		die("pipe");
	stage->held = 0;
	stage->daemon = fork();
	if (stage->daemon < 0)
		die("fork");
	if (stage->daemon == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		dup2(out[1], STDERR_FILENO);
		execl(path, path, "run", "--config", stage->file, (char *)NULL);
		perror(path);
		_exit(1);
	}
	close(out[1]);
	stage->log = out[0];
}

void stage_stop(struct stage *stage)
{
	kill(stage->daemon, SIGTERM);
	while (stage_hear(stage, "\n", END_MS))
		continue;
	close(stage->log);
	waitpid(stage->daemon, NULL, 0);
	stage->daemon = 0;
}

/* --- what it says --- */

/* The next line, with its end; false: none in time, or no more. */
static bool next_line(struct stage *stage, uint64_t end_ns)
{
	for (;;) {
		char *end = memchr(stage->rest, '\n', stage->held);
		size_t length = end ? (size_t)(end - stage->rest) + 1 : 0;
		uint64_t now_ns = time_now_ns();
		struct pollfd wait = {.fd = stage->log, .events = POLLIN};
		ssize_t got;

		if (end) {
			snprintf(stage->line, sizeof(stage->line), "%.*s", (int)length,
				 stage->rest);
			stage->held -= length;
			memmove(stage->rest, stage->rest + length, stage->held);
			return true;
		}
		if (now_ns >= end_ns)
			return false;
		if (poll(&wait, 1, (int)((end_ns - now_ns) / TIME_MILLI_NS) + 1) != 1)
			return false;
		got = read(stage->log, stage->rest + stage->held,
			   sizeof(stage->rest) - stage->held);
		if (got <= 0)
			return false;
		stage->held += (size_t)got;
	}
}

uint64_t stage_hear(struct stage *stage, const char *what, unsigned timeout_ms)
{
	uint64_t end_ns = time_now_ns() + timeout_ms * TIME_MILLI_NS;

	while (next_line(stage, end_ns)) {
		if (strstr(stage->line, what))
			return time_now_ns();
	}
	return 0;
}

double stage_number(const struct stage *stage, const char *key)
{
	const char *at = strstr(stage->line, key);

	return at ? atof(at + strlen(key)) : -1;
}

/* --- what it has --- */

const void *stage_table(const struct stage *stage, const char *name, size_t size)
{
	struct instance instance;
	char path[INSTANCE_PATH_MAX + 32];
	void *table;
	int fd;

	instance_init(&instance, "", stage->name);
	snprintf(path, sizeof(path), "%s/%s", instance.pins, name);
	fd = bpf_obj_get(path);
	if (fd < 0)
		die(path);
	table = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (table == MAP_FAILED)
		die(path);
	return table;
}

double stage_memory(const struct stage *stage, const char *key)
{
	char path[64], line[256];
	double kib = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)stage->daemon);
	file = fopen(path, "r");
	if (!file)
		die(path);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, key, strlen(key)) == 0)
			kib = atof(line + strlen(key) + 1);
	}
	fclose(file);
	return kib / 1024;
}

double stage_ask(const struct stage *stage)
{
	struct instance instance;
	json_t *request = json_pack("{s:s}", "op", "nothing"), *answer;
	uint64_t began_ns = time_now_ns();
	struct err err;

	instance_init(&instance, "", stage->name);
	/* That it knows no such request is an answer, too. */
	if (control_call(instance.socket, request, ASK_MS, &answer, &err) == 0)
		json_decref(answer);
	json_decref(request);
	return (double)(time_now_ns() - began_ns) / TIME_MILLI_NS;
}
