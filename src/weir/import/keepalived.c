/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * keepalived.conf: its outermost blocks. Virtual servers are virtual.c's; VRRP, which moves
 * addresses between hosts, has BGP for its counterpart, so of it only interfaces and addresses are
 * taken, and the rest is noted.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "weir/import/keepalived.h"

enum { INTERFACES_MAX = 16, INTERFACE_LETTERS = 15 };

/* --- statements --- */

const char *keep_word(const struct keep_node *node, size_t at)
{
	return at < node->count ? node->words[at].text : "";
}

bool keep_is(const struct keep_node *node, const char *name)
{
	return strcmp(node->words[0].text, name) == 0;
}

const char *keep_text(struct import *import, const struct keep_node *node)
{
	const char *text = node->words[0].text;

	for (size_t i = 1; i < node->count && strlen(text) < 128; i++)
		text = arena_printf(import->arena, "%s %s", text, node->words[i].text);
	if (node->has_block)
		text = arena_printf(import->arena, "%s {...}", text);
	return text;
}

void keep_note(struct import *import, const struct keep_node *node, enum import_kind kind,
	       const char *text)
{
	import_note(import, node->place, kind, keep_text(import, node), "%s", text);
}

void keep_note_row(struct import *import, const struct keep_node *node, const struct keep_row *rows,
		   size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!keep_is(node, rows[i].name))
			continue;
		keep_note(import, node, rows[i].kind, rows[i].text);
		return;
	}
	keep_note(import, node, IMPORT_LOST, "not known here");
}

/* --- VRRP --- */

static bool is_interface(const char *text)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789._-";
	size_t length = strlen(text);

	return length && length <= INTERFACE_LETTERS && strspn(text, letters) == length &&
	       strcmp(text, ".") != 0 && strcmp(text, "..") != 0 && *text != '-';
}

static void add_interface(struct import *import, const char *name)
{
	struct import_interface **tail = &import->interfaces;
	size_t count = 0;

	for (; *tail; tail = &(*tail)->next, count++) {
		if (strcmp((*tail)->name, name) == 0)
			return;
	}
	if (!is_interface(name) || count == INTERFACES_MAX)
		return;
	*tail = arena_alloc(import->arena, sizeof(**tail));
	(*tail)->name = name;
}

/* "192.0.2.10/24 brd + dev eth0 label eth0:1" */
static void take_address(struct import *import, const struct keep_node *node)
{
	const char *text = keep_word(node, 0);
	char address[ADDR_TEXT_MAX];
	size_t length = strcspn(text, "/");
	struct import_vip *vip;
	struct addr addr;

	if (length < sizeof(address)) {
		memcpy(address, text, length);
		address[length] = '\0';
	}
	if (length >= sizeof(address) || addr_parse(address, &addr)) {
		keep_note(import, node, IMPORT_LOST, "not an address");
		return;
	}
	vip = arena_alloc(import->arena, sizeof(*vip));
	vip->place = node->place;
	vip->addr = addr;
	vip->what = keep_text(import, node);
	*import->vips_tail = vip;
	import->vips_tail = &vip->next;
}

static void take_vrrp(struct import *import, const struct keep_node *block)
{
	keep_note(import, block, IMPORT_DIFFERS,
		  "VRRP: no node is master, all serve at once, routers spread flows over them "
		  "(bgp)");
	for (const struct keep_node *at = block->children; at; at = at->next) {
		if (keep_is(at, "virtual_ipaddress") || keep_is(at, "virtual_ipaddress_excluded")) {
			for (const struct keep_node *line = at->children; line; line = line->next)
				take_address(import, line);
		} else if (keep_is(at, "interface")) {
			add_interface(import, keep_word(at, 1));
			if (!is_interface(keep_word(at, 1)))
				keep_note(import, at, IMPORT_LOST, "no interface's name here");
		} else {
			keep_note(import, at, IMPORT_LOST, "a part of VRRP");
		}
	}
}

/* --- the rest --- */

static const struct keep_row rows[] = {
	{"vrrp_sync_group", IMPORT_LOST, "a part of VRRP"},
	{"vrrp_script", IMPORT_LOST,
	 "a part of VRRP: a node whose backends fail withdraws by itself, and weir node drain "
	 "takes it out by hand"},
	{"vrrp_track_process", IMPORT_LOST, "a part of VRRP"},
	{"vrrp_track_file", IMPORT_LOST, "a part of VRRP"},
	{"track_file", IMPORT_LOST, "nothing follows a file's number; weir weight sets a share"},
	{"garp_group", IMPORT_LOST, "a part of VRRP"},
	{"bfd_instance", IMPORT_LOST, "BFD is with routers: bgp.peers[].bfd"},
	{"static_ipaddress", IMPORT_LOST, "the host's network is the host's affair"},
	{"static_routes", IMPORT_LOST, "the host's network is the host's affair"},
	{"static_rules", IMPORT_LOST, "the host's network is the host's affair"},
	{"static_track_group", IMPORT_LOST, "the host's network is the host's affair"},
	{"linkbeat_use_polling", IMPORT_NEEDLESS, "links are followed by netlink"},
	{"net_namespace", IMPORT_LOST, "start weir run in the network namespace"},
	{"namespace_with_ipsets", IMPORT_NEEDLESS, "there are no ipsets"},
	{"instance", IMPORT_LOST, "node.name tells nodes of a host apart"},
	{"use_pid_dir", IMPORT_NEEDLESS, "a node's files are in /run/weir"},
	{"ipvs_sync_daemon", IMPORT_NEEDLESS, "slots are the same on all nodes"},
	{"process_names", IMPORT_NEEDLESS, "there is one process"},
	{"include_check", IMPORT_NEEDLESS, "files that cannot be read are named"},
	{"nftables_ipvs", IMPORT_NEEDLESS, "there is no IPVS"},
};

