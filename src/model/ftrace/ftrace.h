/* SPDX-License-Identifier: MIT */
/*
 * ftrace.h - which functions are traced, and by whom: the control plane of function tracing
 *
 *     model->ftrace --- page[] --- site[]            one page a DSO; sites sorted by address
 *         |
 *         +--- ops[]  (enabled, newest first)        who wants calls: a tracer of an instance, a
 *                                                    function command
 *         |      |
 *         |      +--> hashes { filter, notrace }     which sites; an instance's tracers share one
 *                                                    pair
 *         |
 *         +--- graph[2]                              set_graph_function, set_graph_notrace
 *
 *     instance->ftrace --- hashes, mods[2], function (its tracer's ops), commands (newest first)
 *
 * An ops traces a site that is in its filter (or the filter is empty) and not in
 * its notrace. A site counts the enabled ops that trace it; it is enabled while
 * there is one. Each change of ops or hashes ends in one call of `changed` with
 * the sites that other ops trace than before: that is where running programs are
 * told. For one site ftrace_site_ops() lists the ops in the order to call them;
 * groups.h makes of them what a program does at a call.
 *
 * Life: ftrace_of() makes it when first asked for; sites come with
 * ftrace_sites_add() and go with ftrace_sites_remove(); all else are commands of
 * the files (tracefs/ftrace_files.c). Hashes hold addresses of the session (R19),
 * which stay the same when a DSO goes and comes, or the server dies (R4).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_FTRACE_H
#define TRACEFUSE_MODEL_FTRACE_FTRACE_H

#include "model/ftrace/hash.h"
#include "model/model.h"

struct event_file;
struct demangler;
struct ftrace_glob;

/* ---- Sites ---- */

enum {
	FTRACE_SITE_ENABLED	= 1u << 31,
	FTRACE_SITE_DEMANGLED	= 1u << 26,	/* behind its name there is another one */
	/* cannot be patched: in no list, matches nothing, but keeps its index */
	FTRACE_SITE_SKIPPED	= 1u << 25,
	FTRACE_SITE_TOUCHED	= 1u << 20,	/* was enabled once */
	FTRACE_SITE_COUNT	= (1u << 19) - 1,	/* ops that trace it */
};

/* 16 bytes: there may be 500,000. */
struct ftrace_site {
	uint64_t	ip;		/* of the session */
	uint32_t	name;		/* in page->names */
	uint32_t	flags;
};

struct ftrace_page {
	struct list_head node;
	struct ftrace	*ft;
	char		*module;	/* printed in brackets, matched by :mod:; NULL: none */
	/* of a program, which is no module: matched by :mod: all the same; NULL: none */
	char		*file;
	uint32_t	nr;
	struct ftrace_site *sites;
	char		*names;
	/* open addressing: index + 1; made when a whole name is first looked for */
	uint32_t	*by_name;
	uint32_t	by_name_bits;
};

/* What a DSO brings; in any order. */
struct ftrace_new_site {
	uint64_t	ip;
	const char	*name;		/* copied */
	bool		skipped;
	/* what patterns in quotes mean; NULL: what the C++ library says */
	const char	*demangled;
};

struct ftrace_change {
	struct ftrace_page *page;
	struct ftrace_site *site;
};

/* ---- Ops ---- */

enum ftrace_ops_kind {
	FTRACE_OPS_FUNCTION, FTRACE_OPS_GRAPH,	/* of a tracer */
	FTRACE_OPS_COMMAND,
	FTRACE_OPS_TRIGGER,	/* triggers on the event ftrace:function */
	FTRACE_OPS_PROFILE,
};

struct ftrace_hashes {
	struct ftrace_hash *filter, *notrace;	/* NULL: empty */
};

struct ftrace_ops {
	struct list_head node;		/* in ftrace->ops while it is enabled */
	struct instance	*inst;
	enum ftrace_ops_kind kind;
	const char	*callback;	/* printed in enabled_functions */
	struct ftrace_hashes *hashes;
	bool		enabled;
	/* of a latency tracer, only calls in a section: ARM_SECTION, and ARM_WAKEUP; 0 */
	uint32_t	section;
	void		*priv;		/* the function command; the tracer's own */
};

