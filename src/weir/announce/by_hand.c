/* SPDX-License-Identifier: BSD-2-Clause */
/* The text is read as one from outside, as that of overrides is (operate/overrides.c). */
#include "weir/announce/by_hand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf.h"
#include "weir/operate/kept.h"

enum { MOST = CONF_VIPS_MAX + CONF_VIP_RANGES_MAX };

void by_hand_fini(struct by_hand *by_hand)
{
	free(by_hand->list);
	*by_hand = (struct by_hand){0};
}

static int compare(const struct prefix *a, const struct prefix *b)
{
	int order = memcmp(a->addr.bytes, b->addr.bytes, sizeof(a->addr.bytes));

	return order ? order : (int)a->length - (int)b->length;
}

/* Where it is, or belongs. */
static size_t place_of(const struct by_hand *by_hand, const struct prefix *prefix)
{
	size_t low = 0, high = by_hand->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare(&by_hand->list[middle].prefix, prefix) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct withdrawal *by_hand_find(const struct by_hand *by_hand, const struct prefix *prefix)
{
	size_t at = place_of(by_hand, prefix);

	if (at == by_hand->count || compare(&by_hand->list[at].prefix, prefix) != 0)
		return NULL;
	return &by_hand->list[at];
}

int by_hand_add(struct by_hand *by_hand, const struct prefix *prefix, uint64_t since_ms)
{
	size_t at = place_of(by_hand, prefix);

	if (by_hand_find(by_hand, prefix))
		return 0;
	if (by_hand->count == by_hand->room) {
		size_t room = by_hand->room ? by_hand->room * 2 : 8;
		struct withdrawal *grown = realloc(by_hand->list, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		by_hand->list = grown;
		by_hand->room = room;
	}
	memmove(&by_hand->list[at + 1], &by_hand->list[at],
		(by_hand->count++ - at) * sizeof(*by_hand->list));
	by_hand->list[at] = (struct withdrawal){*prefix, since_ms};
	return 0;
}

bool by_hand_remove(struct by_hand *by_hand, const struct prefix *prefix)
{
	size_t at = place_of(by_hand, prefix);

	if (!by_hand_find(by_hand, prefix))
		return false;
	by_hand->count--;
	memmove(&by_hand->list[at], &by_hand->list[at + 1],
		(by_hand->count - at) * sizeof(*by_hand->list));
	return true;
}

bool by_hand_is_empty(const struct by_hand *by_hand)
{
	return !by_hand->count && !by_hand->all_since_ms && !by_hand->drain_since_ms;
}

/* --- as text --- */

static void put(json_t *list, const char *what, uint64_t since_ms)
{
	if (since_ms)
		json_array_append_new(list, json_pack("{s:s, s:I}", "withdrawn", what, "since_ms",
						      (json_int_t)since_ms));
}

json_t *by_hand_to_json(const struct by_hand *by_hand)
{
	json_t *list = json_array();
	char text[ADDR_TEXT_MAX];

	put(list, "all", by_hand->all_since_ms);
	put(list, "node", by_hand->drain_since_ms);
	for (size_t i = 0; i < by_hand->count; i++)
		put(list, prefix_format(&by_hand->list[i].prefix, text), by_hand->list[i].since_ms);
	return kept_to_json("withdrawals", list);
}

/* NULL, or what is wrong with it. */
static const char *parse_one(json_t *object, struct by_hand *ret)
{
	struct prefix prefix;
	const char *what;
	json_int_t since;

	if (json_unpack(object, "{s:s, s:I !}", "withdrawn", &what, "since_ms", &since))
		return "has other keys or values than a withdrawal";
	if (since <= 0)
		return "has a wrong time";
	if (strcmp(what, "all") == 0) {
		ret->all_since_ms = (uint64_t)since;
		return NULL;
	}
	if (strcmp(what, "node") == 0) {
		ret->drain_since_ms = (uint64_t)since;
		return NULL;
	}
	if (prefix_parse(what, &prefix))
		return "is of no prefix";
	return by_hand_add(ret, &prefix, (uint64_t)since) ? "is too much: out of memory" : NULL;
}

int by_hand_parse(const char *text, size_t length, void *ret, struct err *err)
{
	json_t *root, *list, *object;
	const char *wrong = NULL;
	size_t i;
	int code = kept_parse(text, length, "withdrawals", &root, &list, err);

	if (code)
		return code;
	if (json_array_size(list) > MOST)
		code = err_set(err, -EINVAL, "it has more than %d withdrawals", MOST);
	for (i = 0; !code && !wrong && (object = json_array_get(list, i)); i++)
		wrong = parse_one(object, ret);
	if (wrong)
		code = err_set(err, -EINVAL, "withdrawal %zu %s", i, wrong);
	json_decref(root);
	if (code)
		by_hand_fini(ret);
	return code;
}
