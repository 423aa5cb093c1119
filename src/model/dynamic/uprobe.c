/* SPDX-License-Identifier: MIT */
/*
 * uprobe.c - p|r[:[GROUP/][NAME]] PATH:OFFSET[%return][(COUNTER)] [ARGUMENTS]
 *
 * The kernel knows offsets only. tracefuse takes a function's name instead, too: PATH:SYMBOL[+OFF].
 * At the entry of such a function $argN stands for a register or a word of the stack
 * (uprobe_args.c). The probe is listed with its offset and these registers.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/file.h"
#include "model/dynamic/place.h"
#include "model/dynamic/uprobe_args.h"
#include "model/dynamic/uprobe_file.h"
#include "model/errlog.h"
#include "model/text.h"

/* The parts of word 1, in a copy of it. */
struct place_word {
	char	*text;		/* the path: the copy itself */
	char	*where;		/* OFFSET, or SYMBOL[+OFF] */
	bool	by_name;
};

/* ---- the file ---- */

static int find_file(struct probe_place *p, struct probe_log *log)
{
	struct uprobe_status st;
	int err;

	/* A restored probe stays, also if its file is gone. */
	if (log->model->restoring)
		return 0;
	err = uprobe_file_status(log->model, p->path, &st);
	/* What a recorded event probes was on another machine. */
	if (p->recorded) {
		if (!err && st.is_regular)
			p->file = st.is;
		return 0;
	}
	if (err > 0)
		return uprobe_file_unanswered(log);
	if (err)
		return probe_wrong(log, err, 0, "Failed to find the given file");
	if (!st.is_regular)
		return probe_wrong(log, -EINVAL, 0, "Not a regular file");
	p->file = st.is;
	return 0;
}

/* ---- word 1 ---- */

static const char *why_no_function(int err)
{
	return err == -ENOENT ? "The file has no function of that name"
			      : "The functions of the file cannot be read";
}

static bool begins_symbol(char c)
{
	return c == '_' || (text_is_alnum(c) && !text_is_digit(c));
}

/* The kernel takes no names, so it does not say what is wrong with one. */
static int check_named(struct probe_log *log, const char *path)
{
	struct uprobe_status st;
	const int err = uprobe_file_status(log->model, path, &st);

	if (err > 0)
		return uprobe_file_unanswered(log);
	return err || !st.is_regular ? -ECANCELED : 0;
}

/* -ECANCELED: it is no place in a file. */
static int split_place(struct probe_log *log, struct place_word *out)
{
	const char *word = log->words[1];
	char *colon;

	if (!strchr(word, '/'))
		return -ECANCELED;
	out->text = strdup(word);
	if (!out->text)
		return -ENOMEM;
	colon = strrchr(out->text, ':');
	if (!colon || (!text_is_digit(colon[1]) && !begins_symbol(colon[1])))
		return -ECANCELED;
	*colon = '\0';
	out->where = colon + 1;
	out->by_name = !text_is_digit(*out->where);
	return out->by_name && !log->model->of_programs ? check_named(log, out->text) : 0;
}

static size_t place_at(const struct place_word *w, const char *where)
{
	return (size_t)(where - w->text);
}

/* Cuts "(COUNTER)" off. */
static int cut_counter(struct probe_place *p, const struct probe_log *log,
		       const struct place_word *w)
{
	char *open = strchr(w->where, '('), *close;
	int err;

	if (!open)
		return 0;
	close = strchr(open, ')');
	if (!close)
		return probe_wrong(log, -EINVAL, place_at(w, open + strlen(open)),
				   "Reference counter brace is not closed");
	if (close[1])
		return probe_wrong(log, -EINVAL, place_at(w, close + 1),
				   "Reference counter has wrong suffix");
	*open++ = *close = '\0';
	err = text_to_u64(open, 0, &p->counter);
	return err ? probe_wrong(log, err, place_at(w, open), "Invalid reference counter offset")
		   : 0;
}

/* Cuts "%return" off. */
static int cut_return(struct probe_place *p, const struct probe_log *log,
		      const struct place_word *w)
{
	char *suffix = strchr(w->where, '%');

	if (!suffix)
		return 0;
	if (strcmp(suffix, "%return"))
		return probe_wrong(log, -EINVAL, place_at(w, suffix),
				   "Invalid probed address suffix");
	*suffix = '\0';
	p->is_return = true;
	return 0;
}

static bool is_resolver(const char *name)
{
	const size_t len = strlen(name), end = sizeof(ELF_RESOLVER) - 1;

	return len > end && !strcmp(name + len - end, ELF_RESOLVER);
}

