/* SPDX-License-Identifier: MIT */
/*
 * kprobe.c - p[:[GROUP/][NAME]] [MODULE:]FUNCTION[+OFFSET][%return]|ADDRESS [ARGUMENTS]
 *
 * The functions are those of the session: of a recording, those of its kallsyms; of programs, their
 * functions.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/place.h"
#include "model/errlog.h"
#include "model/ftrace/ftrace.h"
#include "model/text.h"

enum {
	MAX_ACTIVE	= 4096,
	ENDBR_SIZE	= 4,	/* an entry with endbr64 is traced behind it */
	/* Where the kernel has the name of a struct dentry, and the dentry of a struct file */
	DENTRY_NAME	= 0x28,
	FILE_DENTRY	= 0x48,
	DENTRY_ROOM	= 256,	/* bytes for all that stand for such arguments */
};

static const char bad_place[] = "Invalid probed address or symbol";

/* ---- the session's functions ---- */

/* Whether "MODULE:FUNCTION" names a module that is not there (yet). */
static bool module_is_missing(struct model *m, const char *symbol)
{
	const char *colon = strchr(symbol, ':');
	char *module;
	bool missing;

	if (!colon)
		return false;
	module = strndup(symbol, (size_t)(colon - symbol));
	missing = module && !symbols_have_module(m->symbols, module);
	free(module);
	return missing;
}

/* Splits "MODULE:FUNCTION"; *module is NULL if there is none, and else freed by the caller. */
static const char *split_symbol(const char *symbol, char **module)
{
	const char *colon = strchr(symbol, ':');

	*module = colon ? strndup(symbol, (size_t)(colon - symbol)) : NULL;
	return colon ? colon + 1 : symbol;
}

static unsigned int count_functions(struct model *m, const char *symbol)
{
	char *module;
	const char *name = split_symbol(symbol, &module);
	unsigned int nr = symbols_count(m->symbols, name, module);

	free(module);
	return nr;
}

static bool kprobe_find_function(struct model *m, const char *symbol, uint64_t *address)
{
	char *module;
	const char *name = split_symbol(symbol, &module);
	uint64_t end;
	bool found = symbols_range_of(m->symbols, name, module, address, &end);

	free(module);
	return found;
}

/*
 * Where the address is in its function. -ENOENT: in none; -EINVAL: inside of it; 0: at its entry.
 */
static int at_entry(struct model *m, uint64_t address)
{
	const struct ftrace_site *site;
	uint64_t offset;

	if (!symbols_find(m->symbols, address, &offset, NULL, NULL))
		return -ENOENT;
	if (!offset)
		return 0;
	site = offset == ENDBR_SIZE && m->ftrace ?
		ftrace_site_within(m->ftrace, address - ENDBR_SIZE, address + 1) : NULL;
	return site && site->ip == address ? 0 : -EINVAL;
}

/* Whether the list of functions that can be traced has addresses: else it has numbers of lines. */
static bool sites_have_addresses(const struct model *m)
{
	struct ftrace *ft = m->ftrace;

	return ft && ft->nr_sites && !ftrace_site_within(ft, 0, ft->nr_sites + 1);
}

/*
 * A kernel's functions that cannot be traced cannot be probed either: -EINVAL. -ENOENT: no function
 * is there.
 */
static int check_address(struct model *m, uint64_t address)
{
	uint64_t offset, size;

	if (!m->imported || m->of_programs)
		return 0;
	if (!address)
		return -EINVAL;
	if (!symbols_find(m->symbols, address, &offset, &size, NULL))
		return -ENOENT;
	return !sites_have_addresses(m) ||
	       ftrace_site_within(m->ftrace, address - offset, address - offset + size) ?
		0 : -EINVAL;
}

/* ---- words 0 and 1 ---- */

