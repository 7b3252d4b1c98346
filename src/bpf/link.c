/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Why links and not netlink: a link belongs to whoever holds it, so neither another tool's
 * `ip link set xdp off` nor a second daemon takes the program away by mistake, a pin keeps it
 * after the process, and bpf_link_update swaps the program between two packets. What links lack
 * is words: the kernel hands its explanation only to netlink (and to a tracepoint), so after a
 * refusal the same attachment is asked for once more by netlink, for its text alone.
 */
#include "bpf/link.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/magic.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "bpf/pins.h"
#include "bpf/programs.h"

#define BPFFS_ROOT "/sys/fs/bpf"

enum { BPFFS_PATH_MAX = 512, KERNEL_TEXT_MAX = 160 };

const char *link_xdp_name(enum link_xdp mode)
{
	static const char *const names[] = {
		[LINK_XDP_NATIVE] = "native",
		[LINK_XDP_GENERIC] = "generic",
		[LINK_XDP_AUTO] = "auto",
	};

	return names[mode];
}

bool link_fell_back(const struct link_attached *attached)
{
	return attached->wanted == LINK_XDP_AUTO && attached->mode == LINK_XDP_GENERIC;
}

static __u32 mode_flags(enum link_xdp mode)
{
	return mode == LINK_XDP_NATIVE ? XDP_FLAGS_DRV_MODE : XDP_FLAGS_SKB_MODE;
}

static bool is_bpffs(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (__u32)fs.f_type == BPF_FS_MAGIC;
}

/* mkdir -p, but never above bpffs: directories of the root file system are not ours to make. */
static int make_dirs(const char *dir, struct err *err)
{
	char path[BPFFS_PATH_MAX];
	size_t length = strlen(dir);
	bool inside = false;

	if (length >= sizeof(path))
		return err_set(err, -ENAMETOOLONG, "%s: the path is too long", dir);
	for (size_t i = 1; i <= length; i++) {
		if (dir[i] != '/' && dir[i] != '\0')
			continue;
		memcpy(path, dir, i);
		path[i] = '\0';
		if (inside && mkdir(path, 0700) && errno != EEXIST)
			return err_set(err, -errno, "cannot make %s: %s", path, strerror(errno));
		inside = is_bpffs(path);
	}
	return 0;
}

int link_mount_bpffs(struct err *err)
{
	if (!is_bpffs(BPFFS_ROOT) &&
	    mount("bpf", BPFFS_ROOT, "bpf", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=0700"))
		return err_set(err, -errno, "cannot mount bpffs at %s: %s", BPFFS_ROOT,
			       strerror(errno));
	return 0;
}

int link_prepare_bpffs(const char *dir, struct err *err)
{
	size_t root = strlen(BPFFS_ROOT);
	bool under_root = strncmp(dir, BPFFS_ROOT, root) == 0 && (dir[root] == '/' || !dir[root]);
	int ret = under_root ? link_mount_bpffs(err) : 0;

	if (!ret)
		ret = make_dirs(dir, err);
	if (ret)
		return ret;
	if (!is_bpffs(dir))
		return err_set(err, -EINVAL, "%s is not on a bpf file system", dir);
	return 0;
}

/* --- the kernel's own words --- */

static _Thread_local char kernel_text[KERNEL_TEXT_MAX];

__attribute__((format(printf, 2, 0))) static int catch_kernel_text(enum libbpf_print_level level,
								   const char *format, va_list args)
{
	static const char mark[] = "Kernel error message: ";
	char line[KERNEL_TEXT_MAX + sizeof(mark)];
	char *found;

	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, args);
	found = strstr(line, mark);
	if (found) {
		found += strlen(mark);
		found[strcspn(found, "\n")] = '\0';
		snprintf(kernel_text, sizeof(kernel_text), "%s", found);
	}
	return 0;
}

/* Why the kernel refused: its text where netlink gives one, else the error's. */
static const char *ask_why(int program_fd, int ifindex, enum link_xdp mode, int error)
{
	__u32 flags = mode_flags(mode) | XDP_FLAGS_UPDATE_IF_NOEXIST;
	libbpf_print_fn_t before;

	kernel_text[0] = '\0';
	before = libbpf_set_print(catch_kernel_text);
	/* Should it work this time, it must not stay: it would outlive us without a pin. */
	if (bpf_xdp_attach(ifindex, program_fd, flags, NULL) == 0)
		bpf_xdp_detach(ifindex, mode_flags(mode), NULL);
	libbpf_set_print(before);
	if (!kernel_text[0])
		snprintf(kernel_text, sizeof(kernel_text), "%s", strerror(error));
	return kernel_text;
}

/* --- attaching --- */

static int link_create(int program_fd, struct link_attached *attached, enum link_xdp mode)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = mode_flags(mode));
	int fd = bpf_link_create(program_fd, attached->ifindex, BPF_XDP, &opts);

	if (fd < 0)
		return fd;
	attached->link_fd = fd;
	attached->mode = mode;
	return 0;
}