/* At the resolver, a probe would never be hit by a call of the function. */
static int refuse_choice(const struct probe_place *p, const struct probe_log *log,
			 const struct place_word *w, const struct elf_function *f)
{
	char *choices = uprobe_file_choices(log->model, p->path, f), *text;
	const int n = asprintf(&text, "Each program chooses the code of this function (IFUNC)%s%s",
			       choices ? ", one of: " : "", choices ? choices : "");
	int err;

	free(choices);
	if (n < 0)
		return -ENOMEM;
	err = probe_wrong(log, -EINVAL, place_at(w, w->where), text);
	free(text);
	return err;
}

/* The kernel takes no names, so on recordings nothing is said of one, as there. */
static int wrong_name(const struct probe_log *log, const struct place_word *w, const char *at,
		      const char *text)
{
	return log->model->of_programs ? probe_wrong(log, -EINVAL, place_at(w, at), text)
				       : -ECANCELED;
}

/* Asks for the function, whose name ends where an offset or a suffix begins. */
static int find_function(const struct probe_place *p, struct probe_log *log,
			 const struct place_word *w, struct elf_function *out)
{
	char *end = w->where + strcspn(w->where, "+%(");
	const char kept = *end;
	int err;

	*end = '\0';
	err = uprobe_file_function(log->model, p->path, w->where, out);
	*end = kept;
	if (err > 0)
		return uprobe_file_unanswered(log);
	return err ? wrong_name(log, w, w->where, why_no_function(err)) : 0;
}

/* SYMBOL[+OFF] */
static int find_symbol(struct probe_place *p, struct probe_log *log, const struct place_word *w)
{
	char *plus = strchr(w->where, '+');
	struct elf_function function;
	uint64_t more = 0;
	int err = find_function(p, log, w, &function);

	if (err)
		return err;
	if (plus && text_to_u64(plus + 1, 0, &more))
		return wrong_name(log, w, plus + 1, "Invalid uprobe offset");
	if (plus)
		*plus = '\0';
	if (function.chooses && !is_resolver(w->where))
		return refuse_choice(p, log, w, &function);
	if (!more && !p->is_return)
		p->probe.flags |= PROBE_ENTRY;
	p->entry = function.address;
	p->symbol = strdup(w->where);
	if (!p->symbol)
		return -ENOMEM;
	p->offset = function.offset + more;
	return 0;
}

/* What is wrong with a suffix is said only if the file has the function. */
static int check_name(const struct probe_place *p, struct probe_log *log,
		      const struct place_word *w)
{
	struct elf_function function;

	return w->by_name && strpbrk(w->where, "%(") ? find_function(p, log, w, &function) : 0;
}

static int parse_offset(struct probe_place *p, struct probe_log *log, const struct place_word *w)
{
	int err;

	if (w->by_name)
		return find_symbol(p, log, w);
	err = text_to_u64(w->where, 0, &p->offset);
	return err ? probe_wrong(log, err, place_at(w, w->where), "Invalid uprobe offset") : 0;
}

/* The name of an event that the command does not name: always with a p. */
static void make_name(const struct probe_place *p, char *name, size_t size)
{
	const char *slash = strrchr(p->path, '/');
	const char *file = slash ? slash + 1 : p->path;

	snprintf(name, size, "p_%.*s_0x%llx", (int)strcspn(file, ".-_"), file,
		 (unsigned long long)p->offset);
}

/* Whether the recording has an event of the name that is made for the place. */
static bool made_is_recorded(struct probe_place *p, struct model *m, const char *where)
{
	char made[PROBE_NAME_ROOM];

	p->offset = strtoull(where, NULL, 0);
	make_name(p, made, sizeof(made));
	return model_recorded_event(m, "uprobes", made);
}

static int parse_place(struct probe_place *p, struct probe_log *log, struct place_word *w)
{
	const char *names = log->words[0][1] == ':' ? log->words[0] + 2 : NULL;
	char made[PROBE_NAME_ROOM];
	int err = split_place(log, w);

	if (err)
		return err;
	log->at = 1;
	p->path = strdup(w->text);
	if (p->path && !names)
		p->recorded = made_is_recorded(p, log->model, w->where);
	err = p->path ? find_file(p, log) : -ENOMEM;
	if (!err)
		err = check_name(p, log, w);
	if (!err)
		err = cut_counter(p, log, w);
	if (!err)
		err = cut_return(p, log, w);
	if (!err)
		err = parse_offset(p, log, w);
	if (err)
		return err;
	if (p->is_return)
		p->probe.flags |= PROBE_RETURN;
	make_name(p, made, sizeof(made));
	return place_parse_names(p, log, names, "uprobes", made);
}

