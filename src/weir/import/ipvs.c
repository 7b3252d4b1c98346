/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `ipvsadm -Sn` prints, and `ipvsadm -R` reads: a command a line, -A for a service and -a for
 * a server of one. A hand-written file may say `ipvsadm` before each, have comments, and use the
 * long names of options.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "weir/import/import.h"

enum {
	WORDS_MAX = 64,
	LINE_MAX = 4096,
	PERSISTENT_S = 300, /* of -p without a number */
	GUE_PORT = 6080,
};

struct word {
	const char *text;
	int column;
};

struct reader {
	struct import *import;
	struct import_place place; /* of the line, then of its words */
	struct word words[WORDS_MAX];
	size_t count, at;
	struct err *err;
};

/* What a line says. */
struct command {
	char verb; /* of -A: 'A'; 0: none yet */
	struct addr vip;
	uint16_t port;
	uint8_t proto;
	uint32_t mark;
	const char *what; /* the service as it stands there */
	const char *scheduler, *flags;
	struct import_place scheduler_place;
	bool ipv6, persistent, one_packet;
	uint64_t timeout_s;
	uint8_t granularity4, granularity6;
	bool has_server;
	struct addr server;
	uint16_t server_port;
	char way; /* g, i, m */
	const char *tunnel;
	uint64_t weight, tunnel_port, upper, lower;
};

static int refuse(struct reader *reader, const char *wrong, const char *expected)
{
	const char *text = reader->words[reader->at].text;

	err_set(reader->err, -EINVAL, "\"%s\" %s, expected %s",
		import_plain(reader->import, text, strlen(text)), wrong, expected);
	reader->err->line = reader->place.line;
	reader->err->column = reader->words[reader->at].column;
	return -EINVAL;
}

static struct import_place here(const struct reader *reader, size_t word)
{
	struct import_place place = reader->place;

	place.column = reader->words[word].column;
	return place;
}

/* --- words --- */

static int split(struct reader *reader, char *line)
{
	char *at = line;

	reader->count = reader->at = 0;
	for (;;) {
		while (isspace((unsigned char)*at))
			at++;
		if (!*at || (*at == '#' && (at == line || isspace((unsigned char)at[-1]))))
			return 0;
		if (reader->count == WORDS_MAX) {
			reader->at = WORDS_MAX - 1;
			return refuse(reader, "is too many words on a line", "64 at most");
		}
		reader->words[reader->count++] = (struct word){at, (int)(at - line) + 1};
		while (*at && !isspace((unsigned char)*at))
			at++;
		if (*at)
			*at++ = '\0';
	}
}

/* The word after an option; NULL: there is none. */
static const char *value(struct reader *reader)
{
	if (reader->at + 1 >= reader->count) {
		refuse(reader, "has no value", "one after it");
		return NULL;
	}
	return reader->words[++reader->at].text;
}

static int number(struct reader *reader, uint64_t max, uint64_t *ret)
{
	const char *text = value(reader);

	if (!text)
		return -EINVAL;
	if (!import_number(text, max, ret))
		return refuse(reader, "is not a number", "one that is not too large");
	return 0;
}

/* "10.0.0.1:80", "[2001:db8::1]:80", without a port too. */
static int endpoint(struct reader *reader, struct addr *ret_addr, uint16_t *ret_port)
{
	const char *text = value(reader), *colon, *end;
	char address[ADDR_TEXT_MAX];
	uint64_t port = 0;
	size_t length;

	if (!text)
		return -EINVAL;
	colon = strrchr(text, ':');
	end = strchr(text, ']');
	if (*text == '[' && end) {
		text++;
		colon = end[1] == ':' ? end + 1 : NULL;
	} else if (colon && strchr(text, ':') != colon) {
		colon = NULL; /* IPv6 without a port */
	}
	length = *reader->words[reader->at].text == '[' && end ? (size_t)(end - text)
		 : colon                                       ? (size_t)(colon - text)
							       : strlen(text);
	if (length < sizeof(address)) {
		memcpy(address, text, length);
		address[length] = '\0';
		if (!addr_parse(address, ret_addr) &&
		    (!colon || import_number(colon + 1, UINT16_MAX, &port))) {
			*ret_port = (uint16_t)port;
			return 0;
		}
	}
	return refuse(reader, "is not an address and port",
		      "numbers, as ipvsadm -Sn prints them (with the n)");
}

static int netmask(struct reader *reader, struct command *command)
{
	const char *text = value(reader);
	struct addr mask;
	uint64_t bits;

	if (!text)
		return -EINVAL;
	if (import_number(text, 128, &bits)) {
		command->granularity6 = (uint8_t)(bits == 128 ? 0 : bits);
		return 0;
	}
	if (addr_parse(text, &mask) || !addr_is4(&mask))
		return refuse(reader, "is not a mask", "one such as 255.255.255.0, or of IPv6 64");
	bits = (uint64_t)__builtin_popcount(addr_be32(&mask));
	command->granularity4 = (uint8_t)(bits == 32 ? 0 : bits);
	return 0;
}

