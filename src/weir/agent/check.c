/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `weir agent --check`. A problem keeps the agent from starting or its VIPs from working, and
 * decides the exit status; a warning may; a note says what the agent will change, or what whoever
 * looks for lost packets should know. Nothing is tried that would change the host: whether the
 * driver takes the program is asked of the driver, not tried.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/plural.h"
#include "engine/agent/agent_dp.h"
#include "host/host.h"
#include "host/xdp_features.h"
#include "weir/agent/app.h"
#include "weir/agent/state.h"
#include "weir/instance.h"

enum { LOOPBACK_IFINDEX = 1 };

struct check {
	const struct conf_agent *conf;
	struct instance instance;
	FILE *out;
	int problems;
};

enum weight { PROBLEM, WARNING, NOTE };

__attribute__((format(printf, 3, 4))) static void say(struct check *check, enum weight weight,
						      const char *format, ...)
{
	static const char *const words[] = {"problem", "warning", "note"};
	va_list args;

	fprintf(check->out, "%s: ", words[weight]);
	va_start(args, format);
	vfprintf(check->out, format, args);
	va_end(args);
	fputc('\n', check->out);
	check->problems += weight == PROBLEM;
}

static bool needs_ipv6(const struct conf_agent *conf)
{
	for (size_t i = 0; i < conf->vip_count; i++) {
		if (!addr_is4(&conf->vips[i].addr))
			return true;
	}
	return false;
}

/* --- the process --- */

static void check_privileges(struct check *check)
{
	static const int needed[] = {CAP_NET_ADMIN, CAP_BPF, CAP_PERFMON};
	unsigned long long effective = 0;
	FILE *status = fopen("/proc/self/status", "re");
	char line[256];

	while (status && fgets(line, sizeof(line), status)) {
		if (strncmp(line, "CapEff:", 7) == 0)
			effective = strtoull(line + 7, NULL, 16);
	}
	if (status)
		fclose(status);
	if (effective >> CAP_SYS_ADMIN & 1 && effective >> CAP_NET_ADMIN & 1)
		return;
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (!(effective >> needed[i] & 1)) {
			say(check, PROBLEM,
			    "privileges: root, or CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON (and "
			    "CAP_SYS_ADMIN to mount bpffs), are needed");
			return;
		}
	}
}

static bool is_held(const struct instance *instance)
{
	int fd = open(instance->lock, O_RDONLY | O_CLOEXEC);
	bool held = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB);

	if (fd >= 0)
		close(fd);
	return held;
}

static void check_instance(struct check *check)
{
	struct instance namespace;
	struct err err;

	if (is_held(&check->instance))
		say(check, PROBLEM, "%s runs already (%s is locked)", check->instance.name,
		    check->instance.lock);
	else if (instance_init_namespace(&namespace, &err))
		say(check, PROBLEM, "%s", err.text);
	else if (is_held(&namespace))
		say(check, PROBLEM, "another agent is in this network namespace (%s is locked)",
		    namespace.lock);
}

/* --- the host --- */

static void check_loopback(struct check *check)
{
	struct err err;
	int disabled;
	bool up;

	if (host_interface_is_up("lo", &up, &err))
		say(check, PROBLEM, "%s", err.text);
	else if (!up)
		say(check, PROBLEM, "lo is down: its addresses do not answer");
	if (needs_ipv6(check->conf) &&
	    (host_sysctl_read("net/ipv6/conf/lo/disable_ipv6", &disabled, &err) || disabled))
		say(check, PROBLEM, "IPv6 is off on lo, and there is an IPv6 VIP");
}

static void check_address(struct check *check, const struct host_address *address,
			  const struct prefix *vip, const struct agent_state *earlier)
{
	char text[ADDR_TEXT_MAX], within[ADDR_TEXT_MAX], name[IF_NAMESIZE] = "?";

	addr_format(&address->addr, text);
	if (address->ifindex != LOOPBACK_IFINDEX) {
		if_indextoname(address->ifindex, name);
		if (prefix_is_host(vip))
			say(check, PROBLEM,
			    "%s is on %s: this host would answer for it there; take it off", text,
			    name);
		else
			say(check, PROBLEM,
			    "%s is on %s, within the VIPs %s: nobody would find it there any more",
			    text, name, prefix_format(vip, within));
	} else if (prefix_is_host(vip) && !agent_state_vip(earlier, vip)) {
		say(check, NOTE, "%s is on lo already; it will stay there", text);
	}
}

static void check_route(struct check *check, const struct prefix *vip,
			const struct agent_state *earlier)
{
	char text[ADDR_TEXT_MAX];
	struct err err;
	bool there;

	if (prefix_is_host(vip) || agent_state_vip(earlier, vip))
		return;
	if (host_local_route_exists(vip, &there, &err))
		say(check, PROBLEM, "%s", err.text);
	else if (there)
		say(check, NOTE, "%s is local already; it will stay so", prefix_format(vip, text));
}

