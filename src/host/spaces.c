/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/spaces.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	FD_FIRST = 3,
	FD_MAX = 256, /* where sockets of an earlier call are looked for: it opened them first */
	WAIT_S = 2,
};

static const char *path_of(const char *name, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "/run/netns/%s", name);
	return path;
}

/* 0: there is none of that name. */
static uint64_t inode_of(const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	return stat(path_of(name, path), &status) ? 0 : status.st_ino;
}

/* --- those of an earlier call --- */

static int option_of(int fd, int option)
{
	int value = -1;
	socklen_t length = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &length) ? -1 : value;
}

static bool is_ours(int fd)
{
	int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && !(flags & FD_CLOEXEC) && option_of(fd, SO_DOMAIN) == AF_NETLINK &&
	       option_of(fd, SO_PROTOCOL) == NETLINK_SOCK_DIAG;
}

/* In which namespace the socket was made; 0: that is not told. */
static uint64_t inode_of_socket(int fd)
{
	int space = ioctl(fd, SIOCGSKNS);
	struct stat status;
	uint64_t inode = 0;

	if (space < 0)
		return 0;
	if (!fstat(space, &status))
		inode = status.st_ino;
	close(space);
	return inode;
}

static bool take(int fd, struct host_space *spaces, size_t count)
{
	uint64_t inode = inode_of_socket(fd);

	for (size_t i = 0; inode && i < count; i++) {
		if (spaces[i].fd >= 0 || spaces[i].inode != inode)
			continue;
		spaces[i].fd = fd;
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		return true;
	}
	return false;
}

/* --- a new one --- */

/* In the namespace that this thread is in; -errno. */
static int make_socket(void)
{
	const struct timeval wait = {.tv_sec = WAIT_S};
	struct sockaddr_nl any = {.nl_family = AF_NETLINK};
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), error;

	if (fd >= 0 && !bind(fd, (struct sockaddr *)&any, sizeof(any)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)))
		return fd;
	error = -errno;
	if (fd >= 0)
		close(fd);
	return error;
}

/* *ret is a descriptor or -errno; -errno: this thread has not come back. */
static int make_in(int home, int there, int *ret)
{
	if (setns(there, CLONE_NEWNET)) {
		*ret = -errno;
		return 0;
	}
	*ret = make_socket();
	return setns(home, CLONE_NEWNET) ? -errno : 0;
}

static int open_new(int home, struct host_space *space, struct err *err)
{
	char path[PATH_MAX];
	int there, error;

	/* A FIFO's writer is not waited for. */
	there = open(path_of(space->name, path), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (there < 0) {
		err_set(&space->err, -errno, "%s: %s", path, strerror(errno));
		return 0;
	}
	error = make_in(home, there, &space->fd);
	close(there);
	if (error)
		return err_set(err, error, "no way back from network namespace %s: %s", space->name,
			       strerror(-error));
	if (space->fd < 0) {
		err_set(&space->err, space->fd, "%s: %s%s", path, strerror(-space->fd),
			space->fd == -EPERM ? "; it takes CAP_SYS_ADMIN at the start" : "");
		space->fd = -1;
	}
	return 0;
}

/* --- the interface --- */

int host_spaces_open(const char *const *names, size_t count, struct host_space *ret,
		     struct err *err)
{
	int home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC), error = 0;

	for (size_t i = 0; i < count; i++)
		ret[i] = (struct host_space){
			.name = names[i], .fd = -1, .inode = inode_of(names[i])};
	for (int fd = FD_FIRST; fd < FD_MAX; fd++) {
		if (is_ours(fd) && !take(fd, ret, count))
			close(fd);
	}
	for (size_t i = 0; i < count && !error; i++) {
		if (ret[i].fd >= 0)
			continue;
		if (home < 0)
			err_set(&ret[i].err, -errno, "/proc/self/ns/net: %s", strerror(errno));
		else
			error = open_new(home, &ret[i], err);
	}
	if (home >= 0)
		close(home);
	return error;
}

void host_space_look(struct host_space *space)
{
	if (space->fd < 0 || inode_of(space->name) == space->inode)
		return;
	err_set(&space->err, -ESTALE,
		"the namespace of that name is another one, or gone: start the agent again");
	close(space->fd);
	space->fd = -1;
}

void host_spaces_hand_over(struct host_space *spaces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (spaces[i].fd >= 0)
			fcntl(spaces[i].fd, F_SETFD, 0);
	}
}

void host_spaces_close(struct host_space *spaces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (spaces[i].fd >= 0)
			close(spaces[i].fd);
		spaces[i].fd = -1;
	}
}
