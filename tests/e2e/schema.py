# SPDX-License-Identifier: BSD-2-Clause
"""schema.py [--refused] SCHEMA FILE...: whether each YAML file is what the JSON schema says, or
none of them is; names those that are otherwise, and why."""
import json
import sys

import jsonschema
import yaml

arguments = sys.argv[1:]
refused = arguments[0] == "--refused"
if refused:
    arguments.pop(0)
with open(arguments.pop(0), encoding="utf-8") as file:
    schema = json.load(file)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
wrong = 0
for name in arguments:
    with open(name, "rb") as file:
        errors = list(validator.iter_errors(yaml.safe_load(file)))
    if bool(errors) == refused:
        continue
    wrong += 1
    print("#", name)
    for error in errors[:10]:
        print("#  ", "/".join(map(str, error.absolute_path)), error.message[:200])
sys.exit(wrong != 0 or not arguments)
