/* SPDX-License-Identifier: MIT */
/* sums.c - the totals of all histograms of a session, for the summary of a run */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/hist/entries.h"
#include "model/trigger/trigger.h"
#include "session/array.h"
#include "session/attach/attach.h"
#include "sources/program/programs_state.h"

struct sums {
	uint64_t	hits, drops, cuts;
	bool		syscalls;	/* an event of this system is recorded or counted */
	/* Maps that were added; several triggers may share one (name=). */
	data_ref	*maps;
	size_t		nr;
};

/* Returns true also if memory runs out; then the map may count twice. */
static bool sums_is_new(struct sums *s, data_ref map)
{
	for (size_t i = 0; i < s->nr; i++)
		if (s->maps[i] == map)
			return false;
	if (!array_room(&s->maps, s->nr, sizeof(map)))
		s->maps[s->nr++] = map;
	return true;
}

static void add_hist(struct sums *s, const struct hist_data *hd)
{
	struct hist_entries totals;

	if (hd->is_hidden || !sums_is_new(s, hd->map_ref))
		return;
	hist_totals(hd, &totals);
	s->hits += totals.hits;
	s->drops += totals.drops;
	s->cuts += totals.cuts;
}

static void add_file(struct sums *s, const struct event_file *f)
{
	const struct trigger *t;

	if ((f->enabled || !list_empty(&f->triggers)) &&
	    !strcmp(f->event->system->name, "syscalls"))
		s->syscalls = true;
	list_each(t, &f->triggers, node)
		if (t->cmd->kind == TRIGGER_HIST && t->priv)
			add_hist(s, t->priv);
}

/* Which system calls are not seen. */
static void print_gates(struct session *s, FILE *out)
{
	struct attach_losses l;

	attach_losses(s, &l);
	if (l.gates[GATES_WITHOUT])
		fprintf(out,
			"note syscalls: in %" PRIu64 " %s seen only where the program calls libc's "
			"function for one; those that libc makes inside itself are not "
			"(tracefuse-run(1))\n",
			l.gates[GATES_WITHOUT],
			l.gates[GATES_WITHOUT] == 1 ? "process" : "processes");
	if (l.gates[GATES_REFUSED])
		fprintf(out,
			"note syscalls: %" PRIu64 " %s could not be hooked; what %s not seen "
			"(tracefuse-run(1))\n", l.gates[GATES_REFUSED],
			l.gates[GATES_REFUSED] == 1 ? "instruction that makes system calls" :
			"instructions that make system calls",
			l.gates[GATES_REFUSED] == 1 ? "it does is" : "they do is");
}

/* Which returns of functions are not seen. */
static void print_returnless(struct session *s, FILE *out)
{
	static const char *const reasons[RETURNLESS_REASONS] = {
		[RETURNLESS_UNWINDER] = "libunwind.so.8, which does not find the true addresses",
		[RETURNLESS_COPIES] = "greenlet, Guile, PyPy or Ruby's callcc, which copies stacks",
		[RETURNLESS_SHADOW] = "a shadow stack of the processor",
		[RETURNLESS_V8] = "V8, which looks up return addresses",
		[RETURNLESS_JVM] = "a Java VM, which looks up return addresses",
		[RETURNLESS_LUAJIT] = "LuaJIT, which takes its frames from the unwinder",
		[RETURNLESS_OCAML] = "OCaml, which looks up return addresses",
		[RETURNLESS_GCCGO] = "gccgo, which compares return addresses",
		[RETURNLESS_TSAN] = "a thread sanitizer, which notes return addresses",
		[RETURNLESS_MOARVM] = "MoarVM, which looks up return addresses",
		[RETURNLESS_SANDBOX] = "a sandbox (seccomp), in threads that began behind it",
	};
	struct attach_losses l;

	attach_losses(s, &l);
	for (unsigned int i = 0; i < RETURNLESS_REASONS; i++)
		if (l.returnless >> i & 1)
			fprintf(out,
				"note functions: return addresses were left alone, so "
				"function_graph and the profile miss calls, in a program with %s; "
				"the function tracer has them (tracefuse-run(1))\n",
				reasons[i]);
}

void program_sums_print(struct programs *p, FILE *out)
{
	const struct instance *inst;
	const struct event_file *f;
	struct sums s = { 0 };

	list_each(inst, &p->model->instances, node)
		list_each(f, &inst->files, node)
			add_file(&s, f);
	free(s.maps);
	fprintf(out, "hits %" PRIu64 "\ndropped %" PRIu64 "\n", s.hits, s.drops);
	if (s.cuts)
		fprintf(out,
			"note stacks: %" PRIu64 " that histograms counted have outer functions "
			"beyond the %d that a key keeps; in a trigger, "
			"common_stacktrace.depth=%d keeps more\n",
			s.cuts, HIST_STACK_DEPTH, HIST_DEPTH_MAX);
	if (s.syscalls)
		print_gates(p->model->session, out);
	print_returnless(p->model->session, out);
}
