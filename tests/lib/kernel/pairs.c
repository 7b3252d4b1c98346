/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/kernel/pairs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/addr.h"

static pid_t peer;
static int here_fd, peer_fd; /* the namespaces */

void pairs_run(const char *format, ...)
{
	char command[1024];
	int used = 0, status;
	va_list args;

	if (strncmp(format, "PEER ", 5) == 0) {
		format += 5;
		used = snprintf(command, sizeof(command), "nsenter --net=/proc/%d/ns/net ",
				(int)peer);
	}
	va_start(args, format);
	vsnprintf(command + used, sizeof(command) - (size_t)used, format, args);
	va_end(args);
	status = system(command);
	if (status)
		fail_msg("failed (status %#x, %s): %s", status,
			 status == -1 ? strerror(errno) : "see above", command);
}

static int open_peer(void)
{
	char path[64];
	char byte;
	int ready[2];

	assert_return_code(pipe(ready), errno);
	peer = fork();
	assert_return_code(peer, errno);
	if (peer == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (unshare(CLONE_NEWNET) || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)peer);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int pairs_open(void **state)
{
	(void)state;
	if (unshare(CLONE_NEWNET)) {
		print_message("network namespaces need root\n");
		return -1;
	}
	here_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	peer_fd = open_peer();
	pairs_run("ip link set lo up");
	pairs_run("PEER ip link set lo up");
	return 0;
}

int pairs_close(void **state)
{
	(void)state;
	kill(peer, SIGKILL);
	waitpid(peer, NULL, 0);
	close(here_fd);
	close(peer_fd);
	return 0;
}

void pairs_add(int number)
{
	pairs_run("ip link add v%d address 02:00:00:00:00:%02x type veth peer name v%d "
		  "address 02:00:00:00:00:%02x netns %d",
		  number, (unsigned)number, number + 1, (unsigned)number + 1, (int)peer);
	pairs_run("ip addr add 10.0.%d.1/24 dev v%d && ip link set v%d up", number / 2, number,
		  number);
	pairs_run("PEER sh -c 'ip addr add 10.0.%d.2/24 dev v%d && ip link set v%d up'", number / 2,
		  number + 1, number + 1);
	/* The kernel gives up after three unanswered probes: make that short. */
	pairs_run("ip ntable change name arp_cache dev v%d retrans 100", number);
	pairs_run("ip ntable change name ndisc_cache dev v%d retrans 100", number);
}

void pairs_enter(bool there)
{
	assert_return_code(setns(there ? peer_fd : here_fd, CLONE_NEWNET), errno);
}

void pairs_send_from_peer(const char *to)
{
	struct sockaddr_storage storage;
	struct addr addr;
	socklen_t length;
	int fd;

	assert_int_equal(addr_parse(to, &addr), 0);
	length = addr_sockaddr(&addr, 9, &storage);
	pairs_enter(true);
	fd = socket(storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_return_code(sendto(fd, "", 1, 0, (struct sockaddr *)&storage, length), errno);
	close(fd);
	pairs_enter(false);
}

struct rtnl_neigh pairs_neighbour(const char *link, const char *address)
{
	struct rtnl_neigh key = {.ifindex = if_nametoindex(link)};
	struct rtnl_neigh found = {0};
	struct rtnl rtnl;
	int code;

	assert_int_equal(addr_parse(address, &key.addr), 0);
	assert_int_equal(rtnl_open(&rtnl), 0);
	code = rtnl_neigh_get(&rtnl, &key, &found);
	assert_true(code == 0 || code == -ENOENT);
	rtnl_close(&rtnl);
	return found;
}
