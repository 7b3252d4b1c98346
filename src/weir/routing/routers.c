/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/routing/routers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/event.h"
#include "base/log.h"
#include "bfd/bfd.h"
#include "weir/announce/secret.h"
#include "weir/routing/state.h"

enum { SECOND_MS = 1000 };

/* --- BFD; the speaker speaks for itself --- */

static void on_bfd(void *arg, struct bfd_session *session, enum bfd_news news)
{
	static const char *const words[] = {
		[BFD_NEWS_UP] = "BFD is up",
		[BFD_NEWS_LOST] = "BFD says that the router is lost",
		[BFD_NEWS_OFF] = "BFD was switched off by the router",
	};
	struct router *router = arg;
	char text[ADDR_TEXT_MAX];
	struct bfd_status status;

	bfd_status(session, &status);
	event_note(&(struct event_about){"bfd", 1, news == BFD_NEWS_LOST ? LOG_WARN : LOG_INFO,
					 &router->log},
		   words[news], "peer=%s why=%s",
		   addr_format_on(&router->conf.address, router->interface, text),
		   log_quote(news == BFD_NEWS_LOST ? status.why : "").text);
	if (news == BFD_NEWS_LOST && router->peer)
		bgp_peer_lost(router->peer, status.why);
}

/* --- a router --- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* A file that cannot be read now changes nothing: routers_check has said so. */
static bool has_secret(const struct router *router)
{
	char secret[SECRET_MAX + 1];
	struct err err;
	bool same;

	if (!router->password_file || secret_read(router->password_file, secret, &err))
		return true;
	same = bgp_peer_has_password(router->peer, secret);
	secret_wipe(secret);
	return same;
}

/* But for BFD, whose session changes without the speaker's. */
static bool same_router(const struct router *router, const struct conf_bgp *bgp,
			const struct conf_peer *peer)
{
	const struct conf_peer *have = &router->conf;

	return addr_equal(&have->address, &peer->address) &&
	       strcmp(router->interface, peer->interface ? peer->interface : "") == 0 &&
	       addr_equal(&have->source, &peer->source) && have->port == peer->port &&
	       have->asn == peer->asn && same_text(router->password_file, peer->password_file) &&
	       have->hops == peer->hops && have->gtsm == peer->gtsm &&
	       have->passive == peer->passive &&
	       have->extended_next_hop == peer->extended_next_hop &&
	       addr_equal(&router->next_hop4, &bgp->next_hop4) &&
	       addr_equal(&router->next_hop6, &bgp->next_hop6) && has_secret(router);
}

static void remove_router(struct router *router)
{
	if (router->session)
		bfd_remove(router->session);
	if (router->peer)
		bgp_remove_peer(router->peer);
	free(router->password_file);
	free(router);
}

static int add_session(struct routers *routers, struct router *router, struct err *err)
{
	const struct conf_peer *peer = &router->conf;
	const struct bfd_spec spec = {
		.local = peer->source,
		.peer = peer->address,
		.interface = peer->interface,
		.interval_ms = peer->bfd.interval_ms,
		.multiplier = (uint8_t)peer->bfd.multiplier,
		.hops = peer->hops,
	};

	if (!peer->bfd.interval_ms)
		return 0;
	if (!routers->bfd && bfd_open(routers->loop, &routers->bfd, err))
		return -EIO;
	return bfd_add(routers->bfd, &spec, on_bfd, router, &router->session, err);
}

static int add_peer(struct routers *routers, struct router *router, struct err *err)
{
	const struct conf_peer *peer = &router->conf;
	char secret[SECRET_MAX + 1] = "";
	struct bgp_peer_spec spec = {
		.address = peer->address,
		.interface = peer->interface,
		.local = peer->source,
		.port = peer->port,
		.asn = peer->asn,
		.hops = peer->hops,
		.gtsm = peer->gtsm,
		.passive = peer->passive,
		.next_hop4 = router->next_hop4,
		.next_hop6 = router->next_hop6,
		.extended_next_hop = peer->extended_next_hop,
	};
	int code = 0;

	if (router->password_file)
		code = secret_read(router->password_file, secret, err);
	if (code)
		return code;
	spec.password = router->password_file ? secret : NULL;
	code = bgp_add_peer(routers->bgp, &spec, NULL, NULL, &router->peer, err);
	secret_wipe(secret);
	return code ? code : add_session(routers, router, err);
}

/* The configuration it comes from may be gone before it. */
static int add_router(struct routers *routers, const struct conf_bgp *bgp,
		      const struct conf_peer *peer, struct err *err)
{
	struct router *router = calloc(1, sizeof(*router));
	int code;

	if (!router)
		return err_set(err, -ENOMEM, "out of memory");
	router->conf = *peer;
	router->conf.password_file = router->conf.interface = NULL;
	if (peer->interface) {
		snprintf(router->interface, sizeof(router->interface), "%s", peer->interface);
		router->conf.interface = router->interface;
	}
	router->next_hop4 = bgp->next_hop4;
	router->next_hop6 = bgp->next_hop6;
	if (peer->password_file)
		router->password_file = strdup(peer->password_file);
	if (peer->password_file && !router->password_file)
		code = err_set(err, -ENOMEM, "out of memory");
	else
		code = add_peer(routers, router, err);
	if (code) {
		remove_router(router);
		return code;
	}
	routers->list[routers->count++] = router;
	return 0;
}

/* --- all of them --- */

