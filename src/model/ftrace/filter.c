/* SPDX-License-Identifier: MIT */
/*
 * filter.c - the files that choose functions: words, copies, and choices that wait for their DSO
 *
 * set_ftrace_filter, set_ftrace_notrace, set_graph_function, set_graph_notrace and
 * stack_trace_filter. A write takes one word. Each word changes the copy that the open file has.
 * Function commands (command.c) and choices that wait for a DSO take effect at once.
 *
 * A C++ function's name contains blanks and colons. In quotes, "ns::f(int)":traceoff, they are part
 * of the pattern, which is compared only with demangled names.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/errlog.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/text.h"

/* The kernel's functions have short names, those of C++ may have long ones. */
enum { WORD_MAX = 4096, KERNEL_WORD_MAX = 671 };

struct ftrace_edit {
	struct ftrace	*ft;
	struct ftrace_instance *fi;
	enum ftrace_file file;
	struct ftrace_hash *hash;
	bool		goes_on;	/* the word does not end in this write */
	bool		quoted;		/* the position is inside quotes */
	bool		written;	/* words were read since the set was last put in place */
	bool		placed;		/* the set was put in place at least once */
	size_t		len;
	char		word[WORD_MAX];
};

static bool is_graph(enum ftrace_file file)
{
	return file >= FTRACE_FILE_GRAPH;
}

static enum ftrace_list list_of(enum ftrace_file file)
{
	return file == FTRACE_FILE_NOTRACE || file == FTRACE_FILE_GRAPH_NOTRACE ? FTRACE_NOTRACE
										: FTRACE_FILTER;
}

/* Only the files of an instance have choices that wait for a DSO. */
static bool has_mods(enum ftrace_file file)
{
	return file == FTRACE_FILE_FILTER || file == FTRACE_FILE_NOTRACE;
}

static struct ftrace_hash **ftrace_filter_hash_of(struct ftrace *ft, struct ftrace_instance *fi,
						  enum ftrace_file file)
{
	if (is_graph(file))
		return &ft->graph[list_of(file)];
	if (file == FTRACE_FILE_STACK)
		return &ft->stack.hashes.filter;
	return list_of(file) == FTRACE_FILTER ? &fi->hashes.filter : &fi->hashes.notrace;
}

/* ---- Patterns ---- */

struct entering {
	struct ftrace_hash *hash;
	bool		not;
	bool		symbols;	/* an index names no function */
	int		removed;
	/* Matched, and not in the set yet: meanwhile their slots are prefetched */
	uint64_t	added[FTRACE_AHEAD];
	uint32_t	nr;
};

static int enter_added(struct entering *e)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < e->nr; i++)
		err = ftrace_hash_add(e->hash, e->added[i]);
	e->nr = 0;
	return err;
}

static int ftrace_filter_enter(void *arg, struct ftrace_site *site)
{
	struct entering *e = arg;

	if (e->not) {
		e->removed += ftrace_hash_remove(e->hash, site->ip);
		return 0;
	}
	ftrace_hash_prefetch(e->hash, site->ip);
	e->added[e->nr++] = site->ip;
	return e->nr == FTRACE_AHEAD ? enter_added(e) : 0;
}

/* The site with that number among those of the page that are listed; there is one. */
static struct ftrace_site *listed_site(const struct ftrace_page *page, uint64_t index)
{
	struct ftrace_site *site = page->sites;

	if (!page->nr_skipped)
		return &site[index];
	for (;; site++)
		if (!(site->flags & FTRACE_SITE_SKIPPED) && !index--)
			return site;
}

/* Functions are counted from 1, in the order of available_filter_functions. */
static int enter_index(struct ftrace *ft, struct entering *e, const char *text)
{
	struct ftrace_page *page;
	uint64_t index;
	int err;

	if (text_to_u64(text, 0, &index) || !index)
		return 0;
	index--;
	list_each(page, &ft->pages, node) {
		const uint32_t listed = page->nr - page->nr_skipped;

		if (index < listed) {
			err = ftrace_filter_enter(e, listed_site(page, index));
			return err ? err : 1;
		}
		index -= listed;
	}
	return 0;
}

