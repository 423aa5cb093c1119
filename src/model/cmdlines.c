/* SPDX-License-Identifier: MIT */
/*
 * cmdlines.c - names and thread groups of pids, oldest first
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "session/array.h"

enum {
	DEFAULT_SIZE	= 128,
	MAX_SIZE	= 32768,
	COMM_LEN	= 16,
};

struct cmdline {
	int	pid;
	char	comm[COMM_LEN];
};

struct tgid {
	int	pid, tgid;
};

struct cmdlines {
	struct cmdline	**order;	/* oldest first */
	unsigned int	nr, size;
	void		*by_pid;	/* tsearch: struct cmdline */
	void		*tgids;		/* tsearch: struct tgid */
	void		(*ask)(void *arg);	/* NULL: none */
	void		*ask_arg;
};

static int compare_pid(const void *a, const void *b)
{
	const int x = *(const int *)a, y = *(const int *)b;

	return x < y ? -1 : x > y;
}

/*
 * The kernel puts the table behind its map of pids, in a power-of-two number of pages, and uses all
 * entries that fit. The file then reads that number.
 */
static unsigned int rounded_size(unsigned int size)
{
	const unsigned long table = 131096, entry = 20;
	unsigned long bytes = 4096;

	while (bytes < table + size * entry)
		bytes *= 2;
	return (unsigned int)((bytes - table) / entry);
}

struct cmdlines *cmdlines_create(void)
{
	struct cmdlines *c = calloc(1, sizeof(*c));

	if (c)
		c->size = rounded_size(DEFAULT_SIZE);
	return c;
}

void cmdlines_destroy(struct cmdlines *c)
{
	if (!c)
		return;
	tdestroy(c->by_pid, free);
	tdestroy(c->tgids, free);
	free(c->order);
	free(c);
}

static struct cmdline *lookup(const struct cmdlines *c, int pid)
{
	struct cmdline **p = tfind(&pid, &c->by_pid, compare_pid);

	return p ? *p : NULL;
}

static void forget_oldest(struct cmdlines *c)
{
	struct cmdline *oldest = c->order[0];

	tdelete(oldest, &c->by_pid, compare_pid);
	memmove(c->order, c->order + 1, (c->nr - 1) * sizeof(*c->order));
	c->nr--;
	free(oldest);
}

static int cmdlines_append(struct cmdlines *c, struct cmdline *l)
{
	if (array_room(&c->order, c->nr, sizeof(*c->order)))
		return -ENOMEM;
	if (!tsearch(l, &c->by_pid, compare_pid))
		return -ENOMEM;
	c->order[c->nr++] = l;
	return 0;
}

int cmdlines_add(struct cmdlines *c, int pid, const char *comm)
{
	struct cmdline *l;

	if (pid <= 0)
		return 0;
	l = lookup(c, pid);
	if (l) {
		snprintf(l->comm, sizeof(l->comm), "%s", comm);
		return 0;
	}
	l = malloc(sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->pid = pid;
	snprintf(l->comm, sizeof(l->comm), "%s", comm);
	if (c->nr >= c->size && c->nr)
		forget_oldest(c);
	if (cmdlines_append(c, l)) {
		free(l);
		return -ENOMEM;
	}
	return 0;
}

void cmdlines_source(struct cmdlines *c, void (*ask)(void *arg), void *arg)
{
	c->ask = ask;
	c->ask_arg = arg;
}

static void ask_source(const struct cmdlines *c)
{
	if (c->ask)
		c->ask(c->ask_arg);
}

const char *cmdlines_find(const struct cmdlines *c, int pid)
{
	const struct cmdline *l;

	ask_source(c);
	if (pid == 0)
		return "<idle>";
	if (pid < 0)
		return "<XXX>";
	l = lookup(c, pid);
	return l ? l->comm : "<...>";
}

void cmdlines_print(const struct cmdlines *c, FILE *out)
{
	ask_source(c);
	for (unsigned int i = 0; i < c->nr; i++)
		fprintf(out, "%d %s\n", c->order[i]->pid, c->order[i]->comm);
}

unsigned int cmdlines_size(const struct cmdlines *c)
{
	return c->size;
}

int cmdlines_resize(struct cmdlines *c, unsigned int size)
{
	if (!size || size > MAX_SIZE)
		return -EINVAL;
	c->size = size = rounded_size(size);
	while (c->nr > size)
		forget_oldest(c);
	return 0;
}

int cmdlines_add_tgid(struct cmdlines *c, int pid, int tgid)
{
	struct tgid *t = malloc(sizeof(*t)), **p;

	if (!t)
		return -ENOMEM;
	*t = (struct tgid){ pid, tgid };
	p = tsearch(t, &c->tgids, compare_pid);
	if (!p || *p != t) {
		if (p)
			(*p)->tgid = tgid;
		free(t);
	}
	return p ? 0 : -ENOMEM;
}

int cmdlines_find_tgid(const struct cmdlines *c, int pid)
{
	struct tgid **p = tfind(&pid, &c->tgids, compare_pid);

	return p ? (*p)->tgid : 0;
}

static void print_tgid(const void *node, VISIT visit, void *out)
{
	const struct tgid *t = *(struct tgid *const *)node;

	if (visit == postorder || visit == leaf)
		fprintf(out, "%d %d\n", t->pid, t->tgid);
}

void cmdlines_print_tgids(const struct cmdlines *c, FILE *out)
{
	twalk_r(c->tgids, print_tgid, out);
}
