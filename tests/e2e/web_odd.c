/* SPDX-License-Identifier: MIT */
/*
 * web_odd.c - gives events with numbers and texts that are hard to print, and waits until its input
 * ends
 */
#include <limits.h>
#include <unistd.h>

#include <tracefuse/tracefuse.h>

TF_EVENT(odd, event, (const char *, text), (long, number), (unsigned long, large), (int, hits));

int main(void)
{
	static const char *const texts[] = {
		"plain", "a\"b", "a\nb", "a\\nb", "\x01", "\\x01", "\xff\xfe", "\\xff\\xfe",
		"", "\r", "<script>alert(1)</script>", "{le=\"+Inf\"}",
		"\xe2\x80\xa8",
	};
	static const long numbers[] = { -5, -4, 0, 7, LONG_MIN, LONG_MAX, -(1L << 62) };
	static const unsigned long large[] = {
		0, 1, 4096, 1UL << 53, (1UL << 53) + 1, 1UL << 60, (1UL << 60) + 1, 1UL << 63,
		ULONG_MAX - 1, ULONG_MAX, 0xffffffff81000000, 0xffffffff81000010,
	};
	const int nr_texts = sizeof(texts) / sizeof(texts[0]);
	char c;

	for (int i = 0; i < nr_texts * 7 * 12; i++)
		trace_event(texts[i % nr_texts], numbers[i % 7], large[i % 12], i % 10);
	return read(0, &c, 1) < 0;
}