/* "r10:NAME": the number. */
static int parse_max_active(struct probe_place *p, const struct probe_log *log)
{
	const char *text = log->words[0] + 1;
	char number[PROBE_NAME_ROOM];
	size_t len = strcspn(text, ":");
	uint64_t value;

	if (!text_is_digit(*text))
		return 0;
	if (*log->words[0] != 'r')
		return probe_wrong(log, -EINVAL, 1, "Maxactive is only for function exit");
	snprintf(number, sizeof(number), "%.*s", (int)len, text);
	if (len >= PROBE_NAME_ROOM || text_to_u64(number, 0, &value) || !value || value > UINT_MAX)
		return probe_wrong(log, -EINVAL, 1, "Invalid maxactive number");
	if (value > MAX_ACTIVE)
		return probe_wrong(log, -EINVAL, 1, "Maxactive is too big");
	p->max_active = (unsigned int)value;
	return 0;
}

/* Cuts "%return" and "+OFFSET" off the symbol. */
static int cut_symbol(struct probe_place *p, const struct probe_log *log)
{
	char *suffix = strchr(p->symbol, '%'), *sign;
	int64_t offset = 0;
	int err = 0;

	if (suffix && strcmp(suffix, "%return"))
		return probe_wrong(log, -EINVAL, (size_t)(suffix - p->symbol),
				   "Invalid probed address suffix");
	if (suffix) {
		*suffix = '\0';
		p->is_return = true;
	}
	sign = strpbrk(p->symbol, "+-");
	if (sign) {
		err = text_to_s64(sign, 0, &offset);
		*sign = '\0';
	}
	if (err || offset < 0 || offset > UINT_MAX)
		return probe_wrong(log, -EINVAL, 0, bad_place);
	p->offset = (uint64_t)offset;
	return 0;
}

/* A restored session has no symbols yet; those of a recorded event were on another machine. */
static int entry_of_symbol(struct probe_place *p, const struct probe_log *log)
{
	struct model *m = log->model;
	unsigned int nr;

	if (m->restoring)
		return p->offset ? -EINVAL : 0;
	nr = module_is_missing(m, p->symbol) ? 0 : count_functions(m, p->symbol);
	if (!nr && (p->recorded || module_is_missing(m, p->symbol)))
		return -ENOENT;
	if (nr != 1)
		return probe_wrong(log, -ECANCELED, 0, nr ? "The symbol is not unique" : bad_place);
	return kprobe_find_function(m, p->symbol, &p->address) ?
		at_entry(m, p->address += p->offset) : -ENOENT;
}

static int parse_symbol(struct probe_place *p, struct probe_log *log)
{
	int err = cut_symbol(p, log);

	if (err)
		return err;
	if (p->is_return)
		p->probe.flags |= PROBE_RETURN;
	err = entry_of_symbol(p, log);
	if (err == -ECANCELED)
		return -EINVAL;
	if (!err && !p->is_return)
		p->probe.flags |= PROBE_ENTRY;
	if (err == -EINVAL && p->is_return)
		return probe_wrong(log, -EINVAL, 0,
				   "Retprobe address must be an function entry");
	return 0;
}

/* The name of an event that the command does not name. */
static void make_name(const struct probe_place *p, char *name, size_t size)
{
	const char letter = p->is_return ? 'r' : 'p';

	if (p->symbol)
		snprintf(name, size, "%c_%s_%llu", letter, p->symbol,
			 (unsigned long long)p->offset);
	else
		snprintf(name, size, "%c_0x%016llx", letter, (unsigned long long)p->address);
	for (; *name; name++)
		if (*name == ':' || *name == '.')
			*name = '_';
}

static int kprobe_parse(struct probe_place *p, struct probe_log *log)
{
	const char *word = log->words[1], *names = strchr(log->words[0] + 1, ':');
	char made[PROBE_NAME_ROOM];
	int err;

	log->subsystem = "trace_kprobe";
	p->is_return = *log->words[0] == 'r';
	err = parse_max_active(p, log);
	if (err)
		return err;
	if (text_to_u64(word, 0, &p->address)) {
		log->at = 1;
		if (strchr(word, '/') && strchr(word, ':'))
			return -ECANCELED;
		p->symbol = strdup(word);
		err = p->symbol ? parse_symbol(p, log) : -ENOMEM;
		if (err)
			return err;
	}
	make_name(p, made, sizeof(made));
	return place_parse_names(p, log, names ? names + 1 : NULL, "kprobes", made);
}

/* ---- arguments that stand for others ---- */