/* Does the refusal speak of the mode? Generic is no answer to "something is there already". */
static bool may_fall_back(int ret)
{
	return ret != -EPERM && ret != -EACCES && ret != -EBUSY && ret != -EEXIST && ret != -ENODEV;
}

static int attach_new(int program_fd, struct link_attached *attached, struct err *err)
{
	enum link_xdp mode = attached->wanted == LINK_XDP_GENERIC ? LINK_XDP_GENERIC
								  : LINK_XDP_NATIVE;
	int ret = link_create(program_fd, attached, mode);

	if (ret && attached->wanted == LINK_XDP_AUTO && may_fall_back(ret)) {
		snprintf(attached->why, sizeof(attached->why), "%s",
			 ask_why(program_fd, attached->ifindex, mode, -ret));
		mode = LINK_XDP_GENERIC;
		ret = link_create(program_fd, attached, mode);
	}
	if (ret)
		return err_set(err, ret, "%s: cannot attach XDP in %s mode: %s%s",
			       attached->interface, link_xdp_name(mode),
			       ask_why(program_fd, attached->ifindex, mode, -ret),
			       ret == -EBUSY || ret == -EEXIST ? "; `bpftool net` and `bpftool "
								 "link` show whose it is"
							       : "");
	return 0;
}

static int link_info(int link_fd, struct bpf_link_info *ret)
{
	__u32 length = sizeof(*ret);

	memset(ret, 0, sizeof(*ret));
	return bpf_obj_get_info_by_fd(link_fd, ret, &length);
}

/*
 * A link does not tell its mode; the interface does, by which of its programs is the link's. If
 * none is, the link is for an interface of the same index in another network namespace.
 */
static int link_mode(int ifindex, __u32 program_id, enum link_xdp *ret)
{
	static const enum link_xdp modes[] = {LINK_XDP_NATIVE, LINK_XDP_GENERIC};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		__u32 id = 0;
		int error = bpf_xdp_query_id(ifindex, (int)mode_flags(modes[i]), &id);

		if (error)
			return error;
		if (id == program_id) {
			*ret = modes[i];
			return 0;
		}
	}
	return -ENOENT;
}

void link_forget_former(struct link_attached *attached)
{
	if (attached->former_fd >= 0)
		close(attached->former_fd);
	attached->former_fd = -1;
}

int link_put_back(struct link_attached *attached)
{
	if (attached->former_fd < 0)
		return -ENOENT;
	return bpf_link_update(attached->link_fd, attached->former_fd, NULL);
}

/* The program of that id, which its pin is beside a link's. */
static int open_program(const char *pin, __u32 id)
{
	char dir[PINS_PATH_MAX];
	const char *slash = strrchr(pin, '/');

	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - pin) : 0, pin);
	return programs_open(dir, id);
}

/*
 * Takes over the link pinned at `pin`, if it serves: of this interface (a link whose interface is
 * gone has index 0, and the index may have been given to another), in an acceptable mode, and the
 * kernel swaps the program.
 */
