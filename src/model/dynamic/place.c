/* SPDX-License-Identifier: MIT */
/*
 * place.c - makes and removes probes at a place, and their events
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/dynamic/place.h"
#include "model/dynamic/uprobe_file.h"
#include "model/event/format.h"
#include "model/text_memory.h"

struct probe_place *place_of_event(const struct event *e)
{
	const struct dynamic_event *d = e->made;

	return d && (d->kind == &kprobe_kind || d->kind == &uprobe_kind) ? place_of(d) : NULL;
}

static void place_free(struct probe_place *p)
{
	probe_clear(&p->probe);
	free(p->symbol);
	free(p->path);
	free(p);
}

/* ---- the format: the addresses, then the arguments ---- */

static unsigned int nr_addresses(const struct dynamic_event *d)
{
	return place_of(d)->is_return ? 2 : 1;
}

unsigned int place_nr_fields(const struct dynamic_event *d)
{
	return nr_addresses(d) + probe_of(d)->nr_args;
}

void place_format_field(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	const char *names[] = { place_of(d)->is_return ? "__probe_func" : "__probe_ip",
			       "__probe_ret_ip" };

	if (i < nr_addresses(d))
		fprintf(out, "\tfield:unsigned long %s;\toffset:%u;\tsize:8;\tsigned:0;\n",
			names[i], PROBE_COMMON + 8 * i);
	else
		probe_format_field(probe_of(d), i - nr_addresses(d), out);
}

void place_format_text(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	if (!i)
		fputs(place_of(d)->is_return ? "(%lx <- %lx)" : "(%lx)", out);
	else if (i >= nr_addresses(d))
		probe_format_text(probe_of(d), i - nr_addresses(d), out);
}

void place_format_arguments(const struct dynamic_event *d, unsigned int i, FILE *out)
{
	if (i >= nr_addresses(d))
		probe_format_arguments(probe_of(d), i - nr_addresses(d), out);
	else if (i)
		fputs(", REC->__probe_ret_ip", out);
	else
		fputs(place_of(d)->is_return ? ", REC->__probe_func" : ", REC->__probe_ip", out);
}

/* ---- names ---- */

int place_parse_names(struct probe_place *p, struct probe_log *log, const char *text,
		      const char *system, const char *made)
{
	struct probe_names n = { NULL, NULL };
	int err = 0;

	log->at = 0;
	if (text)
		err = probe_parse_names(log, text, (size_t)(text - log->words[0]), &n);
	if (err) {
		probe_names_free(&n);
		return err;
	}
	p->probe.group = n.group ? n.group : strdup(system);
	p->probe.name = n.name ? n.name : strndup(made, PROBE_NAME_ROOM - 1);
	return p->probe.group && p->probe.name ? 0 : -ENOMEM;
}

/* Whether the recording has an event of the names that the command gives; nothing is logged. */
static bool place_is_recorded(const struct probe_log *log, const char *system)
{
	const char *text = strchr(log->words[0], ':'), *slash;
	char group[PROBE_NAME_ROOM];

	if (!text)
		return false;
	slash = strpbrk(++text, "/.");
	if (!slash)
		return model_recorded_event(log->model, system, text);
	snprintf(group, sizeof(group), "%.*s", (int)(slash - text), text);
	return model_recorded_event(log->model, group, slash + 1);
}

/* ---- the event ---- */

/* The oldest place with the event that the command names. */
static struct probe_place *place_find(const struct probe_place *p, struct model *m)
{
	const uint64_t hash = dynamic_name_hash(p->probe.name);
	struct dynamic_event *d;

	lookup_each(d, &m->dynamic_names, hash, struct dynamic_event, named)
		if (d->kind == p->probe.dyn.kind && !strcmp(probe_of(d)->name, p->probe.name) &&
		    !strcmp(probe_of(d)->group, p->probe.group))
			return place_of(d);
	return NULL;
}

/* The number of the first argument, from 1 on, that is not alike. 0: all are alike. */
static unsigned int different_arg(const struct probe *a, const struct probe *b)
{
	unsigned int nr = a->nr_args < b->nr_args ? a->nr_args : b->nr_args;

	if (a->nr_args != b->nr_args)
		return nr + 1;
	for (unsigned int i = 0; i < nr; i++)
		if (a->args[i].type != b->args[i].type || a->args[i].count != b->args[i].count ||
		    strcmp(a->args[i].name, b->args[i].name))
			return i + 1;
	return 0;
}

static bool same_expressions(const struct probe *a, const struct probe *b)
{
	for (unsigned int i = 0; i < a->nr_args; i++)
		if (strcmp(a->args[i].text, b->args[i].text))
			return false;
	return true;
}