int routers_check(const struct conf_bgp *conf, struct err *err)
{
	char secret[SECRET_MAX + 1];

	for (size_t i = 0; i < conf->peer_count; i++) {
		const char *path = conf->peers[i].password_file;
		int code = path ? secret_read(path, secret, err) : 0;

		secret_wipe(secret);
		if (code)
			return code;
	}
	return 0;
}

static struct bgp_spec spec_of(const struct conf_bgp *conf, bool restarting)
{
	return (struct bgp_spec){
		.asn = conf->asn,
		.router_id = ntohl(addr_be32(&conf->router_id)),
		.hold_s = (uint32_t)(conf->hold_ms / SECOND_MS),
		.restart_s = (uint32_t)(conf->graceful_restart_ms / SECOND_MS),
		.restarting = restarting && conf->graceful_restart_ms,
		.local_pref = conf->local_pref,
		.stop_text = "weir is stopped",
	};
}

int routers_open(uv_loop_t *loop, const struct conf_bgp *conf, bool restarting,
		 struct routers **ret, struct err *err)
{
	const struct bgp_spec spec = spec_of(conf, restarting);
	struct routers *routers = calloc(1, sizeof(*routers));
	int code;

	if (!routers)
		return err_set(err, -ENOMEM, "out of memory");
	routers->loop = loop;
	routers->spec = spec;
	code = bgp_open(loop, &spec, &routers->bgp, err);
	for (size_t i = 0; !code && i < conf->peer_count; i++)
		code = add_router(routers, conf, &conf->peers[i], err);
	if (code) {
		routers_close(routers);
		return code;
	}
	*ret = routers;
	return 0;
}

static const struct conf_peer *find_peer(const struct conf_bgp *conf, const struct router *router)
{
	for (size_t i = 0; i < conf->peer_count; i++) {
		if (same_router(router, conf, &conf->peers[i]))
			return &conf->peers[i];
	}
	return NULL;
}

/* BFD as it is wanted now, beside a session that stays. */
static int take_bfd(struct routers *routers, struct router *router, const struct conf_peer *peer,
		    struct err *err)
{
	const struct conf_bfd before = router->conf.bfd;

	router->conf.bfd = peer->bfd;
	if (!router->session)
		return add_session(routers, router, err);
	if (!peer->bfd.interval_ms) {
		bfd_remove(router->session);
		router->session = NULL;
		return 0;
	}
	if (before.interval_ms == peer->bfd.interval_ms &&
	    before.multiplier == peer->bfd.multiplier)
		return 0;
	return bfd_change(router->session, peer->bfd.interval_ms, (uint8_t)peer->bfd.multiplier,
			  err);
}

static bool has_router(const struct routers *routers, const struct conf_bgp *conf,
		       const struct conf_peer *peer)
{
	for (size_t i = 0; i < routers->count; i++) {
		if (same_router(routers->list[i], conf, peer))
			return true;
	}
	return false;
}

static bool same_spec(const struct bgp_spec *a, const struct bgp_spec *b)
{
	return a->asn == b->asn && a->router_id == b->router_id && a->hold_s == b->hold_s &&
	       a->restart_s == b->restart_s && a->local_pref == b->local_pref;
}

bool routers_take(struct routers *routers, const struct conf_bgp *conf)
{
	const struct bgp_spec spec = spec_of(conf, false);
	size_t kept = 0;

	if (!same_spec(&spec, &routers->spec))
		return false;
	for (size_t i = 0; i < routers->count; i++) {
		struct router *router = routers->list[i];
		const struct conf_peer *peer = find_peer(conf, router);
		struct err err;

		if (!peer) {
			remove_router(router);
			continue;
		}
		routers->list[kept++] = router;
		if (take_bfd(routers, router, peer, &err))
			event_note(&(struct event_about){"bfd", 0, LOG_ERROR, NULL},
				   "a router has no BFD", "reason=%s", log_quote(err.text).text);
	}
	routers->count = kept;
	for (size_t i = 0; i < conf->peer_count; i++) {
		struct err err;

		if (!has_router(routers, conf, &conf->peers[i]) &&
		    add_router(routers, conf, &conf->peers[i], &err))
			event_note(&(struct event_about){"bgp", 0, LOG_ERROR, NULL},
				   "a router is left out", "reason=%s", log_quote(err.text).text);
	}
	return true;
}

struct bgp *routers_bgp(const struct routers *routers)
{
	return routers->bgp;
}

bool routers_know_any(const struct routers *routers)
{
	for (size_t i = 0; i < routers->count; i++) {
		if (bgp_peer_status(routers->list[i]->peer)->prefixes)
			return true;
	}
	return false;
}

bool routers_are_met(const struct routers *routers)
{
	for (size_t i = 0; i < routers->count; i++) {
		if (bgp_peer_status(routers->list[i]->peer)->state != BGP_PEER_ESTABLISHED)
			return false;
	}
	return true;
}

void routers_leave(struct routers *routers)
{
	for (size_t i = 0; i < routers->count; i++)
		remove_router(routers->list[i]);
	routers->count = 0;
}

void routers_close(struct routers *routers)
{
	if (!routers)
		return;
	bfd_close(routers->bfd);
	if (routers->bgp)
		bgp_close(routers->bgp);
	for (size_t i = 0; i < routers->count; i++) {
		free(routers->list[i]->password_file);
		free(routers->list[i]);
	}
	free(routers);
}