/* --- options --- */

static int service_option(struct reader *reader, struct command *command, uint8_t proto)
{
	int error;

	command->proto = proto;
	error = endpoint(reader, &command->vip, &command->port);
	command->what = reader->words[reader->at].text;
	return error;
}

static int mark_option(struct reader *reader, struct command *command)
{
	uint64_t mark = 0;
	int error = number(reader, UINT32_MAX, &mark);

	command->mark = (uint32_t)mark;
	command->what = reader->words[reader->at].text;
	if (!error && !mark)
		error = refuse(reader, "is no mark", "a number above 0");
	return error;
}

static int scheduler_option(struct reader *reader, struct command *command)
{
	command->scheduler = value(reader);
	command->scheduler_place = here(reader, reader->at);
	return command->scheduler ? 0 : -EINVAL;
}

/* The time may follow. */
static int persistent_option(struct reader *reader, struct command *command)
{
	command->persistent = true;
	command->timeout_s = PERSISTENT_S;
	if (reader->at + 1 < reader->count &&
	    isdigit((unsigned char)*reader->words[reader->at + 1].text))
		return number(reader, UINT32_MAX, &command->timeout_s);
	return 0;
}

static int server_option(struct reader *reader, struct command *command)
{
	command->has_server = true;
	return endpoint(reader, &command->server, &command->server_port);
}

static int tunnel_option(struct reader *reader, struct command *command)
{
	command->tunnel = value(reader);
	return command->tunnel ? 0 : -EINVAL;
}

static int text_option(struct reader *reader, const char **ret)
{
	*ret = value(reader);
	return *ret ? 0 : -EINVAL;
}

/* What stands there without a counterpart, with its value, if it has one. */
static int lose(struct reader *reader, const char *text, bool has_value)
{
	struct import_place place = here(reader, reader->at);
	const char *option = reader->words[reader->at].text, *of = "";

	if (has_value) {
		of = value(reader);
		if (!of)
			return -EINVAL;
	}
	import_note(reader->import, place, IMPORT_LOST,
		    arena_printf(reader->import->arena, "%s%s%s", option, has_value ? " " : "", of),
		    "%s", text);
	return 0;
}

static const struct {
	const char *name;
	char letter;
} options[] = {
	{"--add-service", 'A'},
	{"--add-server", 'a'},
	{"--tcp-service", 't'},
	{"--udp-service", 'u'},
	{"--sctp-service", 'S'},
	{"--fwmark-service", 'f'},
	{"--scheduler", 's'},
	{"--persistent", 'p'},
	{"--netmask", 'M'},
	{"--ops", 'O'},
	{"-o", 'O'},
	{"--sched-flags", 'b'},
	{"--real-server", 'r'},
	{"--gatewaying", 'g'},
	{"--ipip", 'i'},
	{"--masquerading", 'm'},
	{"--weight", 'w'},
	{"--u-threshold", 'x'},
	{"--l-threshold", 'y'},
	{"--ipv6", '6'},
	{"--tun-type", 'T'},
	{"--tun-port", 'P'},
	{"--tun-nocsum", 'N'},
	{"--tun-csum", 'C'},
	{"--tun-remcsum", 'R'},
	{"--pe", 'e'},
	{"--numeric", 'n'},
	{"-n", 'n'},
};

static char letter_of(const char *text)
{
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (strcmp(options[i].name, text) == 0)
			return options[i].letter;
	}
	return text[0] == '-' && text[1] && !text[2] && strchr("AatufspMObrgimwxy6", text[1])
		       ? text[1]
		       : '\0';
}

static int take_server_word(struct reader *reader, struct command *command, char letter)
{
	switch (letter) {
	case 'r': return server_option(reader, command);
	case 'g':
	case 'i':
	case 'm': command->way = letter; return 0;
	case 'w': return number(reader, INT32_MAX, &command->weight);
	case 'x': return number(reader, UINT32_MAX, &command->upper);
	case 'y': return number(reader, UINT32_MAX, &command->lower);
	case 'T': return tunnel_option(reader, command);
	case 'P': return number(reader, UINT16_MAX, &command->tunnel_port);
	case 'N': return 0; /* Weir's tunnels have no checksum either */
	case 'C':
		return lose(reader, "tunnels have no checksum of their own: packets have theirs",
			    false);
	case 'R': return lose(reader, "tunnels have no remote checksum offload", false);
	default: return refuse(reader, "is not known", "options of ipvsadm -A and -a");
	}
}