/* Whether a probe of the same event is the same. */
static bool is_there(const struct probe_place *p, const struct place_kind *kind,
		     const struct event *e)
{
	struct probe_place *other;

	lookup_each(other, &e->model->places, kind->hash(p), struct probe_place, node)
		if (other->probe.dyn.event == e && kind->same(other, p) &&
		    same_expressions(&other->probe, &p->probe))
			return true;
	return false;
}

/* Another place gets an event that is there. */
static int join_event(struct probe_place *p, const struct place_kind *kind, struct probe_place *old,
		      struct probe_log *log)
{
	unsigned int different = different_arg(&p->probe, &old->probe);

	log->at = 0;
	if (p->is_return != old->is_return)
		return probe_wrong(log, -EEXIST, 0,
				   "Probe type is different from existing probe");
	if (different) {
		log->at = different + 1;
		return probe_wrong(log, -EEXIST, 0,
				   "Argument type or name is different from existing probe");
	}
	if (is_there(p, kind, old->probe.dyn.event))
		return probe_wrong(log, -EEXIST, 0, "There is already the exact same probe event");
	p->probe.dyn.event = old->probe.dyn.event;
	return 0;
}

/* Makes the event, or takes that of the recording, whose records then are the probe's. */
static int place_take_event(struct probe_place *p, const struct place_kind *kind,
			    struct probe_log *log, unsigned int id)
{
	struct model *m = log->model;
	struct probe *probe = &p->probe;
	char *body = dynamic_format(&probe->dyn);
	struct event *old;
	int err = 0;

	if (!body)
		return -ENOMEM;
	old = probe_find_recorded(probe, m, body);
	p->recorded = old;
	if (old)
		probe->dyn.event = model_take_recorded_event(old);
	/* A new event replaces the recorded one: not for a command that fails. */
	if (!p->recorded && kind->check && model_recorded_event(m, probe->group, probe->name))
		err = kind->check(p, log);
	if (!err && !p->recorded)
		err = model_add_dynamic_event(m, probe->group, probe->name, body, id,
					      &probe->dyn.event);
	if (!err && !p->recorded && !m->restoring)
		session_hits_clear(m->session, probe->dyn.event->id);
	free(body);
	return err ? err : probe_describe_fields(probe);
}

static void give_event_back(struct probe_place *p, struct model *m)
{
	if (p->recorded)
		event_set_dynamic(p->probe.dyn.event, false);
	else if (p->probe.dyn.event)
		model_remove_event(m, p->probe.dyn.event);
}

char *place_line(const struct probe_place *p)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (!out)
		return NULL;
	p->probe.dyn.kind->print(&p->probe.dyn, out);
	fclose(out);
	if (text)
		text[strcspn(text, "\n")] = '\0';
	return text;
}

/* Saves the probe's own line: it has the place that a symbol had then. */
static int add_place(struct probe_place *p, const struct place_kind *kind)
{
	struct model *m = p->probe.dyn.event->model;
	char *line = place_line(p);
	int err = line ? dynamic_add(&p->probe.dyn, line) : -ENOMEM;

	free(line);
	if (!err)
		lookup_add(&m->places, &p->node, kind->hash(p));
	if (!err && m->of_programs)
		session_probes_defined(m->session);
	p->order = ++m->nr_places_made;
	if (p->probe.dyn.event->plan)
		model_probes_stale(p->probe.dyn.event);
	return err;
}

static int register_place(struct probe_place *p, const struct place_kind *kind,
			  struct probe_log *log, unsigned int id)
{
	struct probe_place *old = place_find(p, log->model);
	int err;

	if (kind->conflicts && kind->conflicts(p, log->model))
		return -EINVAL;
	err = old ? join_event(p, kind, old, log) : place_take_event(p, kind, log, id);
	if (err == -EEXIST && !old) {
		log->at = 0;
		probe_wrong(log, err, 0,
			    "Given group/event name is already used by another event");
	}
	if (!err && old)
		p->recorded = old->recorded;
	if (!err && kind->check && !p->recorded)
		err = kind->check(p, log);
	if (!err)
		err = add_place(p, kind);
	if (err && !old)
		give_event_back(p, log->model);
	return err;
}

/* ---- commands ---- */

static void free_texts(char **texts, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		free(texts[i]);
	free(texts);
}

/* Copies of the words. NULL: no memory. */
static char **copy_words(const struct probe_log *log)
{
	char **texts = calloc(log->nr_words, sizeof(*texts));

	for (unsigned int i = 0; texts && i < log->nr_words; i++) {
		texts[i] = strdup(log->words[i]);
		if (!texts[i]) {
			free_texts(texts, i);
			return NULL;
		}
	}
	return texts;
}

