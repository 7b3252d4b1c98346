/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Captures as they are written: block by block by the format's own rules, and as libpcap reads
 * them. tests/e2e/capture.sh has tshark read comments and interfaces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <pcap/pcap.h>
#include <stdlib.h>

#include "weir/capture/pcapng.h"

static char comment_long[5000];

/* Two interfaces, packets of every remainder of four, comments likewise. */
static void write_all(FILE *file)
{
	static const char *const comments[] = {"", "a", "ab", "abc", "abcd", comment_long};
	uint8_t bytes[64];
	struct pcapng pcapng;

	memset(comment_long, 'x', sizeof(comment_long) - 1);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	pcapng_begin(&pcapng, file, 2048, "a test");
	assert_int_equal(pcapng_interface(&pcapng, "eth0", "in"), 0);
	assert_int_equal(pcapng_interface(&pcapng, "a-name", "out of it"), 1);
	for (uint32_t i = 0; i < 6; i++) {
		pcapng_packet(&pcapng, &(struct pcapng_packet){
					       .interface = i & 1,
					       .way = i & 1 ? PCAPNG_OUT : PCAPNG_IN,
					       .time_ns = 1700000000123456789ULL + i,
					       .length = 100 + i,
					       .captured = 20 + i,
					       .bytes = bytes,
					       .comment = comments[i],
				       });
	}
	assert_int_equal(fflush(file), 0);
}

/* Every block says its length twice, in whole words; every option list ends. */
static void test_blocks(void **state)
{
	static const uint32_t types[] = {0x0a0d0d0a, 1, 1, 6, 6, 6, 6, 6, 6};
	char *text = NULL;
	size_t size = 0, at = 0, blocks = 0;
	FILE *file = open_memstream(&text, &size);

	(void)state;
	assert_non_null(file);
	write_all(file);
	while (at < size) {
		uint32_t type, length, again, end;

		assert_true(size - at >= 12);
		memcpy(&type, text + at, 4);
		memcpy(&length, text + at + 4, 4);
		assert_true(length % 4 == 0 && length <= size - at);
		memcpy(&again, text + at + length - 4, 4);
		memcpy(&end, text + at + length - 8, 4);
		assert_int_equal(again, length);
		assert_int_equal(end, 0);
		assert_true(blocks < sizeof(types) / sizeof(types[0]));
		assert_int_equal(type, types[blocks++]);
		at += length;
	}
	assert_int_equal(blocks, sizeof(types) / sizeof(types[0]));
	fclose(file);
	free(text);
}

static void test_libpcap_reads(void **state)
{
	char problem[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	FILE *file = tmpfile();
	const uint8_t *bytes;
	pcap_t *pcap;

	(void)state;
	assert_non_null(file);
	write_all(file);
	rewind(file);
	pcap = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, problem);
	if (!pcap)
		fail_msg("%s", problem);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	assert_int_equal(pcap_snapshot(pcap), 2048);
	for (uint32_t i = 0; i < 6; i++) {
		assert_int_equal(pcap_next_ex(pcap, &header, &bytes), 1);
		assert_int_equal(header->caplen, 20 + i);
		assert_int_equal(header->len, 100 + i);
		assert_int_equal(header->ts.tv_sec, 1700000000);
		assert_int_equal(header->ts.tv_usec, 123456789 + i);
		assert_int_equal(bytes[19 + i], 19 + i);
	}
	assert_int_equal(pcap_next_ex(pcap, &header, &bytes), PCAP_ERROR_BREAK);
	pcap_close(pcap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_libpcap_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