static void check_addresses(struct check *check)
{
	struct agent_state earlier = {0};
	struct host_address *list;
	char path[INSTANCE_PATH_MAX];
	struct err err;
	size_t count;

	if (host_addresses(&list, &count, &err))
		return say(check, PROBLEM, "%s", err.text);
	agent_state_path(&check->instance, path);
	if (agent_state_read(path, &earlier, &err))
		say(check, WARNING, "%s", err.text);
	for (size_t i = 0; i < count; i++) {
		for (size_t v = 0; v < check->conf->vip_count; v++) {
			if (prefix_has(&check->conf->vips[v], &list[i].addr))
				check_address(check, &list[i], &check->conf->vips[v], &earlier);
		}
	}
	for (size_t v = 0; v < check->conf->vip_count; v++)
		check_route(check, &check->conf->vips[v], &earlier);
	agent_state_fini(&earlier);
	free(list);
}

/* Built in or not, it works only where some rule wants it, and then it counts connections. */
static void check_firewall(struct check *check)
{
	struct err err;
	int tracked;

	if (host_sysctl_read("net/netfilter/nf_conntrack_count", &tracked, &err) || !tracked)
		return;
	say(check, WARNING,
	    "connections are tracked here: a rule that drops state INVALID cuts flows that come "
	    "here in their middle; rules see the clients' packets, never the tunnel");
}

/* --- an interface --- */

static void check_sysctls(struct check *check, const char *name)
{
	struct host_sysctl needed[HOST_SYSCTLS_MAX];
	struct err err;
	size_t count;
	char path[HOST_SYSCTL_NAME_MAX];
	int disabled;

	if (host_sysctls_needed(name, needed, &count, &err))
		return say(check, PROBLEM, "%s", err.text);
	for (size_t i = 0; i < count; i++)
		say(check, NOTE, "%s will be set to %d, and back at the end", needed[i].name,
		    needed[i].value);
	if (!needs_ipv6(check->conf))
		return;
	snprintf(path, sizeof(path), "net/ipv6/conf/%s/disable_ipv6", name);
	if (host_sysctl_read(path, &disabled, &err) || disabled)
		say(check, PROBLEM, "IPv6 is off on %s, and there is an IPv6 VIP", name);
}

static void check_xdp(struct check *check, const char *name)
{
	char pins[INSTANCE_SEEN_MAX];
	bool taken, native;
	struct err err;
	int error;

	if (agent_dp_is_taken(name, instance_see_pins(&check->instance, pins), &taken, &err))
		return say(check, PROBLEM, "%s", err.text);
	if (taken)
		say(check, PROBLEM, "%s has another's XDP program", name);
	if (check->conf->xdp == CONF_XDP_GENERIC)
		return;
	error = xdp_features_native(name, &native);
	if (error)
		say(check, NOTE, "%s: this kernel does not tell whether the driver can run XDP",
		    name);
	else if (!native && check->conf->xdp == CONF_XDP_NATIVE)
		say(check, PROBLEM, "%s: its driver cannot run XDP in native mode", name);
	else if (!native)
		say(check, WARNING,
		    "%s: its driver cannot run XDP in native mode; it will be generic, which is "
		    "several times slower",
		    name);
}

static void check_size(struct check *check, const char *name)
{
	uint32_t mtu, path_mtu = check->conf->path_mtu;
	struct err err;

	if (host_interface_mtu(name, &mtu, &err))
		return say(check, PROBLEM, "%s", err.text);
	if (path_mtu > mtu)
		say(check, WARNING, "path_mtu %u is more than %s takes (%u)", path_mtu, name, mtu);
}

static void check_interface(struct check *check, const char *name)
{
	struct err err;
	bool up;

	if (host_interface_is_up(name, &up, &err))
		return say(check, PROBLEM, "%s", err.text);
	if (!up)
		say(check, PROBLEM, "%s is down", name);
	check_sysctls(check, name);
	check_xdp(check, name);
	check_size(check, name);
}

int agent_check(const struct conf_agent *conf, FILE *out)
{
	struct check check = {.conf = conf, .out = out};

	instance_init(&check.instance, "agent-", conf->name);
	check_privileges(&check);
	check_instance(&check);
	check_loopback(&check);
	check_addresses(&check);
	check_firewall(&check);
	for (size_t i = 0; i < conf->interface_count; i++)
		check_interface(&check, conf->interfaces[i]);
	if (check.problems)
		fprintf(out, "agent %s: %d %s\n", conf->name, check.problems,
			plural((uint64_t)check.problems, "problem", "problems"));
	else
		fprintf(out, "agent %s: nothing hinders it here\n", conf->name);
	return check.problems;
}
