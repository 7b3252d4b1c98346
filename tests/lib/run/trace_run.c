// SPDX-License-Identifier: BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/lib/run/trace_run.h"
#include "tests/lib/world/world.h"

enum { ARGS_MAX = 16 };

char trace_conf[96], trace_pcap[96];
static char directory[64], out_path[96], err_path[96];
static int weir_fd = -1;

/* --- running the program --- */

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char *text;
	long size;

	assert_non_null(file);
	assert_int_equal(fseek(file, 0, SEEK_END), 0);
	size = ftell(file);
	rewind(file);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)size, file), size);
	fclose(file);
	return text;
}

void trace_write_file(const char *path, const void *bytes, size_t size)
{
	FILE *file = fopen(path, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

static void become(char *const *args, uid_t user)
{
	int out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	int err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (out < 0 || err < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
		_exit(126);
	if (user != geteuid() && (setgid(user) != 0 || setuid(user) != 0))
		_exit(126);
	fexecve(weir_fd, args, environ);
	_exit(127);
}

struct trace_outcome trace_run_as(uid_t user, const char *const *arguments)
{
	char *args[ARGS_MAX + 3] = {"weir", "trace"};
	struct trace_outcome outcome = {0};
	struct rusage usage;
	int status;
	pid_t child;

	for (int i = 0; i < ARGS_MAX && arguments[i]; i++)
		args[2 + i] = (char *)arguments[i];
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		become(args, user);
	assert_int_equal(wait4(child, &status, 0, &usage), child);
	assert_true(WIFEXITED(status));
	outcome.status = WEXITSTATUS(status);
	outcome.max_rss_kb = usage.ru_maxrss;
	outcome.out = read_file(out_path);
	outcome.err = read_file(err_path);
	return outcome;
}

void trace_done(struct trace_outcome *outcome)
{
	free(outcome->out);
	free(outcome->err);
}

void trace_expect_ok(const struct trace_outcome *outcome)
{
	if (outcome->status != 0 || outcome->err[0])
		fail_msg("exit status %d: %s", outcome->status, outcome->err);
}

/* --- captures --- */

FILE *trace_pcap_open(uint32_t link_type)
{
	/* Nanoseconds, this machine's byte order. */
	const uint32_t header[] = {0xa1b23c4d, 2 | 4 << 16, 0, 0, 65535, link_type};
	FILE *file = fopen(trace_pcap, "wb");

	assert_non_null(file);
	assert_int_equal(fwrite(header, sizeof(header), 1, file), 1);
	return file;
}

void trace_pcap_add(FILE *file, uint64_t ns, const void *bytes, size_t length, size_t wire)
{
	const uint32_t header[] = {(uint32_t)(ns / TRACE_SECOND_NS),
				   (uint32_t)(ns % TRACE_SECOND_NS), (uint32_t)length,
				   (uint32_t)wire};

	assert_int_equal(fwrite(header, sizeof(header), 1, file), 1);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
}

void trace_pcap_add_frame(FILE *file, uint64_t ns, const struct frame_spec *spec)
{
	struct frame frame;

	frame_build(spec, &frame);
	trace_pcap_add(file, ns, frame.bytes, frame.length, frame.length);
}

void trace_pcap_close(FILE *file)
{
	assert_int_equal(fclose(file), 0);
}

void trace_expect_failure(struct trace_outcome *outcome, int status, const char *text)
{
	if (outcome->status != status || !strstr(outcome->err, text))
		fail_msg("exit status %d, expected %d; \"%s\" expected in: %s", outcome->status,
			 status, text, outcome->err);
	trace_done(outcome);
}

/* --- lines --- */

json_t *trace_next_line(char **text)
{
	char *end = strchr(*text, '\n');
	json_error_t error;
	json_t *line;

	if (!**text)
		return NULL;
	assert_non_null(end);
	*end = '\0';
	line = json_loads(*text, 0, &error);
	if (!line)
		fail_msg("not JSON: %s: %s", error.text, *text);
	*text = end + 1;
	return line;
}

const char *trace_field(const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	assert_non_null(value);
	return json_is_null(value) ? "none" : json_string_value(value);
}

void trace_expect_field(const json_t *line, const char *key, const char *expected)
{
	if (strcmp(trace_field(line, key), expected) != 0)
		fail_msg("%s is %s, expected %s", key, trace_field(line, key), expected);
}

/* --- set-up --- */

/* The program of the same build: this one is BUILD/tests/packet/trace_test. */
static int open_weir(void)
{
	char path[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 16);

	if (length < 0)
		return -1;
	path[length] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			return -1;
		*slash = '\0';
	}
	memcpy(strchr(path, '\0'), "/weir", sizeof("/weir"));
	weir_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (weir_fd < 0)
		print_error("%s: %s (make builds it)\n", path, strerror(errno));
	return weir_fd < 0 ? -1 : 0;
}

int trace_set_up(void **state)
{
	const char *base = getenv("TMPDIR");

	(void)state;
	snprintf(directory, sizeof(directory), "%s/weir-%d-trace-XXXXXX", base ? base : "/tmp",
		 (int)getpid());
	if (open_weir() != 0 || !mkdtemp(directory) || chmod(directory, 0755) != 0)
		return -1;
	snprintf(trace_conf, sizeof(trace_conf), "%s/weir.yaml", directory);
	snprintf(trace_pcap, sizeof(trace_pcap), "%s/frames.pcap", directory);
	snprintf(out_path, sizeof(out_path), "%s/out", directory);
	snprintf(err_path, sizeof(err_path), "%s/err", directory);
	trace_write_file(trace_conf, world_yaml, strlen(world_yaml));
	return 0;
}

int trace_tear_down(void **state)
{
	(void)state;
	unlink(trace_conf);
	unlink(trace_pcap);
	unlink(out_path);
	unlink(err_path);
	close(weir_fd);
	return rmdir(directory);
}