/* "$arg*" needs the types of the function, and nothing here knows them. */
static int check_all_arguments(const struct probe_place *p, struct probe_log *log)
{
	bool all = false;

	for (unsigned int i = 2; i < log->nr_words; i++) {
		const char *word = log->words[i];

		if (strncmp(word, "$arg", 4))
			continue;
		log->at = i;
		if (!(p->probe.flags & (PROBE_ENTRY | PROBE_RETURN)))
			return probe_wrong(log, -EINVAL, 0,
					   "$arg* can be used only on function entry or exit");
		if (text_is_digit(word[4]))
			continue;
		if (word[4] != '*')
			return probe_wrong(log, -EINVAL, 0, "Invalid $-variable specified");
		if (all)
			return probe_wrong(log, -EINVAL, 0,
					   "$arg* can be used only once in the parameters");
		all = true;
	}
	return all ? probe_wrong(log, -EOPNOTSUPP, 0, "BTF is not available or not supported") : 0;
}

/* "NAME=ARG:%pd" is the name of a struct dentry, "NAME=ARG:%pD" that of a struct file. */
static char *expand_dentry(const char *text)
{
	const size_t len = strlen(text) - strlen(":%pd");
	const char *equals = memchr(text, '=', len);
	const int name = equals ? (int)(equals + 1 - text) : 0;
	const int arg = (int)len - name;
	char *out;
	int n;

	if (text[len + 3] == 'd')
		n = asprintf(&out, "%.*s+0x0(+0x%x(%.*s)):string", name, text, DENTRY_NAME, arg,
			     text + name);
	else
		n = asprintf(&out, "%.*s+0x0(+0x%x(+0x%x(%.*s))):string", name, text, DENTRY_NAME,
			     FILE_DENTRY, arg, text + name);
	return n < 0 ? NULL : out;
}

static bool is_dentry(const char *text)
{
	const size_t len = strlen(text);

	return len >= 4 && (!strcmp(text + len - 4, ":%pd") || !strcmp(text + len - 4, ":%pD"));
}

static int kprobe_expand(struct probe_place *p, struct probe_log *log, char **texts)
{
	size_t room = DENTRY_ROOM;
	int err = check_all_arguments(p, log);

	/* A program has no such structures. */
	for (unsigned int i = 2; !err && i < log->nr_words && !log->model->of_programs; i++) {
		char *text;

		if (!is_dentry(texts[i]))
			continue;
		text = expand_dentry(texts[i]);
		if (!text || strlen(text) >= room) {
			free(text);
			return -ENOMEM;
		}
		room -= strlen(text) + 1;
		free(texts[i]);
		texts[i] = text;
		/* The kernel's log shows what stands for the argument, whatever fails. */
		log->words = texts;
	}
	return err;
}

/* ---- the whole ---- */

static int look_up_arguments(struct probe_place *p, struct model *m)
{
	int err = 0;

	for (unsigned int i = 0; i < p->probe.nr_args && !err; i++)
		err = probe_look_up_symbols(m, &p->probe.args[i]);
	return err;
}

/*
 * The kernel takes a probe without a name, or of a module that is not there, although its place or
 * a symbol of its arguments is nowhere: they may come. In programs a place that is wrong is said.
 */
static bool may_come(const struct probe_place *p, struct model *m)
{
	return !m->of_programs && (!p->symbol || module_is_missing(m, p->symbol));
}

/* How many calls of a return probe the kernel can follow at once, if the command does not say. */
static unsigned int default_max_active(const struct model *m)
{
	return m->nr_cpus > 5 ? 2 * m->nr_cpus : 10;
}

/* A restored session has no symbols yet. */
static int check_place(struct probe_place *p, struct model *m)
{
	const bool waits = p->symbol && !m->restoring && module_is_missing(m, p->symbol),
		   of_address = p->is_return && !p->symbol && !m->restoring;
	int err = 0;

	if (!m->restoring && !waits)
		err = check_address(m, p->address);
	if (!err)
		err = look_up_arguments(p, m);
	if (!err && of_address && at_entry(m, p->address))
		err = -EINVAL;
	/* The kernel does so when it has found the function. */
	if (!err && of_address && !p->max_active)
		p->max_active = default_max_active(m);
	return err;
}