/* How many match, or -errno. */
static int enter_matches(struct ftrace *ft, struct entering *e, const struct ftrace_glob *f,
			 const struct ftrace_glob *module)
{
	const int n = f->type == FTRACE_GLOB_INDEX && !e->symbols
			      ? enter_index(ft, e, f->text)
			      : ftrace_sites_match(ft, f, module, ftrace_filter_enter, e);
	const int err = enter_added(e);

	return n < 0 || !err ? n : err;
}

int ftrace_hash_match(struct ftrace *ft, struct ftrace_hash *h, char *function, char *module)
{
	struct ftrace_glob f, m;
	struct entering e = { .hash = h };

	ftrace_glob_parse(&f, function);
	if (module)
		ftrace_glob_parse(&m, module);
	e.not = f.not;
	return enter_matches(ft, &e, &f, module ? &m : NULL);
}

/*
 * As in the kernel: an index names no function here, and a function to remove must be in the set.
 */
static int graph_word(struct ftrace_edit *e, char *word)
{
	struct entering in = { .hash = e->hash, .symbols = true };
	struct ftrace_glob g;
	int n;

	ftrace_glob_parse(&g, word);
	in.not = g.not;
	n = enter_matches(e->ft, &in, &g, NULL);
	if (n < 0)
		return n;
	return (g.not ? in.removed : n) ? 0 : -EINVAL;
}

/* ---- Choices that wait for their DSO ---- */

static void mod_free(struct ftrace_mod *mod)
{
	list_del(&mod->node);
	free(mod->function);
	free(mod->module);
	free(mod->pattern);
	free(mod);
}

void ftrace_mods_clear(struct ftrace_instance *fi, enum ftrace_list which)
{
	struct ftrace_mod *mod, *next;

	list_each_safe(mod, next, &fi->mods[which], node)
		mod_free(mod);
}

int ftrace_mod_add(struct ftrace_instance *fi, enum ftrace_list which, const char *function,
		   const char *pattern, bool front)
{
	struct ftrace_mod *mod = calloc(1, sizeof(*mod));
	struct ftrace_glob g;

	if (!mod)
		return -ENOMEM;
	list_init(&mod->node);
	mod->function = strdup(function);
	mod->module = strdup(pattern);
	mod->pattern = strdup(pattern);
	if (!mod->function || !mod->module || !mod->pattern) {
		mod_free(mod);
		return -ENOMEM;
	}
	ftrace_glob_parse(&g, mod->module);
	if (front)
		list_add(&mod->node, &fi->mods[which]);
	else
		list_add_tail(&mod->node, &fi->mods[which]);
	return 0;
}

/* "!FUNCTION:mod:MODULE": removes the choices that were written so, or with * all of the module. */
static int mod_remove(struct ftrace_instance *fi, enum ftrace_list which, const char *function,
		      const char *module)
{
	struct ftrace_mod *mod, *next;
	int err = -EINVAL;

	list_each_safe(mod, next, &fi->mods[which], node) {
		if (strcmp(mod->module, module) ||
		    (strcmp(function, "*") && strcmp(mod->function, function)))
			continue;
		mod_free(mod);
		err = 0;
	}
	return err;
}

static bool module_exists(struct ftrace *ft, const char *module)
{
	struct ftrace_page *page;

	list_each(page, &ft->pages, node)
		if (ftrace_page_file(page) && !strcmp(ftrace_page_file(page), module))
			return true;
	return false;
}

static int mod_add(struct ftrace_instance *fi, enum ftrace_list which, const char *function,
		   const char *pattern)
{
	int err = ftrace_mod_add(fi, which, function, pattern, true);

	if (err)
		return err;
	err = ftrace_save_mods(fi, which);
	if (err)
		mod_free(list_entry(fi->mods[which].next, struct ftrace_mod, node));
	return err;
}

/*
 * No function of the module exists yet. `cut`: the module as it is printed, `pattern`: as it was
 * written.
 */
static int mod_wait(struct ftrace_edit *e, const char *function, const char *cut,
		    const char *pattern)
{
	const enum ftrace_list which = list_of(e->file);
	int err;

	if (*function != '!')
		return module_exists(e->ft, cut) ? -EINVAL
						 : mod_add(e->fi, which, function, pattern);
	err = mod_remove(e->fi, which, function + 1, cut);
	return err ? err : ftrace_save_mods(e->fi, which);
}