static int create_with(struct probe_place *p, const struct place_kind *kind, struct probe_log *log,
		       char **texts, unsigned int id)
{
	int err = kind->expand ? kind->expand(p, log, texts) : 0;

	if (!err)
		err = probe_parse_args(&p->probe, log, 2, log->nr_words, texts);
	if (!err && uprobe_file_asks(log->model))
		return -ECANCELED;
	return err ? err : register_place(p, kind, log, id);
}

static int create_from_copies(struct probe_place *p, const struct place_kind *kind,
			      struct probe_log *log, unsigned int id)
{
	char *const *words = log->words;
	char **texts = copy_words(log);
	int err = texts ? create_with(p, kind, log, texts, id) : -ENOMEM;

	log->words = words;
	if (texts)
		free_texts(texts, log->nr_words);
	return err;
}

static int create_place(const struct place_kind *kind, struct probe_log *log, unsigned int id)
{
	struct probe_place *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->probe.dyn.kind = kind->kind;
	list_init(&p->probe.dyn.node);
	p->recorded = place_is_recorded(log, kind->system);
	err = kind->parse(p, log);
	if (!err && log->nr_words - 2 > PROBE_ARGS_MAX)
		err = -E2BIG;
	p->probe.head = p->probe.size = PROBE_COMMON + (p->is_return ? 16 : 8);
	if (!err)
		err = create_from_copies(p, kind, log, id);
	if (err)
		place_free(p);
	return err;
}

int place_create(struct model *m, const struct place_kind *kind, const char *command,
		 unsigned int id)
{
	struct probe_log log = { .model = m };
	unsigned int nr;
	char **words = words_split(command, &nr);
	int err = 0;

	if (!words)
		return -ENOMEM;
	log.words = words;
	log.nr_words = nr;
	if (nr)
		err = nr > 1 && (*words[0] == 'p' || *words[0] == 'r') ?
			create_place(kind, &log, id) : -ECANCELED;
	words_free(words);
	return err;
}

int place_remove(struct dynamic_event *d)
{
	struct model *m = d->event->model;
	int err = dynamic_remove(d);

	if (err)
		return err;
	m->probes_stale |= place_of(d)->point != NULL;
	lookup_remove(&m->places, &place_of(d)->node);
	place_free(place_of(d));
	return 0;
}

void place_each(struct event *e, void (*fn)(void *arg, struct probe_place *p), void *arg)
{
	struct lookup *names = &e->model->dynamic_names;
	struct dynamic_event *d;

	if (!place_of_event(e))
		return;
	lookup_each(d, names, dynamic_name_hash(e->name), struct dynamic_event, named)
		if (d->event == e)
			fn(arg, place_of(d));
}

void place_destroy(struct dynamic_event *d)
{
	place_free(place_of(d));
}

/* ---- hits ---- */

bool place_counts_in_plan(const struct event *e)
{
	const struct probe_place *p = place_of_event(e);

	return p && (p->recorded || !e->model->of_programs);
}

uint64_t place_hits(const struct probe_place *p)
{
	const struct event *e = p->probe.dyn.event;
	const struct event_file *f;
	uint64_t hits = 0, n;

	if (!place_counts_in_plan(e))
		return session_hits(e->model->session, e->id);

	/* Each instance counts a hit by itself. */
	list_each(f, &p->probe.dyn.event->files, event_node) {
		/* Relaxed: a counter, see count_hit(). */
		n = f->state ? atomic_load_explicit(&f->state->hits, memory_order_relaxed) : 0;
		if (n > hits)
			hits = n;
	}
	return hits;
}

void place_print_idle(struct model *m, FILE *out)
{
	struct dynamic_event *d;

	list_each(d, &m->dynamic_events, node) {
		const struct probe_place *p = place_of_event(d->event);

		if (p && d->event->made == d && d->event->plan && !p->recorded &&
		    (!m->of_programs || (d->kind == &kprobe_kind && !p->address)))
			fprintf(out, "probe %s:%s\n", p->probe.group, p->probe.name);
	}
}

int place_matches(const struct probe_place *p, place_print_fn print, const char *system,
		  const char *event, char *const *words, unsigned int nr_words)
{
	char *place = NULL;
	size_t size;
	FILE *out;
	bool same;

	if (!probe_matches(&p->probe, system, event))
		return 0;
	if (!nr_words)
		return 1;
	out = text_memory_open(&place, &size);
	if (!out)
		return -ENOMEM;
	print(p, out);
	if (fclose(out))
		return -ENOMEM;
	same = !strcmp(place, words[0]) &&
	       probe_matches_args(&p->probe, words + 1, nr_words - 1);
	free(place);
	return same;
}
