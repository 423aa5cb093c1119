/* SPDX-License-Identifier: MIT */
/*
 * ftrace.h - which ops trace which functions: the control plane of function tracing
 *
 *     model->ftrace --- page[] --- site[]            one page a DSO; sites sorted by address
 *         |
 *         +--- ops[]  (enabled, newest first)        a tracer of an instance, or a function command
 *         |      |
 *         |      +--> hashes { filter, notrace }     which sites; an instance's tracers share one
 *                                                    pair
 *         |
 *         +--- graph[2]                              set_graph_function, set_graph_notrace
 *
 *     instance->ftrace --- hashes, mods[2], function (its tracer's ops), commands (newest first)
 *
 * An ops traces a site that is in its filter (or the filter is empty) and not in its notrace. A
 * site counts the enabled ops that trace it; it is enabled while there is one. Each change of ops
 * or hashes ends in one call of `changed`, with the sites that other ops trace than before: there
 * the running programs are informed. ftrace_site_ops() lists the ops of a site in the order to call
 * them; groups.h compiles them into what a program does at a call.
 *
 * Life: ftrace_of() makes it at the first use. ftrace_sites_add() adds sites, ftrace_sites_remove()
 * removes them; all else is done by commands of the files (tracefs/ftrace_files.c). Hashes contain
 * addresses of the session (R19): they stay the same when a DSO is gone and comes again, or when
 * the server dies (R4).
 */
#ifndef TRACEFUSE_MODEL_FTRACE_FTRACE_H
#define TRACEFUSE_MODEL_FTRACE_FTRACE_H

#include "elf/sites.h"
#include "model/ftrace/hash.h"
#include "model/model.h"

struct event_file;
struct demangler;
struct ftrace_glob;

/* ---- Sites ---- */

enum {
	FTRACE_SITE_ENABLED	= 1u << 31,
	FTRACE_SITE_DEMANGLED	= 1u << 26,	/* another name follows its name */
	/*
	 * It cannot be traced: it matches nothing and is in no list but refused_functions, and
	 * keeps its index. FTRACE_SITE_COUNT has the reason: enum site_skip
	 */
	FTRACE_SITE_SKIPPED	= 1u << 25,
	FTRACE_SITE_TOUCHED	= 1u << 20,	/* it was enabled at least once */
	FTRACE_SITE_COUNT	= (1u << 19) - 1,	/* how many ops trace it */
};

/* 16 bytes, because there may be 500,000 sites. */
struct ftrace_site {
	uint64_t	ip;		/* of the session */
	uint32_t	name;		/* in page->names */
	uint32_t	flags;
};

struct ftrace_page {
	struct list_head node;
	struct ftrace	*ft;
	char		*module;	/* Printed in brackets, matched by :mod:; NULL: none */
	/* The name of a program, which is no module, but :mod: matches it, too; NULL: none */
	char		*file;
	uint32_t	nr;
	uint32_t	nr_skipped;	/* of these, not in available_filter_functions */
	struct ftrace_site *sites;
	char		*names;
	/* Open addressing: index + 1; made when a whole name is first looked for */
	uint32_t	*by_name;
	uint32_t	by_name_bits;
};

/* A site of a new DSO; the sites may come in any order. */
struct ftrace_new_site {
	uint64_t	ip;
	const char	*name;		/* it is copied */
	enum site_skip	skip;		/* SITE_GOOD: it can be traced */
	/* The name that patterns in quotes match; NULL: the C++ library finds it */
	const char	*demangled;
};

struct ftrace_change {
	struct ftrace_page *page;
	struct ftrace_site *site;
};

/* ---- Ops ---- */

enum ftrace_ops_kind {
	FTRACE_OPS_FUNCTION, FTRACE_OPS_GRAPH,	/* those of a tracer */
	FTRACE_OPS_COMMAND,
	FTRACE_OPS_TRIGGER,	/* Triggers on the event ftrace:function */
	FTRACE_OPS_PROFILE,
	FTRACE_OPS_STACK,	/* the stack tracer */
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
	/*
	 * For a latency tracer, only calls in a section: ARM_SECTION, and ARM_WAKEUP; 0: any call
	 */
	uint32_t	section;
	void		*priv;		/* the function command, or private to the tracer */
};

