/* SPDX-License-Identifier: BSD-2-Clause */
#include "weir/trace/input.h"

#include <ctype.h>
#include <errno.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <string.h>

#include "base/time.h"

static int hex_digit(char letter)
{
	if (letter >= '0' && letter <= '9')
		return letter - '0';
	letter = (char)tolower((unsigned char)letter);
	return letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

const char *trace_parse_hex(const char **text, char stop, uint8_t *bytes, size_t capacity,
			    size_t *ret_length)
{
	const char *at = *text;
	size_t length = 0;

	while (*at && *at != stop) {
		int high, low;

		if (isspace((unsigned char)*at) || *at == ':') {
			at++;
			continue;
		}
		high = hex_digit(at[0]);
		if (high < 0)
			return "a letter that is no hex digit";
		low = hex_digit(at[1]);
		if (low < 0)
			return "half a byte: each has two hex digits";
		if (length < capacity)
			bytes[length] = (uint8_t)(high << 4 | low);
		length++;
		at += 2;
	}
	*text = at;
	*ret_length = length;
	return length ? NULL : "no bytes";
}

int trace_capture_open(const char *path, struct trace_capture *ret, struct err *err)
{
	char problem[PCAP_ERRBUF_SIZE] = "";
	pcap_t *pcap;
	FILE *file;

	file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!file)
		return err_set(err, -errno, "%s", strerror(errno));
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, problem);
	if (!pcap) {
		if (file != stdin)
			fclose(file);
		return err_set(err, -EIO, "%s", problem);
	}
	if (pcap_datalink(pcap) != DLT_EN10MB) {
		const char *link = pcap_datalink_val_to_name(pcap_datalink(pcap));

		err_set(err, -EPROTO, "link type %s (%d), expected Ethernet (EN10MB)",
			link ? link : "unknown", pcap_datalink(pcap));
		pcap_close(pcap);
		return -EPROTO;
	}
	ret->pcap = pcap;
	return 0;
}

/* In nanoseconds, whatever the file's own precision; a file can hold any number. */
static uint64_t stamp_ns(const struct timeval *stamp)
{
	uint64_t seconds = (uint64_t)stamp->tv_sec, nanoseconds = (uint64_t)stamp->tv_usec;

	if (stamp->tv_sec < 0 || seconds >= UINT64_MAX / TIME_SECOND_NS ||
	    nanoseconds >= TIME_SECOND_NS)
		return 0;
	return seconds * TIME_SECOND_NS + nanoseconds;
}

int trace_capture_next(struct trace_capture *capture, struct trace_captured *ret, struct err *err)
{
	struct pcap_pkthdr *header;
	const uint8_t *bytes;
	int got = pcap_next_ex(capture->pcap, &header, &bytes);

	if (got == PCAP_ERROR)
		return err_set(err, -EIO, "%s", pcap_geterr(capture->pcap));
	if (got != 1)
		return 0;
	*ret = (struct trace_captured){
		.time_ns = stamp_ns(&header->ts),
		.length = header->caplen,
		.wire_length = header->len,
		.bytes = bytes,
	};
	return 1;
}

void trace_capture_close(struct trace_capture *capture)
{
	pcap_close(capture->pcap);
}
