/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/instance.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANCESTORS_MAX = 64 };

void instance_init(struct instance *instance, const char *prefix, const char *name)
{
	snprintf(instance->name, sizeof(instance->name), "%s%s", prefix, name);
	snprintf(instance->socket, sizeof(instance->socket), INSTANCE_RUN_DIR "/%s.sock",
		 instance->name);
	snprintf(instance->lock, sizeof(instance->lock), INSTANCE_RUN_DIR "/%s.lock",
		 instance->name);
	snprintf(instance->pins, sizeof(instance->pins), INSTANCE_PIN_DIR "/%s", instance->name);
	/* bpffs refuses dots, which host names have; a colon stands in no instance's name. */
	for (char *at = instance->pins; (at = strchr(at, '.')); at++)
		*at = ':';
	instance->lock_fd = -1;
}

int instance_init_namespace(struct instance *instance, struct err *err)
{
	static const char path[] = "/proc/self/ns/net";
	struct stat namespace;
	char text[24];

	if (stat(path, &namespace))
		return err_set(err, -errno, "%s: %s", path, strerror(errno));
	/* '@' stands in no name of a node or an agent. */
	snprintf(text, sizeof(text), "%llu", (unsigned long long)namespace.st_ino);
	instance_init(instance, "agent@", text);
	return 0;
}

/* A lock on a file that its holder has unlinked since is worth nothing. */
static int is_current(int fd, const char *path)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && stat(path, &there) == 0 && held.st_ino == there.st_ino &&
	       held.st_dev == there.st_dev;
}

/* --- handed over --- */

#define HANDED "WEIR_LOCKS" /* in the environment: the process, and descriptors' numbers */
enum { HANDED_MAX = 4 };    /* an agent has two */

static int handed[HANDED_MAX]; /* by an earlier program of this process; -1: taken */
static size_t handed_count;

/*
 * It is as good as what is from outside: each is looked at before it is believed. A process that
 * was started by the one that it is for has inherited it, but is another.
 */
static void read_handed(void)
{
	const char *text = getenv(HANDED);
	char *end = NULL;
	bool is_ours = text && strtol(text, &end, 10) == (long)getpid();

	while (is_ours && *end && handed_count < HANDED_MAX) {
		long number = strtol(text = end, &end, 10);

		if (end == text || number <= STDERR_FILENO || number > INT_MAX ||
		    fcntl((int)number, F_SETFD, FD_CLOEXEC))
			break;
		handed[handed_count++] = (int)number;
	}
	if (text)
		unsetenv(HANDED);
}

/* -1: none of them is this lock. */
static int take_handed(const char *path)
{
	read_handed();
	for (size_t i = 0; i < handed_count; i++) {
		int fd = handed[i];

		if (fd < 0 || !is_current(fd, path) || flock(fd, LOCK_EX | LOCK_NB))
			continue;
		handed[i] = -1;
		return fd;
	}
	return -1;
}

void instance_take_no_more(void)
{
	for (size_t i = 0; i < handed_count; i++) {
		if (handed[i] >= 0)
			close(handed[i]);
	}
	handed_count = 0;
}

void instance_hand_over(struct instance *instance)
{
	const char *before = getenv(HANDED);
	char process[16], text[64];

	if (instance->lock_fd < 0)
		return;
	snprintf(process, sizeof(process), "%d", (int)getpid());
	snprintf(text, sizeof(text), "%s %d", before ? before : process, instance->lock_fd);
	/* Without memory for it the lock is let go by the call, as it ends with the process. */
	if (fcntl(instance->lock_fd, F_SETFD, 0) == 0 && setenv(HANDED, text, 1))
		fcntl(instance->lock_fd, F_SETFD, FD_CLOEXEC);
	instance->lock_fd = -1;
}

/* --- the lock --- */

static void take(struct instance *instance, int fd)
{
	char pid[16];
	int length = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
	/* Without the number nobody is told who holds it, but it is held. */
	bool is_told = ftruncate(fd, 0) == 0 && pwrite(fd, pid, (size_t)length, 0) == length &&
		       fchmod(fd, 0600) == 0;

	(void)is_told;
	instance->lock_fd = fd;
}