/* ---- Probes: the commands FUNCTION:COMMAND[:PARAMETERS] ---- */

enum ftrace_command {
	FTRACE_TRACEON,
	FTRACE_TRACEOFF,
	FTRACE_STACKTRACE,
	FTRACE_SNAPSHOT,
	FTRACE_DUMP,
	FTRACE_CPUDUMP,
	FTRACE_ENABLE_EVENT,
	FTRACE_DISABLE_EVENT,
	FTRACE_NO_COMMAND
};

/*
 * What one write added: the sites share the parameters. Counts lie in the data
 * region, where hits take them down: one a site, of an event one for all.
 */
struct ftrace_batch {
	struct list_head node;
	struct event_file *target;	/* enable_event, disable_event */
	uint32_t	nr;		/* sites that still have it */
	uint32_t	nr_counts;
	/* int64_t[nr_counts]; -1 never ends; 0: it is not counted */
	data_ref	counts_ref;
	_Atomic int64_t	*counts;
	/* struct trigger_sites: its sites, for hits; 0: hits need none */
	config_ref	table;
	size_t		table_size;
	uint64_t	saved;		/* R4 */
};

struct function_command_site {
	uint64_t	ip;
	struct ftrace_batch *batch;
	uint32_t	index;		/* into its counts */
};

/* One for each command, and one for it with a count: a site is in it once. */
struct function_command {
	struct list_head node;
	enum ftrace_command command;
	bool		counted;
	struct ftrace_ops ops;
	struct ftrace_hashes hashes;
	struct function_command_site *sites;	/* by address */
	uint32_t	nr;
	struct list_head batches;
};

/* ---- The whole ---- */

enum ftrace_list { FTRACE_FILTER, FTRACE_NOTRACE };

/*
 * "FUNCTION:mod:MODULE" of a DSO that was not there. The kernel cuts a last star off when it prints
 * the module.
 */
struct ftrace_mod {
	struct list_head node;
	char		*function, *module;
	char		*pattern;	/* the module as it was written */
};

struct ftrace_instance {
	struct instance	*inst;
	struct ftrace_hashes hashes;
	/* what current_tracer enables; its kind and callback are the tracer's to set */
	struct ftrace_ops function;
	struct list_head mods[2];	/* by enum ftrace_list, newest first */
	/* of the event ftrace:function; enabled while there are some */
	struct ftrace_ops triggers;
	struct list_head commands;	/* newest first */
	/* struct hit_repeat[nr_cpus], since func-no-repeats was first asked for; 0: none */
	data_ref	repeats;
	uint64_t	hashes_saved[2], mods_saved[2];	/* R4 */
};

struct ftrace {
	struct model	*model;
	struct list_head pages;		/* in the order of their coming */
	uint32_t	nr_pages;
	uint64_t	nr_sites;
	struct list_head ops;		/* enabled, newest first */
	struct ftrace_hash *graph[2];	/* by enum ftrace_list */
	struct demangler *demangler;	/* NULL: nobody has written a pattern in quotes yet */
	bool		profile;	/* function_profile_enabled */
	/* of the last time that it was on; NULL: it never was */
	struct ftrace_profile *profile_data;
	config_ref	graph_config;	/* struct graph_config that programs see; 0: none yet */
	struct ftrace_ops profiled;	/* with the hashes of the top; inst NULL: it was never on */
	/* programs can be traced: the files are there without a site */
	bool		offered;
	uint64_t	graphs_saved[2], profile_saved;	/* R4 */
	struct ftrace_groups *groups;	/* groups.h; NULL: none yet */
	/*
	 * The live side: sites that other ops trace than before. Not called while nobody listens.
	 */
	void		(*changed)(void *arg, const struct ftrace_change *list, size_t nr);
	/* The same of what the graph tracer looks at itself: graph[]; and of `profile`. */
	void		(*set)(void *arg);
	void		*changed_arg;
};

/* NULL: out of memory. */
struct ftrace *ftrace_of(struct model *m);
struct ftrace_instance *ftrace_of_instance(struct instance *inst);
void ftrace_destroy(struct model *m);
/* Before the instance's buffers go: tracers and commands end. */
void ftrace_instance_destroy(struct instance *inst);
/* Whether the files of function tracing are there: there are sites, or somebody set `offered`. */
bool ftrace_present(const struct model *m);

