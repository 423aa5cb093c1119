/* SPDX-License-Identifier: MIT */
/*
 * show_header.c - what stands above the first line of trace and snapshot
 */
#include <sys/utsname.h>

#include "session/layout.h"
#include "tracefs/show_state.h"

static const char *tracer_name(const struct show *s)
{
	return s->inst->tracer ? s->inst->tracer : "nop";
}

/* Records in the buffer, and all that were ever written to it; always of all CPUs. */
static void count_entries(const struct show *s, uint64_t *entries, uint64_t *total)
{
	data_ref buffer = instance_buffer(s->inst, s->snapshot);
	struct ring_stats stats;
	uint32_t cpu;

	*entries = *total = 0;
	for (cpu = 0; buffer && cpu < s->model->nr_cpus; cpu++) {
		if (buffer_stats(s->model->session, buffer, cpu, &stats))
			continue;
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
		" _-----=> irqs-off/BH-disabled", "/ _----=> need-resched", "| / _---=> hardirq/softirq",
		"|| / _--=> preempt-depth", "||| / _-=> migrate-disable", "|||| /     delay",
	};
	int width = show_option(s, OPTION_RECORD_TGID) ? 12 : 2;
	size_t i;

	header_counts(s);
	for (i = 0; i < sizeof(art) / sizeof(art[0]); i++)
		text_printf(&s->text, "#                            %*s%s%s\n", width, "", i > 1 ? "" : " ",
			    art[i]);
	text_printf(&s->text, "#           TASK-PID  %.*s CPU#  |||||  TIMESTAMP  FUNCTION\n", width,
		    "     TGID   ");
	text_printf(&s->text, "#              | |    %.*s   |   |||||     |         |\n", width,
		    "       |    ");
}

static void header_latency(struct show *s)
{
	struct utsname machine;
	uint64_t entries, total;
	const char *release = s->model->release;

	if (!release)
		release = uname(&machine) ? "unknown" : machine.release;
	count_entries(s, &entries, &total);
	text_printf(&s->text, "# %s latency trace v1.1.5 on %s\n", tracer_name(s), release);
	text_puts(&s->text, "# --------------------------------------------------------------------\n");
	text_printf(&s->text,
		    "# latency: 0 us, #%llu/%llu, CPU#0 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:%u)\n",
		    (unsigned long long)entries, (unsigned long long)total, s->model->nr_cpus);
	text_puts(&s->text, "#    -----------------\n"
			    "#    | task: -0 (uid:0 nice:0 policy:0 rt_prio:0)\n"
			    "#    -----------------\n#\n");
	if (show_option(s, OPTION_VERBOSE))
		return;
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
		text_puts(&s->text,
			  "# echo 0 > snapshot : Clears and frees snapshot buffer\n"
			  "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
			  "#                      Takes a snapshot of the main buffer.\n"
			  "# echo 2 > snapshot : Clears snapshot buffer (but does not allocate or free)\n");
	else
		text_puts(&s->text,
			  "# echo 0 > snapshot : Invalid for per_cpu snapshot file.\n"
			  "# echo 1 > snapshot : Allocates snapshot buffer, if not already allocated.\n"
			  "#                      Takes a snapshot of the main buffer for this cpu.\n"
			  "# echo 2 > snapshot : Clears this cpu's snapshot buffer (but does not allocate)\n");
	text_puts(&s->text, "#                      (Doesn't have to be '2' works with any number that\n"
			    "#                       is not a '0' or '1')\n");
}

void show_header(struct show *s, bool empty)
{
	text_printf(&s->text, "# tracer: %s\n#\n", tracer_name(s));
	if (s->snapshot && empty)
		snapshot_help(s);
	else if (!show_option(s, OPTION_CONTEXT_INFO))
		return;
	else if (s->latency && empty)
		return;
	else if (s->latency)
		header_latency(s);
	else if (show_option(s, OPTION_VERBOSE))
		return;
	else if (show_option(s, OPTION_IRQ_INFO))
		header_irq(s);
	else
		header_plain(s);
}
