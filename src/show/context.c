/* SPDX-License-Identifier: MIT */
/*
 * context.c - the columns before an event: task, CPU, flags, time
 */
#include "model/cmdlines.h"
#include "show/state.h"

/* common_flags */
enum {
	FLAG_IRQS_OFF = 1, FLAG_NOSUPPORT = 2, FLAG_NEED_RESCHED = 4, FLAG_HARDIRQ = 8,
	FLAG_SOFTIRQ = 16, FLAG_PREEMPT_RESCHED = 32, FLAG_NMI = 64, FLAG_BH_OFF = 128,
};

static uint64_t usecs(uint64_t ns)
{
	return (ns + 500) / 1000;
}

static char irqs_letter(unsigned int flags)
{
	if (flags & FLAG_IRQS_OFF)
		return flags & FLAG_BH_OFF ? 'D' : 'd';
	return flags & FLAG_BH_OFF ? 'b' : flags & FLAG_NOSUPPORT ? 'X' : '.';
}

static char resched_letter(unsigned int flags)
{
	if (flags & FLAG_NEED_RESCHED)
		return flags & FLAG_PREEMPT_RESCHED ? 'N' : 'n';
	return flags & FLAG_PREEMPT_RESCHED ? 'p' : '.';
}

static char context_letter(unsigned int flags)
{
	if (flags & FLAG_NMI)
		return flags & FLAG_HARDIRQ ? 'Z' : 'z';
	if (flags & FLAG_HARDIRQ)
		return flags & FLAG_SOFTIRQ ? 'H' : 'h';
	return flags & FLAG_SOFTIRQ ? 's' : '.';
}

static char depth_digit(unsigned int depth)
{
	return depth ? "0123456789abcdef"[depth] : '.';
}

void show_flags(struct show *s, const struct show_record *r)
{
	unsigned int flags = (unsigned int)record_load(r, 2, 1),
		     depth = (unsigned int)record_load(r, 3, 1);
	char letters[5] = {
		irqs_letter(flags), resched_letter(flags), context_letter(flags),
		depth_digit(depth & 15), depth_digit(depth >> 4),
	};

	text_put(&s->text, letters, sizeof(letters));
}

/* Prints a signed decimal, then blanks up to `width`. */
static void pid_column(struct show_text *t, int32_t pid, size_t width)
{
	size_t start = t->len;

	if (pid < 0)
		text_putc(t, '-');
	text_decimal(t, pid < 0 ? -(uint64_t)pid : (uint64_t)pid, 0, ' ');
	if (t->len - start < width)
		text_fill(t, ' ', (int)(width - (t->len - start)));
}

void show_time(struct show *s, uint64_t time)
{
	text_putc(&s->text, ' ');
	if (!s->in_ns) {
		text_decimal(&s->text, time, 12, ' ');
		return;
	}
	time = usecs(time);
	text_decimal(&s->text, time / 1000000, 5, ' ');
	text_putc(&s->text, '.');
	text_decimal(&s->text, time % 1000000, 6, '0');
}

static void task_column(struct show *s, const struct show_record *r, int width, size_t max)
{
	const char *comm = cmdlines_find(s->model->cmdlines, record_pid(r));
	size_t n = strnlen(comm, max);

	text_fill(&s->text, ' ', width - (int)n);
	text_put(&s->text, comm, n);
	text_putc(&s->text, '-');
	pid_column(&s->text, record_pid(r), 7);
	text_putc(&s->text, ' ');
}

static void tgid_column(struct show *s, const struct show_record *r)
{
	int tgid = cmdlines_find_tgid(s->model->cmdlines, record_pid(r));

	if (tgid)
		text_printf(&s->text, "(%7d) ", tgid);
	else
		text_puts(&s->text, "(-------) ");
}

static void plain_context(struct show *s, const struct show_record *r)
{
	task_column(s, r, 16, 16);
	if (show_option(s, OPTION_RECORD_TGID))
		tgid_column(s, r);
	text_putc(&s->text, '[');
	text_decimal(&s->text, r->cpu, 3, '0');
	text_put(&s->text, "] ", 2);
	if (show_option(s, OPTION_IRQ_INFO))
		show_flags(s, r);
	show_time(s, r->time);
	text_put(&s->text, ": ", 2);
}

char show_delay_mark(uint64_t ns)
{
	static const struct {
		uint64_t	above;
		char		mark;
	} marks[] = {
		{ 1000000000, '$' }, { 100000000, '@' }, { 10000000, '*' }, { 1000000, '#' },
		{ 100000, '!' }, { 10000, '+' },
	};
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (ns > marks[i].above)
			return marks[i].mark;
	return ' ';
}

static void latency_time_verbose(struct show *s, uint64_t time, uint64_t delay)
{
	uint64_t t = time - s->time_start, d = delay;

	if (s->in_ns) {
		t = usecs(t);
		d = usecs(d);
		text_printf(&s->text, "[%08llx] %lld.%03lldms (+%lld.%03lldms): ",
			    (unsigned long long)usecs(time), (long long)(t / 1000),
			    (long long)(t % 1000), (long long)(d / 1000), (long long)(d % 1000));
	} else {
		text_printf(&s->text, "[%016llx] %lld (+%lld): ", (unsigned long long)time,
			    (long long)t, (long long)d);
	}
}

static void latency_time(struct show *s, uint64_t time, uint64_t delay)
{
	if (s->in_ns)
		text_printf(&s->text, " %4lldus%c: ", (long long)usecs(time - s->time_start),
			    show_delay_mark(usecs(delay) * 1000));
	else
		text_printf(&s->text, " %4lld: ", (long long)(time - s->time_start));
}

static void latency_context(struct show *s, const struct show_record *r, uint64_t delay)
{
	if (show_option(s, OPTION_VERBOSE)) {
		text_printf(&s->text, "%16s %7d %3u %d %08x %08llx ",
			    cmdlines_find(s->model->cmdlines, record_pid(r)), record_pid(r), r->cpu,
			    (int)record_load(r, 2, 1), (unsigned int)record_load(r, 3, 1) & 15,
			    (unsigned long long)s->index);
		latency_time_verbose(s, r->time, delay);
		return;
	}
	task_column(s, r, 8, 8);
	text_decimal(&s->text, r->cpu, 3, ' ');
	show_flags(s, r);
	latency_time(s, r->time, delay);
}

void show_context(struct show *s, const struct show_record *r, uint64_t next_time)
{
	if (s->latency)
		latency_context(s, r, next_time - r->time);
	else
		plain_context(s, r);
}

void show_lost(struct show *s, const struct show_record *r)
{
	/* Only a reader that consumes knows how many records were lost. */
	if (!r->lost)
		return;
	if (s->pipe)
		text_printf(&s->text, "CPU:%u [LOST %llu EVENTS]\n", r->cpu,
			    (unsigned long long)r->lost);
	else
		text_printf(&s->text, "CPU:%u [LOST EVENTS]\n", r->cpu);
}
