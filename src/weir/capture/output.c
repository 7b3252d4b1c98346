/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/capture/output.h"

#include <netinet/in.h>
#include <string.h>
#include <time.h>

#include "base/time.h"
#include "dp/verdict.h"
#include "engine/tables.h"
#include "pkt/parse.h"
#include "weir/show.h"

enum { COMMENT_MAX = 512, FLOW_MAX = 192 };

void output_begin(struct output *output, uint32_t snaplen)
{
	struct timespec wall;

	clock_gettime(CLOCK_REALTIME, &wall);
	output->wall_ns =
		(uint64_t)wall.tv_sec * TIME_SECOND_NS + (uint64_t)wall.tv_nsec - time_now_ns();
	if (output->form == OUTPUT_PCAPNG)
		pcapng_begin(&output->pcapng, output->file, snaplen, "weir " WEIR_VERSION);
}

/* Whether there is an IP packet in a frame that may be cut short; its ports may be 0. */
static bool parse(struct output *output, const struct abi_capture *record, const uint8_t *bytes,
		  struct pkt *ret)
{
	/* What lengths in it claim is there, as zero. */
	size_t length = record->length < sizeof(output->frame) ? record->length
							       : sizeof(output->frame);
	struct pkt_ctx ctx = {output->frame, output->frame, output->frame + length, 0};

	if (record->captured > length)
		return false;
	memcpy(output->frame, bytes, record->captured);
	memset(output->frame + record->captured, 0, length - record->captured);
	*ret = (struct pkt){0};
	/* Past the tags: where the addresses would be does not matter here. */
	ctx.data += pkt_vlan_count(&ctx) * PKT_VLAN_TAG;
	if (pkt_parse_ip(&ctx, ret) != PKT_PARSED)
		return false;
	if ((ret->proto == IPPROTO_TCP || ret->proto == IPPROTO_UDP) && !ret->fragment)
		pkt_parse_l4(&ctx, ret);
	return true;
}

struct output_ports output_ports(struct output *output, const struct abi_capture *record,
				 const uint8_t *bytes)
{
	struct pkt pkt;

	if (!parse(output, record, bytes, &pkt))
		return (struct output_ports){0};
	return (struct output_ports){PKT_HOST16(pkt.sport), PKT_HOST16(pkt.dport)};
}

struct flow_text {
	char text[FLOW_MAX];
};

static struct flow_text flow_text(const struct pkt *pkt)
{
	struct addr src = dp_addr_back(&pkt->src), dst = dp_addr_back(&pkt->dst);
	char from[ADDR_TEXT_MAX], to[ADDR_TEXT_MAX];
	struct flow_text flow;

	addr_format(&src, from);
	addr_format(&dst, to);
	if (pkt->sport || pkt->dport)
		snprintf(flow.text, sizeof(flow.text), "%s %s port %u > %s port %u",
			 pkt->proto == IPPROTO_TCP ? "TCP" : "UDP", from, PKT_HOST16(pkt->sport),
			 to, PKT_HOST16(pkt->dport));
	else
		snprintf(flow.text, sizeof(flow.text), "IPv%u%s %s > %s, protocol %u", pkt->version,
			 pkt->fragment ? " fragment" : "", from, to, pkt->proto);
	return flow;
}

static bool has_backend(const struct abi_capture *record)
{
	return record->backend != 0;
}

/* Words as a log's, so that a filter finds them: frame.comment contains "service=web ". */
static void make_comment(const struct output *output, const struct abi_capture *record,
			 char comment[COMMENT_MAX])
{
	int used = snprintf(comment, COMMENT_MAX, "verdict=%s why=%s",
			    show_verdict(record->verdict).text, show_why(record->why).text);

	if (record->service)
		used += snprintf(comment + used, COMMENT_MAX - (size_t)used, " service=%s",
				 names_service(output->names, record->service).text);
	if (has_backend(record))
		snprintf(comment + used, COMMENT_MAX - (size_t)used, " backend=%s slot=%u",
			 names_backend(output->names, record->backend).text, record->slot);
}

/* --- pcapng --- */

