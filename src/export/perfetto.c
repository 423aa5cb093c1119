/* SPDX-License-Identifier: MIT */
/*
 * perfetto.c - protobuf, as ui.perfetto.dev and trace_processor read it
 *
 *     records     bundles of ftrace events, one CPU each; an event for which the schema has no
 *                 message is a generic one
 *     calls       slices on the track of their thread
 *     counters    a track each
 *
 * tests/e2e/export.proto has the part of the public schema that is used here. Its numbers do not
 * change.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "export/form.h"

/* Numbers of fields. */
enum {
	TRACE_PACKET = 1,
	PACKET_FTRACE = 1, PACKET_TIME = 8, PACKET_SEQUENCE = 10, PACKET_EVENT = 11,
	PACKET_FLAGS = 13, PACKET_TRACK = 60,
	BUNDLE_CPU = 1, BUNDLE_EVENT = 2, BUNDLE_LOST = 3,
	FTRACE_TIME = 1, FTRACE_PID = 2, FTRACE_GENERIC = 327,
	GENERIC_NAME = 1, GENERIC_FIELD = 2, FIELD_NAME = 1, FIELD_TEXT = 3, FIELD_INT = 4,
	FIELD_UINT = 5,
	TRACK_ID = 1, TRACK_NAME = 2, TRACK_THREAD = 4, TRACK_COUNTER = 8,
	THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,
	EVENT_NOTE = 4, EVENT_TYPE = 9, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_NAME = 23,
	EVENT_COUNT = 30, EVENT_DOUBLE = 44,
	NOTE_UINT = 3, NOTE_INT = 4, NOTE_TEXT = 6, NOTE_NAME = 10,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2, COUNTER = 4 };

enum { BUNDLE_BYTES = 32 * 1024, SEQUENCE = 1, STATE_CLEARED = 1 };

/* Tracks have numbers of 64 bits. */
#define TRACK_OF_TASK	(1ull << 32)
#define TRACK_OF_IDLE	(2ull << 32)
#define TRACK_OF_COUNTER (3ull << 32)

/* Events that have messages of their own. Their fields are numbered from 1 on. */
static const struct message {
	const char	*system, *event;
	uint32_t	number;
	const char	*fields;
} messages[] = {
	{ "ftrace", "print", 3, "ip buf" },
	{ "sched", "sched_switch", 4,
	  "prev_comm prev_pid prev_prio prev_state next_comm next_pid next_prio" },
	{ "power", "cpu_frequency", 11, "state cpu_id" },
	{ "power", "cpu_idle", 13, "state cpu_id" },
	{ "sched", "sched_wakeup", 17, "comm pid prio success target_cpu" },
	{ "sched", "sched_waking", 20, "comm pid prio success target_cpu" },
	{ "irq", "softirq_entry", 24, "vec" },
	{ "irq", "softirq_exit", 25, "vec" },
	{ "irq", "softirq_raise", 26, "vec" },
	{ "irq", "irq_handler_entry", 36, "irq name" },
	{ "irq", "irq_handler_exit", 37, "irq ret" },
	{ "sched", "sched_wakeup_new", 114, "comm pid prio success target_cpu" },
	{ "task", "task_newtask", 235, "pid comm clone_flags oom_score_adj" },
	{ "task", "task_rename", 236, "pid oldcomm newcomm oom_score_adj" },
	{ "sched", "sched_process_exec", 237, "filename pid old_pid" },
	{ "sched", "sched_process_free", 240, "comm pid prio" },
	{ "sched", "sched_process_wait", 242, "comm pid prio" },
	{ "raw_syscalls", "sys_enter", 329, "id args" },
	{ "raw_syscalls", "sys_exit", 330, "id ret" },
	{ NULL, NULL, 0, NULL },
};

struct perfetto_cpu {
	struct proto	bundle;
	size_t		packet, bundle_at;	/* where they begin; of bundle */
	bool		lost;			/* records were lost before it */
};

struct perfetto {
	uint32_t	nr_cpus;
	struct perfetto_cpu *cpus;
	struct proto	packet;		/* used again and again */
	bool		begun;		/* a packet of the sequence was written */
	uint64_t	counted;	/* counters whose track is described; the first 64 */
};

static int perfetto_begin(struct export_run *x)
{
	struct perfetto *p = calloc(1, sizeof(*p));

	x->state = p;
	if (!p)
		return -ENOMEM;
	p->nr_cpus = source_nr_cpus(x->what->source);
	p->cpus = calloc(p->nr_cpus, sizeof(*p->cpus));
	return p->cpus ? 0 : -ENOMEM;
}

/* Writes what was made, and begins again. */
static void proto_write(struct export_run *x, struct proto *made)
{
	if (made->failed)
		export_fail(x, -ENOMEM);
	else
		fwrite_unlocked(made->bytes, 1, made->len, x->out);
	made->len = 0;
}

