/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/operate/kept.h"

#include <errno.h>

enum { VERSION = 1 };

json_t *kept_to_json(const char *key, json_t *list)
{
	return json_pack("{s:i, s:o}", "version", VERSION, key, list);
}

int kept_parse(const char *text, size_t length, const char *key, json_t **ret, json_t **ret_list,
	       struct err *err)
{
	json_error_t error;
	json_t *root = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error), *list;
	int version, code = 0;

	if (!root)
		return err_set(err, -EINVAL, "line %d: %s", error.line, error.text);
	if (json_unpack(root, "{s:i, s:o !}", "version", &version, key, &list) ||
	    !json_is_array(list))
		code = err_set(err, -EINVAL, "it has other keys or values than such a file");
	else if (version != VERSION)
		code = err_set(err, -EINVAL, "it is of version %d, not %d", version, VERSION);
	if (code) {
		json_decref(root);
		return code;
	}
	*ret = root;
	*ret_list = list;
	return 0;
}