/* Programs that begin later make places for the functions of a library that is named. */
static int library_ask(const struct ftrace_edit *e, const char *function, const char *pattern)
{
	if (!pattern || !*pattern || *function == '!' || list_of(e->file) != FTRACE_FILTER)
		return 0;
	return session_libraries_asked(e->ft->model->session, pattern);
}

static int mod_word(struct ftrace_edit *e, const char *function, char *module)
{
	char *copy = strdup(function), *pattern = module ? strdup(module) : NULL;
	int n = -ENOMEM;

	if (copy && (pattern || !module))
		n = library_ask(e, function, pattern);
	if (!n)
		n = ftrace_hash_match(e->ft, e->hash, copy, module);
	/* For a missing name of a module the kernel's answer is ENOMEM. */
	if (!n)
		n = module	       ? mod_wait(e, function, module, pattern)
		    : *function == '!' ? -EINVAL
				       : -ENOMEM;
	free(copy);
	free(pattern);
	return n < 0 ? n : 0;
}

/* Whether it waits for this module. A pattern continues to wait for others. */
static bool mod_wants(const struct ftrace_mod *mod, const char *module, bool *stays)
{
	char *pattern = strdup(mod->pattern);
	struct ftrace_glob g;
	bool wants;

	if (!pattern)
		return false;
	ftrace_glob_parse(&g, pattern);
	*stays = g.type != FTRACE_GLOB_FULL || g.not;
	wants = *stays ? g.not != ftrace_glob_match(&g, module) : !strcmp(mod->pattern, module);
	free(pattern);
	return wants;
}

/* The module is there, and has no function of that name which can be traced. */
static void mod_refused(struct ftrace_instance *fi, const struct ftrace_mod *mod,
			const char *module)
{
	char *word;

	if (asprintf(&word, "%s:mod:%s", mod->function, mod->pattern) < 0)
		return;
	ftrace_refused_say(fi, word, mod->function, module);
	free(word);
}

static int apply_one(struct ftrace_instance *fi, struct ftrace_hash *h,
		     const struct ftrace_mod *mod, const char *module)
{
	struct ftrace *ft = fi->inst->model->ftrace;
	char *function = strdup(mod->function), *copy = strdup(module);
	int n = function && copy ? ftrace_hash_match(ft, h, function, copy) : -ENOMEM;

	if (!n)
		mod_refused(fi, mod, module);
	free(function);
	free(copy);
	return n < 0 ? n : 0;
}

static int ftrace_filter_put_in_place(struct ftrace *ft, struct ftrace_instance *fi,
				      enum ftrace_list which, struct ftrace_hash *h);

static int apply_list(struct ftrace *ft, struct ftrace_instance *fi, enum ftrace_list which,
		      const char *module)
{
	const struct ftrace_hash *old =
		which == FTRACE_FILTER ? fi->hashes.filter : fi->hashes.notrace;
	struct ftrace_hash *h = NULL;
	struct ftrace_mod *mod, *next;
	int err = 0;

	list_each_safe(mod, next, &fi->mods[which], node) {
		bool stays;

		if (err || !mod_wants(mod, module, &stays))
			continue;
		if (!h)
			h = ftrace_hash_copy(old, false);
		err = h ? apply_one(fi, h, mod, module) : -ENOMEM;
		if (!stays)
			mod_free(mod);
	}
	if (!h)
		return err;
	err = ftrace_filter_put_in_place(ft, fi, which, h);
	return err ? err : ftrace_save_mods(fi, which);
}

int ftrace_mods_apply(struct ftrace *ft, const char *module)
{
	struct instance *inst;
	int err = 0;

	list_each(inst, &ft->model->instances, node) {
		if (err || !inst->ftrace)
			continue;
		err = apply_list(ft, inst->ftrace, FTRACE_FILTER, module);
		if (!err)
			err = apply_list(ft, inst->ftrace, FTRACE_NOTRACE, module);
	}
	return err;
}

/* ---- Words ---- */

/*
 * Cuts off the pattern in quotes; the opening quote stays. *rest: the text behind the ':' that
 * follows it; NULL: none.
 */