static const struct keep_row settings[] = {
	{"router_id", IMPORT_LOST, "node.name, which is the host's name unless it is given"},
	{"notification_email", IMPORT_LOST, "no mail is sent: alert on what is logged"},
	{"notification_email_from", IMPORT_LOST, "no mail is sent"},
	{"smtp_server", IMPORT_LOST, "no mail is sent"},
	{"smtp_connect_timeout", IMPORT_LOST, "no mail is sent"},
	{"smtp_helo_name", IMPORT_LOST, "no mail is sent"},
	{"smtp_alert", IMPORT_LOST, "no mail is sent"},
	{"smtp_alert_checker", IMPORT_LOST, "no mail is sent"},
	{"lvs_sync_daemon", IMPORT_NEEDLESS, "slots are the same on all nodes"},
	{"lvs_timeouts", IMPORT_LOST,
	 "idle times are node.flows.established, closing and udp; set them there"},
	{"lvs_flush", IMPORT_NEEDLESS, "a start takes over what runs"},
	{"lvs_flush_onstop", IMPORT_NEEDLESS, "weir stop ends forwarding"},
	{"enable_script_security", IMPORT_LOST, "checks of type exec run as the daemon does"},
	{"script_user", IMPORT_LOST, "checks of type exec run as the daemon does"},
	{"checker_log_all_failures", IMPORT_NEEDLESS, "weir status has the last failure of each"},
	{"max_auto_priority", IMPORT_NEEDLESS, "a setting of keepalived's own process"},
};

/* A setting with a block is noted as one: what is in it is of it. */
static void take_settings(struct import *import, const struct keep_node *block)
{
	for (const struct keep_node *at = block->children; at; at = at->next) {
		size_t count = sizeof(settings) / sizeof(*settings), i = 0;

		while (i < count && !keep_is(at, settings[i].name))
			i++;
		if (i < count)
			keep_note(import, at, settings[i].kind, settings[i].text);
		else
			keep_note(import, at, IMPORT_LOST, "a setting of keepalived's own");
	}
}

/* SSL_GET's: what a checker knows of it is asked for by settings of each pool's check. */
static void take_ssl(struct import *import, const struct keep_node *block)
{
	for (const struct keep_node *at = block->children; at; at = at->next)
		/* By its name alone: one of them is a password. */
		import_note(import, at->place, IMPORT_LOST, keep_word(at, 0),
			    "set ca_file, cert_file and key_file in the pools' checks");
}

static int take(struct keep_tree *tree, const struct keep_node *node)
{
	struct import *import = tree->import;

	import->now = NULL;
	if (keep_is(node, "virtual_server"))
		return keep_virtual(tree, node);
	if (keep_is(node, "virtual_server_group"))
		return 0;
	if (keep_is(node, "vrrp_instance"))
		take_vrrp(import, node);
	else if (keep_is(node, "global_defs"))
		take_settings(import, node);
	else if (keep_is(node, "SSL"))
		take_ssl(import, node);
	else
		keep_note_row(import, node, rows, sizeof(rows) / sizeof(*rows));
	return 0;
}

/* Groups are read by the virtual servers that name them. */
static void note_groups(struct keep_tree *tree)
{
	for (const struct keep_node *at = tree->root.children; at; at = at->next) {
		bool used = false;

		if (!keep_is(at, "virtual_server_group"))
			continue;
		for (const struct keep_node *other = tree->root.children; other && !used;
		     other = other->next)
			used = keep_is(other, "virtual_server") &&
			       strcmp(keep_word(other, 1), "group") == 0 &&
			       strcmp(keep_word(other, 2), keep_word(at, 1)) == 0;
		tree->import->now = NULL;
		if (!used)
			keep_note(tree->import, at, IMPORT_LOST, "no virtual_server names it");
	}
}

int import_keepalived(struct import *import, const char *text, size_t length, const char *file,
		      const struct import_files *files, struct err *err)
{
	struct keep_tree tree;
	int error;

	keep_tree_init(&tree, import, err);
	error = keep_lines(&tree, text, length, arena_strdup(import->arena, file), files);
	if (!error)
		error = keep_tree_end(&tree);
	for (const struct keep_node *at = tree.root.children; at && !error; at = at->next)
		error = take(&tree, at);
	if (!error)
		note_groups(&tree);
	return error;
}
