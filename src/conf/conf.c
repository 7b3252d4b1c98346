/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration room. A text becomes a struct conf in four steps:
 *
 *   tree.c    refuses what is not bounded, printable UTF-8 or has no meaning here (tags, a second
 *             document), and builds a tree from libyaml's events;
 *   read.c    walks the tree along the rows of keys/ and fills the structs of conf.h: each
 *             value is read, stored and defaulted as its row says (value.c), and the reader
 *             remembers which node every stored value came from;
 *   verify/   checks values against each other, and resolves what depends on others: a service's
 *             pool, a check's port, a table's size;
 *   print.c   is the way back: the normal form, and the manual's list of keys, from the same rows.
 *
 * Why one table: the parser, the defaults, the manual and the JSON schema cannot drift apart, and
 * a new key costs a row. Why the whole tree first: every error of a file is to be reported, with
 * its place, so nothing may stop at the first one; syntax alone does, since nothing behind it can
 * be trusted.
 *
 * A configuration lives in one arena. A file comes from outside: its size, depth, number of nodes
 * (aliases unfolded) and anchors are bounded, and every comparison of all with all is a sort.
 *
 * YAML 1.1 as libyaml reads it; RFC 3629 for UTF-8; RFC 4291, 5952 for addresses.
 */
#include "conf/conf.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/room.h"
#include "conf/source.h"

/* --- reading a file --- */

/* Until the end, whatever the size said before: it may grow meanwhile, and a pipe has none. */
static int read_all(int fd, const char *path, struct err *err, char **ret, size_t *ret_length)
{
	size_t room = 64 * 1024, used = 0;
	char *text = malloc(room + 1);

	while (text) {
		ssize_t got;

		if (used == room) {
			char *grown = realloc(text, room * 2 + 1);

			if (!grown)
				break;
			text = grown;
			room *= 2;
		}
		got = read(fd, text + used, room - used);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0) {
			int code = -errno;

			free(text);
			return err_set(err, code, "cannot read %s: %s", path, strerror(-code));
		}
		if (got == 0) {
			text[used] = '\0';
			*ret = text;
			*ret_length = used;
			return 0;
		}
		used += (size_t)got;
		if (used > CONF_FILE_MAX) {
			free(text);
			return err_set(err, -EFBIG, "%s is too large, expected 16 MiB at most",
				       path);
		}
	}
	free(text);
	return err_set(err, -ENOMEM, "cannot read %s: out of memory", path);
}

