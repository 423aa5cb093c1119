/* SPDX-License-Identifier: MIT */
/*
 * errlog.c - the last errors for error_log, each with its command and the caret's position
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/errlog.h"
#include "model/list.h"

enum { ERRLOG_MAX = 8, ERRLOG_LOC_MAX = 128 };

static const char command_prefix[] = "  Command: ";

struct errlog_entry {
	struct list_head node;
	unsigned long	serial;
	uint64_t	time;			/* ns since the log was made */
	char		loc[ERRLOG_LOC_MAX];	/* "LOC: error: ", truncated as in the kernel */
	char		*cmd;
	char		*error;
	uint16_t	pos;
};

struct errlog {
	struct list_head entries;	/* oldest first */
	unsigned int	nr;
	unsigned long	serial;
	uint64_t	start;
	bool		hushed;
	char		*unsaid;		/* the last error while the log is hushed */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

struct errlog *errlog_create(void)
{
	struct errlog *log = calloc(1, sizeof(*log));

	if (!log)
		return NULL;
	list_init(&log->entries);
	log->start = now_ns();
	return log;
}

static void entry_remove(struct errlog *log, struct errlog_entry *e)
{
	list_del(&e->node);
	log->nr--;
	free(e->cmd);
	free(e->error);
	free(e);
}

void errlog_clear(struct errlog *log)
{
	struct errlog_entry *e, *tmp;

	list_each_safe(e, tmp, &log->entries, node)
		entry_remove(log, e);
}

void errlog_destroy(struct errlog *log)
{
	if (!log)
		return;
	errlog_clear(log);
	free(log->unsaid);
	free(log);
}

void errlog_hush(struct errlog *log)
{
	log->hushed = true;
}

char *errlog_loud(struct errlog *log)
{
	char *unsaid = log->unsaid;

	log->hushed = false;
	log->unsaid = NULL;
	return unsaid;
}

void errlog_add(struct errlog *log, const char *loc, const char *cmd, const char *error,
		unsigned int pos)
{
	struct errlog_entry *e;

	if (log->hushed) {
		free(log->unsaid);
		log->unsaid = strdup(error);
		return;
	}
	e = calloc(1, sizeof(*e));
	if (!e)
		return;
	e->cmd = strdup(cmd);
	e->error = strdup(error);
	if (!e->cmd || !e->error) {
		free(e->cmd);
		free(e->error);
		free(e);
		return;
	}
	snprintf(e->loc, sizeof(e->loc), "%s: error: ", loc);
	e->serial = ++log->serial;
	e->time = now_ns() - log->start;
	e->pos = (uint16_t)pos;
	if (log->nr == ERRLOG_MAX)
		entry_remove(log, list_entry(log->entries.next, struct errlog_entry, node));
	list_add_tail(&e->node, &log->entries);
	log->nr++;
}

static void entry_print(const struct errlog_entry *e, FILE *out)
{
	fprintf(out, "[%5llu.%06u] %s%s\n%s%s\n", (unsigned long long)(e->time / 1000000000ull),
		(unsigned int)(e->time % 1000000000ull / 1000), e->loc, e->error, command_prefix,
		e->cmd);
	fprintf(out, "%*s^\n", (int)(sizeof(command_prefix) - 1 + e->pos), "");
}

void errlog_print(struct errlog *log, FILE *out)
{
	errlog_print_since(log, 0, out);
}

unsigned long errlog_print_since(struct errlog *log, unsigned long since, FILE *out)
{
	struct errlog_entry *e;

	list_each(e, &log->entries, node)
		if (e->serial > since)
			entry_print(e, out);
	return log->serial;
}
