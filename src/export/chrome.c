/* SPDX-License-Identifier: MIT */
/*
 * chrome.c - JSON of trace events, one line an event
 *
 *     B, E    a call of a function begins and ends
 *     X       a call whose beginning is missing; what ran on a CPU, from sched_switch
 *     i       every other record, with its fields
 *     C       counters
 *     M       names of threads and processes
 *
 * Times are microseconds since the first record: readers keep them as doubles.
 */
#include <inttypes.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"

enum { CPUS = EXPORT_PIDS + 1 };	/* the process that stands for the CPUs */

struct chrome_cpu {
	uint64_t	since;
	int32_t		pid;
	char		comm[LAYOUT_COMM_LEN];
	bool		known;		/* what runs there */
	bool		named;
};

struct chrome {
	bool		some;		/* an event is there: a comma comes before the next one */
	bool		named;		/* the process of the CPUs has its name */
	uint32_t	nr_cpus;
	struct chrome_cpu *cpus;
};

static int chrome_begin(struct export_run *x)
{
	struct chrome *c = calloc(1, sizeof(*c));

	x->state = c;
	if (!c)
		return -ENOMEM;
	c->nr_cpus = source_nr_cpus(x->what->source);
	c->cpus = calloc(c->nr_cpus, sizeof(*c->cpus));
	if (!c->cpus)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"clock\":", x->out);
	export_json_text(source_clock(x->what->source), SIZE_MAX, x->out);
	fputs(",\"machine\":", x->out);
	export_json_text(source_uname(x->what->source), SIZE_MAX, x->out);
	fprintf(x->out, ",\"first_time\":\"%" PRIu64 "\"},\"traceEvents\":[\n", x->first);
	return 0;
}

/* ---- the parts of an event ---- */

/* `name` with its quotes and separators. */
static void chrome_time(struct export_run *x, const char *name, int64_t ns)
{
	const uint64_t v = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
	const char parts[] = {
		'.', (char)('0' + v / 100 % 10), (char)('0' + v / 10 % 10), (char)('0' + v % 10),
	};

	fputs_unlocked(name, x->out);
	if (ns < 0)
		putc_unlocked('-', x->out);
	export_digits(v / 1000, x->out);
	fwrite_unlocked(parts, 1, sizeof(parts), x->out);
}

/* A clock can go back: then there is no duration. */
static void chrome_duration(struct export_run *x, uint64_t from, uint64_t to)
{
	chrome_time(x, ",\"dur\":", to > from ? (int64_t)(to - from) : 0);
}

static void event_open(struct export_run *x, char phase, uint32_t pid, uint32_t tid)
{
	struct chrome *c = x->state;

	if (c->some)
		fputs_unlocked(",\n", x->out);
	c->some = true;
	fputs_unlocked("{\"ph\":\"", x->out);
	putc_unlocked(phase, x->out);
	fputs_unlocked("\",\"pid\":", x->out);
	export_digits(pid, x->out);
	fputs_unlocked(",\"tid\":", x->out);
	export_digits(tid, x->out);
}

static void event_close(struct export_run *x)
{
	putc_unlocked('}', x->out);
}

static void event_name(struct export_run *x, const char *name, size_t len)
{
	fputs_unlocked(",\"name\":", x->out);
	export_json_text(name, len, x->out);
}

/* ---- names ---- */

static void chrome_label(struct export_run *x, const char *what, uint32_t pid, uint32_t tid,
			 const char *name)
{
	event_open(x, 'M', pid, tid);
	event_name(x, what, SIZE_MAX);
	fputs_unlocked(",\"args\":{\"name\":", x->out);
	export_json_text(name, LAYOUT_COMM_LEN, x->out);
	putc_unlocked('}', x->out);
	event_close(x);
}

static uint32_t thread_number(const struct export_task *t)
{
	return t->pid ? (uint32_t)t->pid : t->cpu;
}

