# SPDX-License-Identifier: BSD-2-Clause
# One Makefile for everything; it names no directory's files but by pattern. `make help` lists the
# targets. A build lives in $(BUILD); other compilers and switches get a directory of their own.
# What asks the machine something ($(shell ...)) is in variables that expand when used, so that
# `make demo` and `make test` can install the compilers first and build by a make of their own.

VERSION := 0.1.0
BUILD ?= build
PREFIX ?= /usr/local
ifeq ($(origin CC),default)
CC := gcc
endif
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGS := libbpf libxdp libuv yaml-0.1 jansson libmicrohttpd libmnl libpcap libxxhash libcurl libcap-ng \
	libsystemd ncursesw
JOBS ?= $(shell nproc)
FUZZ_SECONDS ?= 60
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
CFLAGS ?= -O2 -g
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
ALL_CFLAGS = -std=gnu17 $(WARN) -fno-strict-aliasing -D_GNU_SOURCE -DWEIR_VERSION='"$(VERSION)"' \
	-Isrc -I. -I$(BUILD)/gen $(SAN) $(CFLAGS)
LDLIBS = $(shell pkg-config --libs $(PKGS)) -lm
MULTIARCH = $(shell $(CC) -print-multiarch)
BPF_CFLAGS = -std=gnu17 -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wshadow -Werror -Isrc -I. \
	-I/usr/include/$(MULTIARCH)

