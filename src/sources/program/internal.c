/* SPDX-License-Identifier: MIT */
/*
 * internal.c - the events of system ftrace in a session of running programs
 *
 * The ids and fields are the kernel's, because readers of trace.dat have them built in.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/format.h"
#include "model/text_memory.h"
#include "sources/program/programs_state.h"

struct internal_field {
	const char	*decl;
	unsigned int	offset, size;
	bool		is_signed;
};

struct internal_event {
	unsigned int	id;
	const char	*name;
	const char	*print;
	struct internal_field fields[7];
};

#define STACK_PRINT										\
	"\"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\" "	\
	"\"\\t=> %ps\\n\\t=> %ps\\n\", "							\
	"(void *)REC->caller[0], (void *)REC->caller[1], (void *)REC->caller[2], (void "	\
	"*)REC->caller[3], "									\
	"(void *)REC->caller[4], (void *)REC->caller[5], (void *)REC->caller[6], (void "	\
	"*)REC->caller[7]"

#define SWITCH_PRINT(arrow)							\
	"\"%u:%u:%u  " arrow " %u:%u:%u [%03u]\", REC->prev_pid, "		\
	"REC->prev_prio, REC->prev_state, REC->next_pid, REC->next_prio, "	\
	"REC->next_state, REC->next_cpu"

#define SWITCH_FIELDS										\
	{ { "unsigned int prev_pid", 8, 4, false }, { "unsigned int next_pid", 12, 4, false },	\
	  { "unsigned int next_cpu", 16, 4, false }, { "unsigned char prev_prio", 20, 1, false }, \
	  { "unsigned char prev_state", 21, 1, false }, { "unsigned char next_prio", 22, 1, \
		    false }, \
	  { "unsigned char next_state", 23, 1, false } }

static const struct internal_event events[] = {
	{ 1,
	 "function",
	 "\" %ps <-- %ps\", (void *)REC->ip, (void *)REC->parent_ip",
	 { { "unsigned long ip", 8, 8, false }, { "unsigned long parent_ip", 16, 8, false } } },
	{ 2, "context_switch", SWITCH_PRINT("==>"), SWITCH_FIELDS },
	{ 3, "wakeup", SWITCH_PRINT("==+"), SWITCH_FIELDS },
	{ 4,
	 "kernel_stack",
	 STACK_PRINT,
	 { { "int size", 8, 4, true }, { "unsigned long caller[8]", 16, 64, false } } },
	{ 5,
	 "print",
	 "\"%ps: %s\", (void *)REC->ip, REC->buf",
	 { { "unsigned long ip", 8, 8, false }, { "char buf[]", 16, 0, false } } },
	{ 6,
	 "bprint",
	 "\"%ps: %s\", (void *)REC->ip, REC->fmt",
	 { { "unsigned long ip", 8, 8, false },
	  { "const char * fmt", 16, 8, false },
	  { "u32 buf[]", 24, 0, false } } },
	{ 10,
	 "funcgraph_exit",
	 "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d retval: %lx\", (void *)REC->func, "
	 "REC->depth, "
	 "REC->calltime, REC->rettime, REC->depth, REC->retval",
	 { { "unsigned long func", 8, 8, false },
	  { "unsigned long retval", 16, 8, false },
	  { "int depth", 24, 4, true },
	  { "unsigned int overrun", 28, 4, false },
	  { "unsigned long long calltime", 32, 8, false },
	  { "unsigned long long rettime", 40, 8, false } } },
	{ 11,
	 "funcgraph_entry",
	 "\"--> %ps (%d)\", (void *)REC->func, REC->depth",
	 /* As in Linux 6.15. Records without arguments end before args. */
	 { { "unsigned long func", 8, 8, false },
	  { "int depth", 16, 4, true },
	  { "unsigned long args[]", 24, 0, false } } },
	{ 12,
	 "user_stack",
	 STACK_PRINT,
	 { { "unsigned int tgid", 8, 4, false }, { "unsigned long caller[8]", 16, 64, false } } },
	{ 14,
	 "bputs",
	 "\"%ps: %s\", (void *)REC->ip, REC->str",
	 { { "unsigned long ip", 8, 8, false }, { "const char * str", 16, 8, false } } },
	{ 18,
	 "raw_data",
	 "\"id:%04x %08x\", REC->id, (int)REC->buf[0]",
	 { { "unsigned int id", 8, 4, false }, { "char buf[]", 12, 0, false } } },
	{ 19,
	 "func_repeats",
	 "\" %ps <-%ps\\t(repeats:%u  delta: -%llu)\", (void *)REC->ip, (void *)REC->parent_ip, "
	 "REC->count, "
	 "(((u64)(REC)->top_delta_ts << 32) | (REC)->bottom_delta_ts)",
	 { { "unsigned long ip", 8, 8, false },
	  { "unsigned long parent_ip", 16, 8, false },
	  { "u16 count", 24, 2, false },
	  { "u16 top_delta_ts", 26, 2, false },
	  { "u32 bottom_delta_ts", 28, 4, false } } },
};

static char *format_of(const struct internal_event *e)
{
	char *text = NULL;
	size_t len;
	FILE *out = text_memory_open(&text, &len);

	if (!out)
		return NULL;
	fprintf(out, "name: %s\nID: %u\nformat:\n%s", e->name, e->id, format_common_fields);
	for (const struct internal_field *f = e->fields; f < e->fields + 7 && f->decl; f++)
		fprintf(out, "\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:%d;\n", f->decl, f->offset,
			f->size, f->is_signed);
	fprintf(out, "\nprint fmt: %s\n", e->print);
	fclose(out);
	return text;
}

int program_internal_add(struct model *m)
{
	struct event *e;
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(events) / sizeof(events[0]); i++) {
		char *text = format_of(&events[i]);

		err = text ? model_add_event(m, "ftrace", text, strlen(text), &e) : -ENOMEM;
		free(text);
	}
	return err;
}
