/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/live/names.h"

#include <net/if.h>
#include <stdio.h>

int names_ask(const struct ask *ask, const char *name, struct names *ret)
{
	int wrong = ask_daemon(ask, name, json_pack("{s:s}", "op", "records"), &ret->answer);

	if (wrong)
		ret->answer = NULL;
	return wrong;
}

bool names_try(const struct ask *ask, struct names *ret)
{
	struct err err;

	return ask_try(ask, json_pack("{s:s}", "op", "records"), &ret->answer, &err) == 0;
}

void names_fini(struct names *names)
{
	json_decref(names->answer);
	names->answer = NULL;
}

static struct name_text find(const struct names *names, const char *list, uint32_t number)
{
	struct name_text name = {""};
	const char *found;
	char key[16];

	if (!number)
		return name;
	snprintf(key, sizeof(key), "%u", number);
	found = json_string_value(json_object_get(json_object_get(names->answer, list), key));
	if (found)
		snprintf(name.text, sizeof(name.text), "%s", found);
	else
		snprintf(name.text, sizeof(name.text), "#%u", number);
	return name;
}

struct name_text names_service(const struct names *names, uint32_t record)
{
	return find(names, "services", record);
}

struct name_text names_backend(const struct names *names, uint32_t record)
{
	return find(names, "backends", record);
}

struct name_text names_interface(const struct names *names, uint32_t index)
{
	struct name_text name = find(names, "interfaces", index);
	char text[IF_NAMESIZE];

	if (!names->answer && index && if_indextoname(index, text))
		snprintf(name.text, sizeof(name.text), "%s", text);
	return name;
}
