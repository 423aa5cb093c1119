/* SPDX-License-Identifier: MIT */
/*
 * options.h - trace_options and options/: a bit for each option, in the order of the file
 *
 * The options before OPTION_TRACER belong to the instance. Those behind it belong to a tracer: they
 * have one value for all instances, and trace_options shows them only while that tracer is the
 * current one.
 */
#ifndef TRACEFUSE_MODEL_INSTANCE_OPTIONS_H
#define TRACEFUSE_MODEL_INSTANCE_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct instance;

enum trace_option {
	OPTION_PRINT_PARENT, OPTION_SYM_OFFSET, OPTION_SYM_ADDR, OPTION_VERBOSE, OPTION_RAW,
	OPTION_HEX, OPTION_BIN, OPTION_BLOCK, OPTION_FIELDS, OPTION_TRACE_PRINTK, OPTION_ANNOTATE,
	OPTION_USERSTACKTRACE, OPTION_SYM_USEROBJ, OPTION_PRINTK_MSG_ONLY, OPTION_CONTEXT_INFO,
	OPTION_LATENCY_FORMAT, OPTION_RECORD_CMD, OPTION_RECORD_TGID, OPTION_OVERWRITE,
	OPTION_DISABLE_ON_FREE, OPTION_IRQ_INFO, OPTION_MARKERS, OPTION_EVENT_FORK,
	OPTION_TRACE_PRINTK_DEST,
	OPTION_COPY_TRACE_MARKER,	/* of Linux 6.16 */
	OPTION_PAUSE_ON_TRACE, OPTION_HASH_PTR,
	OPTION_BITMASK_LIST,		/* of Linux 7.0 */
	OPTION_FUNCTION_TRACE, OPTION_FUNCTION_FORK, OPTION_DISPLAY_GRAPH, OPTION_STACKTRACE,
	OPTION_TRACER,		/* from here on: options of tracers */
	OPTION_TEST_NOP_ACCEPT = OPTION_TRACER, OPTION_TEST_NOP_REFUSE,
	OPTION_FUNC_STACK_TRACE, OPTION_FUNC_NO_REPEATS,
	OPTION_FUNCGRAPH_OVERRUN, OPTION_FUNCGRAPH_CPU, OPTION_FUNCGRAPH_OVERHEAD,
	OPTION_FUNCGRAPH_PROC, OPTION_FUNCGRAPH_DURATION, OPTION_FUNCGRAPH_ABSTIME,
	OPTION_FUNCGRAPH_IRQS, OPTION_FUNCGRAPH_TAIL, OPTION_FUNCGRAPH_RETVAL,
	/* RETADDR: of Linux 6.13; ARGS: of Linux 6.15, for programs only */
	OPTION_FUNCGRAPH_RETVAL_HEX, OPTION_FUNCGRAPH_RETADDR, OPTION_FUNCGRAPH_ARGS,
	OPTION_SLEEP_TIME, OPTION_GRAPH_TIME,
	OPTION_COUNT
};

extern const char *const option_names[OPTION_COUNT];

/* The options of the top after boot. */
uint64_t options_default(void);
/* The options of a new instance: the top's, except three. */
uint64_t options_inherited(const struct instance *top);

static inline bool options_test(uint64_t options, enum trace_option o)
{
	return options >> o & 1;
}

/* The options of the tracer nop. */
uint64_t options_of_nop(void);

/* Finds an option by its name, with or without "no" in front: *on says which. -1: there is none. */
int option_parse(const char *text, bool *on);

/* Whether options/ of the instance has the option (some exist only in the top). */
bool option_in_directory(const struct instance *inst, enum trace_option o);
/*
 * Whether options/ lists it. Linux 6.12 does not have some: they are there, but not listed, and
 * trace_options lists them while they do not have their first value.
 */
bool option_is_listed(const struct instance *inst, enum trace_option o);
/* Whether trace_options accepts it: it is the instance's, or its current tracer's. */
bool option_applies(const struct instance *inst, enum trace_option o);

/*
 * Sets an option and all that depends on it, and saves it for the next server (R4). -EINVAL where
 * the kernel refuses.
 */
int option_set(struct instance *inst, enum trace_option o, bool on);
/* Saves an instance's first options for the next server. 0, -ENOMEM */
int options_save(struct instance *inst);
/* Something that hits look at has changed: max_used, stopped. */
void options_publish(struct instance *inst);
void options_print(const struct instance *inst, FILE *out);

#endif
