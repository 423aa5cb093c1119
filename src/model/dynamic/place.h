/* SPDX-License-Identifier: MIT */
/*
 * place.h - probes at a place in code: kprobes at a function of the session, uprobes in a file
 *
 *     p:GROUP/NAME [MODULE:]FUNCTION[+OFFSET] ARGUMENTS             kprobe.c
 *     r:GROUP/NAME PATH:OFFSET ARGUMENTS                            uprobe.c
 *          -> place with its arguments
 *          -> an event of system GROUP, which several places may share   place.c
 *
 * The arguments are those of the kernel; probe_fetch.c parses them. An event of that name and
 * format that a recording has becomes the probe's own, with its records.
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_PLACE_H
#define TRACEFUSE_MODEL_DYNAMIC_PLACE_H

#include "elf/file.h"
#include "model/dynamic/probe.h"

struct wanted_point;

struct probe_place {
	struct probe		probe;
	struct lookup_node	node;		/* in model->places: by place_kind.hash */
	bool			is_return;
	/* The probe has a recorded event: what the place names was on the traced machine */
	bool			recorded;
	/* A program, or its file, has refused it since its event was armed: that was said */
	bool			refused;
	/* What running programs are to have of it (sources/program/points.h); NULL: nothing */
	struct wanted_point	*point;
	uint64_t		order;		/* of the definition */
	/* kprobe */
	/* [MODULE:]FUNCTION; NULL: an address. A uprobe: the function that the command named */
	char			*symbol;
	unsigned int		max_active;	/* of a return probe; 0: it waits for a module */
	uint64_t		address;	/* of the session; 0: not known */
	/* uprobe */
	char			*path;
	struct elf_status	file;		/* when the command named it */
	uint64_t		counter;	/* offset of the reference counter; 0: none */
	uint64_t		entry;		/* address of `symbol`, as the file has it */
	/* Of both: behind the symbol, or in the file */
	uint64_t		offset;
};

static inline struct probe_place *place_of(const struct dynamic_event *d)
{
	return list_entry(d, struct probe_place, probe.dyn);
}

/* What a kind of place does by itself. */
struct place_kind {
	const struct dynamic_kind *kind;
	const char	*system;	/* "kprobes" */
	/* Reads words 0 and 1. -ECANCELED: they are for another kind. */
	int		(*parse)(struct probe_place *p, struct probe_log *log);
	/* Copies of the words behind the place, as they are parsed. NULL: the words themselves */
	int		(*expand)(struct probe_place *p, struct probe_log *log, char **texts);
	/* Whether it cannot be beside a probe that is there. May be NULL, as the next one */
	bool		(*conflicts)(const struct probe_place *p, struct model *m);
	/* Checks the place itself, when all else is right. */
	int		(*check)(struct probe_place *p, struct probe_log *log);
	bool		(*same)(const struct probe_place *a, const struct probe_place *b);
	uint64_t	(*hash)(const struct probe_place *p);	/* Equal for the same places */
};

/* NULL: the event is not one of a place. */
struct probe_place *place_of_event(const struct event *e);
/* Calls fn for each place that has the event. */
void place_each(struct event *e, void (*fn)(void *arg, struct probe_place *p), void *arg);
/* Whether the event's plan counts its hits. Programs that plant a probe count by themselves. */
bool place_counts_in_plan(const struct event *e);
/* How often the event was hit while it was armed. Places that share an event share the number. */
uint64_t place_hits(const struct probe_place *p);

/*
 * The names in word 0 at `text`, behind the colon (NULL: there is none). If the event has no name
 * there, it is `made`.
 */
int place_parse_names(struct probe_place *p, struct probe_log *log, const char *text,
		      const char *system, const char *made);
/* Carries out a command for a new place. */
int place_create(struct model *m, const struct place_kind *kind, const char *command,
		 unsigned int id);

/* Parts of dynamic_kind. */
unsigned int place_nr_fields(const struct dynamic_event *d);
void place_format_field(const struct dynamic_event *d, unsigned int i, FILE *out);
void place_format_text(const struct dynamic_event *d, unsigned int i, FILE *out);
void place_format_arguments(const struct dynamic_event *d, unsigned int i, FILE *out);
int place_remove(struct dynamic_event *d);
void place_destroy(struct dynamic_event *d);

typedef void (*place_print_fn)(const struct probe_place *p, FILE *out);

/* As dynamic_kind.matches. `print` prints the place as in a command. */
int place_matches(const struct probe_place *p, place_print_fn print, const char *system,
		  const char *event, char *const *words, unsigned int nr_words);

/* The line that lists the probe, without its newline. The caller frees; NULL: no memory. */
char *place_line(const struct probe_place *p);
/*
 * Prints "probe SYSTEM:NAME" for each armed event of a place that nothing hits, for doctor: a
 * recording does not have it, or no program has its function. error_log does not have it, because
 * its text is the kernel's.
 */
void place_print_idle(struct model *m, FILE *out);

/* Carry out a line of the files kprobe_events and uprobe_events. */
int kprobe_command(struct model *m, const char *line);
/* A function that was not known when the probe was made. False: it still is not. */
bool kprobe_resolve(struct probe_place *p);
int uprobe_command(struct model *m, const char *line);
/* Whether the line may be a command for a probe in a file. */
int uprobe_names_file(struct model *m, const char *line);
/* In a process of its own: only asks what such a command asks of its file (uprobe_file.h). 0 */
int uprobe_ask(struct model *m, const char *line);
/* Print the files kprobe_profile and uprobe_profile. */
void kprobe_print_profile(struct model *m, FILE *out);
void uprobe_print_profile(struct model *m, FILE *out);

#endif
