/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/live.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bpf/pins.h"

enum { TABLES = 7, PROGRAM_MAPS_MAX = 64 };

/* Of a rate's own unit, 2^-8 ns. */
#define BURST ((uint64_t)NATIVE_BURST_NS << 8)

struct mapped {
	void *memory;
	size_t size;
};

struct live {
	struct dp_tables tables;
	struct native *native;
	struct mapped mapped[TABLES];
	size_t mapped_count;
	int prefixes_fd; /* -1: not open */
	int rates_fd;    /* -1: not known */
	uint64_t *rates; /* room for a record of each core */
	size_t cores;
	struct live_link link;
};

/* --- tables --- */

static int open_pin(const char *dir, const char *name, uint32_t flags, struct err *err)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = flags);
	char path[PINS_PATH_MAX];
	int fd, error = pins_path(path, dir, name, err);

	if (error)
		return error;
	fd = bpf_obj_get_opts(path, &opts);
	return fd >= 0 ? fd : err_set(err, -errno, "%s: %s", path, strerror(errno));
}

/* Of `count` records, 0: however many there are; *ret_count says how many. */
static int map_pin(struct live *live, const char *dir, const char *name, size_t record,
		   uint32_t *count, struct err *err)
{
	struct mapped *mapped = &live->mapped[live->mapped_count];
	struct bpf_map_info info = {0};
	uint32_t length = sizeof(info);
	/* The kernel maps none that was opened for reading alone; but the mapping is for that. */
	int fd = open_pin(dir, name, 0, err), error = 0;

	if (fd < 0)
		return fd;
	if (bpf_obj_get_info_by_fd(fd, &info, &length))
		error = err_set(err, -errno, "%s/%s: %s", dir, name, strerror(errno));
	else if (info.value_size != record || (*count && info.max_entries != *count))
		error = err_set(err, -EPROTO, "%s/%s has another layout than this weir's", dir,
				name);
	if (!error) {
		*count = info.max_entries;
		mapped->size = record * info.max_entries;
		mapped->memory = mmap(NULL, mapped->size, PROT_READ, MAP_SHARED, fd, 0);
		if (mapped->memory == MAP_FAILED)
			error = err_set(err, -errno, "%s/%s cannot be mapped: %s", dir, name,
					strerror(errno));
		else
			live->mapped_count++;
	}
	close(fd);
	return error;
}

static int map_tables(struct live *live, const char *dir, struct err *err)
{
	const struct {
		const char *name;
		void **table;
		size_t record;
		uint32_t count; /* 0: any */
	} all[TABLES] = {
		{"node", (void **)&live->tables.node, sizeof(struct abi_node), 1},
		{"vips", (void **)&live->tables.vips, sizeof(struct abi_vip),
		 ABI_VIPS + ABI_VIP_RANGES},
		{"services", (void **)&live->tables.services, sizeof(struct abi_service),
		 ABI_SERVICES},
		{"backends", (void **)&live->tables.backends, sizeof(struct abi_backend),
		 ABI_BACKENDS},
		{"slots", (void **)&live->tables.slots, sizeof(uint64_t), ABI_SLOTS},
		{"servers", (void **)&live->tables.servers, sizeof(struct abi_server), ABI_SERVERS},
		{"flows", (void **)&live->tables.flows, sizeof(struct abi_bucket), 0},
	};

	for (size_t i = 0; i < TABLES; i++) {
		uint32_t count = all[i].count;
		int error = map_pin(live, dir, all[i].name, all[i].record, &count, err);

		if (error)
			return error;
		*all[i].table = live->mapped[i].memory;
		/* The last one's. */
		live->tables.flow_buckets = count;
	}
	if (live->tables.node->version != ABI_VERSION)
		return err_set(err, -EPROTO, "the tables are of version %u, this weir's is %u",
			       live->tables.node->version, ABI_VERSION);
	if (live->tables.node->flow_buckets_mask != live->tables.flow_buckets - 1)
		return err_set(err, -EPROTO, "%s/flows does not fit %s/node", dir, dir);
	return 0;
}

static uint32_t find_prefix(const void *arg, uint32_t table, const struct pkt_addr *addr)
{
	const struct live *live = arg;
	struct abi_prefix key = {160, table, *addr};
	uint32_t value;

	return bpf_map_lookup_elem(live->prefixes_fd, &key, &value) ? 0 : value;
}

/* --- the program --- */

static int open_map_of(const struct bpf_prog_info *program, const char *name)
{
	const uint32_t *ids = (const uint32_t *)(uintptr_t)program->map_ids;

	for (uint32_t i = 0; i < program->nr_map_ids; i++) {
		struct bpf_map_info info = {0};
		uint32_t length = sizeof(info);
		int fd = bpf_map_get_fd_by_id(ids[i]);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &info, &length) && strcmp(info.name, name) == 0)
			return fd;
		close(fd);
	}
	return -1;
}