static int refuse_held(const struct instance *instance, int fd, struct err *err)
{
	char pid[16] = "";

	if (read(fd, pid, sizeof(pid) - 1) < 0)
		pid[0] = '\0';
	pid[strcspn(pid, "\n")] = '\0';
	return err_set(err, -EBUSY, "%s runs already%s%s (%s is locked)", instance->name,
		       pid[0] ? ", process " : "", pid, instance->lock);
}

int instance_lock(struct instance *instance, struct err *err)
{
	int fd;

	if (mkdir(INSTANCE_RUN_DIR, 0755) && errno != EEXIST)
		return err_set(err, -errno, "cannot make %s: %s", INSTANCE_RUN_DIR,
			       strerror(errno));
	fd = take_handed(instance->lock);
	if (fd >= 0) {
		take(instance, fd);
		return 0;
	}
	for (;;) {
		/* Whoever may read it could hold it, and so keep a daemon from coming back. */
		fd = open(instance->lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0)
			return err_set(err, -errno, "cannot open %s: %s%s", instance->lock,
				       strerror(errno), errno == EACCES ? "; run it as root" : "");
		if (flock(fd, LOCK_EX | LOCK_NB)) {
			int ret = errno == EWOULDBLOCK ? refuse_held(instance, fd, err)
						       : err_set(err, -errno, "cannot lock %s: %s",
								 instance->lock, strerror(errno));

			close(fd);
			return ret;
		}
		if (is_current(fd, instance->lock)) {
			take(instance, fd);
			return 0;
		}
		close(fd);
	}
}

void instance_unlock(struct instance *instance)
{
	if (instance->lock_fd < 0)
		return;
	unlink(instance->lock);
	close(instance->lock_fd);
	instance->lock_fd = -1;
}

/* A socket, connected or with errno; -1: there is none to be had. */
static int connect_to(const char *path)
{
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
	errno = 0;
	if (connect(fd, (struct sockaddr *)&name, sizeof(name)) == 0)
		errno = 0;
	return fd;
}

/* The process that listens; 0: none that is seen from here. */
static pid_t find_listener(const char *path)
{
	struct ucred peer = {0};
	socklen_t length = sizeof(peer);
	int fd = connect_to(path);

	if (fd < 0)
		return 0;
	if (errno || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length))
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

/* NAME.sock of a NAME.lock with that number; an agent has a second lock, without a socket. Who may
 * not read locks asks who listens. */
static bool is_of_process(const char *name, long pid, char path[INSTANCE_PATH_MAX])
{
	char lock[INSTANCE_PATH_MAX], number[16] = "";
	size_t length = strlen(name);
	int fd;

	if (length <= 5 || strcmp(name + length - 5, ".lock") != 0 ||
	    snprintf(lock, sizeof(lock), INSTANCE_RUN_DIR "/%s", name) >= INSTANCE_PATH_MAX)
		return false;
	snprintf(path, INSTANCE_PATH_MAX, "%.*s.sock", (int)strlen(lock) - 5, lock);
	fd = open(lock, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == EACCES && find_listener(path) == pid;
	if (read(fd, number, sizeof(number) - 1) < 0)
		number[0] = '\0';
	close(fd);
	return strtol(number, NULL, 10) == pid && access(path, F_OK) == 0;
}

int instance_find_process(long pid, char path[INSTANCE_PATH_MAX], struct err *err)
{
	DIR *dir = opendir(INSTANCE_RUN_DIR);
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir)))
		found = is_of_process(entry->d_name, pid, path);
	if (dir)
		closedir(dir);
	if (!found)
		return err_set(err, -ENOENT, "process %ld is no daemon of weir (no lock in %s)",
			       pid, INSTANCE_RUN_DIR);
	return 0;
}

static bool is_socket(const char *name, bool of_agents)
{
	size_t length = strlen(name);

	return length > 5 && strcmp(name + length - 5, ".sock") == 0 &&
	       (strncmp(name, "agent-", 6) == 0) == of_agents;
}

/* A daemon that was killed leaves its socket behind, on which nobody listens. */
static bool is_listening(const char *path)
{
	int fd = connect_to(path);
	/* Everything else than a refusal is for whoever asks it to explain. */
	bool listening = fd < 0 || errno != ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	return listening;
}