static int take_word(struct reader *reader, struct command *command)
{
	char letter = letter_of(reader->words[reader->at].text);

	switch (letter) {
	case 'A':
	case 'a':
		if (command->verb)
			return refuse(reader, "is a second command", "one a line");
		command->verb = letter;
		return 0;
	case 't': return service_option(reader, command, IPPROTO_TCP);
	case 'u': return service_option(reader, command, IPPROTO_UDP);
	case 'S': return service_option(reader, command, IPPROTO_SCTP);
	case 'f': return mark_option(reader, command);
	case 's': return scheduler_option(reader, command);
	case 'p': return persistent_option(reader, command);
	case 'M': return netmask(reader, command);
	case 'O': command->one_packet = true; return 0;
	case 'b': return text_option(reader, &command->flags);
	case '6': command->ipv6 = true; return 0;
	case 'n': return 0;
	case 'e': return lose(reader, "no persistence by what is in a packet", true);
	default: return take_server_word(reader, command, letter);
	}
}

/* --- commands --- */

static void take_flags(struct reader *reader, struct import_service *service,
		       const struct command *command)
{
	char *copy = arena_strdup(reader->import->arena, command->flags ? command->flags : "");
	char *rest, *word = strtok_r(copy, ",", &rest);

	for (; word; word = strtok_r(NULL, ",", &rest)) {
		if (strcmp(word, "sh-port") == 0 || strcmp(word, "mh-port") == 0 ||
		    strcmp(word, "flag-2") == 0)
			service->by_port = true;
		else if (strcmp(word, "sh-fallback") != 0 && strcmp(word, "mh-fallback") != 0 &&
			 strcmp(word, "flag-1") != 0)
			import_note(reader->import, service->scheduler_place, IMPORT_LOST, word,
				    "a flag of the scheduler that is not known");
	}
}

static struct import_service *find(const struct import *import, const struct command *command)
{
	for (struct import_service *at = import->services; at; at = at->next) {
		if (command->mark ? at->mark == command->mark
				  : at->ends && at->proto == command->proto &&
					    at->ends->listen.first == command->port &&
					    addr_equal(&at->ends->vip, &command->vip))
			return at;
	}
	return NULL;
}

static int add_service(struct reader *reader, const struct command *command)
{
	struct conf_listen listen = {command->proto, command->port,
				     command->port ? command->port : UINT16_MAX};
	struct import_service *service;

	if (find(reader->import, command))
		return refuse(reader, "ends a service that is there already", "each once");
	service = import_service_add(reader->import, here(reader, 0));
	reader->import->now = service;
	service->proto = command->proto;
	service->mark = command->mark;
	service->what =
		arena_printf(reader->import->arena, "%s %s",
			     command->mark                   ? "mark"
			     : command->proto == IPPROTO_TCP ? "tcp"
			     : command->proto == IPPROTO_UDP ? "udp"
							     : "sctp",
			     import_plain(reader->import, command->what, strlen(command->what)));
	service->scheduler = arena_strdup(reader->import->arena,
					  command->scheduler ? command->scheduler : "wlc");
	service->scheduler_place = command->scheduler ? command->scheduler_place : here(reader, 0);
	service->persistent = command->persistent;
	service->granularity4 = command->granularity4;
	service->granularity6 = command->granularity6;
	service->one_packet = command->one_packet;
	take_flags(reader, service, command);
	if (command->persistent)
		import_note(reader->import, here(reader, 0), IMPORT_DIFFERS,
			    arena_printf(reader->import->arena, "-p %llu",
					 (unsigned long long)command->timeout_s),
			    "a source has its backend by its slot, whatever the time");
	if (!command->mark && import_end_add(reader->import, service, &command->vip, listen))
		return refuse(reader, "is one service too many", "fewer");
	return 0;
}

static void take_way(struct reader *reader, struct import_backend *backend,
		     const struct command *command)
{
	backend->way = (struct import_way){CONF_FORWARD_L2DSR, false};
	if (command->way == 'm')
		backend->way = (struct import_way){CONF_FORWARD_IPIP, true};
	if (command->way != 'i')
		return;
	backend->way.forward = CONF_FORWARD_IPIP;
	if (command->tunnel && strcmp(command->tunnel, "gre") == 0)
		backend->way.forward = CONF_FORWARD_GRE;
	else if (command->tunnel && strcmp(command->tunnel, "gue") == 0)
		backend->way.forward = CONF_FORWARD_GUE;
	else if (command->tunnel && strcmp(command->tunnel, "ipip") != 0)
		import_note(reader->import, backend->place, IMPORT_LOST, command->tunnel,
			    "a kind of tunnel that is not known: ipip is written");
	if (command->tunnel_port && command->tunnel_port != GUE_PORT)
		import_note(reader->import, backend->place, IMPORT_LOST,
			    arena_printf(reader->import->arena, "--tun-port %llu",
					 (unsigned long long)command->tunnel_port),
			    "gue goes to port %d", GUE_PORT);
}

