// SPDX-License-Identifier: BSD-2-Clause
/*
 * The kernel's verifier must accept every program with room to spare, on every kernel that Weir
 * runs on: what loads here with 900,000 verified instructions is refused elsewhere. So each
 * program is loaded in many settings of its object's switches, and the number of instructions
 * that the verifier went through is printed and held against a limit far below the kernel's
 * million. `make test-kernel` runs the same on the oldest kernel that is supported.
 *
 * The objects are found beside this program, in the build directory: a new one needs no line
 * here. A switch is what is `const volatile` in read-only data: the verifier knows its value and
 * leaves out the code that it turns off. The balancer's are bits of one word: of these there are
 * too many for every combination, so none, all, each alone, and all but each. Others are few, and
 * are tried in every combination.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dp/abi.h"
#include "tests/lib/kernel/objects.h"

enum { VERIFIED_MAX = 100000, SWITCHES_MAX = 6, BITS_MAX = 32, LOG_SHOWN = 8000 };

/* A switch is on as 1 where it is a byte, else with this in every byte: 1285 as an MSS. */
enum { ON_BYTE = 5 };

/* One that is an enum has a bit for each of its enumerators that is a single one. */
struct one_switch {
	const char *name;
	uint32_t offset;
	uint32_t size;
	uint32_t bit_count;      /* 0: it is on or off */
	uint32_t bits[BITS_MAX]; /* their values */
};

struct switches {
	struct bpf_map *data; /* the object's read-only data */
	size_t count;
	struct one_switch of[SWITCHES_MAX];
};

/* What libbpf complains of holds the verifier's log, of which the end says why. */
static int print_complaint(enum libbpf_print_level level, const char *format, va_list args)
{
	char *text;
	int length;

	if (level != LIBBPF_WARN)
		return 0;
	length = vasprintf(&text, format, args);
	if (length < 0)
		return 0;
	/* cmocka's print_error would cut it off. */
	fputs(length > LOG_SHOWN ? text + length - LOG_SHOWN : text, stderr);
	free(text);
	return 0;
}

/* The type below its qualifiers; NULL: it is not volatile. */
static const struct btf_type *volatile_type(const struct btf *btf, uint32_t id)
{
	const struct btf_type *type = btf__type_by_id(btf, id);
	bool found = false;

	while (btf_is_mod(type) || btf_is_typedef(type)) {
		found |= btf_is_volatile(type);
		type = btf__type_by_id(btf, type->type);
	}
	return found ? type : NULL;
}

static void find_bits(const struct btf_type *type, struct one_switch *ret)
{
	const struct btf_enum *all = btf_enum(type);

	for (uint32_t i = 0; btf_is_enum(type) && i < btf_vlen(type); i++) {
		uint32_t value = (uint32_t)all[i].val;

		if (__builtin_popcount(value) == 1 && ret->bit_count < BITS_MAX)
			ret->bits[ret->bit_count++] = value;
	}
}

static struct bpf_map *read_only_data(const struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
	{
		const char *suffix = strstr(bpf_map__name(map), ".rodata");

		if (suffix && strcmp(suffix, ".rodata") == 0)
			return map;
	}
	return NULL;
}

static void find_switches(const struct bpf_object *object, struct switches *ret)
{
	const struct btf *btf = bpf_object__btf(object);
	int section = btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC);
	const struct btf_var_secinfo *places;
	const struct btf_type *type;

	memset(ret, 0, sizeof(*ret));
	ret->data = read_only_data(object);
	if (section < 0 || !ret->data)
		return;
	type = btf__type_by_id(btf, (uint32_t)section);
	places = btf_var_secinfos(type);
	for (uint32_t i = 0; i < btf_vlen(type); i++) {
		const struct btf_type *variable = btf__type_by_id(btf, places[i].type);
		const struct btf_type *found = volatile_type(btf, variable->type);
		struct one_switch *one = &ret->of[ret->count];

		if (!found)
			continue;
		assert_true(ret->count++ < SWITCHES_MAX);
		one->name = btf__name_by_offset(btf, variable->name_off);
		one->offset = places[i].offset;
		one->size = places[i].size;
		find_bits(found, one);
	}
}

/* Off and on, or: no bit, every bit, each alone, all but each. */
static uint32_t settings_of(const struct one_switch *one)
{
	return one->bit_count ? 2 + 2 * one->bit_count : 2;
}

static uint32_t bits_in_setting(const struct one_switch *one, uint32_t setting)
{
	uint32_t all = 0;

	for (uint32_t i = 0; i < one->bit_count; i++)
		all |= one->bits[i];
	if (setting < 2)
		return setting ? all : 0;
	setting -= 2;
	return setting < one->bit_count ? one->bits[setting]
					: all & ~one->bits[setting - one->bit_count];
}

