/* SPDX-License-Identifier: MIT */
/* programs.c - the running programs of a session: create, restore, and the server loop's work */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/providers/table.h"
#include "debug/prototype.h"
#include "model/event/file.h"
#include "model/instance/pids.h"
#include "model/event/program.h"
#include "model/symbols.h"
#include "plane/plane.h"
#include "model/instance/options.h"
#include "sources/program/probes.h"
#include "sources/program/sites.h"
#include "sources/program/programs_state.h"
#include "tracefs/tree.h"

enum {
	BUSY_MS		= 10,		/* while programs start and end tasks */
	QUIET_MS	= 100,
	THREADS_MS	= 3000,
};

/* ---- hooks ---- */

static uint32_t hook_table(void *arg, const struct attach_peer *peer, uint64_t version)
{
	const struct programs *p = arg;

	(void)peer;
	return version == p->table ? p->first_id : 0;
}

static int hook_define(void *arg, const struct attach_peer *peer, uint64_t dso, const char *system,
		       const char *name, const char *body)
{
	return program_events_define(arg, peer, dso, system, name, body);
}

static bool hook_has_probes(void *arg, const struct attach_peer *peer, uint64_t program)
{
	struct programs *p = arg;
	const bool has_probes = program_probes_ready(p, peer, program);

	program_words_probes(p);
	return has_probes;
}

static bool hook_ready(void *arg, const struct attach_peer *peer)
{
	struct programs *p = arg;

	return program_sites_wait(p, peer) || (p->ready && p->ready(p->ready_arg, peer));
}

/*
 * The DSO's functions are known now, so settings that wait for them are applied, as when a program
 * begins.
 */
static bool hook_dso(void *arg, const struct attach_peer *peer, uint32_t number)
{
	struct programs *p = arg;

	program_sites_loaded(p, number);
	program_words_probes(p);
	return program_sites_wait_for(p, peer, ATTACH_DSO, number) ||
	       (p->ready && p->ready(p->ready_arg, peer));
}

static bool hook_places(void *arg, const struct attach_peer *peer, uint32_t number)
{
	program_sites_loaded(arg, number);
	return program_sites_wait_for(arg, peer, ATTACH_PLACES, number);
}

/* Returns whether there was any work, or probably will be soon. */
static bool take_in(struct programs *p)
{
	bool busy = program_names_drain(p) != 0;

	if (p->model->take_sections) {
		p->model->take_sections(p->model);
		busy = true;
	}
	busy |= program_dump(p);
	return busy;
}

static void hook_catch_up(void *arg)
{
	take_in(arg);
}

static void hook_step(void *arg)
{
	struct programs *p = arg;

	attach_step(p->model->session);
}

static void hook_load(void *arg, uint64_t addr)
{
	const struct programs *p = arg;
	const struct kernel_hooks *kernel = p->model->kernel;

	/* The upper half of the addresses is the kernel's; 0 asks for all symbols. */
	if (kernel && (!addr || addr >> 63))
		kernel->symbols(kernel->arg);
	program_symbols_load(arg, addr);
}

static const struct parameters *hook_parameters(void *arg, uint64_t func)
{
	return program_parameters_of(arg, func);
}

static int hook_call_texts(void *arg, uint32_t bytes)
{
	return program_events_set_texts(arg, bytes);
}

static bool hook_lives(uint32_t pid)
{
	return pid && (!kill((pid_t)pid, 0) || errno != ESRCH);
}

static void hook_joined(void *arg, const struct attach_peer *peer)
{
	program_names_joined(arg, peer->pid);
	program_sites_joined(arg, peer);
}

static void hook_ended(void *arg, const struct attach_answer *a)
{
	program_sites_ended(arg, a);
	program_probes_ended(arg, a);
}

static void hook_snapshot(void *arg, int sock)
{
	struct programs *p = arg;

	if (p->snapshot)
		p->snapshot(p->snapshot_arg, sock);
	else
		close(sock);
}

static void set_hooks(struct programs *p)
{
	const struct attach_hooks hooks = {
		.arg = p, .table = hook_table, .joined = hook_joined, .define = hook_define,
		.ready = hook_ready,
		.dso = hook_dso,
		.places = hook_places,
		.has_probes = hook_has_probes,
		.ended = hook_ended,
		.snapshot = hook_snapshot,
	};

	attach_set_hooks(p->model->session, &hooks);
	p->model->catch_up = hook_catch_up;
	p->model->catch_up_arg = p;
	p->model->step = hook_step;
	p->model->parameters = hook_parameters;
	p->model->set_call_texts = hook_call_texts;
	p->model->task_lives = hook_lives;
	symbols_set_loader(p->model->symbols, hook_load, p);
}