static void task_open(struct export_run *x, char phase, struct export_task *t)
{
	if (t->renamed) {
		t->renamed = false;
		chrome_label(x, "thread_name", (uint32_t)t->group, thread_number(t), t->comm);
		if (t->pid == t->group)
			chrome_label(x, "process_name", (uint32_t)t->group, thread_number(t),
				     t->pid ? t->comm : "idle");
	}
	event_open(x, phase, (uint32_t)t->group, thread_number(t));
}

static void cpu_open(struct export_run *x, char phase, uint32_t cpu)
{
	struct chrome *c = x->state;
	char name[24];

	if (!c->named)
		chrome_label(x, "process_name", CPUS, 0, "CPUs");
	c->named = true;
	if (cpu < c->nr_cpus && !c->cpus[cpu].named) {
		snprintf(name, sizeof(name), "CPU %u", cpu);
		chrome_label(x, "thread_name", CPUS, cpu, name);
		c->cpus[cpu].named = true;
	}
	event_open(x, phase, CPUS, cpu);
}

/* ---- records ---- */

static struct export_value chrome_value(const struct export_record *r, const struct field *f)
{
	return f == r->event->caller ? export_stack(r) : export_value_read(f, r->r);
}

/* `calls`: only those that tell something of a call. */
static void chrome_fields(struct export_run *x, const struct export_record *r, bool calls)
{
	const char *separator = ",\"args\":{";
	bool some = false;

	for (unsigned int i = 0; i < r->event->nr_fields; i++) {
		const struct field *f = &r->event->fields[i];
		const struct export_value v = chrome_value(r, f);

		if (f->common || (calls && !export_tells(f, &v)))
			continue;
		fputs_unlocked(some ? "," : separator, x->out);
		export_json_value(x, f->name, &v);
		some = true;
	}
	if (some)
		putc_unlocked('}', x->out);
}

/* What ran on the CPU until now, with the record that ends it. */
static void chrome_switch(struct export_run *x, const struct export_record *r)
{
	struct chrome *c = x->state;
	struct chrome_cpu *cpu = r->r->cpu < c->nr_cpus ? &c->cpus[r->r->cpu] : NULL;
	const struct export_value next = export_value_read(r->event->next_comm, r->r);
	const bool known = cpu && cpu->known &&
			   cpu->pid == (int32_t)export_number(r->event->prev_pid, r->r);

	cpu_open(x, known ? 'X' : 'i', r->r->cpu);
	event_name(x, known ? cpu->comm : "sched:sched_switch", known ? LAYOUT_COMM_LEN : SIZE_MAX);
	chrome_time(x, ",\"ts\":", (int64_t)((known ? cpu->since : r->r->time) - x->first));
	if (known)
		chrome_duration(x, cpu->since, r->r->time);
	else
		fputs_unlocked(",\"s\":\"t\"", x->out);
	chrome_fields(x, r, false);
	event_close(x);
	if (!cpu)
		return;
	*cpu = (struct chrome_cpu){
		.since = r->r->time, .known = next.kind == VALUE_TEXT, .named = cpu->named,
		.pid = (int32_t)export_number(r->event->next_pid, r->r),
	};
	if (cpu->known)
		memcpy(cpu->comm, next.bytes,
		       next.len < LAYOUT_COMM_LEN ? next.len : LAYOUT_COMM_LEN);
}

static void chrome_name(struct export_run *x, const struct export_record *r)
{
	const struct export_event *e = r->event;
	const struct field *last = e && e->nr_fields ? &e->fields[e->nr_fields - 1] : NULL;
	struct export_value text = { .kind = VALUE_NONE };
	char name[300];

	if (e && e->kind == EXPORT_FUNCTION) {
		event_name(x, export_function_name(x, export_number(e->func, r->r)), SIZE_MAX);
		return;
	}
	if (e && e->kind == EXPORT_PRINT) {
		if (last)
			text = export_value_read(last, r->r);
		while (text.kind == VALUE_TEXT && text.len && text.bytes[text.len - 1] == '\n')
			text.len--;
		event_name(x, text.kind == VALUE_TEXT ? (const char *)text.bytes : "", text.len);
		return;
	}
	if (e)
		snprintf(name, sizeof(name), "%s:%s", e->event->system->name, e->event->name);
	else
		snprintf(name, sizeof(name), "unknown event %u", r->r->type);
	event_name(x, name, sizeof(name));
}

