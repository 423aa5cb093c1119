/* SPDX-License-Identifier: MIT */
/*
 * form.h - inside the export of records: what the forms share
 *
 *   records.c    the run over the records; events by their ids; tasks
 *   calls.c      open calls of each task, from the records of function_graph
 *   waits.c      the longest waits, for the summary
 *   value.c      fields of a record as numbers and texts; names of addresses
 *   json.c       JSON texts
 *   proto.c      protobuf messages
 *   chrome.c, perfetto.c, folded.c     the forms
 *
 *     record --> records.c --+--> form->record()
 *                            +--> calls.c --> form->call_begin(), form->call_end(), ...
 */
#ifndef TRACEFUSE_EXPORT_FORM_H
#define TRACEFUSE_EXPORT_FORM_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "export/records.h"
#include "layout/layout.h"
#include "model/model.h"
#include "sources/recording/source.h"

struct demangler;

enum export_kind {
	EXPORT_PLAIN,
	EXPORT_GRAPH_ENTRY,		/* funcgraph_entry, funcgraph_exit */
	EXPORT_GRAPH_EXIT,
	EXPORT_FUNCTION,
	EXPORT_STACK,			/* kernel_stack, user_stack */
	EXPORT_SWITCH,			/* sched_switch */
	EXPORT_WAKING,			/* sched_waking */
	EXPORT_LOCK_BEGIN,		/* contention_begin, contention_end */
	EXPORT_LOCK_END,
	EXPORT_CALL_ENTER,		/* sys_enter_X, sys_exit_X */
	EXPORT_CALL_EXIT,
	EXPORT_PRINT,
};

struct export_event {
	struct event	*event;
	const struct field *fields;
	unsigned int	nr_fields;
	enum export_kind kind;
	/* NULL: it has no such field. Of functions and stacks: */
	const struct field *func, *depth, *begin, *end, *caller;
	/* of sched_switch: */
	const struct field *prev_pid, *prev_state, *next_pid, *next_comm;
	const struct field *pid;	/* of sched_waking */
	const struct field *flags;	/* of contention_begin */
	uint64_t	records;
	uint64_t	since;		/* time of the first one */
	void		*own;		/* the form's own, from malloc(); NULL: none */
};

struct export_call {
	uint64_t	func;
	uint64_t	begin;		/* ns */
	uint64_t	inside;		/* ns in the calls below it */
	uint32_t	stack;		/* the form's own */
	bool		known;		/* its beginning is in the recording */
};

struct export_task {
	int32_t		pid;
	uint32_t	cpu;		/* of an idle task, which has pid 0 */
	int32_t		group;		/* the process; that of pid, if it is not known */
	char		comm[LAYOUT_COMM_LEN];
	bool		renamed;	/* the form has not shown this name yet */
	uint64_t	last;		/* time of its last record */
	uint32_t	stack;		/* the form's own */
	uint32_t	depth;		/* open calls */
	uint32_t	room;
	struct export_call *calls;
};

/* A record, with all that is known about it. */
struct export_record {
	const struct source_record *r;
	struct export_event *event;	/* NULL: its event is not known */
	struct export_task *task;
};

struct export_run {
	const struct export_records *what;
	FILE		*out;
	struct export_sums *sums;
	void		*state;		/* of the form */
	int		err;		/* the first */
	uint64_t	first, last;	/* time of the first record, and the latest */
	struct export_event **events;	/* by id */
	struct export_task **tasks;	/* a hash table; the room is a power of two */
	uint32_t	nr_tasks, tasks_room;
	struct export_name *names;	/* of addresses */
	struct demangler *demangler;	/* NULL: no name was asked for so far */
};

