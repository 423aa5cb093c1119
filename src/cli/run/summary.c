/* SPDX-License-Identifier: MIT */
/* summary.c - the summary of a run: records, losses, and events that never came */
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/event_names.h"
#include "cli/run/run.h"
#include "sources/program/programs.h"
#include "access/wire.h"

struct sums {
	struct access	*access;
	const char	*instance;	/* "" or "instances/NAME/" */
	struct run_counts nr;
	unsigned long long top_overrun;	/* of the top instance */
	double		needed;		/* bytes that all its records would have taken */
};

enum { KILO = 1024, MEGA = 1024 * 1024 };

/*
 * A task may run on any CPU: the size for one CPU is what all of them have needed together, and
 * some room for the ends of sub-buffers.
 */
static void add_needed(struct sums *s, const char *stats)
{
	const double entries = (double)client_stat(stats, "entries: ");
	const double overrun = (double)client_stat(stats, "\noverrun: ");
	const double bytes = (double)client_stat(stats, "\nbytes: ");

	s->top_overrun += (unsigned long long)overrun;
	if (entries > 0)
		s->needed += bytes * (entries + overrun) / entries * 1.25 + 64 * KILO;
}

static int add_cpu(void *arg, const char *name, bool is_dir)
{
	struct sums *s = arg;
	char path[600], *text;
	size_t len;

	snprintf(path, sizeof(path), "%sper_cpu/%s/stats", s->instance, name);
	if (!is_dir || access_read_all(s->access, path, &text, &len))
		return 0;
	s->nr.overrun += client_stat(text, "\noverrun: ");
	if (!*s->instance)
		add_needed(s, text);
	s->nr.dropped += client_stat(text, "\ndropped events: ");
	s->nr.recorded += client_stat(text, "entries: ") + client_stat(text, "\nread events: ") +
			  client_stat(text, "\noverrun: ");
	free(text);
	return 0;
}

static int add_instance(void *arg, const char *name, bool is_dir)
{
	struct sums *s = arg;
	char below[300], path[320];

	if (!is_dir)
		return 0;
	snprintf(below, sizeof(below), "instances/%s/", name);
	snprintf(path, sizeof(path), "%sper_cpu", below);
	s->instance = below;
	s->access->ops->list(s->access, path, add_cpu, s);
	s->instance = "";
	return 0;
}