static void set_switch(const struct one_switch *one, uint32_t setting, uint8_t *data)
{
	uint8_t on = one->size == 1 ? 1 : ON_BYTE;
	uint32_t bits;

	if (!one->bit_count) {
		memset(data + one->offset, setting ? on : 0, one->size);
		return;
	}
	bits = bits_in_setting(one, setting);
	assert_int_equal(one->size, sizeof(bits));
	memcpy(data + one->offset, &bits, sizeof(bits));
}

/* A combination is a number with a digit for each switch. Returns how many there are. */
static uint32_t set_switches(const struct switches *switches, uint32_t combination)
{
	size_t size;
	const void *before = switches->count ? bpf_map__initial_value(switches->data, &size) : NULL;
	uint32_t combinations = 1;
	uint8_t *data;

	if (!before)
		return 1;
	data = malloc(size);
	assert_non_null(data);
	memcpy(data, before, size);
	for (size_t i = 0; i < switches->count; i++) {
		uint32_t settings = settings_of(&switches->of[i]);

		set_switch(&switches->of[i], combination / combinations % settings, data);
		combinations *= settings;
	}
	assert_int_equal(bpf_map__set_initial_value(switches->data, data, size), 0);
	free(data);
	return combinations;
}

static void print_load(const struct bpf_program *program, const struct bpf_prog_info *info,
		       const struct switches *switches, uint32_t combination)
{
	print_message("# %s: %u verified, %u bytes", bpf_program__name(program),
		      info->verified_insns, info->jited_prog_len);
	for (size_t i = 0; i < switches->count; i++) {
		const struct one_switch *one = &switches->of[i];
		uint32_t setting = combination % settings_of(one);

		print_message(" %s=%#x", one->name,
			      one->bit_count ? bits_in_setting(one, setting) : setting);
		combination /= settings_of(one);
	}
	print_message("\n");
}

/* An object's other programs do the same by the same stages: two settings of them are enough. */
static void choose_programs(const struct bpf_object *object, uint32_t combination,
			    const struct switches *switches)
{
	bool first = true, all = !switches->count || !switches->of[0].bit_count || combination < 2;
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		bpf_program__set_autoload(program, first || all);
		first = false;
	}
}

/* Loads once. Returns how many combinations of switches there are. */
static uint32_t load(const char *path, uint32_t combination, uint32_t *worst)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	struct bpf_program *program;
	struct switches switches;
	uint32_t combinations;

	assert_non_null(object);
	find_switches(object, &switches);
	combinations = set_switches(&switches, combination);
	choose_programs(object, combination, &switches);
	if (bpf_object__load(object))
		fail_msg("%s, switches %u: the kernel refuses it", path, combination);
	bpf_object__for_each_program(program, object)
	{
		struct bpf_prog_info info = {0};
		uint32_t size = sizeof(info);

		if (!bpf_program__autoload(program))
			continue;
		assert_int_equal(bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size), 0);
		print_load(program, &info, &switches, combination);
		assert_true(info.verified_insns > 0);
		if (info.verified_insns > *worst)
			*worst = info.verified_insns;
	}
	bpf_object__close(object);
	return combinations;
}

static void test_verified_instructions(void **state)
{
	uint32_t worst = 0;

	(void)state;
	if (geteuid() != 0) {
		print_message("skip: loading programs needs root\n");
		skip();
	}
	for (size_t i = 0; i < objects.gl_pathc; i++) {
		uint32_t combinations = 1;

		for (uint32_t c = 0; c < combinations; c++)
			combinations = load(objects.gl_pathv[i], c, &worst);
	}
	if (worst > VERIFIED_MAX)
		fail_msg("%u verified instructions, at most %u", worst, VERIFIED_MAX);
}

/* What the balancer has as switches must not be missed by a wrong pattern, name or type. */
static void test_finds_switches(void **state)
{
	uint32_t bits = 0;

	(void)state;
	for (size_t i = 0; i < objects.gl_pathc; i++) {
		struct bpf_object *object = bpf_object__open_file(objects.gl_pathv[i], NULL);
		struct switches switches;

		assert_non_null(object);
		find_switches(object, &switches);
		for (size_t s = 0; s < switches.count; s++) {
			if (strcmp(switches.of[s].name, "features") == 0)
				bits |= bits_in_setting(&switches.of[s], 1);
		}
		bpf_object__close(object);
	}
	assert_true(bits & ABI_HAS_TRACK && bits & ABI_HAS_TRACE && bits & ABI_HAS_FRAGMENT);
}

static int begin(void **state)
{
	libbpf_set_print(print_complaint);
	return objects_find(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_switches),
		cmocka_unit_test(test_verified_instructions),
	};

	return cmocka_run_group_tests(tests, begin, objects_forget);
}
