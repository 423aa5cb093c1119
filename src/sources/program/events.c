/* SPDX-License-Identifier: MIT */
/*
 * events.c - the events of running programs: the providers' table, and the programs' own
 * definitions
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/providers/table.h"
#include "model/errlog.h"
#include "model/event/module.h"
#include "model/event/program.h"
#include "sources/program/programs_state.h"

enum { BODY_ROOM = 8192 };

/* ---- the providers' table ---- */

/* Whether a list such as "heap,lock" contains the name. */
static bool list_has(const char *list, const char *name)
{
	size_t len = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && !strncmp(list, name, len))
			return true;
	return false;
}

static bool is_kernel_name(const char *system)
{
	return !strcmp(system, "kmem") || !strcmp(system, "sched");
}

static bool is_chosen(const struct programs_params *params, const char *system)
{
	if (is_kernel_name(system))
		return params->kernel_names;
	return !params->systems || list_has(params->systems, system);
}

char *programs_unknown_system(const char *systems)
{
	char *copy = strdup(systems ? systems : ""), *rest = copy, *word, *unknown = NULL;

	while (copy && !unknown && (word = strsep(&rest, ","))) {
		bool known = !*word;

		for (const char *const *name = provider_names; *name && !known; name++)
			known = !is_kernel_name(word) && !strcmp(*name, word);
		if (!known)
			unknown = strdup(word);
	}
	free(copy);
	return unknown;
}

/* Of kmem and sched events may come with --kernel-names. */
bool program_events_lack(const char *system, const char *event)
{
	const unsigned int count = provider_kernel();
	bool is_provider = false;
	struct provider_event e;

	for (unsigned int nr = 0; nr < count; nr++) {
		provider_event(nr, false, &e);
		if (strcmp(e.system, system))
			continue;
		if (!strcmp(e.name, event))
			return false;
		is_provider = true;
	}
	return is_provider;
}

const char *programs_system_call(unsigned int i)
{
	static const char enter[] = "sys_enter_";
	struct provider_event e;

	if (i >= syscall_provider_count() / 2)
		return NULL;
	provider_event(PROVIDER_SYSCALLS + 2 * i, false, &e);
	return e.name + strlen(enter);
}

static int add_provider(struct programs *p, unsigned int nr, const struct provider_event *e)
{
	char body[BODY_ROOM];
	unsigned int len = provider_body(nr, p->texts_begun, body, sizeof(body));
	struct event *event;
	bool is_new;

	if (len >= sizeof(body))
		return -E2BIG;
	return model_add_program_event(p->model, e->system, e->name, body, p->first_id + nr, &event,
				       &is_new);
}

int program_events_choose(struct programs *p, const struct programs_params *params)
{
	struct provider_event e;
	int err = 0;

	for (unsigned int nr = 0; !err && nr < p->count; nr++) {
		provider_event(nr, false, &e);
		if (is_chosen(params, e.system) && !p->model->by_id[p->first_id + nr])
			err = add_provider(p, nr, &e);
	}
	return err;
}

/* ---- texts of system calls ---- */

static int extend_call(struct programs *p, unsigned int nr)
{
	char before[BODY_ROOM], body[BODY_ROOM];
	struct event *e = p->model->by_id[p->first_id + nr];

	provider_body(nr, false, before, sizeof(before));
	provider_body(nr, true, body, sizeof(body));
	/* It has no text, is not chosen, or has them already. */
	if (!e || !strcmp(before, body) || !strstr(e->format, before))
		return 0;
	return model_extend_program_event(e, body);
}

static int extend_calls(struct programs *p)
{
	int err = 0;

	/* Another version of tracefuse has made the session, with other events. */
	if (p->table != provider_table_version())
		return -ESTALE;
	for (unsigned int nr = PROVIDER_SYSCALLS; !err && nr < provider_kernel(); nr += 2)
		err = extend_call(p, nr);
	return err;
}