static int uprobe_parse(struct probe_place *p, struct probe_log *log)
{
	struct place_word w = { 0 };
	int err;

	log->subsystem = "trace_uprobe";
	p->is_return = *log->words[0] == 'r';
	p->probe.flags = PROBE_OF_FILE;
	if (log->nr_words - 2 > PROBE_ARGS_MAX)
		return -E2BIG;
	err = parse_place(p, log, &w);
	free(w.text);
	return err;
}

/* ---- the whole ---- */

static bool same_file(const struct probe_place *a, const struct probe_place *b)
{
	if (a->file.inode && b->file.inode)
		return a->file.inode == b->file.inode && a->file.device == b->file.device;
	return !strcmp(a->path, b->path);
}

static bool uprobe_is_same(const struct probe_place *a, const struct probe_place *b)
{
	return same_file(a, b) && a->offset == b->offset;
}

/* The file does not take part: where its numbers are not known, its path is compared. */
static uint64_t uprobe_hash(const struct probe_place *p)
{
	return lookup_hash(0, &p->offset, sizeof(p->offset));
}

/* All probes of a place have the same reference counter. */
static bool uprobe_conflicts(const struct probe_place *p, struct model *m)
{
	struct probe_place *other;

	lookup_each(other, &m->places, uprobe_hash(p), struct probe_place, node)
		if (other->probe.dyn.kind == &uprobe_kind && uprobe_is_same(other, p) &&
		    other->counter != p->counter)
			return true;
	return false;
}

/* The recording has an event of that name, but of another probe: then the file has to be here. */
static int uprobe_check(struct probe_place *p, struct probe_log *log)
{
	if (p->file.inode || log->model->restoring)
		return 0;
	log->at = 1;
	return probe_wrong(log, -ENOENT, 0, "Failed to find the given file");
}

static const struct place_kind uprobe_place = {
	.kind	= &uprobe_kind,
	.system	= "uprobes",
	.parse	= uprobe_parse,
	.expand	= uprobe_args_expand,
	.conflicts = uprobe_conflicts,
	.check	= uprobe_check,
	.same	= uprobe_is_same,
	.hash	= uprobe_hash,
};

static int uprobe_create(struct model *m, const char *command, unsigned int id)
{
	char *all = NULL;
	int err = uprobe_args_all(m, command, &all);

	if (!err)
		err = place_create(m, &uprobe_place, all ? all : command, id);
	free(all);
	return err;
}

int uprobe_command(struct model *m, const char *line)
{
	return dynamic_command_of(m, line, &uprobe_kind);
}

int uprobe_names_file(struct model *m, const char *line)
{
	size_t len;

	(void)m;
	line += strspn(line, " \t");
	if (*line != 'p' && *line != 'r')
		return 0;
	line += strcspn(line, " \t");
	line += strspn(line, " \t");
	len = strcspn(line, " \t\n");
	return memchr(line, '/', len) && memchr(line, ':', len);
}

int uprobe_ask(struct model *m, const char *line)
{
	if (uprobe_names_file(m, line))
		uprobe_create(m, line, 0);
	return 0;
}

static void uprobe_print_place(const struct probe_place *p, FILE *out)
{
	fprintf(out, "%s:0x%016llx", p->path, (unsigned long long)p->offset);
	if (p->counter)
		fprintf(out, "(0x%llx)", (unsigned long long)p->counter);
}

static void uprobe_print(const struct dynamic_event *d, FILE *out)
{
	const struct probe_place *p = place_of(d);

	fprintf(out, "%c:%s/%s ", p->is_return ? 'r' : 'p', p->probe.group, p->probe.name);
	uprobe_print_place(p, out);
	probe_print_args(&p->probe, out);
	fputc('\n', out);
}

void uprobe_print_profile(struct model *m, FILE *out)
{
	const struct dynamic_event *d;

	list_each(d, &m->dynamic_events, node)
		if (d->kind == &uprobe_kind)
			fprintf(out, "  %s %-44s %15llu\n", place_of(d)->path, probe_of(d)->name,
				(unsigned long long)place_hits(place_of(d)));
}

static int uprobe_matches(const struct dynamic_event *d, const char *system, const char *event,
			  char *const *words, unsigned int nr_words)
{
	return place_matches(place_of(d), uprobe_print_place, system, event, words, nr_words);
}

const struct dynamic_kind uprobe_kind = {
	.create		= uprobe_create,
	.print		= uprobe_print,
	.nr_fields	= place_nr_fields,
	.format_field	= place_format_field,
	.format_text	= place_format_text,
	.format_arguments = place_format_arguments,
	.is_busy	= probe_is_enabled,
	.remove		= place_remove,
	.destroy	= place_destroy,
	.matches	= uprobe_matches,
};
