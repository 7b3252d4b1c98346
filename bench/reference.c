// SPDX-License-Identifier: BSD-2-Clause
#include "bench/reference.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/reference_abi.h"
#include "bench/setting.h"
#include "hash/maglev.h"
#include "reference.skel.h"

static const uint64_t seed = 0x57656972;

struct reference {
	struct reference_bpf *skel;
};

static void put(struct bpf_map *map, const void *key, const void *value)
{
	int error = bpf_map_update_elem(bpf_map__fd(map), key, value, BPF_ANY);

	if (error)
		bench_die(bpf_map__name(map), error);
}

static void fill_vips(struct reference *reference, const struct reference_spec *spec)
{
	for (uint32_t i = 0; i < spec->vips; i++) {
		struct reference_vip vip = {i, (spec->quic ? REFERENCE_QUIC : 0) |
						       (spec->gue ? REFERENCE_GUE : 0)};
		struct reference_vip_key key = {.port = htons(80), .proto = IPPROTO_TCP};

		if (spec->ipv6)
			key.addr = (struct reference_addr){
				{htonl(0x20010db8), htonl(0x000b0000), 0, htonl(i)}};
		else
			key.addr.word[0] = htonl(0xc6120000 + i);
		put(reference->skel->maps.vips, &key, &vip);
		key.proto = IPPROTO_UDP;
		put(reference->skel->maps.vips, &key, &vip);
	}
}

/* One table of Maglev's, again for each VIP. */
static void fill_slots(struct reference *reference, uint32_t vips)
{
	static struct maglev_member members[REFERENCE_BACKENDS];
	static uint32_t table[REFERENCE_SLOTS];
	size_t size = (size_t)vips * REFERENCE_SLOTS * sizeof(uint64_t);
	uint64_t *slots;

	for (uint32_t i = 0; i < REFERENCE_BACKENDS; i++)
		members[i] = (struct maglev_member){(i + 1) * 0x9e3779b97f4a7c15ULL, 100};
	if (maglev_build(members, REFERENCE_BACKENDS, seed, REFERENCE_SLOTS, table))
		bench_die("a table", ENOMEM);
	slots = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
		     bpf_map__fd(reference->skel->maps.slots), 0);
	if (slots == MAP_FAILED)
		bench_die("a table", errno);
	for (uint32_t i = 0; i < vips * REFERENCE_SLOTS; i++)
		slots[i] = table[i % REFERENCE_SLOTS];
	munmap(slots, size);
}

static void fill_backends(struct reference *reference, bool ipv6)
{
	static const struct reference_node node = {.dst_mac = {2, 0, 0, 0, 0, 2},
						   .src_mac = {2, 0, 0, 0, 0, 1}};
	struct reference_node filled = node;
	uint32_t zero = 0;

	filled.source4 = htonl(0x64400000);
	filled.source6 = (struct reference_addr){{htonl(0x20010db8), htonl(0x000f0000), 0, 0}};
	put(reference->skel->maps.nodes, &zero, &filled);
	for (uint32_t i = 0; i < REFERENCE_BACKENDS; i++) {
		struct reference_backend backend = {.is6 = ipv6};
		uint32_t id = i + 1;

		if (ipv6)
			backend.addr = (struct reference_addr){
				{htonl(0x20010db8), htonl(0x00090000), 0, htonl(id)}};
		else
			backend.addr.word[0] = htonl(0x0a090000 + id);
		put(reference->skel->maps.backends, &i, &backend);
		put(reference->skel->maps.servers, &id, &i);
	}
}

struct reference *reference_open(const struct reference_spec *spec)
{
	struct reference *reference = calloc(1, sizeof(*reference));

	if (!reference)
		bench_die("memory", ENOMEM);
	reference->skel = reference_bpf__open();
	if (!reference->skel)
		bench_die("the reference program", errno);
	bpf_map__set_max_entries(reference->skel->maps.flows, spec->flows);
	bpf_map__set_max_entries(reference->skel->maps.slots, spec->vips * REFERENCE_SLOTS);
	if (reference_bpf__load(reference->skel))
		bench_die("the reference program", errno);
	fill_vips(reference, spec);
	fill_slots(reference, spec->vips);
	fill_backends(reference, spec->ipv6);
	return reference;
}

void reference_close(struct reference *reference)
{
	if (!reference)
		return;
	reference_bpf__destroy(reference->skel);
	free(reference);
}

int reference_program_fd(const struct reference *reference)
{
	return bpf_program__fd(reference->skel->progs.reference);
}

int reference_smallest_fd(const struct reference *reference)
{
	return bpf_program__fd(reference->skel->progs.smallest);
}

int reference_line_fd(const struct reference *reference)
{
	return bpf_program__fd(reference->skel->progs.one_line);
}

static size_t memory_of(int fd)
{
	char path[64], line[128];
	size_t bytes = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	if (!file)
		bench_die(path, errno);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "memlock: %zu", &bytes) == 1)
			break;
	}
	fclose(file);
	return bytes;
}

size_t reference_flow_memory(const struct reference *reference)
{
	return memory_of(bpf_map__fd(reference->skel->maps.flows));
}