/* ---- packets of tracks ---- */

static struct proto *packet_open(struct export_run *x, size_t *at)
{
	struct perfetto *p = x->state;

	*at = proto_open(&p->packet, TRACE_PACKET);
	proto_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	if (!p->begun)
		proto_number(&p->packet, PACKET_FLAGS, STATE_CLEARED);
	p->begun = true;
	return &p->packet;
}

static void packet_close(struct export_run *x, size_t at)
{
	struct perfetto *p = x->state;

	proto_close(&p->packet, at);
	proto_write(x, &p->packet);
}

static uint64_t track_of(const struct export_task *t)
{
	return t->pid ? TRACK_OF_TASK | (uint32_t)t->pid : TRACK_OF_IDLE | t->cpu;
}

/* The thread and its name, when it is first seen and when it has another name. */
static void track_describe(struct export_run *x, struct export_task *t)
{
	struct proto *m;
	size_t packet, track, thread;

	if (!t->renamed)
		return;
	t->renamed = false;
	m = packet_open(x, &packet);
	track = proto_open(m, PACKET_TRACK);
	proto_number(m, TRACK_ID, track_of(t));
	if (t->pid) {
		thread = proto_open(m, TRACK_THREAD);
		proto_number(m, THREAD_PID, (uint64_t)(int64_t)t->group);
		proto_number(m, THREAD_TID, (uint64_t)(int64_t)t->pid);
		proto_text(m, THREAD_NAME, t->comm, sizeof(t->comm));
		proto_close(m, thread);
	} else {
		proto_text(m, TRACK_NAME, t->comm, sizeof(t->comm));
	}
	proto_close(m, track);
	packet_close(x, packet);
}

/* ---- values ---- */

/* Arrays, and addresses with their names, are texts. The caller frees it. */
static char *value_text(struct export_run *x, const struct export_value *v)
{
	const size_t nr = v->width ? v->len / v->width : 0;
	char *text = NULL;
	size_t size;
	FILE *out;

	if (v->kind == VALUE_ADDRESS)
		return strdup(export_address_name(x, v->number));
	out = open_memstream(&text, &size);
	for (size_t i = 0; out && i < nr; i++) {
		const uint64_t n = export_value_at(v, i);

		if (v->is_code)
			fprintf(out, "%s%s", i ? ";" : "", export_address_name(x, n));
		else if (v->is_signed)
			fprintf(out, "%s%lld", i ? "," : "", (long long)n);
		else
			fprintf(out, "%s0x%llx", i ? "," : "", (unsigned long long)n);
	}
	return out && !fclose(out) ? text : NULL;
}

/* `as`: the numbers of the fields for a text, a signed and an unsigned number. */
static void value_put(struct export_run *x, struct proto *m, const struct export_value *v,
		      const uint32_t as[3])
{
	char *text;

	switch (v->kind) {
	case VALUE_TEXT:
		proto_text(m, as[0], (const char *)v->bytes, v->len);
		break;
	case VALUE_SIGNED:
		proto_number(m, as[1], v->number);
		break;
	case VALUE_UNSIGNED:
		proto_number(m, as[2], v->number);
		break;
	case VALUE_ADDRESS:
	case VALUE_ARRAY:
		text = value_text(x, v);
		if (text)
			proto_text(m, as[0], text, SIZE_MAX);
		else
			export_fail(x, -ENOMEM);
		free(text);
		break;
	default:
		break;
	}
}

/* ---- ftrace events ---- */

enum { FIELDS_MOST = 8 };

/* What is known about an event: its message, and the field of the record for each of its fields. */
struct places {
	const struct message *message;	/* NULL: it is a generic event */
	const struct field *fields[FIELDS_MOST];
};

static const struct field *field_named(const struct export_event *e, const char *name, size_t len)
{
	for (unsigned int i = 0; i < e->nr_fields; i++)
		if (!strncmp(e->fields[i].name, name, len) && !e->fields[i].name[len])
			return &e->fields[i];
	return NULL;
}

static void places_find(struct places *p, const struct export_event *e)
{
	const struct message *m = messages;
	const char *name;

	while (m->event && (strcmp(m->event, e->event->name) != 0 ||
			    strcmp(m->system, e->event->system->name) != 0))
		m++;
	p->message = m->event ? m : NULL;
	name = m->event ? m->fields : "";
	for (unsigned int i = 0; *name && i < FIELDS_MOST; i++) {
		const size_t len = strcspn(name, " ");

		p->fields[i] = field_named(e, name, len);
		name += len + (name[len] == ' ');
	}
}