BPF_SRC := $(wildcard src/*/*.bpf.c bench/*.bpf.c)
BPF_OBJ := $(BPF_SRC:%.c=$(BUILD)/%.o)
SKEL := $(patsubst %.bpf.c,$(BUILD)/gen/%.skel.h,$(notdir $(BPF_SRC)))
SRC := $(filter-out %.bpf.c,$(wildcard src/*/*.c src/*/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB_OBJ := $(filter-out $(BUILD)/src/weir/main.o,$(OBJ))
UNIT_SRC := $(wildcard tests/unit/*_test.c tests/packet/*_test.c)
UNIT := $(UNIT_SRC:%.c=$(BUILD)/%)
TEST_LIB := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %.bpf.c,$(wildcard tests/lib/*.c tests/lib/*/*.c)))
TEST_BPF := $(patsubst %.bpf.c,$(BUILD)/%.bpf.o,$(wildcard tests/lib/*.bpf.c))
PEERS := $(patsubst %.c,$(BUILD)/%,$(filter-out %.bpf.c,$(wildcard tests/e2e/*.c bench/e2e/*.c)))
BENCH := $(patsubst %.c,$(BUILD)/%,$(wildcard bench/*_bench.c))
BENCH_LIB := $(patsubst %.c,$(BUILD)/%.o,$(filter-out %.bpf.c %_bench.c bench/e2e/%,$(wildcard bench/*.c bench/*/*.c)))
BENCH_BPF := $(patsubst %.c,$(BUILD)/%.o,$(wildcard bench/*/*.bpf.c))
FUZZ := $(patsubst %.c,$(BUILD)/%,$(wildcard tests/fuzz/*_fuzz.c))

# A make below this one, that reads the machine anew; it shares a job server if there is one.
SUBMAKE = $(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(JOBS))
needs = $(if $(shell command -v $(1)),,$(error $(1) is missing: tools/deps --build installs it))
# A short line for each step; V=1 shows the commands.
say = $(if $(V),,@echo "  $(1) $@" &&)

all: $(BUILD)/weir ## build/weir, and nothing else

$(BUILD)/weir: $(OBJ)
	$(call say,LD )$(CC) $(ALL_CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libweir.a: $(LIB_OBJ)
	$(call say,AR )rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c Makefile | $(SKEL)
	@mkdir -p $(@D)
	$(call say,CC )$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.bpf.o: %.bpf.c Makefile
	$(call needs,$(CLANG))@mkdir -p $(@D)
	$(call say,BPF)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

# A skeleton is named after its program, whatever the program's room.
$(foreach object,$(BPF_OBJ),$(eval \
	$(BUILD)/gen/$(patsubst %.bpf.o,%.skel.h,$(notdir $(object))): $(object)))
$(BUILD)/gen/%.skel.h:
	@mkdir -p $(@D)
	$(call say,GEN)$(BPFTOOL) gen skeleton $(filter %.bpf.o,$^) name $(subst .,_,$*)_bpf > $@

$(UNIT) $(BENCH): $(BUILD)/%: $(BUILD)/%.o $(TEST_LIB) $(BUILD)/libweir.a
	$(call say,LD )$(CC) $(ALL_CFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) -lcmocka $(LDLIBS)
$(FUZZ): $(BUILD)/%: $(BUILD)/%.o $(TEST_LIB) $(BUILD)/libweir.a
	$(call say,LD )$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@ $^ -lcmocka $(LDLIBS)
$(BENCH): $(BENCH_LIB)
$(PEERS): $(BUILD)/%: $(BUILD)/%.o $(BUILD)/libweir.a
	$(call say,LD )$(CC) $(ALL_CFLAGS) -o $@ $^ -Wl,--as-needed $(LDLIBS)

$(BUILD)/src/weir/page/page.o: $(wildcard web/*)
units: $(UNIT) $(TEST_BPF) $(PEERS)
fuzzers: $(FUZZ)

# Every build that the tests run; each directory has its own compiler and switches.
test-builds:
	+$(SUBMAKE) BUILD=build CC=gcc all units
	+$(SUBMAKE) BUILD=build-clang CC=$(CLANG) all units
	+$(SUBMAKE) BUILD=build-san CC=$(CLANG) SAN="$(SANITIZE)" all units
	+$(SUBMAKE) fuzz-build

fuzz-build:
	+$(SUBMAKE) BUILD=build-fuzz CC=$(CLANG) SAN="$(SANITIZE) -fsanitize=fuzzer-no-link" fuzzers

demo: ## as root: the whole in network namespaces, with real HTTP, for a look
	tools/deps
	+$(SUBMAKE) all $(TEST_BPF)
	tools/demo

chaos: ## as root: 2000 connections, and faults in random order; SEED=n SECONDS=n MODE=gue|ipip
	tools/deps
	+$(SUBMAKE) all $(TEST_BPF) $(PEERS)
	CHAOS_SEED=$(or $(SEED),random) CHAOS_SECONDS=$(or $(SECONDS),60) tests/e2e/chaos.sh

test: ## as root: install what is missing, build, run every tier
	tools/deps
	+$(SUBMAKE) test-builds
	tests/run

test-full: export FUZZ_SECONDS = 600
test-full: test ## as `test`, with ten minutes of each fuzzer

test-kernel: ## as root: the programs in a virtual machine with Debian 12's own kernel
	tools/deps --kernel
	+$(SUBMAKE) all units
	tests/kernel/run
lint: ## format, layers, sizes
	tools/lint
bench: ## as root: all benchmarks into build/bench.json; BENCH_ARGS="packet --only udp": one
	tools/deps --bench
	+$(SUBMAKE) all $(BENCH) $(BENCH_BPF) $(PEERS) $(TEST_BPF)
	BUILD=$(BUILD) tools/bench $(BENCH_ARGS)
bench-doc: ## build/bench.json into docs/performance.md
	BUILD=$(BUILD) tools/bench --doc
bench-check: ## native functions' instructions against bench/baseline.txt; RENEW=1 writes that
	tools/deps --bench
	+$(SUBMAKE) $(BUILD)/bench/native_bench
	BUILD=$(BUILD) bench/count $(if $(RENEW),--renew)

fuzz: fuzz-build ## every fuzzer for FUZZ_SECONDS (60)
	FUZZ_SECONDS=$(FUZZ_SECONDS) tests/run fuzz

install: all ## into DESTDIR and PREFIX (/usr/local)
	BUILD=$(BUILD) PREFIX=$(PREFIX) DESTDIR=$(DESTDIR) tools/install

deb: ## the Debian package, in build/deb
	VERSION=$(VERSION) BUILD=$(BUILD) JOBS=$(JOBS) tools/deb

clean: ## remove every build directory
	rm -rf build build-*

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS='	' read -r name text; do \
		printf '  make %-11s %s\n' "$$name" "$$text"; done

.PHONY: all units fuzzers test-builds fuzz-build demo chaos test test-full test-kernel lint bench \
	bench-doc bench-check fuzz install deb clean help
.SECONDARY .DELETE_ON_ERROR:
-include $(shell find $(BUILD) -type f -name '*.d' 2>/dev/null)