/* ---- Function commands: FUNCTION:COMMAND[:PARAMETERS] ---- */

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
 * The functions that one write added: they share the parameters. Counts lie in the data region,
 * where hits decrement them: one for each site, or one for all if the command is for an event.
 */
struct ftrace_batch {
	struct list_head node;
	struct event_file *target;	/* enable_event, disable_event */
	uint32_t	nr;		/* how many sites still have it */
	uint32_t	nr_counts;
	/* int64_t[nr_counts]; -1 never ends; 0: there are no counts */
	data_ref	counts_ref;
	_Atomic int64_t	*counts;
	/* struct trigger_sites: its sites, for hits; 0: hits do not need them */
	config_ref	table;
	size_t		table_size;
	uint64_t	saved;		/* R4 */
};

struct function_command_site {
	uint64_t	ip;
	struct ftrace_batch *batch;
	uint32_t	index;		/* its index in the counts */
};

/*
 * There is one for each command, and one for the command with a count. A site is in it at most
 * once.
 */
struct function_command {
	struct list_head node;
	enum ftrace_command command;
	bool		counted;
	struct ftrace_ops ops;
	struct ftrace_hashes hashes;
	struct function_command_site *sites;	/* sorted by address */
	uint32_t	nr;
	struct list_head batches;
};

/* ---- The whole ---- */

enum ftrace_list { FTRACE_FILTER, FTRACE_NOTRACE };

/*
 * "FUNCTION:mod:MODULE" for a DSO that is not there. The kernel cuts off a star at the module's end
 * when it prints it.
 */
struct ftrace_mod {
	struct list_head node;
	char		*function, *module;
	char		*pattern;	/* the module as it was written */
};

struct ftrace_instance {
	struct instance	*inst;
	struct ftrace_hashes hashes;
	/* What current_tracer enables; the tracer sets its kind and callback */
	struct ftrace_ops function;
	struct list_head mods[2];	/* by enum ftrace_list, newest first */
	/* For triggers on ftrace:function; enabled while there are any */
	struct ftrace_ops triggers;
	struct list_head commands;	/* newest first */
	/* struct hit_repeat[nr_cpus], made when func-no-repeats is first set; 0: none */
	data_ref	repeats;
	uint64_t	hashes_saved[2], mods_saved[2];	/* R4 */
};

/* What function_profile_enabled has. */
enum ftrace_profile_mode { FTRACE_PROFILE_OFF, FTRACE_PROFILE_ON, FTRACE_PROFILE_DETAILS };

/* The stack tracer (stack.h). */
struct ftrace_stack {
	bool		on;
	data_ref	deepest;	/* struct stack_deepest; 0: it was never on */
	uint64_t	written;	/* a size that is more than `deepest` holds; else 0 */
	struct ftrace_hashes hashes;	/* stack_trace_filter */
	struct ftrace_ops ops;		/* inst NULL: it was never on */
	uint64_t	saved, filter_saved;	/* R4 */
};

struct ftrace {
	struct model	*model;
	struct list_head pages;		/* in the order in which they came */
	uint32_t	nr_pages;
	uint64_t	nr_sites;
	struct list_head ops;		/* enabled, newest first */
	struct ftrace_hash *graph[2];	/* by enum ftrace_list */
	struct demangler *demangler;	/* NULL: no pattern in quotes was written so far */
	unsigned int	profile;	/* function_profile_enabled: enum ftrace_profile_mode */
	/* The profile of the last time that it was on; NULL: it never was */
	struct ftrace_profile *profile_data;
	config_ref	graph_config;	/* The struct graph_config that programs see; 0: none yet */
	struct ftrace_stack stack;
	struct ftrace_ops profiled;	/* With the hashes of an instance; inst NULL: of none */
	/* Programs can be traced: the files exist even without a site */
	bool		offered;
	uint64_t	graphs_saved[2], profile_saved;	/* R4 */
	struct ftrace_groups *groups;	/* groups.h; NULL: none yet */
	/*
	 * Called with the sites that other ops trace than before, for running programs. NULL: there
	 * are none.
	 */
	void		(*changed)(void *arg, const struct ftrace_change *list, size_t nr);
	/*
	 * The same for the sets that the graph tracer looks at itself (graph[]), and for `profile`.
	 */
	void		(*set)(void *arg);
	/*
	 * For a recording: called when anything that chooses its records has changed: the hashes of
	 * an instance, graph[], max_graph_depth, tracing_thresh. NULL: programs.
	 */
	void		(*chosen)(void *arg);
	/*
	 * Asks the programs that run for functions that nobody knows. True: some may come soon.
	 * NULL: there are no programs.
	 */
	bool		(*more)(void *arg);
	void		*changed_arg;
	/* Adds the sites at their first use: ftrace_need_sites(). NULL: none wait for that. */
	int		(*load)(void *arg);
	void		*load_arg;
	/* Why the running kernel has refused the present change; 0: it has not */
	int		kernel_err;
};

