/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum {
	WORDS_MAX = 8,
	TEXT_MAX = 200,
	NAMES_SHOWN = 8,
	NAME_MAX_LENGTH = 63,
	WEIGHT_DEFAULT = 100,
	WEIGHT_MAX = 1000000
};

const char sim_events_help[] =
	"Events, one a line: [TIME] EVENT [ARGUMENT ...]; what follows # is a comment.\n"
	"TIME is since the start (90s) or, with +, since the line before (+500ms); units ms, s,\n"
	"m, h. Without it an event comes --gap after the one before. Events of one time happen\n"
	"together. BACKENDS and NODES are lists with commas; nodes are numbers from 1.\n"
	"\n"
	"  fail BACKENDS         their machines die; connections there end\n"
	"  unhealthy BACKENDS    their checks fail, though they serve\n"
	"  unchecked BACKENDS    their checks have no result yet: with add, for who is new\n"
	"  return BACKENDS       after any of these: their checks succeed\n"
	"  drain BACKENDS        no new flows\n"
	"  maint BACKENDS        out at once; connections there end\n"
	"  ready BACKENDS        after either\n"
	"  weight BACKENDS N%    take new flows in this part of their weight\n"
	"  add BACKEND [weight=N] [address=A]\n"
	"                        to the pool, by a new file\n"
	"  remove BACKENDS       from the pool; connections there end\n"
	"  node-down NODES       die, with the flows that they know\n"
	"  node-up NODES         begin, knowing none\n"
	"  node-out NODES        get no more from the routers, but go on\n"
	"  node-in NODES         after it\n"
	"  rehash                the routers' hash gets another seed\n"
	"  router modulo|hrw     the routers' way to spread flows changes\n"
	"  wait                  nothing: time passes\n";

enum takes { TAKES_NOTHING, TAKES_BACKENDS, TAKES_SHARE, TAKES_NEW, TAKES_NODES, TAKES_ROUTER };

static const struct kind {
	const char *name;
	enum sim_what what;
	enum takes takes;
} kinds[] = {
	{"fail", SIM_FAIL, TAKES_BACKENDS},
	{"unhealthy", SIM_UNHEALTHY, TAKES_BACKENDS},
	{"unchecked", SIM_UNCHECKED, TAKES_BACKENDS},
	{"return", SIM_RETURN, TAKES_BACKENDS},
	{"drain", SIM_DRAIN, TAKES_BACKENDS},
	{"maint", SIM_MAINT, TAKES_BACKENDS},
	{"ready", SIM_READY, TAKES_BACKENDS},
	{"weight", SIM_WEIGHT, TAKES_SHARE},
	{"add", SIM_ADD, TAKES_NEW},
	{"remove", SIM_REMOVE, TAKES_BACKENDS},
	{"node-down", SIM_NODE_DOWN, TAKES_NODES},
	{"node-up", SIM_NODE_UP, TAKES_NODES},
	{"node-out", SIM_NODE_OUT, TAKES_NODES},
	{"node-in", SIM_NODE_IN, TAKES_NODES},
	{"rehash", SIM_REHASH, TAKES_NOTHING},
	{"router", SIM_ROUTER, TAKES_ROUTER},
	{"wait", SIM_WAIT, TAKES_NOTHING},
};

struct word {
	const char *at;
	size_t length;
	int column;
};

struct parser {
	const struct sim_reading *reading;
	struct sim_events *events;
	struct err_list *errors;
	size_t event_room, step_room;
	bool *present; /* by backend: in the pool at this line */
	size_t present_room;
	int line;
	struct word words[WORDS_MAX];
	size_t word_count;
	bool failed, no_memory;
};

static void wrong(struct parser *parser, const struct word *word, const char *what)
{
	parser->failed = true;
	err_list_add(parser->errors, parser->line, word->column, "\"%.*s\": %s",
		     (int)(word->length > 64 ? 64 : word->length), word->at, what);
}

