// SPDX-License-Identifier: BSD-2-Clause
#include "tests/lib/run/dump.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"
#include "engine/native.h"
#include "tests/lib/rows/packets.h"
#include "tests/lib/world/world.h"

struct dump {
	FILE *pcap, *list;
	size_t damage;
};

static const char *mode_name(const struct packet_row *row)
{
	static const char *const names[TUNNEL_MODES] = {
		[TUNNEL_IPIP] = "ipip",   [TUNNEL_GRE] = "gre",       [TUNNEL_GUE] = "gue",
		[TUNNEL_L2DSR] = "l2dsr", [TUNNEL_GENEVE] = "geneve", [TUNNEL_IPOPT] = "ipopt",
		[TUNNEL_GUE0] = "gue0",
	};

	return packet_row_leaves(row) ? names[world_service_mode(row->service)] : "-";
}

static void write_frame(struct dump *dump, const struct packet_row *row, const char *way,
			const struct frame *frame)
{
	const uint32_t header[] = {0, 0, (uint32_t)frame->length, (uint32_t)frame->length};

	fwrite(header, sizeof(header), 1, dump->pcap);
	fwrite(frame->bytes, frame->length, 1, dump->pcap);
	fprintf(dump->list, "%s\t%s\t%s\n", way, mode_name(row), row->name);
}

static int dump_row(struct dump *dump, struct native *native, const struct packet_row *row)
{
	static struct frame frame;
	struct dp_result result;
	int error;

	frame_build(&row->spec, &frame);
	write_frame(dump, row, "in", &frame);
	world_forget_flows(native_tables(native));
	error = native_run(native, frame.bytes, frame.length, sizeof(frame.bytes), TIME_SECOND_NS,
			   &result);
	frame.length = result.length;
	if (error || result.trace.verdict != row->verdict)
		return -1;
	if (dump->damage)
		frame.bytes[frame_link_length(frame.bytes, frame.length) + dump->damage] ^= 1;
	write_frame(dump, row, "out", &frame);
	return 0;
}

static int dump_all(struct dump *dump)
{
	/* Microseconds, this machine's byte order, Ethernet. */
	const uint32_t header[] = {0xa1b2c3d4, 2 | 4 << 16, 0, 0, 65535, 1};
	struct native *native;
	int error = 0;

	if (native_new(WORLD_FLOWS, &native))
		return -1;
	world_fill(native_tables(native));
	fwrite(header, sizeof(header), 1, dump->pcap);
	for (size_t i = 0; i < packet_row_count && !error; i++) {
		if (packet_row_leaves(&packet_rows[i]) || packet_row_is_answered(&packet_rows[i]))
			error = dump_row(dump, native, &packet_rows[i]);
	}
	native_free(native);
	return error || ferror(dump->pcap) || ferror(dump->list) ? -1 : 0;
}

int dump_rows(const char *directory, size_t damage)
{
	struct dump dump = {.damage = damage};
	char path[256];
	int error;

	snprintf(path, sizeof(path), "%s/frames.pcap", directory);
	dump.pcap = fopen(path, "wb");
	snprintf(path, sizeof(path), "%s/frames.list", directory);
	dump.list = fopen(path, "w");
	error = !dump.pcap || !dump.list ? -1 : dump_all(&dump);
	if (dump.pcap && fclose(dump.pcap))
		error = -1;
	if (dump.list && fclose(dump.list))
		error = -1;
	return error;
}
