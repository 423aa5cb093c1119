/* SPDX-License-Identifier: MIT */
/*
 * group.h - inside of the groups: one of them, and how its plans are made
 *
 * Included by ftrace_groups.c, plan.c and groups_save.c.
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GROUP_H
#define TRACEFUSE_MODEL_FTRACE_GROUP_H

#include "model/ftrace/groups.h"

enum {
	GROUPS_MAX = (LAYOUT_GRAPH_EXIT - LAYOUT_GROUPS_AT) / GROUP_ENTRIES,
	GROUPS_CHAINS = 1024,
};

/* A plan in an entry. */
struct ftrace_plan {
	config_ref	ref;		/* 0: none */
	size_t		size;
};

struct ftrace_group {
	uint32_t	number;		/* of its first entry */
	uint32_t	nr;
	struct ftrace_ops **ops;	/* newest first */
	uint32_t	hash;
	bool		stale;		/* an ops of it has ended: in no chain */
	bool		seen;		/* of ftrace_groups_settled() */
	struct ftrace_group *next;	/* in its chain */
	struct ftrace_plan plans[GROUP_ENTRIES];
	uint64_t	saved;		/* R4 */
};

/* What the server before this one kept, until all ops are there again. */
struct ftrace_saved_group {
	uint32_t	number;
	char		*text;
	uint64_t	saved;
};

struct ftrace_groups {
	struct ftrace	*ft;
	struct ftrace_group *by_index[GROUPS_MAX];
	struct ftrace_group *chains[GROUPS_CHAINS];
	struct ftrace_group *last;	/* of the word made last */
	uint32_t	nr;
	uint32_t	next;		/* index to try first: behind the one given last */
	/* when there are that many, those without sites are looked for */
	uint32_t	sweep_at;
	/* of words that were refused: for the source, for who changes ops */
	int		err, refused;
	struct ftrace_ops **set;	/* of the site that is looked at */
	size_t		room;
	struct ftrace_plan exit;	/* of LAYOUT_GRAPH_EXIT */
	struct ftrace_saved_group *saved;
	size_t		nr_saved;
};

/* NULL: out of memory. */
struct ftrace_groups *ftrace_groups_of(struct ftrace *ft);
/*
 * Of a set in the order of ft->ops; the number is the next free one, or that of `index`. NULL:
 * groups->err says why.
 */
struct ftrace_group *ftrace_group_make(struct ftrace_groups *gs, struct ftrace_ops *const *ops,
				       size_t nr, int index);
/* No site has it from now on. */
void ftrace_group_stale(struct ftrace_groups *gs, struct ftrace_group *g);

/* ---- plan.c: 0, -ENOMEM ---- */

int ftrace_plan_publish(struct ftrace_groups *gs, struct ftrace_group *g);
int ftrace_plan_publish_exit(struct ftrace_groups *gs);
/* The group ends. */
void ftrace_plan_remove(struct ftrace_groups *gs, struct ftrace_group *g);

/* ---- groups_save.c ---- */

int ftrace_group_save(struct ftrace_groups *gs, struct ftrace_group *g);

#endif