static char *cut_quoted(char *word, char **rest)
{
	char *end = strchr(word + (*word == '!') + 1, '"');

	*rest = NULL;
	if (!end)
		return word;
	*end = '\0';
	if (end[1] == ':')
		*rest = end + 2;
	return word;
}

static bool is_quoted(const char *word)
{
	return word[*word == '!'] == '"';
}

static char *cut_function(char *word, char **rest)
{
	if (is_quoted(word))
		return cut_quoted(word, rest);
	*rest = word;
	return strsep(rest, ":");
}

static bool is_mod(const char *command)
{
	return !strcmp(command, "mod");
}

static int filter_word(struct ftrace_edit *e, char *word)
{
	char *rest, *function = cut_function(word, &rest), *command;
	int n;

	if (!rest) {
		n = ftrace_hash_match(e->ft, e->hash, function, NULL);
		return n ? (n < 0 ? n : 0) : -EINVAL;
	}
	command = strsep(&rest, ":");
	/* As in the kernel: stack_trace_filter belongs to no instance, so it has no commands. */
	if (e->file == FTRACE_FILE_STACK)
		return is_mod(command) || function_command_exists(command) ? -ENODEV : -EINVAL;
	if (is_mod(command))
		return mod_word(e, function, rest);
	if (e->file != FTRACE_FILE_FILTER)
		return -EINVAL;
	return function_command_write(e->fi->inst, function, command, rest);
}

static int graph_or_filter_word(struct ftrace_edit *e)
{
	char *rest;

	if (!is_graph(e->file))
		return filter_word(e, e->word);
	if (is_quoted(e->word))
		cut_quoted(e->word, &rest);
	return graph_word(e, e->word);
}

/* Some programs have it, but it cannot be traced. */
static void say_why_refused(const struct ftrace_edit *e, const char *word)
{
	char *copy = strdup(word), *rest, *function;

	if (!copy)
		return;
	function = cut_function(copy, &rest);
	ftrace_refused_say(e->fi, word, function,
			   rest && !strncmp(rest, "mod:", 4) ? rest + 4 : NULL);
	free(copy);
}

/* A session with the running kernel's events may lack the kernel's functions. */
static void say_why_unknown(const struct ftrace_edit *e, const char *word)
{
	const struct kernel_hooks *kernel = e->ft->model->kernel;
	char text[256];

	if (!kernel || !kernel->no_functions) {
		say_why_refused(e, word);
		return;
	}
	snprintf(text, sizeof(text),
		 "No program has this function, and functions of the kernel cannot be traced: %s",
		 kernel->no_functions);
	errlog_add(e->fi->inst->errlog, "ftrace", word, text, 0);
}

static int ftrace_filter_take_word(struct ftrace_edit *e)
{
	char *word;
	int err;

	e->word[e->len] = '\0';
	e->len = 0;
	e->goes_on = e->quoted = false;
	/* The word is cut where its parts end. */
	word = strdup(e->word);
	err = graph_or_filter_word(e);
	if (err == -EINVAL && word)
		say_why_unknown(e, word);
	free(word);
	return err;
}

static bool ends_word(const struct ftrace_edit *e, char c)
{
	return !c || c == '\n' || (text_is_space(c) && !e->quoted);
}

/* Quotes can only open in front of a pattern. */
static void see_quote(struct ftrace_edit *e)
{
	if (e->quoted || !e->len || (e->len == 1 && *e->word == '!'))
		e->quoted = !e->quoted;
}

/*
 * Reads on in a word, or from the first letter of the next one. A 0 ends a word, as a blank does.
 */
static ssize_t read_word(struct ftrace_edit *e, const char *text, size_t len)
{
	const size_t room = e->ft->model->of_programs ? WORD_MAX : KERNEL_WORD_MAX;
	size_t i = 0;

	if (!e->goes_on) {
		while (i < len && text_is_space(text[i]))
			i++;
		e->len = 0;
		if (i == len || !text[i])
			return (ssize_t)(i + (i < len));
	}
	for (; i < len && !ends_word(e, text[i]); i++) {
		if (e->len == room - 1)
			return -EINVAL;
		if (text[i] == '"')
			see_quote(e);
		e->word[e->len++] = text[i];
	}
	e->goes_on = i == len;
	return (ssize_t)(i + (i < len));
}

