/* SPDX-License-Identifier: MIT */
/* state.h - private to this folder: a reader, how its events print, one record */
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

/* The kinds of events that tracers print in another way. */
enum show_kind { SHOW_EVENT, SHOW_FUNCTION, SHOW_STACK, SHOW_GRAPH_ENTRY, SHOW_GRAPH_EXIT };

/*
 * Indices of the fields in show_event's `at`: both kinds have the first two, SHOW_GRAPH_ENTRY the
 * last one, SHOW_GRAPH_EXIT the others.
 */
enum graph_field {
	GRAPH_AT_FUNC,
	GRAPH_AT_DEPTH,
	GRAPH_AT_CALLTIME,
	GRAPH_AT_RETTIME,
	GRAPH_AT_OVERRUN,
	GRAPH_AT_RETVAL,
	GRAPH_AT_ARGS,
	GRAPH_AT_RETADDR,	/* of a program behind the arguments */
	GRAPH_FIELDS
};

/* How an event prints. The reader makes one at the event's first record. */
struct show_event {
	struct event	*event;
	/* Of the definition, because a new event may get an old id */
	uint64_t	identity;
	/* The trace options choose one of these. NULL: prints "type: N". */
	show_fn		*text, *raw, *hex, *binary;
	show_fn		*message;	/* of print, bprint, bputs: the text alone */
	struct print_format *format;
	bool		internal;	/* of system ftrace */
	bool		no_memory;	/* memory ran out while this was made: the text fails */
	enum show_kind	kind;
	/* Offsets of the fields that its functions look at, and their bytes, 8 at most */
	uint16_t	at[GRAPH_FIELDS];
	uint8_t		bytes[GRAPH_FIELDS];
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
	bool		all_calls;	/* show_calls_open() */
	uint64_t	started[LAYOUT_MAX_CPUS / 64];
	int64_t		index;		/* number of the record that is printed */
	const struct tracer *tracer;	/* current when it was opened */
	void		*tracer_data;	/* the tracer's own */
	bool		print_max;	/* trace shows the tracer's snapshot buffer */
	uint64_t	time_start;	/* latency-format counts from here */
	/* The section whose records are shown instead of a buffer's; NULL: none. */
	struct section	*section;
	unsigned int	section_next;	/* index of its next record */
	struct ring_iter *iter;
	struct ring_consumer *consumer;	/* of a pipe */
	struct show_record record[2];
	/* Record[present]; the other element is the record behind it */
	unsigned int	present;
	bool		have, have_next;
	bool		header;		/* printed */
	int		err;
	struct print_env env;
	struct show_text text;
	size_t		line, mark;	/* where the line begins, and where it may be cut */
	struct show_event **events;	/* by id */
	size_t		events_bytes;	/* how much memory their print fmts take */
};

/* ---- record.c ---- */
/*
 * The kernel prints some records in pieces, and a line that is too big has those that fit. Call it
 * behind each piece.
 */
void show_piece(struct show *s);

/* ---- header.c ---- */
void show_header(struct show *s, bool empty);
/* The header of latency-format: the tracer, the section's length and its task. */
void show_latency_header(struct show *s);
/* The header for tracers that have none of their own. */
void show_default_header(struct show *s, bool empty);

/* ---- context.c ---- */
/*
 * Prints the columns before the event. next_time: the time of the record behind it, or its own if
 * there is none.
 */
void show_context(struct show *s, const struct show_record *r, uint64_t next_time);
void show_time(struct show *s, uint64_t time);
/* "d..2." */
void show_flags(struct show *s, const struct show_record *r);
/* The mark of a delay by its length: ' ', '+', '!', ... */
char show_delay_mark(uint64_t ns);
void show_lost(struct show *s, const struct show_record *r);

/* ---- event.c ---- */
/* Finds out how the record's event prints. NULL: not known. */
struct show_event *show_event_of(struct show *s, const struct show_record *r);
void show_events_free(struct show *s);
/*
 * Call it before a record. If the remembered print fmts take too much memory, it forgets them all,
 * and each is made again when its event comes.
 */
void show_events_trim(struct show *s);
/* Prints as with option fields. */
void show_fields(struct show *s, const struct show_event *e, const struct show_record *r);

/* ---- call.c ---- */
/* Whether number i of the fields of sys_enter_X is an argument. */
bool show_is_argument(const struct field *fields, unsigned int i);
/* Prints a record of sys_enter_X as Linux does since 6.19. */
void show_call(struct show *s, const struct show_event *e, const struct show_record *r);

/* ---- eprobe.c ---- */
/* Prints a record of an event probe of this session. */
void show_eprobe(struct show *s, const struct show_event *e, const struct show_record *r);
/* The arguments of a probe that the session has defined: " NAME=VALUE ..." */
struct probe;
void show_probe_args(struct show *s, const struct probe *p, const struct show_record *r);

/* ---- internal.c ---- */
/* Sets the functions of an event of system ftrace. False: the kernel does not print this event. */
bool show_internal_event(struct show_event *e);
/* Prints name, name+0x1/0x20 with sym-offset, <address> with sym-addr; address 0 is "0". */
void show_ip(struct show *s, uint64_t ip, bool offset);

/* ---- show.c ---- */
/*
 * Finds the next record of the CPU behind the present one; it is valid until the next call.
 * show_skip_cpu() leaves it out.
 */
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

static inline uint8_t number_bytes(const struct field *f)
{
	return f->size < 8 ? (uint8_t)f->size : 8;
}

/* A number: those of a machine of 32 bits may have 4 bytes where others have 8. */
static inline uint64_t record_number(const struct show_record *r, const struct field *f)
{
	return record_load(r, f->offset, number_bytes(f));
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
