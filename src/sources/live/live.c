/* SPDX-License-Identifier: MIT */
/* live.c - see live.h: begin, end, and what the model asks */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/hist/merge.h"
#include "sources/live/state.h"

enum {
	PAGE_KB		= 64,		/* a sub-buffer; where the kernel has a fixed one, 4 */
	BUFFER_KB	= 4096,		/* a CPU */
	HALF		= 50,		/* percent of that: then the thread is woken */
};

/* ---- hooks ---- */

static void hook_barrier(void *arg)
{
	struct live *l = arg;
	uint64_t before, now;

	pthread_mutex_lock(&l->lock);
	before = l->hits;
	/* Before the round: the kernel's hits up to then are staged when it returns. */
	now = live_clock_session(&l->clock);
	live_round(l);
	live_merge_until(l, now);
	if (l->hits != before || l->nr_fresh)
		live_names_save(l);
	pthread_mutex_unlock(&l->lock);
}

/* A round first: what is merged up to a time needs the kernel's hits up to then. */
static int merge_tick(struct live *l)
{
	const struct model *m = l->model;
	const uint64_t delay = m->merge_delay_ms * 1000000ull;
	uint64_t now;

	if (!m->nr_merged)
		return INT_MAX;
	pthread_mutex_lock(&l->lock);
	now = live_clock_session(&l->clock);
	live_round(l);
	/* The machine may have started later than that. */
	live_merge_until(l, now > delay ? now - delay : 0);
	pthread_mutex_unlock(&l->lock);
	return LIVE_SPAN_MS;
}

int live_tick(struct live *l)
{
	const int check_ms = live_check_tick(l, live_system_ns(CLOCK_MONOTONIC_COARSE) / 1000000);
	const int merge_ms = merge_tick(l);

	return merge_ms < check_ms ? merge_ms : check_ms;
}

static void hook_hold(void *arg, bool on)
{
	struct live *l = arg;

	if (on)
		pthread_mutex_lock(&l->lock);
	else
		pthread_mutex_unlock(&l->lock);
}

static uint64_t cursor_lost(const struct live_cpu *c)
{
	return c->lost + c->discarded;
}

static uint64_t hook_lost(void *arg, uint32_t cpu)
{
	struct live *l = arg;
	uint64_t lost;

	pthread_mutex_lock(&l->lock);
	lost = cpu < l->nr_cpus ? cursor_lost(&l->cpus[cpu]) : 0;
	if (cpu < l->nr_cpus && l->nr_cursors > l->nr_cpus)
		lost += cursor_lost(&l->cpus[l->nr_cpus + cpu]);
	if (cpu < l->nr_cpus)
		lost += live_book_lost(l, cpu);
	pthread_mutex_unlock(&l->lock);
	return lost;
}

static void hook_settle(void *arg)
{
	live_arm_settle(arg);
	live_functions_settle(arg);
}

static void set_hooks(struct live *l)
{
	l->hooks = (struct kernel_hooks){
		.arg = l, .need = live_arm_need, .watch = live_arm_watch, .barrier = hook_barrier,
		.hold = hook_hold, .settle = hook_settle, .lost = hook_lost,
		.symbols = live_import_symbols, .functions = live_functions_changed,
	};
	l->model->kernel = &l->hooks;
}

/* ---- the instance ---- */

static int write_number(int dir, const char *file, unsigned int number)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", number);
	return kernel_write(dir, file, text);
}

static uint32_t page_size_of(int instance)
{
	size_t len;
	char *text = kernel_read(instance, "buffer_subbuf_size_kb", &len);
	const uint32_t kb = text ? (uint32_t)atoi(text) : 0;

	free(text);
	return kb ? kb << 10 : (uint32_t)sysconf(_SC_PAGESIZE);
}