/* Rates are not pinned: of the program that counts them. */
static void find_rates(struct live *live, uint32_t program)
{
	uint32_t ids[PROGRAM_MAPS_MAX];
	struct bpf_prog_info info = {.map_ids = (uintptr_t)ids, .nr_map_ids = PROGRAM_MAPS_MAX};
	uint32_t length = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(program);

	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &length) && info.nr_map_ids <= PROGRAM_MAPS_MAX)
		live->rates_fd = open_map_of(&info, "rates");
	close(fd);
}

struct search {
	struct live *live;
	const char *dir;
	uint32_t program;
};

/* The first that is attached to something. */
static void look_at_link(void *arg, const char *name)
{
	struct search *search = arg;
	struct live_link *link = &search->live->link;
	struct bpf_link_info info = {0};
	uint32_t length = sizeof(info);
	char path[PINS_PATH_MAX];
	int fd;

	if (link->ifindex || pins_path(path, search->dir, name, NULL))
		return;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return;
	if (!bpf_obj_get_info_by_fd(fd, &info, &length) && info.type == BPF_LINK_TYPE_XDP &&
	    info.xdp.ifindex) {
		link->ifindex = info.xdp.ifindex;
		search->program = info.prog_id;
		snprintf(link->interface, sizeof(link->interface), "%s", name + strlen("link-"));
		/* As pins_path makes it. */
		for (char *at = link->interface; (at = strchr(at, ':')); at++)
			*at = '.';
	}
	close(fd);
}

static void find_link(struct live *live, const char *dir)
{
	struct search search = {live, dir, 0};

	pins_each(dir, "link-", look_at_link, &search);
	if (search.program)
		find_rates(live, search.program);
}

/* --- all of it --- */

static int open_parts(struct live *live, const char *dir, struct err *err)
{
	int cores = libbpf_num_possible_cpus();
	int error = map_tables(live, dir, err);

	if (error)
		return error;
	live->prefixes_fd = open_pin(dir, "prefixes", BPF_F_RDONLY, err);
	if (live->prefixes_fd < 0)
		return live->prefixes_fd;
	live->cores = cores > 0 ? (size_t)cores : 0;
	live->rates = calloc(live->cores + 1, sizeof(*live->rates));
	if (!live->rates || native_watch(&live->tables, find_prefix, live, &live->native))
		return err_set(err, -ENOMEM, "out of memory");
	find_link(live, dir);
	native_set_ingress(live->native, live->link.ifindex);
	return 0;
}

int live_open(const char *pin_dir, struct live **ret, struct err *err)
{
	struct live *live = calloc(1, sizeof(*live));
	int error;

	if (!live)
		return err_set(err, -ENOMEM, "out of memory");
	live->prefixes_fd = live->rates_fd = -1;
	error = open_parts(live, pin_dir, err);
	if (error)
		live_close(live);
	else
		*ret = live;
	return error;
}

void live_close(struct live *live)
{
	if (!live)
		return;
	native_free(live->native);
	for (size_t i = 0; i < live->mapped_count; i++)
		munmap(live->mapped[i].memory, live->mapped[i].size);
	if (live->prefixes_fd >= 0)
		close(live->prefixes_fd);
	if (live->rates_fd >= 0)
		close(live->rates_fd);
	free(live->rates);
	free(live);
}

const struct dp_tables *live_tables(const struct live *live)
{
	return &live->tables;
}

struct native *live_native(struct live *live)
{
	return live->native;
}

const struct live_link *live_link(const struct live *live)
{
	return &live->link;
}

/* --- rates --- */

/* How far a core has run ahead of the rate, as special_is_within_rate counts. */
static uint64_t ahead_of(uint64_t full, uint64_t gap, uint64_t now_ns)
{
	uint64_t ahead = full - (now_ns << 8);

	return ahead > BURST + gap ? 0 : ahead;
}

struct live_rate live_rate(const struct live *live, uint32_t service, uint64_t now_ns)
{
	uint64_t gap = live->tables.services[service].rate_gap;
	struct live_rate rate = {0};

	if (live->rates_fd < 0 || bpf_map_lookup_elem(live->rates_fd, &service, live->rates))
		return rate;
	rate.cores = live->cores;
	for (size_t i = 0; i < live->cores; i++)
		rate.refusing += ahead_of(live->rates[i], gap, now_ns) > BURST;
	return rate;
}

void live_set_rates(struct live *live, uint64_t now_ns)
{
	for (uint32_t s = 1; s < ABI_SERVICES; s++) {
		const struct abi_service *service = &live->tables.services[s];
		size_t best = 0;

		if (!(service->flags & ABI_SERVICE_RATE) || live->rates_fd < 0 ||
		    bpf_map_lookup_elem(live->rates_fd, &s, live->rates))
			continue;
		for (size_t i = 1; i < live->cores; i++) {
			if (ahead_of(live->rates[i], service->rate_gap, now_ns) <
			    ahead_of(live->rates[best], service->rate_gap, now_ns))
				best = i;
		}
		native_set_rate(live->native, s, live->rates[best]);
	}
}