void programs_on_ready(struct programs *p, bool (*ready)(void *arg, const struct attach_peer *peer),
		       void *arg)
{
	p->ready = ready;
	p->ready_arg = arg;
}

void programs_on_snapshot(struct programs *p, void (*snapshot)(void *arg, int sock), void *arg)
{
	p->snapshot = snapshot;
	p->snapshot_arg = arg;
}

/* ---- life ---- */

static struct programs *programs_new(struct model *m, struct tree *t)
{
	struct programs *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->model = m;
	p->tree = t;
	/* Pointers of the user's own programs are no secret, and hashed ones are useless. */
	m->top->options &= ~(1ull << OPTION_HASH_PTR);
	m->of_programs = true;
	list_init(&p->pending);
	list_init(&p->names);
	p->pid = getpid();
	if (program_sites_create(p) || program_probes_create(p)) {
		program_probes_destroy(p);
		program_sites_destroy(p);
		free(p);
		return NULL;
	}
	return p;
}

/* Programs that begin quietly. */
static void programs_tell(const struct programs *p)
{
	attach_providers(p->model->session, p->table, p->first_id, p->first_id + p->count);
}

static int save_pending(struct programs *p)
{
	uint64_t id = 0;
	char text[128];

	snprintf(text, sizeof(text), "first %" PRIu32 "\ncount %" PRIu32 "\ntable %" PRIx64 "\n",
		 p->first_id, p->count, p->table);
	return saved_add(p->model, p->model->top, PROGRAMS_SAVED, text, NULL, 0, &id);
}

/* Events of systems that are not chosen have ids, too. */
static int programs_add_events(struct programs *p, const struct programs_params *params)
{
	int err = program_internal_add(p->model);

	model_reserve_ids(p->model, p->first_id + p->count);
	return err ? err : program_events_choose(p, params);
}

int programs_add_systems(struct programs *p, const struct programs_params *params)
{
	char *unknown = programs_unknown_system(params->systems);

	free(unknown);
	if (unknown)
		return -EINVAL;
	/* The session was made by another version of tracefuse, with other events. */
	if (p->table != provider_table_version())
		return -ESTALE;
	return program_events_choose(p, params);
}

int programs_create(struct model *m, struct tree *t, const struct programs_params *params,
		    struct programs **out)
{
	static const struct programs_params defaults;
	struct programs *p = programs_new(m, t);
	char *unknown = params ? programs_unknown_system(params->systems) : NULL;
	int err = p ? 0 : -ENOMEM;

	if (unknown)
		err = -EINVAL;
	free(unknown);
	if (!err) {
		p->first_id = LAYOUT_OWN_IDS;
		p->count = provider_count();
		p->table = provider_table_version();
		programs_tell(p);
		err = save_pending(p);
	}
	if (!err)
		err = programs_add_events(p, params ? params : &defaults);
	if (!err)
		err = model_arm_internal(m, m->top);
	if (err) {
		programs_destroy(p);
		return err;
	}
	set_hooks(p);
	program_sites_begin(p);
	program_probes_begin(p);
	*out = p;
	return 0;
}

void programs_end(struct programs *p)
{
	if (p)
		program_words_end(p);
}

void programs_destroy(struct programs *p)
{
	if (!p)
		return;
	attach_set_hooks(p->model->session, NULL);
	p->model->catch_up = NULL;
	p->model->step = NULL;
	p->model->parameters = NULL;
	p->model->set_call_texts = NULL;
	p->model->task_lives = NULL;
	symbols_set_loader(p->model->symbols, NULL, NULL);
	program_symbols_destroy(p);
	program_probes_destroy(p);
	program_sites_destroy(p);
	program_parameters_destroy(p);
	program_ended_destroy(p);
	program_pending_destroy(p);
	program_names_destroy(p);
	program_events_destroy(p);
	free(p);
}

/* ---- a session whose server died ---- */

static int restore_table(struct programs *p, const char *text)
{
	struct ftrace *ft = ftrace_of(p->model);
	uint32_t first, count;
	uint64_t table;

	if (!ft)
		return -ENOMEM;
	if (sscanf(text, "first %" SCNu32 "\ncount %" SCNu32 "\ntable %" SCNx64, &first, &count,
		   &table) != 3 ||
	    !first || first >= LAYOUT_MAX_EVENTS || count >= LAYOUT_MAX_EVENTS - first)
		return -EPROTO;
	p->first_id = first;
	p->count = count;
	p->table = table;
	programs_tell(p);
	model_reserve_ids(p->model, first + count);
	program_words_restore(p);
	program_places_restore(p);
	ft->offered = true;	/* restored commands will write to its files */
	return 0;
}