/* ---- Functions that nobody knows yet ---- */

static int is_known_site(void *arg, struct ftrace_site *site)
{
	return -EEXIST;
}

/* A choice with a module waits for it by itself. A number names what is listed. */
static bool is_unknown(struct ftrace *ft, char *word)
{
	char *rest, *function = cut_function(word, &rest);
	struct ftrace_glob g;

	if (rest && !strncmp(rest, "mod:", 4))
		return false;
	ftrace_glob_parse(&g, function);
	return g.type != FTRACE_GLOB_INDEX &&
	       !ftrace_sites_match(ft, &g, NULL, is_known_site, NULL);
}

/* A word without an end counts, too: nobody sees an error when it is taken at the end. */
static bool word_waits(const struct ftrace_edit *e, const char *text, size_t len)
{
	struct ftrace_edit ahead = *e;

	if (read_word(&ahead, text, len) < 0 || !ahead.len)
		return false;
	ahead.word[ahead.len] = '\0';
	return is_unknown(e->ft, ahead.word) && e->ft->more(e->ft->changed_arg);
}

ssize_t ftrace_edit_write(struct ftrace_edit *e, const char *text, size_t len, bool patient)
{
	ssize_t taken;
	int err = 0;

	if (patient && e->ft->more && word_waits(e, text, len))
		return -EINPROGRESS;
	taken = read_word(e, text, len);
	if (taken < 0) {
		e->len = 0;
		e->goes_on = e->quoted = false;
	} else if (e->len && !e->goes_on) {
		err = ftrace_filter_take_word(e);
	}
	e->written = true;
	return err ? err : taken;
}

/* ---- Opening, closing ---- */

struct ftrace_edit *ftrace_edit_open(struct instance *inst, enum ftrace_file file, bool truncate)
{
	struct ftrace *ft = ftrace_of(inst->model);
	struct ftrace_instance *fi = ftrace_of_instance(inst);
	struct ftrace_edit *e = ft && fi && !ftrace_need_sites(ft) ? calloc(1, sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	e->ft = ft;
	e->fi = fi;
	e->file = file;
	e->hash = truncate ? ftrace_hash_create(is_graph(file)) :
		  ftrace_hash_copy(*ftrace_filter_hash_of(ft, fi, file), is_graph(file));
	if (!e->hash) {
		free(e);
		return NULL;
	}
	if (truncate && has_mods(file)) {
		ftrace_mods_clear(fi, list_of(file));
		ftrace_save_mods(fi, list_of(file));
	}
	return e;
}

/* Puts a set in place; an empty set becomes none. It owns the set in any case. */
static int ftrace_filter_put_in_place(struct ftrace *ft, struct ftrace_instance *fi,
				      enum ftrace_list which, struct ftrace_hash *h)
{
	struct ftrace_hash *new = h;
	int err;

