/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/cli/announced.h"

#include <stdio.h>
#include <string.h>

#include "weir/answer.h"

static double seconds(const json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key));
}

static void print_vips(const json_t *announce)
{
	const json_t *vip;
	size_t i;

	printf("\n%-40s %-9s  %s\n", "VIP", "ANNOUNCED", "WHY");
	json_array_foreach(json_object_get(announce, "vips"), i, vip)
	{
		bool there = json_is_true(json_object_get(vip, "announced"));

		printf("%-40s %-9s  %s", answer_text(vip, "vip"), there ? "yes" : "no",
		       answer_text(vip, "why"));
		if (*answer_text(vip, "error"))
			printf("; FAILED: %s", answer_text(vip, "error"));
		putchar('\n');
	}
}

static void print_bfd(const json_t *bfd)
{
	if (!json_is_object(bfd))
		return;
	printf(", BFD %s", answer_text(bfd, "state"));
	if (strcmp(answer_text(bfd, "state"), "up") == 0)
		printf(" (%.0f ms)", seconds(bfd, "detect_ms"));
	else if (*answer_text(bfd, "error"))
		printf(" (%s)", answer_text(bfd, "error"));
}

static void print_routers(const json_t *bgp)
{
	const json_t *peer;
	size_t i;

	printf("\n%-40s %10s %8s  STATE\n", "ROUTER", "ASN", "PREFIXES");
	json_array_foreach(json_object_get(bgp, "peers"), i, peer)
	{
		bool up = strcmp(answer_text(peer, "state"), "Established") == 0;

		printf("%-40s %10" JSON_INTEGER_FORMAT " %8" JSON_INTEGER_FORMAT "  %s for %.0f s",
		       answer_text(peer, "address"), answer_number(peer, "asn"),
		       answer_number(peer, "prefixes"), answer_text(peer, "state"),
		       seconds(peer, "since_s"));
		print_bfd(json_object_get(peer, "bfd"));
		if (*answer_text(peer, "last_error"))
			printf("; %s: %s", up ? "before" : "last", answer_text(peer, "last_error"));
		putchar('\n');
	}
	if (*answer_text(bgp, "listen_error"))
		printf("NOT LISTENING: %s\n", answer_text(bgp, "listen_error"));
}

void announced_print(const json_t *announce)
{
	const json_t *drain = json_object_get(announce, "drain");
	const json_t *bgp = json_object_get(announce, "bgp");

	if (!json_is_object(announce))
		return;
	print_vips(announce);
	if (json_is_object(bgp))
		print_routers(bgp);
	else
		printf("routes in table %" JSON_INTEGER_FORMAT "\n",
		       answer_number(announce, "table"));
	if (json_is_number(json_object_get(announce, "all_withdrawn_since_s")))
		puts("ALL VIPs ARE WITHDRAWN BY HAND");
	if (json_is_object(drain))
		printf("NODE DRAINS: %s for %.0f s, %.0f packets a second\n",
		       answer_text(drain, "phase"), seconds(drain, "phase_s"),
		       seconds(drain, "packets_per_s"));
}
