/* SPDX-License-Identifier: MIT */
/*
 * options.h - trace_options and options/: one bit an option, in the order of the file
 *
 * The first OPTION_TRACER ones belong to the instance; those behind it belong
 * to a tracer, have one value for all instances, and show in trace_options only
 * while that tracer is current.
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
	OPTION_TRACE_PRINTK_DEST, OPTION_PAUSE_ON_TRACE, OPTION_HASH_PTR, OPTION_FUNCTION_TRACE,
	OPTION_FUNCTION_FORK, OPTION_DISPLAY_GRAPH, OPTION_STACKTRACE,
	OPTION_TRACER,		/* from here on: options of tracers */
	OPTION_TEST_NOP_ACCEPT = OPTION_TRACER, OPTION_TEST_NOP_REFUSE,
	OPTION_FUNC_STACK_TRACE, OPTION_FUNC_NO_REPEATS,
	OPTION_FUNCGRAPH_OVERRUN, OPTION_FUNCGRAPH_CPU, OPTION_FUNCGRAPH_OVERHEAD,
	OPTION_FUNCGRAPH_PROC, OPTION_FUNCGRAPH_DURATION, OPTION_FUNCGRAPH_ABSTIME,
	OPTION_FUNCGRAPH_IRQS, OPTION_FUNCGRAPH_TAIL, OPTION_FUNCGRAPH_RETVAL,
	OPTION_FUNCGRAPH_RETVAL_HEX, OPTION_SLEEP_TIME, OPTION_GRAPH_TIME,
	OPTION_COUNT
};

extern const char *const option_names[OPTION_COUNT];

/* What the top has after boot. */
uint64_t options_default(void);
/* What mkdir gives to an instance: the top's, but for three. */
uint64_t options_inherited(const struct instance *top);

static inline bool options_test(uint64_t options, enum trace_option o)
{
	return options >> o & 1;
}

/* Those of the tracer nop. */
uint64_t options_of_nop(void);

/* By name, with or without "no" in front: *on tells. -1: no such option. */
int option_parse(const char *text, bool *on);

/* Whether the option is listed in options/ of the instance (some exist at the top only). */
bool option_in_directory(const struct instance *inst, enum trace_option o);
/* Whether trace_options lists it and takes it: of the instance, or of its current tracer. */
bool option_applies(const struct instance *inst, enum trace_option o);

/*
 * Sets one and what hangs from it, and keeps it for the next server (R4). -EINVAL where the kernel
 * refuses.
 */
int option_set(struct instance *inst, enum trace_option o, bool on);
/* Keeps for the next server what an instance was born with. 0, -ENOMEM */
int options_save(struct instance *inst);
/* What hits look at has changed: max_used, stopped. */
void options_publish(struct instance *inst);
void options_print(const struct instance *inst, FILE *out);

#endif
