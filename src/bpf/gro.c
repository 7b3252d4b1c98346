/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf/gro.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bpf/pins.h"

#define PREFIX "gro-"

/* `value` goes in with ETHTOOL_SGRO and comes out with ETHTOOL_GGRO. */
static int call(const char *interface, struct ethtool_value *value)
{
	struct ifreq request = {.ifr_data = (char *)value};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int error;

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", interface);
	error = ioctl(fd, SIOCETHTOOL, &request) ? -errno : 0;
	close(fd);
	return error;
}

static int mark_path(char *path, const char *dir, const char *interface, struct err *err)
{
	char name[sizeof(PREFIX) + IF_NAMESIZE];

	snprintf(name, sizeof(name), PREFIX "%s", interface);
	return pins_path(path, dir, name, err);
}

int gro_suspend(const char *dir, const char *interface, struct err *err)
{
	struct ethtool_value value = {.cmd = ETHTOOL_GGRO};
	char path[PINS_PATH_MAX];
	int error = call(interface, &value);

	/* An interface that knows no offloads has none. */
	if (error == -EOPNOTSUPP || (!error && !value.data))
		return 0;
	if (!error)
		error = mark_path(path, dir, interface, err);
	/* bpffs takes symbolic links, if no files; the mark first, so that it is never missing. */
	if (!error && symlink("on", path) && errno != EEXIST)
		error = -errno;
	value = (struct ethtool_value){.cmd = ETHTOOL_SGRO, .data = 0};
	if (!error)
		error = call(interface, &value);
	if (error)
		return err_set(err, error, "%s: cannot switch off receive offload (GRO): %s",
			       interface, strerror(-error));
	return 0;
}

struct resuming {
	const char *dir;
	bool (*keep)(void *arg, const char *interface);
	void *arg;
};

static void resume(void *arg, const char *name)
{
	const struct resuming *resuming = arg;
	struct ethtool_value value = {.cmd = ETHTOOL_SGRO, .data = 1};
	char path[PINS_PATH_MAX], interface[IF_NAMESIZE];

	snprintf(interface, sizeof(interface), "%s", name + strlen(PREFIX));
	/* As pins_path has it: a colon stands for a dot. */
	for (char *at = interface; (at = strchr(at, ':')); at++)
		*at = '.';
	if (resuming->keep && resuming->keep(resuming->arg, interface))
		return;
	call(interface, &value);
	if (pins_path(path, resuming->dir, name, NULL) == 0)
		unlink(path);
}

void gro_resume(const char *dir, bool (*keep)(void *arg, const char *interface), void *arg)
{
	struct resuming resuming = {dir, keep, arg};

	pins_each(dir, PREFIX, resume, &resuming);
}