int programs_restore(struct programs **p, struct model *m, struct tree *t, const char *path,
		     const char *text)
{
	const size_t len = strlen(PROGRAMS_PENDING);
	bool pending = !strncmp(path, PROGRAMS_PENDING, len);

	if (*p && !strcmp(path, PROGRAMS_CALL_TEXTS))
		return program_events_set_texts(*p, (uint32_t)strtoul(text, NULL, 10));
	if (!pending && strcmp(path, PROGRAMS_SAVED))
		return 1;
	if (!*p)
		*p = programs_new(m, t);
	if (!*p)
		return -ENOMEM;
	return pending ? program_pending_restore(*p, path + len, text) : restore_table(*p, text);
}

void programs_restored(struct programs *p)
{
	if (!p)
		return;
	set_hooks(p);
	/* The previous server may have died between an event's definition and its settings. */
	program_pending_apply(p);
	program_sites_begin(p);
	program_probes_begin(p);
}

/* ---- running ---- */

int programs_fd(const struct programs *p)
{
	return program_sites_fd(p);
}

int programs_tick(struct programs *p)
{
	bool busy = take_in(p);
	int64_t now = session_now_ms();

	busy |= program_sites_tick(p);
	busy |= program_symbols_tend(p);
	program_parameters_tick(p, now);
	debug_kept_rest(&p->model->prototypes, now);
	if (now - p->threads_checked >= THREADS_MS) {
		p->threads_checked = now;
		attach_check_threads(p->model->session);
		pids_sweep(p->model);
	}
	return busy ? BUSY_MS : QUIET_MS;
}

/* Which stacks are not whole. */
static void print_stacks(const struct attach_losses *l, FILE *out)
{
	if (l->stacks_cut)
		fprintf(out,
			"note stacks: %" PRIu64 " of those that were taken end early, because a "
			"caller is not known: stack_is_cut (tracefuse-run(1))\n",
			l->stacks_cut);
	if (l->stacks_deep)
		fprintf(out,
			"note stacks: %" PRIu64 " of those that were taken have outer functions "
			"that are not kept (tracefuse-run(1))\n",
			l->stacks_deep);
	if (l->stacks_other)
		fprintf(out,
			"note stack_trace: %" PRIu64 " calls on alternate stacks or coroutines' "
			"were left out: nothing says where such a stack ends\n",
			l->stacks_other);
}

static void print_losses(struct session *s, FILE *out)
{
	static const char *const reasons[] = {
		[UNTRACED_DESCRIPTORS] = "descriptors",
		[UNTRACED_FULL] = "full",
		[UNTRACED_LATE] = "late",
		[UNTRACED_SERVER] = "server",
		[UNTRACED_OTHER] = "other",
		[UNTRACED_SANDBOX] = "sandbox",
		[UNTRACED_STRICT] = "strict",
		[UNTRACED_USER] = "user",
		[UNTRACED_ROOT] = "root",
		[UNTRACED_RIGHTS] = "rights",
		[UNTRACED_ENVIRONMENT] = "environment",
		[UNTRACED_STATIC] = "static",
		[UNTRACED_LIBC] = "libc",
		[UNTRACED_SANITIZER] = "sanitizer",
	};
	struct attach_losses l;

	attach_losses(s, &l);
	print_stacks(&l, out);
	fprintf(out, "missed %" PRIu64 "\n", l.deep + l.hits);
	if (l.hits)
		fprintf(out, "no-room %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", l.processes,
			l.threads, l.hits);
	for (unsigned int i = 0; i < UNTRACED_REASONS; i++)
		if (l.untraced[i])
			fprintf(out, "untraced %s %" PRIu64 "\n", reasons[i], l.untraced[i]);
}

void programs_print(struct programs *p, FILE *out)
{
	struct pending_setting *k;
	unsigned int from = p->nr_refused > REFUSALS ? p->nr_refused - REFUSALS : 0;

	for (unsigned int i = from; i < p->nr_refused; i++)
		fprintf(out, "refused %s\n", p->refused[i % REFUSALS]);
	list_each(k, &p->pending, node)
		if (program_pending_waits(p, k))
			fprintf(out, "kept %s %s%s%s\n", k->path, k->text, k->error ? " # " : "",
				k->error ? k->error : "");
	print_losses(p->model->session, out);
	program_sums_print(p, out);
	program_sites_print(p, out);
	program_probes_print(p, out);
	program_names_drain(p);
	program_ended_print(p, out);
	fprintf(out, "threads %u\nprocesses %u\n", program_names_threads(p),
		program_names_processes(p));
}