static int open_cpu(struct live_cpu *c, int instance, uint32_t cpu, uint32_t page_size)
{
	char path[64];
	int dir, err;

	c->cpu = cpu;
	c->fd = -1;
	snprintf(path, sizeof(path), "per_cpu/cpu%" PRIu32, cpu);
	dir = openat(instance, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* ENOENT: a number that no CPU of this machine has. */
	if (dir < 0)
		return errno == ENOENT ? 0 : -errno;
	err = live_cpu_open(c, dir, cpu, page_size);
	close(dir);
	return err;
}

int live_open_cpus(struct live *l, int dir, uint32_t first)
{
	const uint32_t page_size = page_size_of(dir);
	int err = 0;

	l->nr_cursors = first;
	for (uint32_t i = 0; !err && i < l->nr_cpus; i++) {
		err = open_cpu(&l->cpus[first + i], dir, i, page_size);
		l->nr_cursors++;
	}
	return err;
}

static int open_cpus(struct live *l)
{
	l->cpus = calloc(2 * l->model->nr_cpus, sizeof(*l->cpus));
	if (!l->cpus)
		return -ENOMEM;
	l->nr_cpus = l->model->nr_cpus;
	live_clock_watch(l, LIVE_EVENTS, l->kernel.dir);
	return live_open_cpus(l, l->kernel.dir, 0);
}

int live_set_buffers(int dir)
{
	int err;

	/*
	 * An instance begins with the options of the top one. Only what is overwritten is counted
	 * where it is read.
	 */
	(void)kernel_write(dir, "options/overwrite", "1");
	/* Not in kernels before 6.8. */
	(void)write_number(dir, "buffer_subbuf_size_kb", PAGE_KB);
	err = write_number(dir, "buffer_size_kb", BUFFER_KB);
	if (!err)
		(void)write_number(dir, "buffer_percent", HALF);
	return err;
}

/* The process that lends an instance has set its buffers. */
static int set_up_instance(struct live *l)
{
	int err = l->kernel.top >= 0 ? live_set_buffers(l->kernel.dir) : 0;

	return err ? err : live_clock_choose(l);
}

/* ---- the session ---- */

/* Its rings have the size of the instance's others: what it has is without end. */
static int add_rings(struct live *l)
{
	struct model *m = l->model;

	m->source_bytes = calloc(m->nr_cpus, sizeof(*m->source_bytes));
	return m->source_bytes ? model_source_rings(m) : -ENOMEM;
}

static int enter_session(struct live *l)
{
	int err;

	l->plane = session_plane(l->model->session);
	l->slot = session_slot_get(l->model->session);
	if (!l->slot)
		return -EUSERS;
	err = live_names_create(l);
	if (!err)
		err = add_rings(l);
	return err;
}

/* No record passes before the last server's are counted. */
static void turn_to_kernel(struct live *l)
{
	pthread_mutex_lock(&l->lock);
	live_book_staged(l);
	live_arm_all(l);
	live_book_turn(l);
	pthread_mutex_unlock(&l->lock);
	kernel_remove_spared(&l->kernel);
}

static int live_begin(struct live *l)
{
	int err = set_up_instance(l);

	if (!err)
		err = enter_session(l);
	if (!err)
		err = open_cpus(l);
	if (!err)
		err = live_import(l);
	if (!err)
		err = live_run_begin(l);
	if (!err) {
		set_hooks(l);
		turn_to_kernel(l);
		live_functions_begin(l);
	}
	return err;
}

/* Of a restored session: triggers that were merged run at the hit. Without memory they do not. */
static void without_kernel(struct model *m)
{
	m->has_kernel = false;
	if (!merge_find(m, NULL))
		(void)merge_publish(m);
	live_book_drop(m);
}

int live_create(struct model *m, struct live **out, char *why, size_t size)
{
	struct live *l = calloc(1, sizeof(*l));
	int err;

	*out = NULL;
	if (!l)
		return -ENOMEM;
	l->model = m;
	m->has_kernel = true;
	l->wake = -1;
	pthread_mutex_init(&l->lock, NULL);
	l->kernel.top = l->kernel.dir = l->kernel.calls = l->kernel.names = -1;
	l->clock.files[LIVE_EVENTS] = l->clock.files[LIVE_CALLS] = -1;
	err = live_book_begin(l);
	if (err)
		snprintf(why, size, "the kernel's events: %s", strerror(-err));
	else
		snprintf(l->kernel.spared, sizeof(l->kernel.spared), "%s",
			 l->book->names[LIVE_EVENTS]);
	if (!err)
		err = kernel_open(&l->kernel, why, size);
	if (!err) {
		err = live_begin(l);
		if (err)
			snprintf(why, size, "the kernel's events: %s", strerror(-err));
	}
	if (err) {
		live_destroy(l);
		without_kernel(m);
	} else {
		*out = l;
	}
	return err;
}

void live_destroy(struct live *l)
{
	if (!l)
		return;
	live_run_end(l);
	live_merge_end(l);
	if (l->model->kernel == &l->hooks)
		l->model->kernel = NULL;
	live_functions_end(l);
	for (uint32_t i = 0; i < l->nr_cursors; i++)
		live_cpu_close(&l->cpus[i]);
	live_clock_watch(l, LIVE_EVENTS, -1);
	live_clock_watch(l, LIVE_CALLS, -1);
	if (l->book && *l->kernel.name)
		live_book_name(l, LIVE_EVENTS, "");
	kernel_close(&l->kernel);
	if (l->slot)
		session_slot_put(l->model->session, l->slot);
	live_names_destroy(l);
	stack_probes_free(&l->probes);
	free(l->model->source_bytes);
	l->model->source_bytes = NULL;
	if (l->wake >= 0)
		close(l->wake);
	pthread_mutex_destroy(&l->lock);
	free(l->cpus);
	for (uint32_t id = 0; id < LAYOUT_OWN_IDS; id++)
		free(l->filters[id]);
	free(l);
}

/* ---- what there is to say ---- */

static void print_losses(const struct live *l, FILE *out)
{
	uint64_t lost = 0, damaged = 0, untimed = 0, discarded = 0;

	for (uint32_t i = 0; i < l->nr_cursors; i++) {
		lost += l->cpus[i].lost;
		damaged += l->cpus[i].damaged;
		untimed += l->cpus[i].untimed;
		discarded += l->cpus[i].discarded;
	}
	if (l->clock.nr_changed)
		fprintf(out, "lost another process has changed the clock of the kernel's instance, "
			"which is set again (%u): the kernel has emptied its buffers, and %" PRIu64
			" events were discarded that had times of the other clock\n",
			l->clock.nr_changed, discarded);
	if (lost)
		fprintf(out, "lost %" PRIu64 " events of the kernel were overwritten before they "
			"were read\n", lost);
	if (damaged)
		fprintf(out, "lost %" PRIu64 " pages of the kernel's buffers could not be "
			"understood\n", damaged);
	if (l->late)
		fprintf(out, "note %" PRIu64 " events of the kernel came too late for their place "
			"in the order of time\n", l->late);
	if (untimed)
		fprintf(out, "kernel untimed %" PRIu64 "\n", untimed);
}

static void print_merged(const struct live *l, FILE *out)
{
	const struct model *m = l->model;

	if (m->nr_merged || l->book->merged)
		fprintf(out, "kernel merged-triggers %u\nkernel merged-hits %" PRIu64 "\n"
			"kernel merged-late %" PRIu64 "\nkernel merge-delay-ms %u\n",
			m->nr_merged, l->book->merged, l->book->late, m->merge_delay_ms);
	if (m->nr_turned)
		fprintf(out, "kernel merged-cleared %u\nnote %u trigger%s turned merged with "
			"another source: the variables were cleared then\n", m->nr_turned,
			m->nr_turned, m->nr_turned == 1 ? "" : "s");
	live_book_print(l->model, out);
}

void live_print_gone(struct model *m, FILE *out)
{
	live_book_print(m, out);
}

void live_print(struct live *l, FILE *out)
{
	live_check(l);
	pthread_mutex_lock(&l->lock);
	fprintf(out, "kernel instance %s\nkernel clock %s\nkernel records %" PRIu64 "\n",
		l->kernel.name, live_clock_name(&l->clock), l->records);
	fprintf(out, "kernel clock-error-ns %" PRIu64 "\nkernel busy-us %" PRIu64 "\n",
		l->clock.error, l->busy / 1000);
	fprintf(out, "note tracefuse took %" PRIu64 ".%03" PRIu64 " s of processor time to read "
		"%" PRIu64 " events of the kernel\n", l->busy / 1000000000,
		l->busy / 1000000 % 1000, l->records);
	print_losses(l, out);
	print_merged(l, out);
	pthread_mutex_unlock(&l->lock);
	live_functions_print(l, out);
	if (l->no_stacks)
		fputs("note the kernel records no stacks: its events have none\n", out);
	if (l->nr_refused)
		fprintf(out, "note %u events of the kernel could not be enabled\n", l->nr_refused);
	if (l->nr_changed)
		fprintf(out, "lost another process has changed settings of the kernel's instance, "
			"which are set again (%u): events may be missing\n", l->nr_changed);
	fprintf(out, "kernel hidden %u\n", l->nr_hidden);
	if (l->nr_strange)
		fprintf(out, "note %u events of the kernel are not there: their formats are not "
			"understood\n", l->nr_strange);
}
