/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/check/host.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/plural.h"
#include "bpf/links.h"
#include "host/host.h"
#include "weir/check/rules.h"
#include "weir/command.h"
#include "weir/instance.h"
#include "weir/show.h"

#define VENDOR_FILE "/sys/class/dmi/id/sys_vendor"

struct report {
	const struct check_host *wanted;
	struct rules_host host;
	json_t *json; /* NULL: text */
	json_t *interfaces;
	bool hindered;
};

static void read_vendor(struct rules_host *host)
{
	char vendor[64] = "";
	int fd = open(VENDOR_FILE, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd >= 0 ? read(fd, vendor, sizeof(vendor) - 1) : 0;

	if (fd >= 0)
		close(fd);
	vendor[length > 0 ? length : 0] = '\0';
	host->cloud = rules_cloud_of(vendor);
}

static struct rules_host read_host(const struct check_host *wanted)
{
	struct rules_host host = {.by_ip = wanted->by_ip, .jit = true, .root = geteuid() == 0};
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct utsname name;
	struct err err;
	int jit;

	host.processors = processors > 0 ? (unsigned)processors : 1;
	/* Where there is no such sysctl, or none but root may read it, it is as it should be. */
	if (host_sysctl_read("net/core/bpf_jit_enable", &jit, &err) == 0)
		host.jit = jit != 0;
	if (uname(&name) == 0)
		sscanf(name.release, "%u.%u", &host.release[0], &host.release[1]);
	read_vendor(&host);
	return host;
}

/* --- what is said --- */

static json_t *findings_json(const struct rules_findings *findings)
{
	json_t *array = json_array();

	for (size_t i = 0; i < findings->count; i++) {
		const struct rules_finding *finding = &findings->list[i];
		json_t *object = json_pack("{s:s, s:s}", "kind", rules_kind_name(finding->kind),
					   "text", finding->text);

		if (finding->mend[0])
			json_object_set_new(object, "mend", json_string(finding->mend));
		json_array_append_new(array, object);
	}
	return array;
}

static void print_findings(const struct rules_findings *findings)
{
	for (size_t i = 0; i < findings->count; i++) {
		const struct rules_finding *finding = &findings->list[i];

		printf("  %s: %s\n", rules_kind_name(finding->kind), finding->text);
		if (finding->mend[0])
			printf("    %s\n", finding->mend);
	}
}

static void tell_host(struct report *report)
{
	struct rules_findings findings = {0};
	const char *cloud = rules_cloud_name(report->host.cloud);
	char kernel[32];

	snprintf(kernel, sizeof(kernel), "%u.%u", report->host.release[0], report->host.release[1]);
	rules_of_host(&report->host, &findings);
	report->hindered |= rules_hinder(&findings);
	if (report->json) {
		report->interfaces = json_array();
		json_object_update_new(
			report->json,
			json_pack("{s:s, s:i, s:s, s:o, s:o}", "kernel", kernel, "processors",
				  (int)report->host.processors, "cloud", cloud, "findings",
				  findings_json(&findings), "interfaces", report->interfaces));
		return;
	}
	printf("host: Linux %s, %u %s%s%s\n", kernel, report->host.processors,
	       plural(report->host.processors, "processor", "processors"), cloud[0] ? ", " : "",
	       cloud);
	print_findings(&findings);
}

static const char *driver_name(const struct card *card)
{
	if (card->driver[0])
		return card->driver;
	return card->kind[0] ? card->kind : "unknown";
}

static void put_card(struct report *report, const struct card *card,
		     const struct rules_findings *findings)
{
	if (report->json) {
		json_array_append_new(report->interfaces,
				      json_pack("{s:s, s:s, s:i, s:i, s:i, s:o}", "name",
						card->name, "driver", driver_name(card), "mtu",
						(int)card->mtu, "queues", (int)card->queues,
						"queues_max", (int)card->queues_max, "findings",
						findings_json(findings)));
		return;
	}
	printf("%s: %s, MTU %u", card->name, driver_name(card), card->mtu);
	if (card->queues)
		printf(", %u of %u %s", card->queues, card->queues_max,
		       plural(card->queues_max, "queue", "queues"));
	puts(findings->count ? "" : ": nothing hinders that is known");
	print_findings(findings);
}

/* Without a file: is it that of any node or agent here? Numbers of programs are the kernel's. */
static bool is_of_weir(const struct card *card)
{
	char all[INSTANCE_SEEN_MAX], one[INSTANCE_SEEN_MAX + NAME_MAX + 2];
	DIR *dir = card->xdp_id ? opendir(instance_see_pin_dir(all)) : NULL;
	struct dirent *entry;
	bool found = false;

	while (dir && !found && (entry = readdir(dir))) {
		snprintf(one, sizeof(one), "%s/%s", all, entry->d_name);
		found = entry->d_name[0] != '.' &&
			links_pinned_program(one, card->name) == card->xdp_id;
	}
	if (dir)
		closedir(dir);
	return found;
}

static void tell_card(struct report *report, const struct card *card)
{
	struct rules_wanted wanted = {.native = !report->wanted->generic};
	struct rules_findings findings = {0};
	struct err err;

	if (report->wanted->pins)
		links_is_pinned(report->wanted->pins, card->name, &wanted.ours, &err);
	else
		wanted.ours = is_of_weir(card);
	rules_of_card(&report->host, card, wanted, &findings);
	report->hindered |= rules_hinder(&findings);
	put_card(report, card, &findings);
}

static const struct card *find_card(const struct card *cards, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(cards[i].name, name) == 0)
			return &cards[i];
	}
	return NULL;
}

/* EXIT_OK, or EXIT_NO where one that is wanted is missing: that is said. */
static int tell_cards(struct report *report, const struct card *cards, size_t count)
{
	const struct check_host *wanted = report->wanted;

	for (size_t i = 0; i < count && !wanted->count; i++) {
		if (cards[i].up && !cards[i].loopback)
			tell_card(report, &cards[i]);
	}
	for (size_t i = 0; i < wanted->count; i++) {
		const struct card *card = find_card(cards, count, wanted->interfaces[i]);

		if (!card)
			return command_fail("check", "%s: there is no such interface here",
					    wanted->interfaces[i]);
		tell_card(report, card);
	}
	return EXIT_OK;
}

static void end(struct report *report)
{
	if (report->json) {
		json_object_set_new(report->json, "ok", json_boolean(!report->hindered));
		json_dumpf(report->json, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		puts(report->hindered ? "this host is not ready" : "this host is ready");
	}
}

int check_host(const struct check_host *wanted, bool json)
{
	struct report report = {.wanted = wanted, .json = json ? json_object() : NULL};
	struct card *cards;
	struct err err;
	size_t count;
	int status;

	if (card_list(&cards, &count, &err)) {
		json_decref(report.json);
		return command_fail("check", "%s", err.text);
	}
	report.host = read_host(wanted);
	tell_host(&report);
	status = tell_cards(&report, cards, count);
	if (status == EXIT_OK)
		end(&report);
	json_decref(report.json);
	free(cards);
	return status != EXIT_OK || report.hindered ? EXIT_NO : EXIT_OK;
}