static bool adopt(int program_fd, struct link_attached *attached, int link_fd, const char *pin)
{
	struct bpf_link_info info;
	enum link_xdp mode = LINK_XDP_NATIVE;

	if (link_info(link_fd, &info) || info.type != BPF_LINK_TYPE_XDP ||
	    info.xdp.ifindex != (__u32)attached->ifindex ||
	    link_mode(attached->ifindex, info.prog_id, &mode))
		return false;
	if (attached->wanted != LINK_XDP_AUTO && attached->wanted != mode)
		return false;
	attached->former_fd = open_program(pin, info.prog_id);
	if (bpf_link_update(link_fd, program_fd, NULL)) {
		link_forget_former(attached);
		return false;
	}
	attached->link_fd = link_fd;
	attached->mode = mode;
	attached->adopted = true;
	if (link_fell_back(attached))
		snprintf(attached->why, sizeof(attached->why),
			 "an earlier daemon attached in generic mode");
	return true;
}

static void detach_pinned(int link_fd, const char *pin)
{
	/* Without this the program would stay until the last descriptor, anyone's, is closed. */
	bpf_link_detach(link_fd);
	close(link_fd);
	if (pin)
		unlink(pin);
}

/* What is attached by a link that cannot be adopted. */
struct former {
	int program_fd; /* -1: nothing */
	enum link_xdp mode;
};

static struct former former_of(int link_fd, int ifindex, const char *pin)
{
	struct former former = {.program_fd = -1};
	struct bpf_link_info info;

	if (!link_info(link_fd, &info) && info.type == BPF_LINK_TYPE_XDP &&
	    info.xdp.ifindex == (__u32)ifindex && !link_mode(ifindex, info.prog_id, &former.mode))
		former.program_fd = open_program(pin, info.prog_id);
	return former;
}

/* As both modes exclude each other, the former had to go before the new one could be tried. */
static void put_back(const struct former *former, const struct link_attached *failed,
		     const char *pin)
{
	struct link_attached again = *failed;

	if (former->program_fd < 0 || link_create(former->program_fd, &again, former->mode))
		return;
	if (bpf_obj_pin(again.link_fd, pin))
		bpf_link_detach(again.link_fd);
	close(again.link_fd);
}

static int attach_and_pin(int program_fd, struct link_attached *attached, const char *pin,
			  struct err *err)
{
	int error = attach_new(program_fd, attached, err);

	if (error)
		return error;
	error = pin ? bpf_obj_pin(attached->link_fd, pin) : 0;
	if (!error)
		return 0;
	detach_pinned(attached->link_fd, NULL);
	return err_set(err, error, "cannot pin the link at %s: %s", pin, strerror(-error));
}

int link_attach(int program_fd, const char *interface, enum link_xdp wanted, const char *pin,
		struct link_attached *ret, struct err *err)
{
	struct link_attached attached = {.wanted = wanted, .link_fd = -1, .former_fd = -1};
	struct former former = {.program_fd = -1};
	int pinned, error;

	attached.ifindex = (int)if_nametoindex(interface);
	if (!attached.ifindex)
		return err_set(err, -ENODEV, "%s: there is no such interface", interface);
	snprintf(attached.interface, sizeof(attached.interface), "%s", interface);

	pinned = pin ? bpf_obj_get(pin) : -ENOENT;
	if (pinned >= 0) {
		if (adopt(program_fd, &attached, pinned, pin)) {
			*ret = attached;
			return 0;
		}
		former = former_of(pinned, attached.ifindex, pin);
		detach_pinned(pinned, pin);
	} else if (pinned != -ENOENT) {
		return err_set(err, pinned, "cannot open the pinned link %s: %s", pin,
			       strerror(-pinned));
	}

	error = attach_and_pin(program_fd, &attached, pin, err);
	if (error)
		put_back(&former, &attached, pin);
	else
		*ret = attached;
	if (former.program_fd >= 0)
		close(former.program_fd);
	return error;
}

bool link_is_lost(const struct link_attached *attached)
{
	struct bpf_link_info info;

	return attached->link_fd < 0 || link_info(attached->link_fd, &info) ||
	       info.xdp.ifindex != (__u32)attached->ifindex;
}

void link_detach(struct link_attached *attached, const char *pin)
{
	link_forget_former(attached);
	if (attached->link_fd < 0)
		return;
	detach_pinned(attached->link_fd, pin);
	attached->link_fd = -1;
}

void link_close(struct link_attached *attached)
{
	link_forget_former(attached);
	if (attached->link_fd < 0)
		return;
	close(attached->link_fd);
	attached->link_fd = -1;
}