int program_events_set_texts(struct programs *p, uint32_t bytes)
{
	struct model *m = p->model;
	char text[16];
	int err;

	if (!bytes && !p->texts_begun)
		return 0;
	snprintf(text, sizeof(text), "%u", bytes);
	if (p->texts_begun) {
		err = saved_replace(m, m->top, PROGRAMS_CALL_TEXTS, text, NULL, 0,
				    &p->texts_saved);
	} else {
		err = extend_calls(p);
		if (!err)
			err = saved_add(m, m->top, PROGRAMS_CALL_TEXTS, text, NULL, 0,
					&p->texts_begun);
	}
	if (err)
		return err;
	m->call_texts = bytes;
	m->calls_have_texts = true;
	/* Relaxed: a number of its own. A record without texts has none for what reads them. */
	atomic_store_explicit(&session_header(m->session)->call_texts, 1 + bytes,
			      memory_order_relaxed);
	return 0;
}

/* ---- definitions ---- */

static void program_events_name_of(pid_t pid, char comm[LAYOUT_COMM_LEN])
{
	char path[64];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	in = fopen(path, "re");
	if (!in || !fgets(comm, LAYOUT_COMM_LEN, in))
		strcpy(comm, "?");
	comm[strcspn(comm, "\n")] = '\0';
	program_text_clean(comm);
	if (in)
		fclose(in);
}

/* Remembers a refusal; it replaces the oldest one. */
static void remember(struct programs *p, const char *who, const char *error, const char *what)
{
	char *text;

	if (asprintf(&text, "%s: %s: %s", who, error, what) < 0)
		return;
	free(p->refused[p->nr_refused % REFUSALS]);
	p->refused[p->nr_refused++ % REFUSALS] = text;
}

static void program_events_refuse(struct programs *p, pid_t pid, const char *error, char *what,
				  unsigned int pos)
{
	char comm[LAYOUT_COMM_LEN], who[64];

	program_events_name_of(pid, comm);
	snprintf(who, sizeof(who), "process %d (%s)", (int)pid, comm);
	program_text_clean(what);
	errlog_add(p->model->top->errlog, who, what, error, pos);
	remember(p, who, error, what);
}

static void refuse_other(struct programs *p, pid_t pid, const struct event *known, const char *body)
{
	struct program_event_difference d;
	char error[320], what[320];
	int pos;

	program_event_compare(known, body, &d);
	snprintf(error, sizeof(error),
		 "The event is known with another definition, which has at this place: %s",
		 d.known);
	pos = snprintf(what, sizeof(what), "%s:%s ", known->system->name, known->name);
	snprintf(what + pos, sizeof(what) - (size_t)pos, "%s", d.given);
	program_text_clean(error);
	program_events_refuse(p, pid, error, what, (unsigned int)pos + d.at);
}

static void refuse_text(struct programs *p, pid_t pid, const char *system, const char *name,
			const char *error)
{
	char what[2 * PROGRAM_EVENT_NAME_MAX + 8];

	snprintf(what, sizeof(what), "%.100s:%.100s", system, name);
	program_events_refuse(p, pid, error, what, 0);
}

static void brought(struct programs *p, struct event *e, uint64_t dso)
{
	struct program_dso d;
	char name[256];

	/* Without memory the event is of no module. */
	if (dso && dso <= LAYOUT_MAX_DSOS && program_dso_copy(p, (uint32_t)dso - 1, &d))
		event_module_add(e, program_dso_name(&d, name));
}

int program_events_define(struct programs *p, const struct attach_peer *peer, uint64_t dso,
			  const char *system, const char *name, const char *body)
{
	struct event *e = NULL;
	bool is_new;
	int err = model_add_program_event(p->model, system, name, body, 0, &e, &is_new);

	if (err == -EEXIST && e)
		refuse_other(p, peer->pid, e, body);
	else if (err == -EINVAL)
		refuse_text(p, peer->pid, system, name, program_event_fault(system, name, body));
	else if (err)
		refuse_text(p, peer->pid, system, name, strerror(-err));
	else if (is_new)
		program_pending_new(p, e);
	if (!err)
		brought(p, e, dso);
	return err ? err : e->id;
}

void program_events_destroy(struct programs *p)
{
	for (int i = 0; i < REFUSALS; i++)
		free(p->refused[i]);
}
