/* SPDX-License-Identifier: MIT */
/*
 * start.c - what a server with 2,300 events costs: time from nothing to a tree, and memory
 *
 * Prints lines NAME<TAB>VALUE: seconds and megabytes of resident memory, first
 * as the server starts, then with all events enabled and all fields looked at.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/event/set.h"
#include "tracefs/tree.h"

enum { EVENTS = 2300, FIRST_ID = 20, SYSTEMS = 100, FORMAT_MAX = 4096 };

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double resident_mb(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long total, resident = 0;

	if (!f || fscanf(f, "%ld %ld", &total, &resident) != 2)
		resident = 0;
	if (f)
		fclose(f);
	return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static void check(const char *what, int err)
{
	if (!err)
		return;
	fprintf(stderr, "bench start: %s: %s\n", what, strerror(-err));
	exit(1);
}

/* A format as long as a kernel's usual one. */
static int write_format(char *text, int i)
{
	int n = snprintf(text, FORMAT_MAX, "name: event_%d\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n", i, i + FIRST_ID);

	for (int k = 0; k < 8; k++)
		n += snprintf(text + n, FORMAT_MAX - (size_t)n,
			      "\tfield:unsigned long value_%d;\toffset:%d;\tsize:8;\tsigned:0;\n",
			      k, 8 + 8 * k);
	n += snprintf(text + n, FORMAT_MAX - (size_t)n, "\nprint fmt: \"");
	for (int k = 0; k < 8; k++)
		n += snprintf(text + n, FORMAT_MAX - (size_t)n, "value_%d=%%lx ", k);
	n += snprintf(text + n, FORMAT_MAX - (size_t)n, "\"");
	for (int k = 0; k < 8; k++)
		n += snprintf(text + n, FORMAT_MAX - (size_t)n, ", REC->value_%d", k);
	return n + snprintf(text + n, FORMAT_MAX - (size_t)n, "\n");
}

/* A third of a kernel's events are those of system calls. */
static void add_events(struct model *m)
{
	char text[FORMAT_MAX], system[32];

	for (int i = 0; i < EVENTS; i++) {
		int len = write_format(text, i);

		snprintf(system, sizeof(system), "system_%d", i < EVENTS / 3 ? 0 : i % SYSTEMS);
		check("an event", model_add_event(m, system, text, (size_t)len, NULL));
	}
}

static int count_name(void *arg, const char *name, bool is_dir)
{
	++*(unsigned int *)arg;
	return 0;
}

int main(void)
{
	unsigned int nr_systems = 0, nr_fields;
	struct session *s;
	struct model *m;
	struct tree *tree;
	double start = seconds();

	check("a session", session_create(NULL, NULL, &s));
	check("a model", model_create(s, &m));
	add_events(m);
	tree = tree_create(m);
	check("the tree", tree ? tree_list(tree, "events", count_name, &nr_systems) : -1);
	printf("start seconds\t%.4f\n", seconds() - start);
	printf("start MB\t%.1f\n", resident_mb());
	start = seconds();
	check("enable", event_set_enable(m->top, NULL, true, NULL));
	for (unsigned int id = 0; id <= m->max_id; id++)
		if (model_event_by_id(m, id))
			event_fields(model_event_by_id(m, id), &nr_fields);
	printf("all enabled seconds\t%.4f\n", seconds() - start);
	printf("all enabled MB\t%.1f\n", resident_mb());
	tree_destroy(tree);
	model_destroy(m);
	session_destroy(s);
	return nr_systems < SYSTEMS;
}