static int kprobe_check(struct probe_place *p, struct probe_log *log)
{
	struct model *m = log->model;
	const int err = check_place(p, m);

	if (!err || (err == -ENOENT && may_come(p, m)))
		return 0;
	log->at = 1;
	if (err == -ENOENT)
		return probe_wrong(log, err, 0, bad_place);
	return err == -ENOMEM ? err : probe_wrong(log, err, 0, "Failed to register probe event");
}

static const char *kprobe_symbol(const struct probe_place *p)
{
	return p->symbol ? p->symbol : "unknown";
}

static bool kprobe_is_same(const struct probe_place *a, const struct probe_place *b)
{
	return !strcmp(kprobe_symbol(a), kprobe_symbol(b)) && a->offset == b->offset;
}

static uint64_t kprobe_hash(const struct probe_place *p)
{
	const char *symbol = kprobe_symbol(p);

	return lookup_hash(p->offset, symbol, strlen(symbol));
}

static const struct place_kind kprobe_place = {
	.kind	= &kprobe_kind,
	.system	= "kprobes",
	.parse	= kprobe_parse,
	.expand	= kprobe_expand,
	.check	= kprobe_check,
	.same	= kprobe_is_same,
	.hash	= kprobe_hash,
};

static int kprobe_create(struct model *m, const char *command, unsigned int id)
{
	return place_create(m, &kprobe_place, command, id);
}

int kprobe_command(struct model *m, const char *line)
{
	return dynamic_command_of(m, line, &kprobe_kind);
}

bool kprobe_resolve(struct probe_place *p)
{
	struct model *m = p->probe.dyn.event->model;

	if (!p->symbol || count_functions(m, p->symbol) != 1 ||
	    !kprobe_find_function(m, p->symbol, &p->address))
		return false;
	p->address += p->offset;
	return true;
}

static void kprobe_print_place(const struct probe_place *p, FILE *out)
{
	if (!p->symbol)
		fprintf(out, "0x%016llx", (unsigned long long)p->address);
	else if (p->offset)
		fprintf(out, "%s+%llu", p->symbol, (unsigned long long)p->offset);
	else
		fputs(p->symbol, out);
}

/* Whether the kernel has found the function of a return probe, as far as is known here. */
static bool function_is_there(const struct probe_place *p)
{
	return p->recorded || (p->symbol && (p->address || !strchr(p->symbol, ':')));
}

static void kprobe_print(const struct dynamic_event *d, FILE *out)
{
	const struct probe_place *p = place_of(d);
	unsigned int active = p->max_active;

	fputc(p->is_return ? 'r' : 'p', out);
	if (p->is_return && !active && function_is_there(p))
		active = default_max_active(d->event->model);
	if (p->is_return && active)
		fprintf(out, "%u", active);
	fprintf(out, ":%s/%s ", p->probe.group, p->probe.name);
	kprobe_print_place(p, out);
	probe_print_args(&p->probe, out);
	fputc('\n', out);
}

void kprobe_print_profile(struct model *m, FILE *out)
{
	const struct dynamic_event *d;

	/* The kernel has a column of missed hits. Here they are not counted for each event. */
	list_each(d, &m->dynamic_events, node)
		if (d->kind == &kprobe_kind)
			fprintf(out, "  %-44s %15llu %15u\n", probe_of(d)->name,
				(unsigned long long)place_hits(place_of(d)), 0);
}

static int kprobe_matches(const struct dynamic_event *d, const char *system, const char *event,
			  char *const *words, unsigned int nr_words)
{
	return place_matches(place_of(d), kprobe_print_place, system, event, words, nr_words);
}

const struct dynamic_kind kprobe_kind = {
	.create		= kprobe_create,
	.print		= kprobe_print,
	.nr_fields	= place_nr_fields,
	.format_field	= place_format_field,
	.format_text	= place_format_text,
	.format_arguments = place_format_arguments,
	.is_busy	= probe_is_enabled,
	.remove		= place_remove,
	.destroy	= place_destroy,
	.matches	= kprobe_matches,
};
