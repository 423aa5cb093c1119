/* SPDX-License-Identifier: MIT */
/*
 * state.h - inside show_*.c: a reader, the events it has met, one record
 */
#ifndef TRACEFUSE_SHOW_STATE_H
#define TRACEFUSE_SHOW_STATE_H

#include "model/instance/options.h"
#include "printfmt/format.h"
#include "show/show.h"

struct show_event;

/* A copy of a record, so that the one behind it can be looked at. */
struct show_record {
	struct print_record at;
	uint8_t		*bytes;
	uint32_t	room;
	uint32_t	cpu;
	uint64_t	time;
	uint64_t	lost;
};

typedef void show_fn(struct show *s, const struct show_event *e, const struct show_record *r);

/* What tracers look at. */
enum show_kind { SHOW_EVENT, SHOW_FUNCTION, SHOW_STACK, SHOW_GRAPH_ENTRY, SHOW_GRAPH_EXIT };

/*
 * Where show_event's `at` has the fields of SHOW_GRAPH_ENTRY (the first two) and SHOW_GRAPH_EXIT.
 */
enum graph_field {
	GRAPH_AT_FUNC,
	GRAPH_AT_DEPTH,
	GRAPH_AT_CALLTIME,
	GRAPH_AT_RETTIME,
	GRAPH_AT_OVERRUN,
	GRAPH_AT_RETVAL,
};

/* How an event prints: found at its first record. */
struct show_event {
	struct event	*event;
	uint64_t	identity;	/* of the definition: an id may be given again */
	/* as trace options choose; NULL: "type: N" */
	show_fn		*text, *raw, *hex, *binary;
	show_fn		*message;	/* of print, bprint, bputs: the text alone */
	struct print_format *format;
	bool		internal;	/* of system ftrace */
	bool		no_memory;	/* how it prints is not known: the text fails */
	enum show_kind	kind;
	uint16_t	at[6];		/* offsets of the fields that its functions look at */
};

struct show {
	struct instance	*inst;
	struct model	*model;
	uint64_t	options;
	int		snapshot;
	int		cpu;		/* -1: all */
	bool		pipe;
	bool		latency;	/* option latency-format when it was opened */
	bool		in_ns;
	bool		annotate;	/* the buffer has overruns */
	uint64_t	started[LAYOUT_MAX_CPUS / 64];
	int64_t		index;		/* of the record that is printed */
	const struct tracer *tracer;	/* current when it was opened */
	void		*tracer_data;	/* the tracer's own */
	bool		print_max;	/* trace shows the buffer that the tracer keeps */
	uint64_t	time_start;	/* latency-format counts from here */
	/* and its records, which stand for a buffer's; NULL: there is none */
	struct section	*section;
	unsigned int	section_next;	/* of them */
	struct ring_iter *iter;
	struct ring_consumer *consumer;	/* of a pipe */
	struct show_record record[2];
	unsigned int	present;	/* record[present]; the other one is the one behind it */
	bool		have, have_next;
	bool		header;		/* printed */
	int		err;
	struct print_env env;
	struct show_text text;
	size_t		given;
	size_t		line, mark;	/* where the line began, and a place where it may be cut */
	struct show_event **events;	/* by id */
	size_t		events_bytes;	/* that their print fmts take */
};

/* ---- header.c ---- */
void show_header(struct show *s, bool empty);
/* What latency-format puts first: what took how long, and whose it was. */
void show_latency_header(struct show *s);
/* The head of tracers that have none of their own. */
void show_default_header(struct show *s, bool empty);

/* ---- context.c ---- */
/* The columns before the event. next_time: of the record behind it; its own when there is none. */
void show_context(struct show *s, const struct show_record *r, uint64_t next_time);
void show_time(struct show *s, uint64_t time);
/* "d..2." */
void show_flags(struct show *s, const struct show_record *r);
/* How much too long: ' ', '+', '!', ... */
char show_delay_mark(uint64_t ns);
void show_lost(struct show *s, const struct show_record *r);

/* ---- event.c ---- */
/* How the record's event prints; NULL: not known. */
struct show_event *show_event_of(struct show *s, const struct show_record *r);
void show_events_free(struct show *s);
/* Before a record: forgets how events print where that takes much memory; it is found out again. */
void show_events_trim(struct show *s);
/* Option fields. */
void show_fields(struct show *s, const struct show_event *e, const struct show_record *r);

/* ---- eprobe.c ---- */
/* An event probe of this session. */
void show_eprobe(struct show *s, const struct show_event *e, const struct show_record *r);

/* ---- internal.c ---- */
/* Sets the functions of an event of system ftrace; false: one that the kernel does not print. */
bool show_internal_event(struct show_event *e);
/* name, name+0x1/0x20 with sym-offset, <address> with sym-addr; 0 is "0". */
void show_ip(struct show *s, uint64_t ip, bool offset);

/* ---- show.c ---- */
/* The record behind the present one on its CPU, valid until the next call; and leaving it out. */
bool show_peek_cpu(struct show *s, uint32_t cpu, struct show_record *out);
void show_skip_cpu(struct show *s, uint32_t cpu);

/* ---- record.c ---- */
void show_one(struct show *s, const struct show_record *r, uint64_t next_time);

/* Numbers of a record; 0 where it has no such bytes. */
static inline uint64_t record_load(const struct show_record *r, uint32_t offset, uint32_t size)
{
	uint64_t v = 0;

	if (offset + size > r->at.size)
		return 0;
	memcpy(&v, r->at.data + offset, size);
	return v;
}

static inline uint16_t record_type(const struct show_record *r)
{
	return (uint16_t)record_load(r, 0, 2);
}

static inline int32_t record_pid(const struct show_record *r)
{
	return (int32_t)record_load(r, 4, 4);
}

static inline bool show_option(const struct show *s, enum trace_option o)
{
	return options_test(s->options, o);
}

#endif
