/* SPDX-License-Identifier: MIT */
/* header.c - the header of trace and snapshot */
#include <sys/utsname.h>

#include "layout/layout.h"
#include "show/state.h"
#include "model/section.h"
#include "model/tracer.h"

/*
 * Counts the records in the buffer, and all that were ever written to it, for all CPUs in any case.
 */
static void count_entries(struct show *s, uint64_t *entries, uint64_t *total)
{
	data_ref buffer = instance_buffer(s->inst, s->snapshot);
	struct ring_stats stats;
	uint32_t cpu;
	int err;

	*entries = s->section ? s->section->nr : 0;
	*total = *entries + (s->section ? s->section->lost : 0);
	if (s->section)
		return;
	for (cpu = 0; buffer && cpu < s->model->nr_cpus; cpu++) {
		err = buffer_stats(s->model->session, buffer, cpu, &stats);
		if (err)
			s->err = err;	/* the read after the header fails */
		*entries += stats.entries;
		*total += stats.entries + stats.overrun;
	}
}

static void header_counts(struct show *s)
{
	uint64_t entries, total;

	count_entries(s, &entries, &total);
	text_printf(&s->text, "# entries-in-buffer/entries-written: %llu/%llu   #P:%u\n#\n",
		    (unsigned long long)entries, (unsigned long long)total, s->model->nr_cpus);
}

static void header_plain(struct show *s)
{
	bool tgid = show_option(s, OPTION_RECORD_TGID);

	header_counts(s);
	text_printf(&s->text, "#           TASK-PID    %s CPU#     TIMESTAMP  FUNCTION\n",
		    tgid ? "   TGID   " : "");
	text_printf(&s->text, "#              | |      %s   |         |         |\n",
		    tgid ? "     |    " : "");
}

static void header_irq(struct show *s)
{
	static const char *const art[] = {
		" _-----=> irqs-off/BH-disabled", "/ _----=> need-resched",
		"| / _---=> hardirq/softirq",	  "|| / _--=> preempt-depth",
		"||| / _-=> migrate-disable",	  "|||| /     delay",
	};
	int width = show_option(s, OPTION_RECORD_TGID) ? 12 : 2;
	size_t i;

	header_counts(s);
	for (i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		text_printf(&s->text, "#                            %*s%s%s\n", width, "",
			    i > 1 ? "" : " ", art[i]);
	text_printf(&s->text, "#           TASK-PID  %.*s CPU#  |||||  TIMESTAMP  FUNCTION\n",
		    width, "     TGID   ");
	text_printf(&s->text, "#              | |    %.*s   |   |||||     |         |\n", width,
		    "       |    ");
}

/*
 * Prints the section of a latency tracer. Without one it is the empty section: no task, length 0.
 */
static void latency_section(struct show *s)
{
	static const struct section none;
	const struct section *m = s->section ? s->section : &none;
	uint64_t entries, total;

	count_entries(s, &entries, &total);
	text_printf(&s->text,
		    "# latency: %llu us, #%llu/%llu, CPU#%u | (M:preempt VP:0, KP:0, SP:0 HP:0 "
		    "#P:%u)\n",
		    (unsigned long long)(m->latency / 1000), (unsigned long long)entries,
		    (unsigned long long)total, m->cpu, s->model->nr_cpus);
	text_printf(&s->text,
		    "#    -----------------\n"
		    "#    | task: %.16s-%d (uid:%u nice:%d policy:%u rt_prio:%u)\n"
		    "#    -----------------\n",
		    m->comm, m->pid, m->uid, m->nice, m->policy, m->rt_prio);
	if (m->started_at) {
		text_puts(&s->text, "#  => started at: ");
		show_ip(s, m->started_at, show_option(s, OPTION_SYM_OFFSET));
		text_puts(&s->text, "\n#  => ended at:   ");
		show_ip(s, m->ended_at, show_option(s, OPTION_SYM_OFFSET));
		text_puts(&s->text, "\n#\n");
	}
	text_puts(&s->text, "#\n");
}

void show_latency_header(struct show *s)
{
	struct utsname machine;
	const char *release = s->model->release;

	if (!release)
		release = uname(&machine) ? "unknown" : machine.release;
	text_printf(&s->text, "# %s latency trace v1.1.5 on %s\n", s->tracer->name, release);
	text_puts(&s->text,
		  "# --------------------------------------------------------------------\n");
	latency_section(s);
}

static void latency_legend(struct show *s)
{
	text_puts(&s->text, "#                    _------=> CPU#            \n"
			    "#                   / _-----=> irqs-off/BH-disabled\n"
			    "#                  | / _----=> need-resched    \n"
			    "#                  || / _---=> hardirq/softirq \n"
			    "#                  ||| / _--=> preempt-depth   \n"
			    "#                  |||| / _-=> migrate-disable \n"
			    "#                  ||||| /     delay           \n"
			    "#  cmd     pid     |||||| time  |   caller     \n"
			    "#     \\   /        ||||||  \\    |    /       \n");
}

static void snapshot_help(struct show *s)
{
	text_printf(&s->text, "#\n# * Snapshot is %s *\n#\n# Snapshot commands:\n",
		    instance_buffer(s->inst, 1) ? "allocated" : "freed");
	if (s->cpu < 0)
		text_puts(&s->text, "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
				    "# echo 1 > snapshot : Allocates snapshot buffer, if not "
				    "already allocated.\n"
				    "#                      Takes a snapshot of the main buffer.\n"
				    "# echo 2 > snapshot : Clears snapshot buffer (but does not "
				    "allocate or free)\n");
	else
		text_puts(
			&s->text,
			"# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
			"# echo 1 > snapshot : Allocates snapshot buffer, if not already "
			"allocated.\n"
			"#                      Takes a snapshot of the main buffer for this cpu.\n"
			"# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not "
			"allocate)\n");
	text_puts(&s->text,
		  "#                      (Doesn't have to be '2' works with any number that\n"
		  "#                       is not a '0' or '1')\n");
}

void show_header(struct show *s, bool empty)
{
	text_printf(&s->text, "# tracer: %s\n#\n", s->tracer->name);
	if (s->snapshot && empty && !s->print_max)
		snapshot_help(s);
	else if (s->tracer->print_header)
		s->tracer->print_header(s, empty);
	else
		show_default_header(s, empty);
}

void show_default_header(struct show *s, bool empty)
{
	if (!show_option(s, OPTION_CONTEXT_INFO) || (s->latency && empty))
		return;
	if (s->latency)
		show_latency_header(s);
	if (show_option(s, OPTION_VERBOSE))
		return;
	if (s->latency)
		latency_legend(s);
	else if (show_option(s, OPTION_IRQ_INFO))
		header_irq(s);
	else
		header_plain(s);
}
