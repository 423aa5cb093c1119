/* SPDX-License-Identifier: MIT */
/*
 * make_recording.c - writes a large recording of sched_waking and sched_switch events
 *
 *     make_recording [-c CPUS] [-z none|zlib|zstd] [-v 6|7] EVENTS FILE
 *
 * On each CPU tasks are woken, run for a while and sleep again: one event in
 * three is a sched_waking, the others are the switches to the task and back.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording_writer.h"

enum { MAX_CPUS = 256, TASKS = 512, FIRST_PID = 100 };

struct cpu_state {
	uint64_t	left;		/* events */
	uint64_t	time;
	uint64_t	random;
	unsigned int	step;		/* 0: waking, 1: switch to the task, 2: back to idle */
	int		task;
};

struct state {
	struct cpu_state cpu[MAX_CPUS];
};

static uint32_t random_below(struct cpu_state *s, uint32_t n)
{
	s->random = s->random * 6364136223846793005ull + 1442695040888963407ull;
	return (s->random >> 33) % n;
}

static void name_of(int pid, char *out)
{
	memset(out, 0, 16);
	snprintf(out, 16, "task-%u", (unsigned int)(pid - FIRST_PID) % 100000);
}

static uint32_t make_waking(const struct cpu_state *s, uint32_t cpu, void *record)
{
	struct writer_waking r = {
		.type = WRITER_WAKING_ID, .flags = 1, .preempt = 2,
		.pid = s->task, .prio = 120, .target_cpu = cpu,
	};

	name_of(s->task, r.comm);
	memcpy(record, &r, sizeof(r));
	return sizeof(r);
}

static uint32_t make_switch(const struct cpu_state *s, uint32_t cpu, bool back, void *record)
{
	struct writer_switch r = { .type = WRITER_SWITCH_ID, .flags = 1, .preempt = 2 };
	char idle[16] = { 0 }, task[16];

	snprintf(idle, sizeof(idle), "swapper/%u", cpu % MAX_CPUS);
	name_of(s->task, task);
	r.pid = back ? s->task : 0;
	r.prev_pid = back ? s->task : 0;
	r.next_pid = back ? 0 : s->task;
	r.prev_prio = r.next_prio = 120;
	r.prev_state = back;
	memcpy(r.prev_comm, back ? task : idle, 16);
	memcpy(r.next_comm, back ? idle : task, 16);
	memcpy(record, &r, sizeof(r));
	return sizeof(r);
}

/* The record at the present step; the state moves on when it was taken. */
static uint32_t make_record(const struct cpu_state *s, uint32_t cpu, void *record)
{
	return s->step ? make_switch(s, cpu, s->step == 2, record) : make_waking(s, cpu, record);
}

static void move_on(struct cpu_state *s)
{
	s->step = (s->step + 1) % 3;
	if (!s->step)
		s->task = FIRST_PID + random_below(s, TASKS);
	s->time += 200 + random_below(s, 20000);
	s->left--;
}

static bool next_page(void *arg, unsigned int buffer, uint32_t cpu, uint8_t *page)
{
	struct cpu_state *s = &((struct state *)arg)->cpu[cpu];
	struct writer_page p;
	uint8_t record[128];
	uint32_t size;

	(void)buffer;
	if (!s->left)
		return false;
	writer_page_start(&p, page, s->time);
	while (s->left) {
		size = make_record(s, cpu, record);
		if (!writer_page_add(&p, s->time, record, size))
			break;
		move_on(s);
	}
	writer_page_end(&p);
	return true;
}

static char *make_cmdlines(void)
{
	char *text = NULL, name[16];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int i;

	if (!out)
		return NULL;
	for (i = 0; i < TASKS; i++) {
		name_of(FIRST_PID + i, name);
		fprintf(out, "%d %s\n", FIRST_PID + i, name);
	}
	fclose(out);
	return text;
}

static const struct writer_format formats[] = {
	{ "ftrace", writer_format_kernel_stack },
	{ "ftrace", writer_format_print },
	{ "sched", writer_format_switch },
	{ "sched", writer_format_waking },
};

static const struct writer_buffer top = { .name = "" };

static int make(struct writer_spec *spec, uint64_t events, const char *file)
{
	static struct state state;
	FILE *out = fopen(file, "w+e");
	char *cmdlines = make_cmdlines();
	uint32_t cpu;
	int ret;

	if (!out || !cmdlines) {
		free(cmdlines);
		perror(file);
		return 1;
	}
	for (cpu = 0; cpu < spec->nr_cpus; cpu++)
		state.cpu[cpu] = (struct cpu_state){
			.left = events / spec->nr_cpus + (cpu < events % spec->nr_cpus),
			.time = 1000000000 + cpu * 77,
			.random = cpu * 1000003 + 1,
			.task = FIRST_PID,
		};
	spec->cmdlines = cmdlines;
	spec->arg = &state;
	ret = writer_run(spec, out);
	free(cmdlines);
	if (fclose(out) || ret) {
		fprintf(stderr, "%s: %s\n", file, strerror(ret ? -ret : errno));
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct writer_spec spec = {
		.version = 7, .nr_cpus = 2, .formats = formats, .nr_formats = 4,
		.buffers = &top, .nr_buffers = 1, .chunk_pages = 32, .page = next_page,
	};
	int opt;

	while ((opt = getopt(argc, argv, "c:z:v:")) != -1) {
		if (opt == 'c')
			spec.nr_cpus = atoi(optarg);
		else if (opt == 'v')
			spec.version = atoi(optarg);
		else if (opt == 'z')
			spec.algorithm = strcmp(optarg, "none") ? optarg : NULL;
	}
	if (argc - optind != 2 || !spec.nr_cpus || spec.nr_cpus > MAX_CPUS ||
	    (spec.version == 6 && spec.algorithm)) {
		fprintf(stderr, "usage: make_recording [-c CPUS] [-z none|zlib|zstd] [-v 6|7] "
				"EVENTS FILE\n");
		return 2;
	}
	return make(&spec, strtoull(argv[optind], NULL, 10), argv[optind + 1]);
}