static int add_server(struct reader *reader, const struct command *command)
{
	struct import_service *service = find(reader->import, command);
	struct import_backend *backend;

	if (!service)
		return refuse(reader, "ends a server of a service that is not there",
			      "its -A above");
	reader->import->now = service;
	backend = import_backend_add(reader->import, service, here(reader, 0));
	backend->address = command->server;
	backend->port = command->server_port ? command->server_port : command->port;
	backend->weight = command->weight;
	take_way(reader, backend, command);
	if (command->upper || command->lower)
		import_note(reader->import, backend->place, IMPORT_LOST,
			    arena_printf(reader->import->arena, "-x %llu -y %llu",
					 (unsigned long long)command->upper,
					 (unsigned long long)command->lower),
			    "connections to a backend are not counted");
	return 0;
}

/* Commands of a script that say nothing of what there is. */
static bool is_other(const char *word)
{
	static const char *const others[] = {
		"-E",
		"-e",
		"-D",
		"-d",
		"-C",
		"-R",
		"-S",
		"-L",
		"-l",
		"-Z",
		"--set",
		"--edit-service",
		"--edit-server",
		"--delete-service",
		"--delete-server",
		"--clear",
		"--restore",
		"--save",
		"--list",
		"--zero",
		"--start-daemon",
		"--stop-daemon",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		if (strcmp(others[i], word) == 0)
			return true;
	}
	return false;
}

static void note_other(struct reader *reader)
{
	const char *word = reader->words[reader->at].text;
	bool clears = strcmp(word, "-C") == 0 || strcmp(word, "--clear") == 0;

	if (strstr(word, "daemon"))
		import_note(reader->import, here(reader, reader->at), IMPORT_NEEDLESS, word,
			    "nodes share no state of connections: slots are the same on all");
	else if (strcmp(word, "--set") == 0)
		import_note(reader->import, here(reader, reader->at), IMPORT_DIFFERS, word,
			    "idle times are node.flows.established, closing and udp");
	else
		import_note(reader->import, here(reader, reader->at),
			    clears ? IMPORT_NEEDLESS : IMPORT_LOST, word,
			    "not a command that adds: give the output of ipvsadm -Sn");
}

static int take_line(struct reader *reader, char *line)
{
	struct command command = {.way = 'g', .weight = 1};
	int error = split(reader, line);

	reader->import->now = NULL;
	if (error || reader->count == 0)
		return error;
	if (strcmp(reader->words[0].text, "ipvsadm") == 0 ||
	    strcmp(reader->words[0].text, "/sbin/ipvsadm") == 0)
		reader->at++;
	if (reader->at < reader->count && is_other(reader->words[reader->at].text)) {
		note_other(reader);
		return 0;
	}
	for (; reader->at < reader->count; reader->at++) {
		error = take_word(reader, &command);
		if (error)
			return error;
	}
	reader->at = reader->count - 1;
	if (!command.verb || !command.what || (command.verb == 'a') != command.has_server)
		return refuse(reader, "ends what is no command",
			      "-A with a service, or -a with a service and -r");
	return command.verb == 'A' ? add_service(reader, &command) : add_server(reader, &command);
}

/* IPVS knows no checks: whoever filled its table had some. */
static void add_checks(struct import *import, const char *file)
{
	const struct import_place place = {file, 1, 1};

	import->now = NULL;
	if (import->services)
		import_note(import, place, IMPORT_LOST, "checks",
			    "what found out who serves is not in this list: a TCP connection is "
			    "written for TCP services, nothing for others; set the pools' check");
	for (struct import_service *at = import->services; at; at = at->next) {
		for (struct import_backend *of = at->backends; of; of = of->next) {
			if (at->proto == IPPROTO_TCP && of->port)
				of->check = (struct import_check){"type: tcp", of->port, of->place};
		}
	}
}

int import_ipvs(struct import *import, const char *text, size_t length, const char *file,
		struct err *err)
{
	struct reader reader = {
		.import = import, .place = {file, 1, 1}, .err = err, .words = {{"", 1}}};
	const char *end = text + length;
	char line[LINE_MAX];

	for (; text < end; reader.place.line++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		size_t of = (size_t)((stop ? stop : end) - text);
		int error;

		reader.at = 0;
		reader.words[0] = (struct word){"", 1};
		if (of >= sizeof(line) || memchr(text, '\0', of))
			return refuse(&reader, "is a line that is too long, or no text",
				      "a command of ipvsadm");
		if (reader.place.line > IMPORT_LINES_MAX)
			return refuse(&reader, "is a line too many", "fewer");
		memcpy(line, text, of);
		line[of] = '\0';
		error = take_line(&reader, line);
		if (error)
			return error;
		text += of + 1;
	}
	add_checks(import, file);
	return 0;
}