int conf_read(const char *path, char **ret, size_t *ret_length, struct err *err)
{
	struct stat stat;
	int fd, code;

	*ret = NULL;
	*ret_length = 0;
	if (strcmp(path, "-") == 0)
		return read_all(STDIN_FILENO, "standard input", err, ret, ret_length);
	/* O_NONBLOCK: a FIFO without a writer would be waited for. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &stat) != 0) {
		code = -errno;
		err_set(err, code, "cannot open %s: %s", path, strerror(-code));
	} else if (!S_ISREG(stat.st_mode)) {
		code = err_set(err, S_ISDIR(stat.st_mode) ? -EISDIR : -EINVAL,
			       "%s is %s, expected a file", path,
			       S_ISDIR(stat.st_mode) ? "a directory" : "not a regular file");
	} else {
		code = read_all(fd, path, err, ret, ret_length);
	}
	if (fd >= 0)
		close(fd);
	return code;
}

/* --- the name where none is given --- */

static void host_name(char *text, size_t room)
{
	char host[256] = "";
	size_t used = 0;

	if (gethostname(host, sizeof(host) - 1) != 0)
		host[0] = '\0';
	for (const char *at = host; *at && used < room; at++) {
		bool fits = isalnum((unsigned char)*at) || (used && strchr("._-", *at));

		if (fits)
			text[used++] = *at;
	}
	text[used] = '\0';
	if (used == 0)
		strcpy(text, "node");
}

/* To stat another process's ns/net takes the right to trace it, which even root may lack. Its
 * net/ may be seen by anyone, and files in there have inodes of their own in each namespace. */
static bool in_other_netns(void)
{
	struct stat own, first;

	return stat("/proc/self/net/dev", &own) == 0 && stat("/proc/1/net/dev", &first) == 0 &&
	       own.st_ino != first.st_ino;
}

void conf_default_name(char *text)
{
	struct stat netns;
	char suffix[40] = "";

	if (in_other_netns() && stat("/proc/self/ns/net", &netns) == 0)
		snprintf(suffix, sizeof(suffix), "-netns-%llu", (unsigned long long)netns.st_ino);
	host_name(text, CONF_NAME_MAX - strlen(suffix));
	strcat(text, suffix);
}

static const char *default_name(struct arena *arena)
{
	char text[CONF_NAME_MAX + 1];

	conf_default_name(text);
	return arena_strdup(arena, text);
}

/* --- parsing --- */

/* A text, and what of it. */
struct input {
	const char *text;
	size_t length;
	const char *path; /* NULL: nowhere */
	enum conf_file file;
};

/* Adds what is wrong to `errors`; `root` is filled as far as it was right. *ret_source: the second
 * file, its path for free(). */
static void fill(const struct input *input, struct arena *arena, void *root,
		 struct source *ret_source, struct err_list *errors)
{
	const struct tree_text text = {input->text, input->length, 0};
	struct reader reader = {.file = input->file, .arena = arena, .errors = errors};
	struct tree_node *tree = NULL;

	reader.scratch = arena_new();
	reader.cut = tree_load(&text, reader.scratch, &tree, errors) != 0;
	if (!reader.cut && input->file == CONF_FILE_NODE)
		reader.cut = source_graft(tree, input->path, ret_source, &reader) != 0;
	reader.root = tree;
	if (!reader.cut)
		reader_read(&reader, root);
	if (!reader.cut && input->file == CONF_FILE_NODE)
		verify_conf(&reader, root);
	else if (!reader.cut)
		verify_agent(&reader, root);
	arena_free(reader.scratch);
}

/* The file's struct, of `size` bytes in the arena; NULL: there are errors, and no arena. */
static void *parse(const struct input *input, size_t size, struct arena **ret_arena,
		   struct source *ret_source, struct err_list *errors)
{
	struct arena *arena = arena_new();
	void *root = arena_alloc(arena, size);
	size_t before = errors->count + errors->dropped;

	*ret_source = (struct source){0};
	fill(input, arena, root, ret_source, errors);
	if (errors->count + errors->dropped > before) {
		err_list_sort(errors);
		source_name_lines(errors, ret_source->path);
		arena_free(arena);
		free(ret_source->path);
		return NULL;
	}
	*ret_arena = arena;
	return root;
}

int conf_parse_file(const char *text, size_t length, const char *path, struct conf **ret,
		    struct err_list *errors)
{
	const struct input input = {text, length, path, CONF_FILE_NODE};
	struct arena *arena;
	struct source source;
	struct conf *conf;

	if (path && conf_check_end(text, length, errors))
		return -EINVAL;
	conf = parse(&input, sizeof(*conf), &arena, &source, errors);
	if (!conf)
		return -EINVAL;
	conf->arena = arena;
	conf->ended = conf_ended_of(text, length);
	conf->source_ended = source.ended;
	if (source.path)
		conf->source_file = arena_strdup(arena, source.path);
	free(source.path);
	if (!conf->node.name)
		conf->node.name = default_name(arena);
	*ret = conf;
	return 0;
}

int conf_parse(const char *text, size_t length, struct conf **ret, struct err_list *errors)
{
	return conf_parse_file(text, length, NULL, ret, errors);
}

int conf_agent_parse(const char *text, size_t length, struct conf_agent **ret,
		     struct err_list *errors)
{
	const struct input input = {text, length, NULL, CONF_FILE_AGENT};
	struct arena *arena;
	struct source source;
	struct conf_agent *agent = parse(&input, sizeof(*agent), &arena, &source, errors);

	if (!agent)
		return -EINVAL;
	agent->arena = arena;
	if (!agent->name)
		agent->name = default_name(arena);
	*ret = agent;
	return 0;
}

static bool has_key(const char *text, size_t length, const char *name)
{
	const struct tree_text input = {text, length, 0};
	struct arena *arena = arena_new();
	struct err_list errors = {0};
	struct tree_node *root;
	bool found = tree_load(&input, arena, &root, &errors) == 0 && tree_find(root, name);

	arena_free(arena);
	err_list_fini(&errors);
	return found;
}

bool conf_is_agent(const char *text, size_t length)
{
	return has_key(text, length, "agent");
}

/* conf_read, whose error goes to the list. */
static int read_listed(const char *path, char **ret, size_t *ret_length, struct err_list *errors)
{
	struct err err;
	int code = conf_read(path, ret, ret_length, &err);

	if (code)
		err_list_add(errors, 0, 0, "%s", err.text);
	return code;
}

int conf_load(const char *path, struct conf **ret, struct err_list *errors)
{
	char *text;
	size_t length;
	int code = read_listed(path, &text, &length, errors);

	if (!code)
		code = conf_parse_file(text, length, path, ret, errors);
	if (code == -EINVAL && text && conf_is_agent(text, length) &&
	    !has_key(text, length, "node"))
		err_list_add(errors, 0, 0, "%s is an agent's file, expected a node's", path);
	free(text);
	return code;
}

int conf_agent_load(const char *path, struct conf_agent **ret, struct err_list *errors)
{
	char *text;
	size_t length;
	int code = read_listed(path, &text, &length, errors);

	if (!code)
		code = conf_agent_parse(text, length, ret, errors);
	if (code == -EINVAL && text && has_key(text, length, "node") &&
	    !conf_is_agent(text, length))
		err_list_add(errors, 0, 0, "%s is a node's file, expected an agent's", path);
	free(text);
	return code;
}

void conf_free(struct conf *conf)
{
	if (conf)
		arena_free(conf->arena);
}

void conf_agent_free(struct conf_agent *agent)
{
	if (agent)
		arena_free(agent->arena);
}