static unsigned long long number(const char *info, const char *key)
{
	char text[32];

	return client_info(info, key, 0, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

/* What the files stats had before a tracer, or a write to trace, cleared the buffers. */
static void add_cleared(struct sums *s, const char *info)
{
	unsigned long long overrun, dropped, read;
	char value[128];

	if (!client_info(info, "cleared", 0, value, sizeof(value)) ||
	    sscanf(value, "%llu %llu %llu %llu", &s->nr.cleared, &overrun, &dropped, &read) != 4)
		return;
	s->nr.overrun += overrun;
	s->nr.dropped += dropped;
	s->nr.recorded += s->nr.cleared + overrun + read;
}

static const char *plural(unsigned long long nr)
{
	return nr == 1 ? "" : "s";
}

static void print_overrun(const struct sums *s)
{
	fprintf(stderr, "; %llu overwritten by newer ones (buffer_size_kb is too small",
		s->nr.overrun);
	if (s->top_overrun)
		fprintf(stderr, ": --buffer-size %.0fM has room for all",
			s->needed / MEGA < 1 ? 1 : s->needed / MEGA + 0.5);
	fputc(')', stderr);
}

/* `traced`: there were programs that may have taken part. */
static void print_sums(const struct sums *s, bool traced)
{
	const struct run_counts *n = &s->nr;

	fprintf(stderr, "tracefuse: %llu event%s recorded", n->recorded, plural(n->recorded));
	if (n->hits)
		fprintf(stderr, ", %llu hit%s counted by histograms", n->hits, plural(n->hits));
	if (traced)
		fprintf(stderr, ", %llu process%s, %llu thread%s", n->processes,
			n->processes == 1 ? "" : "es", n->threads, plural(n->threads));
	if (n->overrun)
		print_overrun(s);
	if (n->dropped)
		fprintf(stderr, "; %llu dropped (the buffer was full)", n->dropped);
	if (n->cleared)
		fprintf(stderr,
			"; %llu cleared (a new tracer or clock, or a write to trace, empties a "
			"buffer)",
			n->cleared);
	if (n->uncounted)
		fprintf(stderr, "; %llu dropped by histograms (size= is too small)", n->uncounted);
	if (n->missed)
		fprintf(stderr, "; %llu missed (no place for their thread)", n->missed);
	fputc('\n', stderr);
}

/*
 * Prints whole sentences of the server: "lost TEXT" for data that is missing, "note TEXT" for data
 * that cannot be recorded. A part of the server that has a sentence for the end of a run prints
 * such a line for WIRE_INFO.
 */
static void print_sentences(const char *info, const char *key)
{
	char line[4096 + 512];

	for (unsigned int i = 0; client_info(info, key, i, line, sizeof(line)); i++)
		fprintf(stderr, "tracefuse: %s\n", line);
}

void run_summary_lost(const struct run *r)
{
	char *info;

	if (!r->access || access_request(r->access, WIRE_INFO, "", -1, &info) < 0)
		return;
	print_sentences(info, "lost");
	free(info);
}

/*
 * The program did not join: the agent has another version, the system forbids it something that it
 * needs, the program ended in the dynamic linker ...
 */
static void print_untraced(const struct run *r)
{
	if (r->preload && !r->attached && !r->failed)
		fprintf(stderr,
			"tracefuse: %s has not joined the session and was not traced; with "
			"TRACEFUSE_VERBOSE=1 "
			"the agent says why\n",
			r->program[0]);
}

/* An event that the kernel has, and a program only under a name of the kernel's: "EVENT/FILE". */
static void print_kernels(const char *system, size_t len, const char *event)
{
	const char *of;
	char name[64];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(event, "/ "), event);
	if (!event_names_provider(name, true, &of) || strlen(of) != len || strncmp(of, system, len))
		return;
	fprintf(stderr,
		"tracefuse: %s:%s is an event of the kernel: `tracefuse run --kernel-names` makes "
		"it of the program's own calls, `run --kernel %s:%s` has the kernel's\n",
		of, name, of, name);
}

/* -e openat: an event of a system call has another name. */
static void print_call(const char *system, size_t len)
{
	const char *call;

	for (unsigned int i = 0; (call = programs_system_call(i)); i++)
		if (strlen(call) == len && !strncmp(call, system, len)) {
			fprintf(stderr, "tracefuse: of the system call there are sys_enter_%s and "
				"sys_exit_%s\n", call, call);
			return;
		}
}

/* The line is "[instances/NAME/]events/SYSTEM/[EVENT/]FILE TEXT". */
static void print_pending(const char *line)
{
	const char *system = strstr(line, "events/") + 7, *file = strchr(system, '/');

	if (file && !strncmp(file, "/enable ", 8)) {
		fprintf(stderr, "tracefuse: no program had an event of system %.*s\n",
			(int)(file - system), system);
		print_call(system, (size_t)(file - system));
	} else {
		fprintf(stderr, "tracefuse: no program had the event of %.*s\n",
			(int)strcspn(line, " "), line);
	}
	if (file)
		print_kernels(system, (size_t)(file - system), file + 1);
}

/* Prints pending settings. The name of the event is probably wrong. */
static void print_waiting(const struct run *r, const char *info)
{
	char line[512];

	for (unsigned int i = 0; i < r->asked.events.nr; i++)
		fprintf(stderr, "tracefuse: -e %s: no program had such an event\n",
			r->asked.events.v[i]);
	for (unsigned int i = 0; client_info(info, "kept", i, line, sizeof(line)); i++)
		print_pending(line);
	for (unsigned int i = 0; client_info(info, "boot", i, line, sizeof(line)); i++)
		fprintf(stderr, "tracefuse: boot: no program had the function or event of %s\n",
			line);
	for (unsigned int i = 0; client_info(info, "refused", i, line, sizeof(line)); i++)
		fprintf(stderr, "tracefuse: refused: %s\n", line);
}

static void add_all(struct sums *s)
{
	s->access->ops->list(s->access, "per_cpu", add_cpu, s);
	s->access->ops->list(s->access, "instances", add_instance, s);
}

unsigned long long run_summary_recorded(const struct run *r)
{
	struct sums s = { .access = r->access, .instance = "" };

	if (r->access)
		add_all(&s);
	return s.nr.recorded;
}

/* What the session has counted since it was made. */
static void sums_read(struct sums *s, const char *info)
{
	add_all(s);
	add_cleared(s, info);
	s->nr.hits = number(info, "hits");
	s->nr.uncounted = number(info, "dropped");
	s->nr.processes = number(info, "processes");
	s->nr.threads = number(info, "threads");
	s->nr.missed = number(info, "missed");
}

void run_summary_begin(struct run *r)
{
	struct sums s = { .access = r->access, .instance = "" };
	char *info;

	if (!r->joined || !r->access || access_request(r->access, WIRE_INFO, "", -1, &info) < 0)
		return;
	sums_read(&s, info);
	r->before = s.nr;
	r->info_before = info;
}

/* A count may be smaller than before: its histogram or instance was removed meanwhile. */
static void subtract(unsigned long long *now, unsigned long long before)
{
	*now = client_since(*now, before);
}

static void sums_since(struct sums *s, const struct run_counts *before)
{
	subtract(&s->nr.recorded, before->recorded);
	subtract(&s->nr.overrun, before->overrun);
	subtract(&s->nr.dropped, before->dropped);
	subtract(&s->nr.cleared, before->cleared);
	subtract(&s->nr.hits, before->hits);
	subtract(&s->nr.uncounted, before->uncounted);
	subtract(&s->nr.processes, before->processes);
	subtract(&s->nr.threads, before->threads);
	subtract(&s->nr.missed, before->missed);
}

/* -o alone saves what the buffers have: nothing, if nobody has said what to record. */
static void print_nothing_asked(const struct run *r, unsigned long long recorded)
{
	const struct asked *a = &r->asked;

	if (a->dat_file && !recorded && run_is_private(r) && !a->lists.nr && !a->setups.nr &&
	    !a->boots.nr && !r->kernel && !run_functions_asked(r))
		fprintf(stderr, "tracefuse: -o %s: nothing says what to record, as -e heap does\n",
			a->dat_file);
}

void run_summary(struct run *r)
{
	struct sums s = { .access = r->access, .instance = "" };
	char *info;

	if (!r->access || access_request(r->access, WIRE_INFO, "", -1, &info) < 0)
		return;
	sums_read(&s, info);
	sums_since(&s, &r->before);
	if (!r->quiet) {
		print_sums(&s, r->command == &command_run);
		print_sentences(info, "note");
	}
	print_sentences(info, "lost");
	print_untraced(r);
	run_losses(r, info);
	run_functions_summary(r, info);
	print_waiting(r, info);
	print_nothing_asked(r, s.nr.recorded);
	free(info);
	run_next(r, s.nr.recorded);
}
