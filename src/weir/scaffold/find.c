/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "weir/scaffold/scaffold.h"

static const struct card *find_card(const struct scaffold_host *host, const char *name)
{
	for (size_t i = 0; i < host->card_count; i++) {
		if (strcmp(host->cards[i].name, name) == 0)
			return &host->cards[i];
	}
	return NULL;
}

static int choose_asked(const struct scaffold *wanted, struct scaffold_host *host, struct err *err)
{
	for (size_t i = 0; i < wanted->interface_count; i++) {
		const struct card *card = find_card(host, wanted->interfaces[i]);

		if (!card)
			return err_set(err, -ENODEV, "%s: there is no such interface",
				       wanted->interfaces[i]);
		host->chosen[host->chosen_count++] = card;
	}
	return 0;
}

static bool has_gateway(const struct scaffold_host *host, const struct card *card)
{
	return host->gateways[0].ifindex == card->ifindex ||
	       host->gateways[1].ifindex == card->ifindex;
}

/* One that carries others' frames, or is made of them, is rarely what is meant. */
static bool may_be_meant(const struct card *card)
{
	return card->up && !card->loopback && strcmp(card->kind, "bridge") != 0 &&
	       strcmp(card->kind, "vlan") != 0;
}

static void choose_those(struct scaffold_host *host, bool with_gateway)
{
	for (size_t i = 0; i < host->card_count && host->chosen_count < SCAFFOLD_MAX; i++) {
		const struct card *card = &host->cards[i];

		if (with_gateway ? has_gateway(host, card) : may_be_meant(card))
			host->chosen[host->chosen_count++] = card;
	}
}

static int choose(struct scaffold_host *host, struct err *err)
{
	choose_those(host, true);
	if (!host->chosen_count)
		choose_those(host, false);
	if (host->chosen_count)
		return 0;
	return err_set(err, -ENODEV, "no interface is up here; say which by --interface");
}

int scaffold_find(const struct scaffold *wanted, struct scaffold_host *ret, struct err *err)
{
	static const int families[] = {AF_INET, AF_INET6};
	int error;

	memset(ret, 0, sizeof(*ret));
	conf_default_name(ret->name);
	error = card_list(&ret->cards, &ret->card_count, err);
	if (!error)
		error = host_addresses(&ret->addresses, &ret->address_count, err);
	for (size_t i = 0; i < 2 && !error; i++)
		error = host_gateway(families[i], &ret->gateways[i], err);
	if (!error)
		error = wanted->interface_count ? choose_asked(wanted, ret, err) : choose(ret, err);
	if (error)
		scaffold_host_fini(ret);
	return error;
}

void scaffold_host_fini(struct scaffold_host *host)
{
	free(host->cards);
	free(host->addresses);
}