	h->mods = which == FTRACE_FILTER && !list_empty(&fi->mods[FTRACE_FILTER]);
	if (ftrace_hash_empty(h)) {
		ftrace_hash_destroy(h);
		new = NULL;
	}
	err = which == FTRACE_FILTER
		      ? ftrace_hashes_replace(ft, &fi->hashes, new, fi->hashes.notrace)
		      : ftrace_hashes_replace(ft, &fi->hashes, fi->hashes.filter, new);
	if (err) {
		ftrace_hash_destroy(new);
		return err;
	}
	return ftrace_save_hash(fi, which);
}

/* The graph tracer looks at these sets itself: they enable no site. */
static int put_graph(struct ftrace *ft, enum ftrace_list which, struct ftrace_hash *h)
{
	int err = ftrace_hash_settle(h);

	if (err || ftrace_hash_empty(h)) {
		ftrace_hash_destroy(h);
		h = NULL;
	}
	if (err)
		return err;
	ftrace_hash_destroy(ft->graph[which]);
	ft->graph[which] = h;
	if (ft->set)
		ft->set(ft->changed_arg);
	err = ftrace_graph_publish(ft->model);
	return err ? err : ftrace_save_graph(ft, which);
}

static int put_stack(struct ftrace *ft, struct ftrace_hash *h)
{
	struct ftrace_hash *new = h;
	int err;

	if (ftrace_hash_empty(h)) {
		ftrace_hash_destroy(h);
		new = NULL;
	}
	err = ftrace_hashes_replace(ft, &ft->stack.hashes, new, NULL);
	if (err) {
		ftrace_hash_destroy(new);
		return err;
	}
	return ftrace_save_stack_filter(ft);
}

static int ftrace_filter_put(struct ftrace_edit *e, struct ftrace_hash *h)
{
	const enum ftrace_list which = list_of(e->file);

	if (e->file == FTRACE_FILE_STACK)
		return put_stack(e->ft, h);
	return is_graph(e->file) ? put_graph(e->ft, which, h) :
	       ftrace_filter_put_in_place(e->ft, e->fi, which, h);
}

void ftrace_edit_flush(struct ftrace_edit *e)
{
	struct ftrace_hash *h =
		e->written && !e->len ? ftrace_hash_copy(e->hash, is_graph(e->file)) : NULL;

	if (!h)
		return;
	ftrace_filter_put(e, h);
	e->written = false;
	e->placed = true;
}

int ftrace_edit_close(struct ftrace_edit *e)
{
	const int refused = e->len ? ftrace_filter_take_word(e) : 0;
	int err = 0;

	if (!e->placed || e->written)
		err = ftrace_filter_put(e, e->hash);
	else
		ftrace_hash_destroy(e->hash);
	free(e);
	return err ? err : refused;
}

/* ---- Reading ---- */

static const char *text_of_none(enum ftrace_file file)
{
	return list_of(file) == FTRACE_FILTER ? "#### all functions enabled ####\n"
					      : "#### no functions disabled ####\n";
}

static void print_sites(struct ftrace *ft, const struct ftrace_hash *h, FILE *out)
{
	uint32_t left = h->count;
	struct ftrace_page *page;

	list_each(page, &ft->pages, node)
		for (uint32_t i = 0; left && i < page->nr; i++) {
			if (!ftrace_hash_has(h, page->sites[i].ip))
				continue;
			ftrace_print_function(ft, page->sites[i].ip, out);
			fputc('\n', out);
			left--;
		}
}

static int print_ordered(struct ftrace *ft, const struct ftrace_hash *h, FILE *out)
{
	uint64_t *ips = ftrace_hash_list(h);

	if (!ips)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->count; i++) {
		ftrace_print_function(ft, ips[i], out);
		fputc('\n', out);
	}
	free(ips);
	return 0;
}

/*
 * How many commands the kernel leaves out behind functions of modules: as many as it has printed
 * functions before those. For programs all are shown.
 */
static uint32_t nr_left_out(const struct ftrace_instance *fi, const struct ftrace_hash *h)
{
	if (fi->inst->model->of_programs || list_empty(&fi->mods[FTRACE_FILTER]))
		return 0;
	return h ? h->count : 0;
}

/* As in the kernel, who writes a graph's file reads what holds. */
int ftrace_print_file(struct instance *inst, enum ftrace_file file, const struct ftrace_edit *edit,
		      FILE *out)
{
	struct ftrace *ft = ftrace_of(inst->model);
	struct ftrace_instance *fi = ftrace_of_instance(inst);
	const struct ftrace_hash *h = ft && fi ? *ftrace_filter_hash_of(ft, fi, file) : NULL;
	struct ftrace_mod *mod;
	int err = 0;

	if (edit && !is_graph(file))
		h = edit->hash;
	if (!ftrace_hash_empty(h))
		(void)ftrace_need_sites(ft);
	if (ftrace_hash_empty(h))
		fputs(text_of_none(file), out);
	else if (is_graph(file))
		err = print_ordered(ft, h, out);
	else
		print_sites(ft, h, out);
	if (err || !fi || !has_mods(file))
		return err;
	list_each(mod, &fi->mods[list_of(file)], node)
		fprintf(out, "%s%s:mod:%s\n", mod->function, *mod->function == '"' ? "\"" : "",
			mod->module);
	return file == FTRACE_FILE_FILTER
		       ? function_commands_print(fi, nr_left_out(fi, h), out) : 0;
}
