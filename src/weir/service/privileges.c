/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/service/privileges.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"

enum { WORK_MAX = 7, NAMES_MAX = 256 };

/* Which of them is for what: docs/design/26-service.md. */
static const struct {
	int work[WORK_MAX];
	size_t count;
} kept[] = {
	[PRIVILEGES_NODE] = {{CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON, CAP_NET_RAW,
			      CAP_NET_BIND_SERVICE, CAP_SYS_NICE},
			     6},
	[PRIVILEGES_WORKERS] = {{CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON, CAP_NET_RAW,
				 CAP_NET_BIND_SERVICE, CAP_SYS_NICE, CAP_IPC_LOCK},
				7},
	[PRIVILEGES_AGENT] = {{CAP_BPF, CAP_NET_ADMIN, CAP_PERFMON}, 3},
};

static bool is_kept(enum privileges which, int capability)
{
	for (size_t i = 0; i < kept[which].count; i++) {
		if (kept[which].work[i] == capability)
			return true;
	}
	return false;
}

static bool is_permitted(int capability)
{
	return capng_have_capability(CAPNG_PERMITTED, (unsigned)capability) != 0;
}

/* Of what there is now, in the library's own record; `apply` makes it so. */
static void leave_only(enum privileges which, bool read_search, capng_type_t types)
{
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
		bool keep = is_kept(which, capability) ||
			    (read_search && capability == CAP_DAC_READ_SEARCH);

		if (!keep)
			capng_update(CAPNG_DROP, types, (unsigned)capability);
	}
}

static int apply(capng_select_t what, struct err *err)
{
	errno = 0;
	if (capng_apply(what) == 0)
		return 0;
	return err_set(err, errno ? -errno : -EPERM, "cannot give up capabilities: %s",
		       strerror(errno ? errno : EPERM));
}

static bool is_closed(const char *file)
{
	return file && strcmp(file, "-") != 0 && faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) &&
	       errno == EACCES;
}

/* Which file cannot be read without the capabilities that read everything? They come back after. */
static int needs_read_search(enum privileges which, const struct privileges_files *files,
			     const char **ret, struct err *err)
{
	int error;

	*ret = NULL;
	if (!is_permitted(CAP_DAC_READ_SEARCH))
		return 0;
	leave_only(which, false, CAPNG_EFFECTIVE);
	error = apply(CAPNG_SELECT_CAPS, err);
	if (error)
		return error;
	if (is_closed(files->first))
		*ret = files->first;
	else if (is_closed(files->second))
		*ret = files->second;
	return 0;
}

static void say_kept(const char *closed)
{
	char *names = capng_print_caps_text(CAPNG_PRINT_BUFFER, CAPNG_PERMITTED);

	log_info("privileges are given up but for what is needed", "kept=%s",
		 log_quote(names ? names : "?").text);
	free(names);
	if (closed)
		log_warn("the right to read all files is kept, for only by that the configuration "
			 "can be read; root should own it and its directory",
			 "file=%s", log_quote(closed).text);
}

/* Who may not touch the bounding set lacks CAP_SETPCAP; what it starts gains nothing all the same,
 * for no_new_privs. */
static int bound(struct err *err)
{
	return is_permitted(CAP_SETPCAP) ? apply(CAPNG_SELECT_BOUNDS, err) : 0;
}

int privileges_drop(enum privileges which, const struct privileges_files *files, struct err *err)
{
	const char *closed;
	int error;

	capng_clear(CAPNG_SELECT_ALL);
	if (capng_get_caps_process())
		return err_set(err, -EPERM, "the process's capabilities cannot be read");
	error = needs_read_search(which, files, &closed, err);
	if (error)
		return error;
	capng_get_caps_process();
	/* What is permitted is effective again, for CAP_SETPCAP. */
	for (int capability = 0; capability <= CAP_LAST_CAP; capability++) {
		if (is_permitted(capability))
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE, (unsigned)capability);
	}
	error = apply(CAPNG_SELECT_CAPS, err);
	if (error)
		return error;
	leave_only(which, closed != NULL, CAPNG_BOUNDING_SET);
	error = bound(err);
	if (error)
		return error;
	leave_only(which, closed != NULL,
		   CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE | CAPNG_AMBIENT);
	error = apply(CAPNG_SELECT_CAPS, err);
	if (error)
		return error;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_set(err, -errno, "no_new_privs: %s", strerror(errno));
	say_kept(closed);
	return 0;
}