/* As the process sees `path`: whether it is there, and what it is. */
static bool look_by_way_of(pid_t pid, const char *path, char ret[INSTANCE_SEEN_MAX],
			   struct stat *found)
{
	snprintf(ret, INSTANCE_SEEN_MAX, "/proc/%d/root%s", (int)pid, path);
	return stat(ret, found) == 0;
}

/* 0: it has none that is seen from here. */
static pid_t parent_of(pid_t pid)
{
	char path[32], line[512];
	const char *after = NULL;
	pid_t parent = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	/* The command's name stands in brackets, and may have some of its own. */
	if (file && fgets(line, sizeof(line), file))
		after = strrchr(line, ')');
	if (!after || sscanf(after, ") %*c %d", &parent) != 1)
		parent = 0;
	if (file)
		fclose(file);
	return parent;
}

/* As those see it from whom this process comes: the shell in which `ip netns exec` was typed. */
static bool look_by_way_up(const char *path, char ret[INSTANCE_SEEN_MAX])
{
	struct stat found;
	pid_t pid = getppid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 0; i++) {
		if (look_by_way_of(pid, path, ret, &found))
			return true;
		pid = parent_of(pid);
	}
	return false;
}

const char *instance_see_pins(const struct instance *instance, char ret[INSTANCE_SEEN_MAX])
{
	pid_t daemon = find_listener(instance->socket);
	struct stat here = {0}, there;
	bool is_here = stat(instance->pins, &here) == 0;

	/* What is here may be left by an earlier one, where each sees a file system of its own. */
	if (daemon && look_by_way_of(daemon, instance->pins, ret, &there) &&
	    !(is_here && here.st_dev == there.st_dev && here.st_ino == there.st_ino))
		return ret;
	if (is_here || !look_by_way_up(instance->pins, ret))
		snprintf(ret, INSTANCE_SEEN_MAX, "%s", instance->pins);
	return ret;
}

const char *instance_see_pin_dir(char ret[INSTANCE_SEEN_MAX])
{
	struct stat found;

	if (stat(INSTANCE_PIN_DIR, &found) == 0 || !look_by_way_up(INSTANCE_PIN_DIR, ret))
		snprintf(ret, INSTANCE_SEEN_MAX, "%s", INSTANCE_PIN_DIR);
	return ret;
}

/* How many there are; `path` is the last one's, `names` (of `room` bytes) has all, or what fits. */
static int list_sockets(bool of_agents, char path[INSTANCE_PATH_MAX], char *names, size_t room)
{
	DIR *dir = opendir(INSTANCE_RUN_DIR);
	char candidate[INSTANCE_PATH_MAX];
	struct dirent *entry;
	int found = 0;

	names[0] = '\0';
	while (dir && (entry = readdir(dir))) {
		size_t used = strlen(names);

		if (!is_socket(entry->d_name, of_agents) ||
		    snprintf(candidate, sizeof(candidate), INSTANCE_RUN_DIR "/%s", entry->d_name) >=
			    INSTANCE_PATH_MAX ||
		    !is_listening(candidate))
			continue;
		strcpy(path, candidate);
		snprintf(names + used, room - used, " %.*s", (int)strlen(entry->d_name) - 5,
			 entry->d_name);
		found++;
	}
	if (dir)
		closedir(dir);
	return found;
}

static int check_found(int found, const char *what, const char *names, struct err *err)
{
	if (!found)
		return err_set(err, -ENOENT, "no %s runs here (no socket in %s)", what,
			       INSTANCE_RUN_DIR);
	if (found > 1)
		return err_set(err, -EEXIST, "several run here:%s; choose by --node NAME", names);
	return 0;
}

int instance_find_socket(char path[INSTANCE_PATH_MAX], struct err *err)
{
	char names[160];
	int found = list_sockets(false, path, names, sizeof(names));

	if (!found)
		found = list_sockets(true, path, names, sizeof(names));
	return check_found(found, "node and no agent", names, err);
}

int instance_find_agent(char path[INSTANCE_PATH_MAX], struct err *err)
{
	char names[160];
	int found = list_sockets(true, path, names, sizeof(names));

	return check_found(found, "agent", names, err);
}
