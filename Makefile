# SPDX-License-Identifier: BSD-2-Clause
# `make` builds build/weir; `make demo`, `make test` as root do the rest. `make help` lists them.

BUILD ?= build
CC ?= gcc
CLANG ?= clang
BPFTOOL ?= $(firstword $(wildcard /usr/sbin/bpftool) bpftool)
PKGS := libbpf libuv yaml-0.1 jansson libmnl libpcap libxxhash
VERSION := 0.1.0

WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
CFLAGS ?= -O2 -g
ALL_CFLAGS := -std=gnu17 $(WARN) -fno-strict-aliasing -D_GNU_SOURCE -DWEIR_VERSION='"$(VERSION)"' \
	-Isrc -I$(BUILD)/gen $(SAN) $(CFLAGS)
LDLIBS = $(shell pkg-config --libs $(PKGS))
BPF_CFLAGS := -std=gnu17 -target bpf -mcpu=v3 -O2 -g -Wall -Wextra -Wshadow -Werror -Isrc \
	-I/usr/include/$(shell $(CC) -print-multiarch)

BPF_SRC := $(wildcard src/*/*.bpf.c)
SKEL := $(BPF_SRC:src/dp/%.bpf.c=$(BUILD)/gen/%.skel.h)
SRC := $(filter-out %.bpf.c,$(wildcard src/*/*.c src/*/*/*.c))
OBJ := $(SRC:%.c=$(BUILD)/%.o)
LIB_OBJ := $(filter-out $(BUILD)/src/weir/main.o,$(OBJ))
UNIT_SRC := $(wildcard tests/unit/*_test.c tests/packet/*_test.c)
UNIT := $(UNIT_SRC:%.c=$(BUILD)/%)
TEST_LIB := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/lib/*.c))
TEST_BPF := $(patsubst %.bpf.c,$(BUILD)/%.bpf.o,$(wildcard tests/lib/*.bpf.c))

all: $(BUILD)/weir

$(BUILD)/weir: $(OBJ)
	$(CC) $(ALL_CFLAGS) -o $@ $^ $(LDLIBS)

$(BUILD)/libweir.a: $(LIB_OBJ)
	rm -f $@ && ar rcs $@ $^

$(BUILD)/%.o: %.c Makefile | $(SKEL)
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/%.bpf.o: %.bpf.c Makefile
	@mkdir -p $(@D)
	$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/gen/%.skel.h: $(BUILD)/src/dp/%.bpf.o
	@mkdir -p $(@D)
	$(BPFTOOL) gen skeleton $< name $(subst .,_,$*)_bpf > $@

$(UNIT): $(BUILD)/%: $(BUILD)/%.o $(TEST_LIB) $(BUILD)/libweir.a
	$(CC) $(ALL_CFLAGS) -o $@ $^ -lcmocka $(LDLIBS)

units: $(UNIT) $(TEST_BPF)

clean:
	rm -rf build build-*

.PHONY: all units clean
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