/* ---- sites.c ---- */

/*
 * The functions of a DSO (module NULL: no brackets). Choices that waited for it
 * are made, and ops that trace its sites enabled. 0, -ENOMEM
 */
int ftrace_sites_add(struct model *m, const char *module, const struct ftrace_new_site *sites,
		     size_t nr, struct ftrace_page **out);
/*
 * The same of a program: printed without brackets, but who waits for a DSO of that name may mean
 * it.
 */
int ftrace_program_add(struct model *m, const char *file, const struct ftrace_new_site *sites,
		       size_t nr, struct ftrace_page **out);
static inline const char *ftrace_page_file(const struct ftrace_page *page)
{
	return page->module ? page->module : page->file;
}
/* The DSO is gone: its functions leave all sets. Who calls it needs no `changed` for them. */
void ftrace_sites_remove(struct model *m, struct ftrace_page *page);
/* Its memory, when nobody has it. */
void ftrace_page_free(struct ftrace_page *page);
/*
 * A text of lines "[ADDRESS ]NAME[ [MODULE]]" (available_filter_functions,
 * available_filter_functions_addrs). Without addresses the lines' numbers do.
 * 0, -EINVAL, -ENOMEM
 */
int ftrace_sites_load(struct model *m, const char *text, size_t len);
struct ftrace_site *ftrace_site_find(struct ftrace *ft, uint64_t ip, struct ftrace_page **page);
static inline const char *ftrace_site_name(const struct ftrace_page *page,
					   const struct ftrace_site *site)
{
	return page->names + site->name;
}
/* "name" or "name [module]". What is no site is looked for in kallsyms. */
void ftrace_print_function(struct ftrace *ft, uint64_t ip, FILE *out);
bool ftrace_site_match(const struct ftrace_page *page, const struct ftrace_site *site,
		       const struct ftrace_glob *g);
/*
 * Calls fn for each site of that pattern and module (NULL: any) until it fails; the number of sites
 * or its error.
 */
int ftrace_sites_match(struct ftrace *ft, const struct ftrace_glob *function,
		       const struct ftrace_glob *module,
		       int (*fn)(void *arg, struct ftrace_site *site), void *arg);

void ftrace_print_available(struct ftrace *ft, bool addresses, FILE *out);
/* The same for those of one name in a page. */
int ftrace_page_match(struct ftrace_page *page, const char *name,
		      int (*fn)(void *arg, struct ftrace_site *site), void *arg);
/* Of all, those with one of the flags: enabled_functions, touched_functions. */
void ftrace_print_flagged(struct ftrace *ft, uint32_t flags, FILE *out);
void ftrace_print_info(struct ftrace *ft, FILE *out);

/* ---- again.c ---- */

/*
 * A program's DSO is gone, maybe for a while: its functions stay chosen. Who calls it needs no
 * `changed` for them.
 */
void ftrace_page_drop(struct model *m, struct ftrace_page *page);
/*
 * Of a DSO that was built anew: what is chosen of the old page is chosen of the new one by name. 0,
 * -ENOMEM
 */
int ftrace_page_inherit(struct ftrace *ft, const struct ftrace_page *old, struct ftrace_page *page);

/* ---- ops.c ---- */

/*
 * Enabled, each site that it traces counts one more. -ENOSPC: there are too many groups (groups.h).
 */
int ftrace_ops_enable(struct ftrace_ops *ops);
void ftrace_ops_disable(struct ftrace_ops *ops);
/*
 * The enabled ops that trace a site, newest first; returns how many there are, of which `max` are
 * stored.
 */
size_t ftrace_site_ops(struct ftrace *ft, uint64_t ip, struct ftrace_ops **out, size_t max);
/*
 * New sets in place of *h, for all ops that share them. They belong to *h
 * afterwards, the old ones are freed. 0; -ENOMEM, -ENOSPC: all is as it was, and they are the
 * caller's.
 */
int ftrace_hashes_replace(struct ftrace *ft, struct ftrace_hashes *h, struct ftrace_hash *filter,
			  struct ftrace_hash *notrace);