/* NULL: out of memory. */
struct ftrace *ftrace_of(struct model *m);
struct ftrace_instance *ftrace_of_instance(struct instance *inst);
void ftrace_destroy(struct model *m);
/* Called before the instance's buffers are freed: ends tracers and commands. */
void ftrace_instance_destroy(struct instance *inst);
/*
 * Whether the files of function tracing exist: there are sites, or some wait for their first use,
 * or `offered` is set.
 */
bool ftrace_present(const struct model *m);
/* Adds the sites that wait for their first use. 0, -ENOMEM, -EFBIG */
int ftrace_need_sites(struct ftrace *ft);

/* ---- sites.c ---- */

/*
 * Adds the functions of a DSO (module NULL: no brackets). Makes the choices that waited for it, and
 * enables the sites that ops trace. 0, -ENOMEM
 */
int ftrace_sites_add(struct model *m, const char *module, const struct ftrace_new_site *sites,
		     size_t nr, struct ftrace_page **out);
/*
 * The same for a program. It is printed without brackets, but choices may wait for a DSO of that
 * name.
 */
int ftrace_program_add(struct model *m, const char *file, const struct ftrace_new_site *sites,
		       size_t nr, struct ftrace_page **out);
static inline const char *ftrace_page_file(const struct ftrace_page *page)
{
	return page->module ? page->module : page->file;
}
/* The DSO is gone: its functions leave all sets. `changed` is not called for them. */
void ftrace_sites_remove(struct model *m, struct ftrace_page *page);
/* Frees a page that is in no list. */
void ftrace_page_free(struct ftrace_page *page);
/*
 * Adds functions from a text of lines "[ADDRESS ]NAME[ [MODULE]]" (available_filter_functions,
 * available_filter_functions_addrs). Without addresses, the line numbers are used. 0, -EINVAL,
 * -ENOMEM
 */
int ftrace_sites_load(struct model *m, const char *text, size_t len);
struct ftrace_site *ftrace_site_find(struct ftrace *ft, uint64_t ip, struct ftrace_page **page);
/* The function of an entry of site_answer.left, and the reason. NULL: the entry is none. */
const struct ftrace_site *ftrace_site_left(struct ftrace *ft, uint64_t left,
					   struct ftrace_page **page, enum site_skip *why);
/* The first site from `lo` to below `hi`; NULL: there is none. */
const struct ftrace_site *ftrace_site_within(struct ftrace *ft, uint64_t lo, uint64_t hi);
static inline const char *ftrace_site_name(const struct ftrace_page *page,
					   const struct ftrace_site *site)
{
	return page->names + site->name;
}
/* Prints "name" or "name [module]". An address that is no site is looked up in kallsyms. */
void ftrace_print_function(struct ftrace *ft, uint64_t ip, FILE *out);
/* Whether the pattern means the site, also by another name that its function has. */
bool ftrace_site_is_called(struct ftrace_page *page, struct ftrace_site *site,
			   const struct ftrace_glob *g);
/*
 * Calls fn for each site of that pattern and module (NULL: any), until fn fails. Returns the number
 * of sites, or fn's error.
 */
int ftrace_sites_match(struct ftrace *ft, const struct ftrace_glob *function,
		       const struct ftrace_glob *module,
		       int (*fn)(void *arg, struct ftrace_site *site), void *arg);