struct export_form {
	const char	*name;
	bool		counts;		/* it has counter() */
	/* x->first is known. */
	int	(*begin)(struct export_run *x);
	void	(*record)(struct export_run *x, const struct export_record *r);
	/* The value is an int64_t if the field has a sign. */
	void	(*counter)(struct export_run *x, const struct export_counter *c,
			   const struct export_record *r, uint64_t value);
	/* Records of this CPU were lost before this one. NULL: it does not show that. */
	void	(*lost)(struct export_run *x, const struct export_record *r);
	/* The call is r->task->calls[depth - 1]. */
	void	(*call_begin)(struct export_run *x, const struct export_record *r);
	/* `exit` NULL: its end is not in the recording. */
	void	(*call_end)(struct export_run *x, struct export_task *task, uint64_t time,
			    const struct export_record *exit);
	/* A call whose beginning is not in the recording. The calls above it are open. */
	void	(*call_whole)(struct export_run *x, const struct export_record *exit,
			      const struct export_call *call);
	void	(*end)(struct export_run *x);
	void	(*free)(struct export_run *x);
};

extern const struct export_form export_chrome, export_folded, export_perfetto;

/* ---- records.c ---- */

void export_fail(struct export_run *x, int err);
/* For a number that is shown beside numbers of pids. */
enum { EXPORT_PIDS = 4194304 };

/* ---- calls.c ---- */

void export_calls_entry(struct export_run *x, const struct export_record *r);
void export_calls_exit(struct export_run *x, const struct export_record *r);
/* The recording ends: so do the calls of the task. */
void export_calls_end(struct export_run *x, struct export_task *task);

/* ---- waits.c ---- */

struct export_waits;
struct export_summary;

/* NULL: no memory. */
struct export_waits *export_waits_create(void);
void export_waits_destroy(struct export_waits *w);
/* Keeps the wait that ends with the record, if it is among the longest. The event is known. */
void export_waits_record(struct export_waits *w, struct export_summary *out,
			 const struct export_record *r);

/* ---- value.c ---- */

struct export_value {
	enum {
		VALUE_NONE,		/* the record is too short */
		VALUE_UNSIGNED,
		VALUE_SIGNED,
		VALUE_TEXT,
		VALUE_ADDRESS,		/* of code */
		VALUE_ARRAY,		/* of numbers, or of addresses */
	} kind;
	uint64_t	number;
	const uint8_t	*bytes;		/* of a text, an array */
	size_t		len;		/* in bytes */
	unsigned int	width;		/* of an element of an array */
	bool		is_signed, is_code;
};

struct export_value export_value_read(const struct field *f, const struct source_record *r);
/* An element of an array, as a number. */
uint64_t export_value_at(const struct export_value *v, size_t i);
/* Whether a field tells something of a call that its slice does not: an argument, a result. */
bool export_tells(const struct field *f, const struct export_value *v);
/* A number of a record; 0: f is NULL, or the record is too short. */
uint64_t export_number(const struct field *f, const struct source_record *r);
/* The addresses of a record of stacks, from the inner one on. */
struct export_value export_stack(const struct export_record *r);

/* The address of the function in which an address is; the address itself, if none is known. */
uint64_t export_function(struct export_run *x, uint64_t address);
/*
 * The name of the function, of C++ and Rust as in the source; "0x..." without one. Valid until the
 * next call.
 */
const char *export_function_name(struct export_run *x, uint64_t address);
/* The same with the offset in it: "main+0x12". */
const char *export_address_name(struct export_run *x, uint64_t address);
void export_names_free(struct export_run *x);

/* ---- json.c ---- */

/* The number in decimal digits. */
void export_digits(uint64_t v, FILE *out);

/* The text up to its 0 or `len`, in quotes; bytes that are no UTF-8 are shown as characters. */
void export_json_text(const char *text, size_t len, FILE *out);
/* "NAME": VALUE */
void export_json_value(struct export_run *x, const char *name, const struct export_value *v);

/* ---- proto.c ---- */

/* A message in the making. Messages in messages: proto_open() and proto_close(). */
struct proto {
	uint8_t		*bytes;
	size_t		len, room;
	bool		failed;		/* no memory */
};

void proto_number(struct proto *p, uint32_t field, uint64_t v);
void proto_double(struct proto *p, uint32_t field, double v);
void proto_text(struct proto *p, uint32_t field, const char *text, size_t len);
/* Begins a message in a field. Returns what proto_close() needs. */
size_t proto_open(struct proto *p, uint32_t field);
void proto_close(struct proto *p, size_t at);
void proto_free(struct proto *p);

#endif
