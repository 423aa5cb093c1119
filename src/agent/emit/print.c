/* SPDX-License-Identifier: MIT */
/*
 * print.c - tf_printk() and tf_marker(): records of ftrace:print
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/emit/emit.h"
#include "agent/libc.h"
#include "agent/state.h"

enum {
	/* As in src/tracefs/marker.c, which makes the same record. */
	PRINT_ID	= 5,
	PRINT_TEXT	= 16,
	SHORTEST	= 9,
	PRINTK_MOST	= 1024,		/* bytes with the 0, as in trace_printk() */
	MARKER_MOST	= TF_RECORD_MAX - PRINT_TEXT - 2,
};

/* Whether the record would be used: called before the text is made. */
static bool wanted(void)
{
	/* Relaxed: each is a word of its own, and hit() reads the plan again. */
	return agent_present() &&
	       atomic_load_explicit(&plane_event(&agent.plane, PRINT_ID)->plan,
				    memory_order_relaxed) &&
	       (atomic_load_explicit(&plane_instance(&agent.plane, 0)->flags,
				     memory_order_relaxed) &
		INSTANCE_MARKERS);
}

/* `record` has the text at PRINT_TEXT, and room for a newline and a 0. */
static int print(struct agent_thread *t, char *record, const void *ip, size_t len)
{
	uint64_t at = agent_address(t, ip);
	char *end = record + PRINT_TEXT + len;
	uint32_t room = PRINT_TEXT + (uint32_t)(len < SHORTEST ? SHORTEST : len) + 2;
	struct hit h = { .entry = PRINT_ID, .record = record, .size = room, .seen = record,
			 .seen_size = PRINT_TEXT + (uint32_t)len };

	memset(end, 0, record + room - end);
	memcpy(record + 8, &at, sizeof(at));
	if (len && end[-1] != '\n')
		*end = '\n';
	return emit_hit(t, &h, NULL, NULL, EMIT_NEXT_LONG) & 1 ? (int)len : 0;
}

int print_text(const void *ip, const char *text, size_t size)
{
	struct agent_thread *t = wanted() ? agent_thread() : NULL;
	char *record;
	int n;

	if (!t)
		return 0;
	if (size > MARKER_MOST)
		size = MARKER_MOST;
	record = large_get(t, TF_RECORD_MAX);
	if (!record)
		return 0;
	memcpy(record + PRINT_TEXT, text, size);
	n = print(t, record, ip, size);
	large_put(t, record);
	return n;
}

/* What vsnprintf() calls is not recorded, and errno stays as it was. */
static int format_text(struct agent_thread *t, char *out, const char *format, va_list args)
{
	uint8_t busy = t->busy;
	int saved = errno, n;

	t->busy = 1;
	n = libc_vsnprintf(out, PRINTK_MOST, format, args);
	t->busy = busy;
	errno = saved;
	return n < PRINTK_MOST ? n : PRINTK_MOST - 1;
}

int print_formatted(const void *ip, const char *format, va_list args)
{
	struct agent_thread *t = wanted() ? agent_thread() : NULL;
	char *record = t ? large_get(t, TF_RECORD_MAX) : NULL;
	int n;

	if (!record)
		return 0;
	n = format_text(t, record + PRINT_TEXT, format, args);
	if (n > 0)
		n = print(t, record, ip, (size_t)n);
	large_put(t, record);
	return n > 0 ? n : 0;
}
