// SPDX-License-Identifier: BSD-2-Clause
/*
 * Linux 6.1 adds up the stack frames of a chain of calls, each in steps of 32 bytes, and refuses a
 * program with more than 512 bytes in one; later kernels count less where they compile. So what
 * loads here may be refused there, and it is counted here as it is there, from the instructions:
 * a frame is as deep as the lowest place that its function names by the frame pointer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the five above first */
#include <cmocka.h>

#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lib/kernel/objects.h"

enum { STACK_MAX = 512, STEP = 32, FRAMES_MAX = 8, REGISTERS = 11 };

/* Of one instruction's function, at its first instruction. */
struct function {
	bool begins;
	int depth;
	int chain; /* with the deepest of those that it calls; 0: not known yet */
};

struct program {
	const struct bpf_insn *code;
	size_t count;
	struct function *functions; /* by the first instruction */
};

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static size_t callee(const struct program *program, size_t at)
{
	size_t to = at + 1 + (size_t)(int64_t)program->code[at].imm;

	assert_true(to < program->count);
	return to;
}

/* How far below the frame pointer the instruction reaches; `copies` are registers equal to it. */
static int reach(const struct bpf_insn *insn, bool *copies)
{
	int class = BPF_CLASS(insn->code);
	bool was_copy = copies[insn->dst_reg];

	if (class == BPF_LDX)
		copies[insn->dst_reg] = false;
	if (class == BPF_LDX && insn->src_reg == BPF_REG_10)
		return -insn->off;
	if (class == BPF_ST || class == BPF_STX)
		return insn->dst_reg == BPF_REG_10 ? -insn->off : 0;
	if (class != BPF_ALU64 && class != BPF_ALU)
		return 0;
	copies[insn->dst_reg] = insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) &&
				insn->src_reg == BPF_REG_10;
	if (was_copy && insn->code == (BPF_ALU64 | BPF_ADD | BPF_K))
		return -insn->imm;
	return 0;
}

static void measure(struct program *program)
{
	bool copies[REGISTERS] = {false};
	struct function *function = NULL;

	program->functions[0].begins = true;
	for (size_t i = 0; i < program->count; i++) {
		if (is_call(&program->code[i]))
			program->functions[callee(program, i)].begins = true;
	}
	for (size_t i = 0; i < program->count; i++) {
		int depth = reach(&program->code[i], copies);

		if (program->functions[i].begins)
			function = &program->functions[i];
		if (depth > function->depth)
			function->depth = depth;
	}
}

static int chain(struct program *program, size_t first, int frames)
{
	struct function *function = &program->functions[first];
	int most = 0, own = function->depth ? function->depth : 1;

	if (function->chain)
		return function->chain;
	assert_true(frames <= FRAMES_MAX);
	for (size_t i = first; i < program->count; i++) {
		int called;

		if (i > first && program->functions[i].begins)
			break;
		if (!is_call(&program->code[i]))
			continue;
		called = chain(program, callee(program, i), frames + 1);
		most = called > most ? called : most;
	}
	function->chain = (own + STEP - 1) / STEP * STEP + most;
	return function->chain;
}

static void check_program(const struct bpf_program *of)
{
	struct program program = {
		.code = bpf_program__insns(of),
		.count = bpf_program__insn_cnt(of),
	};
	int deepest;

	program.functions = calloc(program.count, sizeof(*program.functions));
	assert_non_null(program.functions);
	measure(&program);
	deepest = chain(&program, 0, 1);
	print_message("# %s: %d bytes of stack\n", bpf_program__name(of), deepest);
	free(program.functions);
	assert_true(deepest >= STEP);
	if (deepest > STACK_MAX)
		fail_msg("%s: %d bytes of stack in a chain of calls, at most %d",
			 bpf_program__name(of), deepest, STACK_MAX);
}

static void test_stack(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("skip: loading programs needs root\n");
		skip();
	}
	for (size_t i = 0; i < objects.gl_pathc; i++) {
		struct bpf_object *object = bpf_object__open_file(objects.gl_pathv[i], NULL);
		struct bpf_program *program;

		/* Only then are a program's functions behind it. */
		assert_non_null(object);
		assert_int_equal(bpf_object__load(object), 0);
		bpf_object__for_each_program(program, object) check_program(program);
		bpf_object__close(object);
	}
}

/* What is counted, by hand: two frames of 40 bytes, one of which only an address tells of. */
static void test_counts(void **state)
{
	static const struct bpf_insn code[] = {
		{.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -40},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_CALL, .imm = 1},
		{.code = BPF_JMP | BPF_EXIT},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = BPF_REG_10},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -40},
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = 1, .imm = -400},
		{.code = BPF_JMP | BPF_EXIT},
	};
	struct function functions[sizeof(code) / sizeof(code[0])] = {0};
	struct program program = {code, sizeof(code) / sizeof(code[0]), functions};

	(void)state;
	measure(&program);
	assert_int_equal(chain(&program, 0, 1), 128);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_stack),
	};

	return cmocka_run_group_tests(tests, objects_find, objects_forget);
}
