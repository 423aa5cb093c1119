/* SPDX-License-Identifier: MIT */
/*
 * group.h - inside the groups: one group, and how its plans are made
 *
 * Included by groups.c, plan.c and groups_save.c.
 */
#ifndef TRACEFUSE_MODEL_FTRACE_GROUP_H
#define TRACEFUSE_MODEL_FTRACE_GROUP_H

#include "model/ftrace/groups.h"

enum {
	GROUPS_MAX = (LAYOUT_GRAPH_EXIT - LAYOUT_GROUPS_AT) / GROUP_ENTRIES,
	GROUPS_CHAINS = 1024,
};

/* The plan of an entry. */
struct ftrace_plan {
	config_ref	ref;		/* 0: none */
	size_t		size;
};

struct ftrace_group {
	uint32_t	number;		/* the number of its first entry */
	uint32_t	nr;
	struct ftrace_ops **ops;	/* newest first */
	uint32_t	hash;
	bool		stale;		/* one of its ops has ended: it is in no chain */
	bool		seen;		/* for ftrace_groups_settled() */
	int64_t		settled_ms;	/* it was stale when that was called first; 0: not yet */
	struct ftrace_group *next;	/* in its chain */
	struct ftrace_plan plans[GROUP_ENTRIES];
	uint64_t	saved;		/* R4 */
};

/* A group that the last server saved, until all ops are restored. */
struct ftrace_saved_group {
	uint32_t	number;
	char		*text;
	uint64_t	saved;
};

struct ftrace_groups {
	struct ftrace	*ft;
	struct ftrace_group *by_index[GROUPS_MAX];
	struct ftrace_group *chains[GROUPS_CHAINS];
	struct ftrace_group *last;	/* the group of the newest word */
	uint32_t	nr;
	uint32_t	next;		/* the index to try first: behind the newest one */
	/* With so many groups, those without sites are searched */
	uint32_t	sweep_at;
	/* Errors of refused words: for the source, and for a change of ops */
	int		err, refused;
	struct ftrace_ops **set;	/* the ops of the current site */
	size_t		room;
	struct ftrace_plan exit;	/* that of LAYOUT_GRAPH_EXIT */
	struct ftrace_saved_group *saved;
	size_t		nr_saved;
};

/* NULL: out of memory. */
struct ftrace_groups *ftrace_groups_of(struct ftrace *ft);
/*
 * Makes a group of a set, in the order of ft->ops. Its number is the next free one, or that of
 * `index`. NULL: groups->err has the reason.
 */
struct ftrace_group *ftrace_group_make(struct ftrace_groups *gs, struct ftrace_ops *const *ops,
				       size_t nr, int index);
/* From now on no site has it. */
void ftrace_group_stale(struct ftrace_groups *gs, struct ftrace_group *g);

/* ---- plan.c: 0, -ENOMEM ---- */

int ftrace_plan_publish(struct ftrace_groups *gs, struct ftrace_group *g);
int ftrace_plan_publish_exit(struct ftrace_groups *gs);
/* Called when the group ends. */
void ftrace_plan_remove(struct ftrace_groups *gs, struct ftrace_group *g);

/* ---- groups_save.c ---- */

int ftrace_group_save(struct ftrace_groups *gs, struct ftrace_group *g);

#endif