/* NULL: out of memory, or its event is not known. */
static const struct places *places_of(struct export_run *x, struct export_event *e)
{
	if (e && !e->own) {
		e->own = calloc(1, sizeof(struct places));
		if (!e->own)
			export_fail(x, -ENOMEM);
		else
			places_find(e->own, e);
	}
	return e ? e->own : NULL;
}

/* A number as it is, an address as a number, an array as its numbers. */
static void message_value(struct proto *m, uint32_t number, const struct export_value *v)
{
	if (v->kind == VALUE_TEXT)
		proto_text(m, number, (const char *)v->bytes, v->len);
	else if (v->kind == VALUE_ARRAY)
		for (size_t i = 0; (i + 1) * v->width <= v->len; i++)
			proto_number(m, number, export_value_at(v, i));
	else if (v->kind != VALUE_NONE)
		proto_number(m, number, v->number);
}

static void message_put(struct proto *m, const struct places *p, const struct export_record *r)
{
	const size_t at = proto_open(m, p->message->number);

	for (uint32_t i = 0; i < FIELDS_MOST; i++) {
		struct export_value v;

		if (!p->fields[i])
			continue;
		v = export_value_read(p->fields[i], r->r);
		message_value(m, i + 1, &v);
	}
	proto_close(m, at);
}

static void generic_field(struct export_run *x, struct proto *m, const struct export_record *r,
			  const struct field *f)
{
	static const uint32_t as[] = { FIELD_TEXT, FIELD_INT, FIELD_UINT };
	const struct export_value v = f == r->event->caller ? export_stack(r)
							    : export_value_read(f, r->r);
	const size_t at = proto_open(m, GENERIC_FIELD);

	proto_text(m, FIELD_NAME, f->name, SIZE_MAX);
	value_put(x, m, &v, as);
	proto_close(m, at);
}

static void generic_put(struct export_run *x, struct proto *m, const struct export_record *r)
{
	const size_t at = proto_open(m, FTRACE_GENERIC);
	char name[300];

	if (r->event)
		snprintf(name, sizeof(name), "%s:%s", r->event->event->system->name,
			 r->event->event->name);
	else
		snprintf(name, sizeof(name), "unknown event %u", r->r->type);
	proto_text(m, GENERIC_NAME, name, sizeof(name));
	for (unsigned int i = 0; r->event && i < r->event->nr_fields; i++)
		if (!r->event->fields[i].common)
			generic_field(x, m, r, &r->event->fields[i]);
	proto_close(m, at);
}

static void bundle_open(struct perfetto_cpu *c, uint32_t cpu)
{
	c->packet = proto_open(&c->bundle, TRACE_PACKET);
	proto_number(&c->bundle, PACKET_SEQUENCE, SEQUENCE + 1 + cpu);
	c->bundle_at = proto_open(&c->bundle, PACKET_FTRACE);
	proto_number(&c->bundle, BUNDLE_CPU, cpu);
	if (c->lost)
		proto_number(&c->bundle, BUNDLE_LOST, 1);
	c->lost = false;
}

static void bundle_close(struct export_run *x, struct perfetto_cpu *c)
{
	if (!c->bundle.len)
		return;
	proto_close(&c->bundle, c->bundle_at);
	proto_close(&c->bundle, c->packet);
	proto_write(x, &c->bundle);
}

static void perfetto_record(struct export_run *x, const struct export_record *r)
{
	struct perfetto *p = x->state;
	struct perfetto_cpu *c = &p->cpus[r->r->cpu];
	const struct places *places = places_of(x, r->event);
	size_t at;

	track_describe(x, r->task);
	if (c->bundle.len > BUNDLE_BYTES)
		bundle_close(x, c);
	if (!c->bundle.len)
		bundle_open(c, r->r->cpu);
	at = proto_open(&c->bundle, BUNDLE_EVENT);
	proto_number(&c->bundle, FTRACE_TIME, r->r->time);
	proto_number(&c->bundle, FTRACE_PID, (uint32_t)r->r->pid);
	if (places && places->message)
		message_put(&c->bundle, places, r);
	else
		generic_put(x, &c->bundle, r);
	proto_close(&c->bundle, at);
	if (c->bundle.failed)
		export_fail(x, -ENOMEM);
}

static void perfetto_lost(struct export_run *x, const struct export_record *r)
{
	struct perfetto_cpu *c = &((struct perfetto *)x->state)->cpus[r->r->cpu];

	bundle_close(x, c);
	c->lost = true;
}

/* ---- calls and counters ---- */

/* Opens a packet with an event of a track. */
static struct proto *event_begin(struct export_run *x, uint64_t time, uint64_t track, uint64_t type,
				 size_t at[2])
{
	struct proto *m = packet_open(x, &at[0]);

	proto_number(m, PACKET_TIME, time);
	at[1] = proto_open(m, PACKET_EVENT);
	proto_number(m, EVENT_TYPE, type);
	proto_number(m, EVENT_TRACK, track);
	return m;
}