/* A page has come: what enabled ops trace of it is counted. */
int ftrace_ops_new_page(struct ftrace *ft, struct ftrace_page *page);

/* ---- filter.c ---- */

enum ftrace_file {
	FTRACE_FILE_FILTER,
	FTRACE_FILE_NOTRACE,
	FTRACE_FILE_GRAPH,
	FTRACE_FILE_GRAPH_NOTRACE
};

struct ftrace_edit;

/* Opened for writing: on a copy, or (truncate) on an empty set. NULL: out of memory. */
struct ftrace_edit *ftrace_edit_open(struct instance *inst, enum ftrace_file file, bool truncate);
/*
 * One write(2): one word; what was taken, or -errno. A word without an end waits for the next
 * write.
 */
ssize_t ftrace_edit_write(struct ftrace_edit *e, const char *text, size_t len);
/*
 * What was written so far is put in place already, without a word that has no
 * end: for FUSE, where close(2) returns before the file is released.
 */
void ftrace_edit_flush(struct ftrace_edit *e);
/* Takes the last word and puts the set in place. */
int ftrace_edit_close(struct ftrace_edit *e);
void ftrace_print_file(struct instance *inst, enum ftrace_file file, FILE *out);
/* Chooses what waited for a DSO of this name. */
int ftrace_mods_apply(struct ftrace *ft, const char *module);
/*
 * Adds to a set (or takes from it, where the pattern begins with !) the functions
 * that two patterns mean, module NULL: any. The texts are cut. How many there
 * were, or -ENOMEM.
 */
int ftrace_hash_match(struct ftrace *ft, struct ftrace_hash *h, char *function, char *module);
/* One that waits; front: before the others. 0, -ENOMEM */
int ftrace_mod_add(struct ftrace_instance *fi, enum ftrace_list which, const char *function,
		   const char *pattern, bool front);
void ftrace_mods_clear(struct ftrace_instance *fi, enum ftrace_list which);

/* ---- probe.c ---- */

/*
 * FUNCTION:COMMAND:PARAMETERS, cut at the colons (parameters NULL: none); a ! before the function
 * removes.
 */
int function_command_write(struct instance *inst, char *function, const char *command,
			   char *parameters);
void function_commands_print(struct ftrace_instance *fi, FILE *out);
/* Commands on functions of the old page are those of the new one, by name. 0, -ENOMEM */
int function_commands_inherit(struct ftrace_instance *fi, const struct ftrace_page *old,
			      struct ftrace_page *page);
void function_commands_destroy(struct ftrace_instance *fi);
/*
 * What a probe has for a site: NULL: nothing. The count that hits take down: NULL, it never ends.
 */
const struct function_command_site *function_command_find(const struct function_command *p,
							  uint64_t ip);
_Atomic int64_t *function_command_count(const struct function_command_site *s);
/* Its functions or batches have changed: tables and plans are recompiled. 0, -ENOMEM */
int function_command_publish(struct function_command *p);
/*
 * What hits find of it in a plan: the triggers of an arm, of which `room` are stored. How many
 * there are.
 */
uint32_t function_command_arms(const struct function_command *p, struct trigger_arm *out,
			       uint32_t room);

/* ---- graph.c ---- */

/*
 * Programs are told of depth, threshold, options, set_graph_function and the profile as they are
 * now. 0, -ENOMEM
 */
int ftrace_graph_publish(struct model *m);

/* ---- save.c (R4) ---- */

int ftrace_save_hash(struct ftrace_instance *fi, enum ftrace_list which);
int ftrace_save_mods(struct ftrace_instance *fi, enum ftrace_list which);
int ftrace_save_graph(struct ftrace *ft, enum ftrace_list which);
int ftrace_save_batch(struct function_command *p, struct ftrace_batch *b);
/* model_restore(): whether the saved text is one of these; then it is restored, *err says how. */
bool ftrace_restore(struct model *m, const struct restored *o, const char *path,
		    const char *text, int *err);
/* Used by it: one batch as function_command_describe() wrote it, with its counts as ref 0. */
int function_command_restore(struct ftrace_instance *fi, const struct restored *o,
			 const char *text);
void function_command_describe(const struct function_command *p, const struct ftrace_batch *b,
			       FILE *out);

#endif
