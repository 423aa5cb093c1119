/* SPDX-License-Identifier: MIT */
/*
 * graph_calls.c - set_graph_function, set_graph_notrace, max_graph_depth and tracing_thresh for
 * recorded entries and exits
 *
 * The kernel keeps a stack of the calls of each task that it has hooked. A call that the settings
 * leave out is not on it, so the depth that the kernel records counts only the calls that they
 * take. Here each task has a bit for each recorded depth:
 *
 *     depth      0   1   2   3            known    the entry of the open call was in the recording
 *     known      1   1   1   1            taken    the settings take it
 *     taken      0   1   0   1            chosen   set_graph_function names it
 *     chosen     0   1   0   0            hidden   set_graph_notrace names it
 *     recorded       0       1   <- depth as the kernel would count it
 *
 * A call whose entry is not in the recording counts as taken. If set_graph_function has functions,
 * it does so only below a call that is taken: an interrupt may come when the kernel has put a call
 * on the stack, and has not recorded its entry.
 */
#include <stdlib.h>
#include <string.h>

#include "sources/recording/calls.h"
#include "sources/recording/source_state.h"

enum {
	DEPTHS		= 64,		/* the kernel has 50 */
	BLOCK_TASKS	= 1024,
	BLOCKS		= 4194304 / BLOCK_TASKS,
};

struct graph_task {
	uint64_t	known, taken, chosen, hidden;
};

struct graph_tasks {
	struct graph_task *blocks[BLOCKS];	/* by pid */
	struct graph_task *idle;		/* pid 0: by CPU */
};

void graph_tasks_clear(struct graph_tasks *tasks)
{
	for (unsigned int i = 0; tasks && i < BLOCKS; i++)
		if (tasks->blocks[i])
			memset(tasks->blocks[i], 0, BLOCK_TASKS * sizeof(struct graph_task));
	if (tasks && tasks->idle)
		memset(tasks->idle, 0, BLOCK_TASKS * sizeof(struct graph_task));
}

void graph_tasks_destroy(struct graph_tasks *tasks)
{
	for (unsigned int i = 0; tasks && i < BLOCKS; i++)
		free(tasks->blocks[i]);
	if (tasks)
		free(tasks->idle);
	free(tasks);
}

static void *take_cleared(struct source *src, size_t size)
{
	return source_memory_take(&src->window.memory, size) ? calloc(1, size) : NULL;
}

/* NULL: no memory, or no such task. */
static struct graph_task *task_of(struct source *src, uint32_t pid, uint32_t cpu)
{
	const size_t size = BLOCK_TASKS * sizeof(struct graph_task);
	struct graph_task **block;

	if (!src->graph_tasks)
		src->graph_tasks = take_cleared(src, sizeof(*src->graph_tasks));
	if (!src->graph_tasks || pid >= BLOCKS * BLOCK_TASKS || cpu >= BLOCK_TASKS)
		return NULL;
	block = pid ? &src->graph_tasks->blocks[pid / BLOCK_TASKS] : &src->graph_tasks->idle;
	if (!*block)
		*block = take_cleared(src, size);
	return *block ? &(*block)[pid ? pid % BLOCK_TASKS : cpu] : NULL;
}

static uint64_t read_u64(const struct subbuf_record *r, uint32_t at)
{
	uint64_t v = 0;

	if (r->size >= sizeof(v) && at <= r->size - sizeof(v))
		memcpy(&v, r->data + at, sizeof(v));
	return v;
}

static uint32_t read_u32(const struct subbuf_record *r, uint32_t at)
{
	return r->size >= 4 && at <= r->size - 4 ? subbuf_u32(r->data + at) : 0;
}

/* The calls below a depth that the kernel would have on its stack. */
static uint32_t graph_calls_open(const struct calls *calls, const struct graph_task *t,
				 uint64_t below)
{
	/* From the outermost call on that is taken. */
	const uint64_t inside = -(t->taken & -t->taken);
	const uint64_t unknown = calls->graphs ? ~t->known & inside : ~t->known;

	return (uint32_t)__builtin_popcountll((t->taken | unknown) & below);
}

static bool is_deep(const struct calls *calls, uint32_t depth)
{
	return calls->max_depth && depth >= calls->max_depth;
}

static void drop_from(struct graph_task *t, uint64_t below)
{
	t->known &= below;
	t->taken &= below;
	t->chosen &= below;
	t->hidden &= below;
}

static bool entry_taken(const struct calls *calls, struct graph_task *t, uint64_t ip, uint64_t bit,
			uint32_t *depth)
{
	const uint64_t below = bit - 1;

	drop_from(t, below);
	t->known |= bit;
	*depth = graph_calls_open(calls, t, below);
	if (!calls_traced(calls, ip) || t->hidden)
		return false;
	if (calls_look(&calls->nograph, ip)) {
		t->hidden |= bit;
		return false;
	}
	if (calls->graphs && calls_look(&calls->graph, ip))
		t->chosen |= bit;
	if ((calls->graphs && !t->chosen) || is_deep(calls, *depth))
		return false;
	t->taken |= bit;
	return !calls->thresh;
}

static bool exit_taken(const struct calls *calls, struct graph_task *t, uint64_t ip, uint64_t bit,
		       uint32_t *depth)
{
	const uint64_t below = bit - 1;
	bool taken = t->taken & bit;

	*depth = graph_calls_open(calls, t, below);
	if (!(t->known & bit))
		taken = !calls->graphs && !(t->hidden & below) && calls_traced(calls, ip) &&
			!calls_look(&calls->nograph, ip) && !is_deep(calls, *depth);
	drop_from(t, below);
	return taken;
}

bool graph_calls_take(struct source *src, const struct calls *calls, const struct subbuf_record *r,
		      bool exit, uint32_t cpu, uint32_t *depth)
{
	const struct graph_layout *l = &src->graph;
	const uint64_t ip = read_u64(r, exit ? l->exit_func : l->entry_func);
	struct graph_task *t = task_of(src, subbuf_u32(r->data + 4), cpu);

	*depth = read_u32(r, exit ? l->exit_depth : l->entry_depth);
	if (!t || *depth >= DEPTHS)
		return calls_traced(calls, ip);
	if (!exit)
		return entry_taken(calls, t, ip, 1ull << *depth, depth);
	return exit_taken(calls, t, ip, 1ull << *depth, depth) &&
	       read_u64(r, l->exit_end) - read_u64(r, l->exit_begin) >= calls->thresh;
}