static bool is(const struct word *word, const char *text)
{
	return strlen(text) == word->length && memcmp(word->at, text, word->length) == 0;
}

/* Doubles the room of an array when it is full. */
static bool grow(struct parser *parser, void **array, size_t *room, size_t count, size_t size)
{
	size_t more = *room ? 2 * *room : 64;
	void *new;

	if (count < *room)
		return true;
	new = realloc(*array, more * size);
	if (!new) {
		parser->no_memory = true;
		return false;
	}
	*array = new;
	*room = more;
	return true;
}

/* --- numbers --- */

/* Digits at the front of a word, at most `max`; the word is moved past them. */
static bool take_number(struct word *word, uint64_t max, uint64_t *ret)
{
	uint64_t number = 0;
	size_t at = 0;

	for (; at < word->length && word->at[at] >= '0' && word->at[at] <= '9'; at++) {
		number = number * 10 + (uint64_t)(word->at[at] - '0');
		if (number > max)
			return false;
	}
	word->at += at;
	word->length -= at;
	word->column += (int)at;
	*ret = number;
	return at > 0;
}

/* A whole word that is a number and what may follow it. */
static bool parse_number(struct word word, const char *suffix, uint64_t max, uint64_t *ret)
{
	return take_number(&word, max, ret) && is(&word, suffix);
}