/* An interface is one for what goes in there and another for what goes out. */
static uint32_t interface_number(struct output *output, const struct abi_capture *record)
{
	struct pcapng *pcapng = &output->pcapng;

	for (uint32_t i = 0; i < pcapng->interfaces; i++) {
		if (output->interfaces[i].ifindex == record->ifindex &&
		    output->interfaces[i].way == record->way)
			return i;
	}
	if (pcapng->interfaces == PCAPNG_INTERFACES_MAX)
		return 0;
	output->interfaces[pcapng->interfaces].ifindex = record->ifindex;
	output->interfaces[pcapng->interfaces].way = record->way;
	return pcapng_interface(pcapng, names_interface(output->names, record->ifindex).text,
				record->way == ABI_CAPTURE_IN ? "into XDP" : "out of XDP");
}

static void write_pcapng(struct output *output, const struct abi_capture *record,
			 const uint8_t *bytes)
{
	char comment[COMMENT_MAX];

	make_comment(output, record, comment);
	pcapng_packet(&output->pcapng,
		      &(struct pcapng_packet){
			      .interface = interface_number(output, record),
			      .way = record->way == ABI_CAPTURE_IN ? PCAPNG_IN : PCAPNG_OUT,
			      .time_ns = record->time_ns + output->wall_ns,
			      .length = record->length,
			      .captured = record->captured,
			      .bytes = bytes,
			      .comment = comment,
		      });
}

/* --- words and JSON --- */

static void write_words(struct output *output, const struct abi_capture *record,
			const uint8_t *bytes)
{
	uint64_t now_ns = record->time_ns + output->wall_ns;
	time_t seconds = (time_t)(now_ns / TIME_SECOND_NS);
	struct pkt pkt;
	struct tm clock;
	char time[16];

	localtime_r(&seconds, &clock);
	strftime(time, sizeof(time), "%H:%M:%S", &clock);
	fprintf(output->file, "%s.%06u %s %s %u bytes, %s", time,
		(unsigned)(now_ns % TIME_SECOND_NS / 1000),
		names_interface(output->names, record->ifindex).text,
		record->way == ABI_CAPTURE_IN ? "in " : "out", record->length,
		parse(output, record, bytes, &pkt) ? flow_text(&pkt).text : "no whole IP packet");
	if (record->way == ABI_CAPTURE_IN) {
		fprintf(output->file, ": %s", show_verdict(record->verdict).text);
		if (record->service)
			fprintf(output->file, ", service %s",
				names_service(output->names, record->service).text);
		if (has_backend(record))
			fprintf(output->file, ", backend %s (%s)",
				names_backend(output->names, record->backend).text,
				show_why(record->why).text);
	}
	fputc('\n', output->file);
}

static json_t *name_or_null(struct name_text name)
{
	return name.text[0] ? json_string(name.text) : json_null();
}

static void write_json(struct output *output, const struct abi_capture *record,
		       const uint8_t *bytes)
{
	struct pkt pkt;
	bool parsed = parse(output, record, bytes, &pkt);
	json_t *object =
		json_pack("{s:f, s:s, s:o, s:s, s:s, s:o, s:o, s:I, s:I, s:o}", "time",
			  (double)(record->time_ns + output->wall_ns) / (double)TIME_SECOND_NS,
			  "way", record->way == ABI_CAPTURE_IN ? "in" : "out", "interface",
			  name_or_null(names_interface(output->names, record->ifindex)), "verdict",
			  show_verdict(record->verdict).text, "why", show_why(record->why).text,
			  "service", name_or_null(names_service(output->names, record->service)),
			  "backend", name_or_null(names_backend(output->names, record->backend)),
			  "slot", (json_int_t)record->slot, "length", (json_int_t)record->length,
			  "packet", parsed ? json_string(flow_text(&pkt).text) : json_null());

	json_dumpf(object, output->file, JSON_COMPACT);
	fputc('\n', output->file);
	json_decref(object);
}

void output_record(struct output *output, const struct abi_capture *record, const uint8_t *bytes)
{
	if (record->verdict >= VERDICT_COUNT || record->why >= WHY_COUNT)
		return;
	switch (output->form) {
	case OUTPUT_PCAPNG: write_pcapng(output, record, bytes); break;
	case OUTPUT_JSON: write_json(output, record, bytes); break;
	case OUTPUT_WORDS: write_words(output, record, bytes); break;
	}
}