static void chrome_lost(struct export_run *x, const struct export_record *r)
{
	char name[64];

	cpu_open(x, 'i', r->r->cpu);
	snprintf(name, sizeof(name), "%" PRIu64 " records lost", r->r->lost);
	event_name(x, name, sizeof(name));
	chrome_time(x, ",\"ts\":", (int64_t)(r->r->time - x->first));
	fputs_unlocked(",\"s\":\"t\"", x->out);
	event_close(x);
}

static void chrome_record(struct export_run *x, const struct export_record *r)
{
	if (r->event && r->event->kind == EXPORT_SWITCH) {
		chrome_switch(x, r);
		return;
	}
	task_open(x, 'i', r->task);
	chrome_name(x, r);
	chrome_time(x, ",\"ts\":", (int64_t)(r->r->time - x->first));
	fputs_unlocked(",\"s\":\"t\"", x->out);
	if (r->event)
		chrome_fields(x, r, false);
	event_close(x);
}

static void chrome_counter(struct export_run *x, const struct export_counter *c,
			   const struct export_record *r, uint64_t value)
{
	task_open(x, 'C', r->task);
	event_name(x, c->name, SIZE_MAX);
	chrome_time(x, ",\"ts\":", (int64_t)(r->r->time - x->first));
	if (c->field->is_signed)
		fprintf(x->out, ",\"args\":{\"value\":%" PRId64 "}", (int64_t)value);
	else
		fprintf(x->out, ",\"args\":{\"value\":%" PRIu64 "}", value);
	event_close(x);
}

/* ---- calls ---- */

static void chrome_call(struct export_run *x, struct export_task *task, char phase,
			const struct export_call *call, uint64_t time)
{
	task_open(x, phase, task);
	event_name(x, export_function_name(x, call->func), SIZE_MAX);
	fputs_unlocked(",\"cat\":\"function\"", x->out);
	chrome_time(x, ",\"ts\":", (int64_t)(time - x->first));
}

static void chrome_call_begin(struct export_run *x, const struct export_record *r)
{
	const struct export_call *call = &r->task->calls[r->task->depth - 1];

	chrome_call(x, r->task, 'B', call, call->begin);
	chrome_fields(x, r, true);
	event_close(x);
}

static void chrome_call_end(struct export_run *x, struct export_task *task, uint64_t time,
			    const struct export_record *exit)
{
	chrome_call(x, task, 'E', &task->calls[task->depth - 1], time);
	if (exit)
		chrome_fields(x, exit, true);
	else
		fputs_unlocked(",\"args\":{\"end\":\"not recorded\"}", x->out);
	event_close(x);
}

static void chrome_call_whole(struct export_run *x, const struct export_record *exit,
			      const struct export_call *call)
{
	chrome_call(x, exit->task, 'X', call, call->begin);
	chrome_duration(x, call->begin, exit->r->time);
	chrome_fields(x, exit, true);
	event_close(x);
}

/* ---- the end ---- */

static void chrome_end(struct export_run *x)
{
	struct chrome *c = x->state;

	for (uint32_t i = 0; i < c->nr_cpus; i++) {
		if (!c->cpus[i].known)
			continue;
		cpu_open(x, 'X', i);
		event_name(x, c->cpus[i].comm, LAYOUT_COMM_LEN);
		chrome_time(x, ",\"ts\":", (int64_t)(c->cpus[i].since - x->first));
		chrome_duration(x, c->cpus[i].since, x->last);
		event_close(x);
	}
	fputs("\n]}\n", x->out);
}

static void chrome_free(struct export_run *x)
{
	struct chrome *c = x->state;

	if (c)
		free(c->cpus);
	free(c);
}

const struct export_form export_chrome = {
	.name = "chrome",
	.counts = true,
	.begin = chrome_begin,
	.record = chrome_record,
	.counter = chrome_counter,
	.lost = chrome_lost,
	.call_begin = chrome_call_begin,
	.call_end = chrome_call_end,
	.call_whole = chrome_call_whole,
	.end = chrome_end,
	.free = chrome_free,
};
