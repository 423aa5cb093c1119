/* SPDX-License-Identifier: MIT */
/*
 * stack.c - the stack tracer's memory, its ops, and the files that print it
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/groups.h"
#include "model/ftrace/stack.h"
#include "model/hist/entries.h"

static const uint64_t word_max = UINT64_MAX >> 8;	/* of stack_word() */

static const char saved_path[] = "#ftrace/stack_tracer";

/* NULL: it was never on and no size was written. */
static struct stack_deepest *deepest_of(const struct ftrace *ft)
{
	const data_ref ref = ft->stack.deepest;

	return ref ? session_data(ft->model->session, ref, sizeof(struct stack_deepest)) : NULL;
}

/*
 * Copies the report of the deepest stack. Returns the word that names it. Any program may have
 * written there (R2), and programs go on writing: after some turns it counts as no report.
 */
static uint64_t report_read(const struct ftrace *ft, struct stack_depths *out)
{
	enum { TURNS = 100 };
	struct stack_deepest *d = deepest_of(ft);
	uint64_t word = 0;

	out->nr = 0;
	for (int i = 0; d && i < TURNS; i++) {
		/* D1 of plane/action/deepest.c: both loads. */
		word = atomic_load_explicit(&d->word, memory_order_acquire);
		if (!stack_word_report(word) || stack_word_report(word) > STACK_REPORTS)
			break;
		*out = d->reports[stack_word_report(word) - 1].depths;
		atomic_thread_fence(memory_order_acquire);
		if (atomic_load_explicit(&d->word, memory_order_relaxed) == word)
			break;
		out->nr = 0;
	}
	if (out->nr > STACK_DEEPEST)
		out->nr = 0;
	return word;
}

/* ---- the ops and its memory ---- */

/* The ops that traces the functions in stack_trace_filter. */
static struct ftrace_ops *ops_of(struct ftrace *ft)
{
	struct ftrace_ops *ops = &ft->stack.ops;

	/* The top instance's part ends the ops. */
	if (!ops->inst && ftrace_of_instance(ft->model->top)) {
		*ops = (struct ftrace_ops){
			.inst = ft->model->top,
			.kind = FTRACE_OPS_STACK,
			.callback = "stack_trace_call",
			.hashes = &ft->stack.hashes,
		};
		list_init(&ops->node);
	}
	return ops->inst ? ops : NULL;
}

static int stack_keep(struct ftrace *ft)
{
	const uint64_t refs[] = { ft->stack.deepest };
	char text[32];

	snprintf(text, sizeof(text), "%d %" PRIu64, ft->stack.on, ft->stack.written);
	return saved_replace(ft->model, ft->model->top, saved_path, text, refs, 1,
			     &ft->stack.saved);
}

/* New memory with this size and the report that there is. 0: no memory. */
static data_ref deepest_make(struct ftrace *ft, uint64_t bytes)
{
	struct session *s = ft->model->session;
	const data_ref ref = session_data_alloc(s, sizeof(struct stack_deepest));
	struct stack_deepest *d = ref ? session_data(s, ref, sizeof(*d)) : NULL;
	struct stack_report *report;

	if (!d)
		return 0;
	report = d->reports;
	report_read(ft, &report->depths);
	/* Relaxed, both: session_publish() publishes the plan that leads here. */
	atomic_store_explicit(&report->taken, report->depths.nr != 0, memory_order_relaxed);
	atomic_store_explicit(&d->word, stack_word(bytes, report->depths.nr != 0),
			      memory_order_relaxed);
	return ref;
}

int ftrace_stack_set_max(struct ftrace *ft, uint64_t bytes)
{
	const data_ref old = ft->stack.deepest;
	data_ref new;
	int err;

	new = deepest_make(ft, bytes < word_max ? bytes : word_max);
	if (!new)
		return -ENOMEM;
	ft->stack.deepest = new;
	ft->stack.written = bytes > word_max ? bytes : 0;
	err = ftrace_groups_publish(ft->model->top);
	/* Plans that could not be made again have the old memory: it stays. */
	if (!err && old)
		session_data_retire(ft->model->session, old, sizeof(struct stack_deepest));
	return err ? err : stack_keep(ft);
}

static int stack_switch_on(struct ftrace *ft)
{
	struct ftrace_ops *ops = ops_of(ft);
	int err = ops ? 0 : -ENOMEM;

	if (!err && !ft->stack.deepest)
		err = ftrace_stack_set_max(ft, 0);
	if (!err)
		err = ftrace_ops_enable(ops);
	ft->stack.on = !err;
	return err;
}

int ftrace_stack_set(struct ftrace *ft, bool on)
{
	int err = 0;

	if (ft->stack.on == on)
		return 0;
	if (on)
		err = stack_switch_on(ft);
	else
		ftrace_stack_end(ft);
	return err ? err : stack_keep(ft);
}

void ftrace_stack_end(struct ftrace *ft)
{
	ft->stack.on = false;
	if (ft->stack.ops.inst)
		ftrace_ops_disable(&ft->stack.ops);
}

int ftrace_stack_restore(struct ftrace *ft, const struct restored *o, const char *text)
{
	struct session *s = ft->model->session;
	const data_ref ref = restored_ref(o, 0);
	int err = session_data(s, ref, sizeof(struct stack_deepest)) ?
		session_data_restore(s, ref, sizeof(struct stack_deepest)) : -EPROTO;

	if (err)
		return err;
	ft->stack.deepest = ref;
	ft->stack.written = strtoull(text + 1, NULL, 10);
	err = *text == '1' ? stack_switch_on(ft) : 0;
	return err ? err : stack_keep(ft);
}

void ftrace_stack_arm(const struct ftrace *ft, struct trigger_arm *out)
{
	*out = (struct trigger_arm){ .kind = TRIGGER_DEEPEST, .state = ft->stack.deepest };
}

/* ---- the files ---- */

uint64_t ftrace_stack_max(const struct ftrace *ft)
{
	struct stack_deepest *d = deepest_of(ft);

	if (ft->stack.written)
		return ft->stack.written;
	/* Relaxed: the number alone. */
	return d ? stack_word_bytes(atomic_load_explicit(&d->word, memory_order_relaxed)) : 0;
}

/* The address is behind a call; so the symbol is that of the call. */
static void print_frame(struct ftrace *ft, const struct stack_depths *depths, uint32_t i,
			FILE *out)
{
	const uint32_t below = i + 1 < depths->nr ? depths->at[i + 1] : 0;

	fprintf(out, "%3" PRIu32 ") %8" PRIu32 "   %5" PRId32 "   ", i, depths->at[i],
		(int32_t)(depths->at[i] - below));
	hist_symbol_print(ft->model, depths->ip[i], true, 0, out);
	fputc('\n', out);
}

int ftrace_stack_print(struct ftrace *ft, FILE *out)
{
	struct stack_depths *depths = malloc(sizeof(*depths));

	if (!depths)
		return -ENOMEM;
	report_read(ft, depths);
	fprintf(out,
		"        Depth    Size   Location    (%" PRIu32 " entries)\n"
		"        -----    ----   --------\n",
		depths->nr);
	if (!ft->stack.on && !ftrace_stack_max(ft))
		fputs("#\n"
		      "#  Stack tracer disabled\n"
		      "#\n"
		      "# To enable the stack tracer, either add 'stacktrace' to the\n"
		      "# kernel command line\n"
		      "# or 'echo 1 > /proc/sys/kernel/stack_tracer_enabled'\n"
		      "#\n",
		      out);
	for (uint32_t i = 0; i < depths->nr; i++)
		print_frame(ft, depths, i, out);
	free(depths);
	return 0;
}