static void event_end(struct export_run *x, const size_t at[2])
{
	proto_close(&((struct perfetto *)x->state)->packet, at[1]);
	packet_close(x, at[0]);
}

/* Arguments and results of a call. */
static void call_notes(struct export_run *x, struct proto *m, const struct export_record *r)
{
	static const uint32_t as[] = { NOTE_TEXT, NOTE_INT, NOTE_UINT };

	for (unsigned int i = 0; i < r->event->nr_fields; i++) {
		const struct field *f = &r->event->fields[i];
		const struct export_value v = export_value_read(f, r->r);
		size_t at;

		if (!export_tells(f, &v))
			continue;
		at = proto_open(m, EVENT_NOTE);
		proto_text(m, NOTE_NAME, f->name, SIZE_MAX);
		value_put(x, m, &v, as);
		proto_close(m, at);
	}
}

static void slice_begin(struct export_run *x, struct export_task *t, const struct export_call *call,
			const struct export_record *entry)
{
	struct proto *m;
	size_t at[2];

	track_describe(x, t);
	m = event_begin(x, call->begin, track_of(t), SLICE_BEGIN, at);
	proto_text(m, EVENT_CATEGORY, "function", SIZE_MAX);
	proto_text(m, EVENT_NAME, export_function_name(x, call->func), SIZE_MAX);
	if (entry)
		call_notes(x, m, entry);
	event_end(x, at);
}

static void slice_end(struct export_run *x, struct export_task *t, uint64_t time,
		      const struct export_record *exit)
{
	size_t at[2];
	struct proto *m = event_begin(x, time, track_of(t), SLICE_END, at);
	size_t inner;

	if (exit) {
		call_notes(x, m, exit);
	} else {
		inner = proto_open(m, EVENT_NOTE);
		proto_text(m, NOTE_NAME, "end", SIZE_MAX);
		proto_text(m, NOTE_TEXT, "not recorded", SIZE_MAX);
		proto_close(m, inner);
	}
	event_end(x, at);
}

static void perfetto_call_begin(struct export_run *x, const struct export_record *r)
{
	slice_begin(x, r->task, &r->task->calls[r->task->depth - 1], r);
}

static void perfetto_call_end(struct export_run *x, struct export_task *task, uint64_t time,
			      const struct export_record *exit)
{
	slice_end(x, task, time, exit);
}

static void perfetto_call_whole(struct export_run *x, const struct export_record *exit,
				const struct export_call *call)
{
	slice_begin(x, exit->task, call, NULL);
	slice_end(x, exit->task, exit->r->time, exit);
}

static void perfetto_counter(struct export_run *x, const struct export_counter *c,
			     const struct export_record *r, uint64_t value)
{
	struct perfetto *p = x->state;
	const uint64_t nr = (uint64_t)(c - x->what->counters), track = TRACK_OF_COUNTER | nr;
	size_t at[2], inner;
	struct proto *m;

	/* A track may be described again. */
	if (nr >= 64 || !(p->counted >> nr & 1)) {
		m = packet_open(x, &at[0]);
		at[1] = proto_open(m, PACKET_TRACK);
		proto_number(m, TRACK_ID, track);
		proto_text(m, TRACK_NAME, c->name, SIZE_MAX);
		inner = proto_open(m, TRACK_COUNTER);
		proto_close(m, inner);
		event_end(x, at);
		p->counted |= nr < 64 ? 1ull << nr : 0;
	}
	m = event_begin(x, r->r->time, track, COUNTER, at);
	if (c->field->is_signed || value <= INT64_MAX)
		proto_number(m, EVENT_COUNT, value);
	else
		proto_double(m, EVENT_DOUBLE, (double)value);
	event_end(x, at);
}

/* ---- the end ---- */

static void perfetto_end(struct export_run *x)
{
	struct perfetto *p = x->state;

	for (uint32_t i = 0; i < p->nr_cpus; i++)
		bundle_close(x, &p->cpus[i]);
}

static void perfetto_free(struct export_run *x)
{
	struct perfetto *p = x->state;

	for (uint32_t i = 0; p && p->cpus && i < p->nr_cpus; i++)
		proto_free(&p->cpus[i].bundle);
	if (p) {
		proto_free(&p->packet);
		free(p->cpus);
	}
	free(p);
}

const struct export_form export_perfetto = {
	.name = "perfetto",
	.counts = true,
	.begin = perfetto_begin,
	.record = perfetto_record,
	.counter = perfetto_counter,
	.lost = perfetto_lost,
	.call_begin = perfetto_call_begin,
	.call_end = perfetto_call_end,
	.call_whole = perfetto_call_whole,
	.end = perfetto_end,
	.free = perfetto_free,
};