static bool parse_time(struct word word, uint64_t *ret_ms)
{
	static const struct {
		const char *suffix;
		uint64_t ms;
	} units[] = {{"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}};
	uint64_t number;

	if (!take_number(&word, 1000000000, &number))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (is(&word, units[i].suffix)) {
			*ret_ms = number * units[i].ms;
			return true;
		}
	}
	return false;
}

/* --- what is made of a line --- */

static void add_event(struct parser *parser, struct sim_event event)
{
	struct sim_events *events = parser->events;
	struct word *first = &parser->words[0];

	if (events->event_count == SIM_EVENTS_MAX)
		return wrong(parser, first, "more than 1000000 events");
	if (!grow(parser, (void **)&events->events, &parser->event_room, events->event_count,
		  sizeof(event)))
		return;
	events->events[events->event_count++] = event;
	events->steps[events->step_count - 1].count++;
}

static bool set_present(struct parser *parser, size_t backend, bool present)
{
	while (backend >= parser->present_room) {
		size_t old = parser->present_room;

		if (!grow(parser, (void **)&parser->present, &parser->present_room, old,
			  sizeof(bool)))
			return false;
		memset(parser->present + old, 0, parser->present_room - old);
	}
	parser->present[backend] = present;
	return true;
}

/* The next name of a list with commas; moves the list past it. */
static bool next_name(struct word *list, struct word *ret)
{
	size_t length = 0;

	if (!list->length)
		return false;
	while (length < list->length && list->at[length] != ',')
		length++;
	*ret = (struct word){list->at, length, list->column};
	length += length < list->length;
	list->at += length;
	list->length -= length;
	list->column += (int)length;
	return true;
}

static void unknown_backend(struct parser *parser, const struct word *name)
{
	const struct sim_fleet *fleet = parser->reading->fleet;
	char text[ERR_TEXT_MAX] = "no such backend is in the pool at this time; there are";
	size_t shown = 0;

	for (size_t i = 0; i < fleet->count && shown < NAMES_SHOWN; i++) {
		size_t length = strlen(text);

		if (!parser->present[i] ||
		    length + strlen(fleet->backends[i].name) + 8 > sizeof(text))
			continue;
		strcat(text, shown++ ? ", " : " ");
		strcat(text, fleet->backends[i].name);
	}
	strcat(text, shown == NAMES_SHOWN ? " ..." : shown ? "" : " none");
	wrong(parser, name, text);
}

static void read_backends(struct parser *parser, const struct kind *kind, struct word list,
			  uint32_t share)
{
	struct word name;

	while (next_name(&list, &name)) {
		size_t backend = sim_fleet_find(parser->reading->fleet, name.at, name.length);

		if (backend == SIM_NOBODY || !parser->present[backend]) {
			unknown_backend(parser, &name);
			continue;
		}
		if (kind->what == SIM_REMOVE)
			parser->present[backend] = false;
		add_event(parser, (struct sim_event){kind->what, (uint32_t)backend, share});
	}
}

static void read_nodes(struct parser *parser, const struct kind *kind, struct word list)
{
	struct word name;
	uint64_t node;

	while (next_name(&list, &name)) {
		if (!parse_number(name, "", SIM_NODES_MAX, &node) || node == 0) {
			wrong(parser, &name, "expected a node's number, 1 to 1024");
			continue;
		}
		if (node > parser->events->nodes && kind->what != SIM_NODE_UP) {
			wrong(parser, &name, "no node has had this number yet");
			continue;
		}
		if (node > parser->events->nodes)
			parser->events->nodes = (uint32_t)node;
		add_event(parser, (struct sim_event){kind->what, (uint32_t)node - 1, 0});
	}
}

static bool name_is_right(const struct word *name)
{
	if (!name->length || name->length > NAME_MAX_LENGTH)
		return false;
	for (size_t i = 0; i < name->length; i++) {
		char c = name->at[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		bool digit = c >= '0' && c <= '9';

		if (!letter && !digit && (i == 0 || !strchr("._-", c)))
			return false;
	}
	return true;
}

static bool address_is_taken(const struct sim_fleet *fleet, const struct addr *address)
{
	for (size_t i = 0; i < fleet->count; i++) {
		if (addr_equal(&fleet->backends[i].address, address))
			return true;
	}
	return false;
}

/* One of 198.18.0.0/15, which is for tests (RFC 2544), or its like in IPv6 (RFC 5180). */
static struct addr invent_address(const struct sim_fleet *fleet)
{
	bool is4 = fleet->count == 0 || addr_is4(&fleet->backends[0].address);
	struct addr address;
	size_t number = fleet->count;

	do {
		number++;
		addr_parse(is4 ? "198.18.0.0" : "2001:2::", &address);
		address.bytes[14] = (uint8_t)(number >> 8);
		address.bytes[15] = (uint8_t)number;
	} while (address_is_taken(fleet, &address));
	return address;
}

static bool read_options(struct parser *parser, struct sim_backend *backend)
{
	for (size_t i = 0; i < parser->word_count; i++) {
		struct word word = parser->words[i];
		bool is_weight = word.length > 7 && memcmp(word.at, "weight=", 7) == 0;
		bool is_address = word.length > 8 && memcmp(word.at, "address=", 8) == 0;
		size_t skip = is_weight ? 7 : 8;
		struct word value = {word.at + skip, word.length - skip, word.column};
		char text[ADDR_TEXT_MAX] = "";
		uint64_t weight;

		if (is_weight && parse_number(value, "", WEIGHT_MAX, &weight)) {
			backend->weight = (uint32_t)weight;
			continue;
		}
		if (is_address && value.length < sizeof(text))
			memcpy(text, value.at, value.length);
		if (is_address && addr_parse(text, &backend->address) == 0)
			continue;
		wrong(parser, &word, "expected weight=N, at most 1000000, or address=ADDRESS");
		return false;
	}
	return true;
}

/* One that was removed may come back, as what it was. */
static void read_new(struct parser *parser, const struct word *name)
{
	struct sim_fleet *fleet = parser->reading->fleet;
	struct sim_backend backend = {.weight = WEIGHT_DEFAULT, .share = 100, .conf = SIZE_MAX};
	size_t known = sim_fleet_find(fleet, name->at, name->length);
	char text[NAME_MAX_LENGTH + 1] = "";

	if (!name_is_right(name))
		return wrong(parser, name, "a name has letters, digits, and . _ - within");
	if (known != SIM_NOBODY && parser->present[known])
		return wrong(parser, name, "is in the pool already");
	if (known != SIM_NOBODY && parser->word_count)
		return wrong(parser, &parser->words[0],
			     "it was there before, and comes back as it was");
	if (known == SIM_NOBODY) {
		memcpy(text, name->at, name->length);
		backend.name = text;
		backend.address = invent_address(fleet);
		backend.port = fleet->count ? fleet->backends[0].port : 0;
		if (!read_options(parser, &backend))
			return;
		known = sim_fleet_add(fleet, &backend);
	}
	if (known == SIM_NOBODY)
		return wrong(parser, name, "more than 16383 backends");
	if (set_present(parser, known, true))
		add_event(parser, (struct sim_event){SIM_ADD, (uint32_t)known, 0});
}

/* --- lines --- */

/* Takes the first word off. */
static bool shift(struct parser *parser, struct word *ret)
{
	if (!parser->word_count)
		return false;
	*ret = parser->words[0];
	parser->word_count--;
	memmove(parser->words, parser->words + 1, parser->word_count * sizeof(parser->words[0]));
	return true;
}

static bool shift_or(struct parser *parser, const struct word *after, struct word *ret,
		     const char *expected)
{
	struct word end = {after->at, after->length, after->column};

	if (shift(parser, ret))
		return true;
	wrong(parser, &end, expected);
	return false;
}

static void read_arguments(struct parser *parser, const struct kind *kind, const struct word *event)
{
	struct word word, second;
	uint64_t share;
	int routing;

	switch (kind->takes) {
	case TAKES_NOTHING: add_event(parser, (struct sim_event){kind->what, 0, 0}); break;
	case TAKES_BACKENDS:
		if (shift_or(parser, event, &word, "whose backends' names are missing"))
			read_backends(parser, kind, word, 0);
		break;
	case TAKES_SHARE:
		if (!shift_or(parser, event, &word, "expected BACKENDS and N%") ||
		    !shift_or(parser, &word, &second, "expected N% after it"))
			break;
		if (!parse_number(second, "%", 100, &share))
			wrong(parser, &second, "expected 0% to 100%");
		else
			read_backends(parser, kind, word, (uint32_t)share);
		break;
	case TAKES_NEW:
		if (shift_or(parser, event, &word, "expected the new backend's name"))
			read_new(parser, &word);
		parser->word_count = 0;
		break;
	case TAKES_NODES:
		if (shift_or(parser, event, &word, "expected nodes' numbers"))
			read_nodes(parser, kind, word);
		break;
	case TAKES_ROUTER:
		if (!shift_or(parser, event, &word, "expected modulo or hrw"))
			break;
		routing = is(&word, "modulo") ? SIM_ROUTING_MODULO
			  : is(&word, "hrw")  ? SIM_ROUTING_HRW
					      : -1;
		if (routing < 0)
			wrong(parser, &word, "expected modulo or hrw");
		else
			add_event(parser, (struct sim_event){kind->what, (uint32_t)routing, 0});
		break;
	}
}

/* When it happens; takes the time off the line. */
static bool read_time(struct parser *parser, uint64_t *ret)
{
	const struct sim_events *events = parser->events;
	uint64_t last = events->step_count ? events->steps[events->step_count - 1].at_ms : 0;
	struct word word = parser->words[0], number;
	uint64_t time;
	bool since_last = word.at[0] == '+';

	*ret = last + parser->reading->gap_ms;
	if (!since_last && (word.at[0] < '0' || word.at[0] > '9'))
		return true;
	shift(parser, &word);
	number = word;
	number.at += since_last;
	number.length -= since_last;
	if (!parse_time(number, &time)) {
		wrong(parser, &word, "expected a time such as 90s or +500ms");
		return false;
	}
	*ret = since_last ? last + time : time;
	if (*ret < last) {
		wrong(parser, &word, "is before the time of the line before");
		return false;
	}
	return true;
}

static bool begin_step(struct parser *parser, uint64_t at_ms, const struct word *text)
{
	struct sim_events *events = parser->events;
	struct arena *arena = parser->reading->fleet->arena;
	struct sim_step *last = events->step_count ? &events->steps[events->step_count - 1] : NULL;

	if (last && last->at_ms == at_ms) {
		size_t length = strlen(last->text);

		/* The text is shown, so it need not be whole. */
		if (length < TEXT_MAX)
			last->text = arena_printf(arena, "%s, %.*s", last->text, (int)text->length,
						  text->at);
		return true;
	}
	if (!grow(parser, (void **)&events->steps, &parser->step_room, events->step_count,
		  sizeof(*events->steps)))
		return false;
	events->steps[events->step_count++] = (struct sim_step){
		.at_ms = at_ms,
		.text = arena_printf(arena, "%.*s", (int)text->length, text->at),
		.first = events->event_count,
	};
	return true;
}

static void read_event(struct parser *parser)
{
	const struct kind *kind = NULL;
	struct word event, text, last;
	uint64_t at_ms;

	if (!read_time(parser, &at_ms))
		return;
	if (!parser->word_count) {
		parser->failed = true;
		return err_list_add(parser->errors, parser->line, 1,
				    "a time, but no event after it");
	}
	last = parser->words[parser->word_count - 1];
	shift(parser, &event);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (is(&event, kinds[i].name))
			kind = &kinds[i];
	}
	if (!kind)
		return wrong(parser, &event,
			     "no such event; expected fail, unhealthy, unchecked, return, drain, "
			     "maint, ready, weight, add, remove, node-down, node-up, node-out, "
			     "node-in, rehash, router or wait");
	text = event;
	text.length = (size_t)(last.at + last.length - event.at);
	if (!begin_step(parser, at_ms, &text))
		return;
	read_arguments(parser, kind, &event);
	if (parser->word_count && !parser->failed)
		wrong(parser, &parser->words[0], "nothing may follow here");
}

static void read_line(struct parser *parser, const char *line, size_t length)
{
	size_t at = 0;

	parser->word_count = 0;
	while (at < length && line[at] != '#') {
		size_t start = at;

		while (at < length && !strchr(" \t\r#", line[at]))
			at++;
		if (at > start && parser->word_count == WORDS_MAX) {
			struct word word = {line + start, at - start, (int)start + 1};

			return wrong(parser, &word, "more words than any event has");
		}
		if (at > start)
			parser->words[parser->word_count++] =
				(struct word){line + start, at - start, (int)start + 1};
		while (at < length && strchr(" \t\r", line[at]))
			at++;
	}
	if (parser->word_count)
		read_event(parser);
}

int sim_events_parse(const char *text, const struct sim_reading *reading, struct sim_events *ret,
		     struct err_list *errors)
{
	struct parser parser = {.reading = reading, .events = ret, .errors = errors};
	bool memory = true;

	*ret = (struct sim_events){.nodes = reading->nodes};
	for (size_t i = 0; i < reading->fleet->count && memory; i++)
		memory = set_present(&parser, i, reading->fleet->backends[i].present);
	while (memory && *text && !parser.no_memory) {
		size_t length = strcspn(text, "\n");

		if (++parser.line > SIM_LINES_MAX) {
			err_list_add(errors, parser.line, 1, "more than 100000 lines");
			parser.failed = true;
			break;
		}
		read_line(&parser, text, length);
		text += length + (text[length] == '\n');
	}
	free(parser.present);
	if (!memory || parser.no_memory)
		return -ENOMEM;
	return parser.failed ? -EINVAL : 0;
}

void sim_events_fini(struct sim_events *events)
{
	free(events->events);
	free(events->steps);
	*events = (struct sim_events){0};
}