/* The same for the sites that cannot be traced. */
int ftrace_refused_match(struct ftrace *ft, const struct ftrace_glob *function,
			 const struct ftrace_glob *module,
			 int (*fn)(void *arg, struct ftrace_site *site), void *arg);

void ftrace_print_available(struct ftrace *ft, bool addresses, FILE *out);
/* The same for the sites of a page that have this name. */
int ftrace_page_match(struct ftrace_page *page, const char *name,
		      int (*fn)(void *arg, struct ftrace_site *site), void *arg);
/* Prints the sites that have one of the flags: enabled_functions, touched_functions. */
void ftrace_print_flagged(struct ftrace *ft, uint32_t flags, FILE *out);
void ftrace_print_info(struct ftrace *ft, FILE *out);
/* Prints a site as the lists have it: "name" or "name [module]". */
void ftrace_print_site(const struct ftrace_page *page, const struct ftrace_site *site, FILE *out);
/* Lets the server do other things, once in hundreds of the sites of a loop. */
void ftrace_sites_step(struct ftrace *ft, uint32_t i);

/* ---- refused.c ---- */

/* Prints the functions that cannot be traced, and why. */
void ftrace_print_refused(struct ftrace *ft, FILE *out);
/*
 * For a word of a file that no function matches which can be traced: says in error_log why those
 * that it means cannot be traced. Nothing is said if it means none. function and module (NULL: any)
 * are its patterns.
 */
void ftrace_refused_say(struct ftrace_instance *fi, const char *word, const char *function,
			const char *module);

/* ---- again.c ---- */

/*
 * A program's DSO is gone, maybe for a while: its functions stay chosen. `changed` is not called
 * for them.
 */
void ftrace_page_drop(struct model *m, struct ftrace_page *page);
/*
 * For a DSO that was built again: the functions that are chosen in the old page are chosen in the
 * new one, by name. 0, -ENOMEM
 */
int ftrace_page_inherit(struct ftrace *ft, const struct ftrace_page *old, struct ftrace_page *page);

/* ---- ops.c ---- */

/*
 * Enables the ops: each site that it traces counts one more. -ENOSPC: there are too many groups
 * (groups.h).
 */
int ftrace_ops_enable(struct ftrace_ops *ops);
void ftrace_ops_disable(struct ftrace_ops *ops);
/*
 * The enabled ops that trace a site, newest first. Returns how many there are; at most `max` are
 * stored.
 */
size_t ftrace_site_ops(struct ftrace *ft, uint64_t ip, struct ftrace_ops **out, size_t max);

/* A loop over sites prefetches, for the site that is so many behind, where the sets have it. */
enum { FTRACE_AHEAD = 16 };
/* h: NULL: none */
void ftrace_hashes_prefetch(const struct ftrace_hashes *h, uint64_t ip);
/*
 * Replaces *h by new sets, for all ops that share them. Afterwards *h owns the new sets, and the
 * old ones are freed. 0; -ENOMEM, -ENOSPC: nothing is changed, and the caller owns the new sets.
 */
int ftrace_hashes_replace(struct ftrace *ft, struct ftrace_hashes *h, struct ftrace_hash *filter,
			  struct ftrace_hash *notrace);
/* A new page was added: counts the enabled ops that trace its sites. */
int ftrace_ops_new_page(struct ftrace *ft, struct ftrace_page *page);

/* ---- filter.c ---- */

enum ftrace_file {
	FTRACE_FILE_FILTER,
	FTRACE_FILE_NOTRACE,
	FTRACE_FILE_STACK,	/* stack_trace_filter */
	FTRACE_FILE_GRAPH,
	FTRACE_FILE_GRAPH_NOTRACE
};

struct ftrace_edit;

/* Opens the file for writing: on a copy, or (truncate) on an empty set. NULL: out of memory. */
struct ftrace_edit *ftrace_edit_open(struct instance *inst, enum ftrace_file file, bool truncate);
/*
 * One write(2), which takes one word. Returns how much was read, or -errno. A word without an end
 * continues in the next write.
 *
 * `patient`: if no function has the word's name, -EINPROGRESS is returned as long as programs that
 * run may have it. Nothing was taken then, and the same write is to be made again soon.
 */
ssize_t ftrace_edit_write(struct ftrace_edit *e, const char *text, size_t len, bool patient);
/*
 * Puts what was written so far in place, without a word that has no end: for FUSE, where close(2)
 * returns before the file is released.
 */
void ftrace_edit_flush(struct ftrace_edit *e);
/* Takes the last word and puts the set in place. */
int ftrace_edit_close(struct ftrace_edit *e);
/*
 * edit: of the open file that is read; NULL: it is open for reading only. 0 or -ENOMEM: the text is
 * not whole. The same holds for function_commands_print().
 */
int ftrace_print_file(struct instance *inst, enum ftrace_file file, const struct ftrace_edit *edit,
		      FILE *out);
/* Makes the choices that waited for a DSO of this name. */
int ftrace_mods_apply(struct ftrace *ft, const char *module);
/*
 * Adds to a set (or removes from it, if the pattern begins with !) the functions that two patterns
 * match; module NULL: any. The texts are changed. Returns how many there were, or -ENOMEM.
 */
int ftrace_hash_match(struct ftrace *ft, struct ftrace_hash *h, char *function, char *module);
/* Adds a choice that waits; front: before the others. 0, -ENOMEM */
int ftrace_mod_add(struct ftrace_instance *fi, enum ftrace_list which, const char *function,
		   const char *pattern, bool front);
void ftrace_mods_clear(struct ftrace_instance *fi, enum ftrace_list which);

/* ---- command.c ---- */

/*
 * FUNCTION:COMMAND:PARAMETERS, split at the colons (parameters NULL: none). A ! before the function
 * removes.
 */
int function_command_write(struct instance *inst, char *function, const char *command,
			   char *parameters);
bool function_command_exists(const char *command);
/* Prints a line for each function of each command, but not the first `left_out` lines. */
int function_commands_print(struct ftrace_instance *fi, uint32_t left_out, FILE *out);
/*
 * Function commands on the old page's functions are put on those of the new one, by name. 0,
 * -ENOMEM
 */
int function_commands_inherit(struct ftrace_instance *fi, const struct ftrace_page *old,
			      struct ftrace_page *page);
void function_commands_destroy(struct ftrace_instance *fi);
/*
 * The site of a function command; NULL: it is not for this function. And its count, which hits
 * decrement; NULL: it never ends.
 */
const struct function_command_site *function_command_find(const struct function_command *p,
							  uint64_t ip);
_Atomic int64_t *function_command_count(const struct function_command_site *s);
/* Functions or batches of a command have changed: tables and plans are recompiled. 0, -ENOMEM */
int function_command_publish(struct function_command *p);
/*
 * The triggers of a function command, for an arm of a plan. Stores at most `room`, and returns how
 * many there are.
 */
uint32_t function_command_arms(const struct function_command *p, struct trigger_arm *out,
			       uint32_t room);

/* ---- graph.c ---- */

/*
 * Publishes depth, threshold, options, set_graph_function and the profile for programs. 0, -ENOMEM
 */
int ftrace_graph_publish(struct model *m);

/* ---- save.c (R4) ---- */

int ftrace_save_hash(struct ftrace_instance *fi, enum ftrace_list which);
int ftrace_save_mods(struct ftrace_instance *fi, enum ftrace_list which);
int ftrace_save_graph(struct ftrace *ft, enum ftrace_list which);
int ftrace_save_stack_filter(struct ftrace *ft);
int ftrace_save_batch(struct function_command *p, struct ftrace_batch *b);
/*
 * Called by model_restore(): whether it is a saved text of function tracing. It is then restored,
 * and *err is the result.
 */
bool ftrace_restore(struct model *m, const struct restored *o, const char *path,
		    const char *text, int *err);
/*
 * Restores one batch that function_command_describe() wrote, with its counts as ref 0. Called by
 * ftrace_restore().
 */
int function_command_restore(struct ftrace_instance *fi, const struct restored *o,
			 const char *text);
void function_command_describe(const struct function_command *p, const struct ftrace_batch *b,
			       FILE *out);

#endif
