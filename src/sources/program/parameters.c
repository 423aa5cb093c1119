/* SPDX-License-Identifier: MIT */
/*
 * parameters.c - the parameters of programs' functions, from the debug information of their files
 *
 *     address in the session -> DSO -> its file -> a reader (debug/prototype.h) -> parameters
 *
 * Each function is asked for once. A few readers stay until the program's functions have not been
 * printed for a while. A file whose reader fails is not asked again.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "debug/prototype.h"
#include "model/parameters.h"
#include "model/symbols.h"
#include "sources/program/programs_state.h"
#include "sources/program/scan/scan.h"
#include "sources/program/sites.h"
#include "tracefs/reading.h"

enum {
	READERS		= 4,
	IDLE_MS		= 3000,
	STILL_MS	= 1000,		/* a look for a file that does not answer */
	FUNCTIONS_MAX	= 1 << 17,	/* more are not known */
	FAILURES_MAX	= 2,		/* of readers that were waited for in vain */
};

struct parameter_reader {
	struct debug	*debug;		/* NULL: free */
	uint32_t	dso;
	int64_t		used;		/* ms */
};

struct program_parameters {
	pid_t		pid;		/* the process that started the readers */
	void		*tree;		/* of struct parameters, by func */
	unsigned int	nr;
	unsigned int	failures;
	struct parameter_reader readers[READERS];
	bool		refused[LAYOUT_MAX_DSOS];
};

/* ---- A prototype as parameters ---- */

static uint8_t register_of(const char *place)
{
	static const char *const names[PARAMETER_REGISTERS] = {
		"%di", "%si", "%dx", "%cx", "%r8", "%r9",
	};

	for (uint8_t i = 0; i < PARAMETER_REGISTERS; i++)
		if (!strcmp(place, names[i]))
			return i;
	return PARAMETER_NONE;
}

/* As Linux prints them: signed numbers in decimal, all others in hexadecimal. */
static uint8_t base_of(const struct prototype_value *v)
{
	if (v->kind == PROTOTYPE_SIGNED || v->kind == PROTOTYPE_ENUM ||
	    v->kind == PROTOTYPE_CHARACTER)
		return PARAMETER_SIGNED;
	return PARAMETER_HEX;
}

/* Of what is passed by its address, the record has the address. False: the stack has the value. */
static bool parameter_fill(struct parameter *to, const struct prototype_value *v)
{
	char address[32];
	const bool has_address = prototype_address(v, address);
	const char *place = has_address ? address : prototype_word(v);

	if (*(has_address ? address : v->place) == '$')
		return false;
	strncpy(to->name, v->name, sizeof(to->name) - 1);
	to->reg = place ? register_of(place) : PARAMETER_NONE;
	to->size = v->size < 8 && !has_address ? (uint8_t)v->size : 8;
	to->base = has_address ? PARAMETER_HEX : base_of(v);
	return true;
}

/* What is not known has the whole register, as of a function that is not known. */
static void result_fill(struct parameters *out, const struct prototype_value *v)
{
	const bool in_ax = !strncmp(v->place, "%ax", 3) || !strcmp(v->place, "?");

	out->result_size = !in_ax ? 0 : *v->place == '?' || v->size > 8 ? 8 : (uint8_t)v->size;
	out->result_base = base_of(v);
}

static void parameters_fill(struct parameters *out, const struct prototype *p)
{
	out->known = !p->changed;
	out->more = p->varargs;
	result_fill(out, &p->result);
	for (unsigned int i = 0; i < p->nr; i++) {
		if (out->nr == PARAMETERS_MAX ||
		    !parameter_fill(&out->v[out->nr], &p->parameters[i])) {
			out->more = true;
			return;
		}
		out->nr++;
	}
}

/* ---- Readers ---- */

static void reader_close(struct parameter_reader *r)
{
	debug_close(r->debug);
	r->debug = NULL;
}

static struct parameter_reader *reader_place_for(struct program_parameters *q)
{
	struct parameter_reader *oldest = &q->readers[0];

	for (unsigned int i = 0; i < READERS; i++) {
		if (!q->readers[i].debug)
			return &q->readers[i];
		if (q->readers[i].used < oldest->used)
			oldest = &q->readers[i];
	}
	reader_close(oldest);
	return oldest;
}

/* Where the file of a DSO is looked for, and found. */
struct path_search {
	struct program_dso dso;
	struct program_owners owners;
	char		path[LAYOUT_PATH + 64];
};

static int path_right(const char *path, const struct elf_want *want, void *out)
{
	struct path_search *s = out;
	struct elf_file f;
	int err = elf_file_open(path, want, &f);

	if (err)
		return err;
	elf_file_close(&f);
	snprintf(s->path, sizeof(s->path), "%s", path);
	return 0;
}

static int path_search_print(void *arg, FILE *out)
{
	struct path_search *s = arg;

	if (!program_dso_try(&s->dso, &s->owners, path_right, s))
		return -ENOENT;
	fwrite(s->path, 1, sizeof(s->path), out);
	return 0;
}

static int path_print_alone(void *arg, FILE *out)
{
	reading_begin("tracefuse-path");
	return path_search_print(arg, out);
}

static int path_take(struct path_search *s, const struct reading *r)
{
	if (r->nr != sizeof(s->path) || !memchr(r->bytes, 0, r->nr))
		return -EPROTO;
	memcpy(s->path, r->bytes, sizeof(s->path));
	return 0;
}

/* The server has another process look, whose disk may not answer. */
static int path_find(struct programs *p, struct path_search *s)
{
	struct reading r;
	int err;

	if (getpid() != p->pid ||
	    reading_start(scans_printers(p->sites->scans), &r, path_print_alone, s, 0))
		return program_dso_try(&s->dso, &s->owners, path_right, s) ? 0 : -ENOENT;
	while ((err = reading_take(&r)) > 0 && session_now_ms() - r.since < STILL_MS)
		program_sites_await(p);
	if (!err)
		err = path_take(s, &r);
	reading_end(&r);
	return err > 0 ? -ETIMEDOUT : err;
}

static struct debug *reader_open(struct programs *p, uint32_t dso)
{
	struct debug *debug = NULL;
	struct path_search s;
	int err = -ENOENT;

	if (program_dso_copy(p, dso, &s.dso)) {
		program_dso_owners(p, &s.dso, &s.owners);
		err = path_find(p, &s);
	}
	if (!err)
		err = debug_open(s.path, &debug);
	p->parameters->failures += err == -ETIMEDOUT || err == -EIO;
	p->parameters->refused[dso] = err;
	return debug;
}

static struct parameter_reader *reader_of(struct programs *p, uint32_t dso)
{
	struct program_parameters *q = p->parameters;
	struct parameter_reader *r;
	struct debug *debug;

	for (unsigned int i = 0; i < READERS; i++)
		if (q->readers[i].debug && q->readers[i].dso == dso)
			return &q->readers[i];
	if (q->refused[dso] || q->failures >= FAILURES_MAX)
		return NULL;
	debug = reader_open(p, dso);
	if (!debug)
		return NULL;
	r = reader_place_for(q);
	*r = (struct parameter_reader){ .debug = debug, .dso = dso };
	return r;
}

/*
 * A printer (tracefs/printer.h) is a process of its own, a child of the server. The readers are the
 * server's, and the printer has closed their descriptors.
 */
static void readers_forget(struct program_parameters *q)
{
	const pid_t self = getpid();

	if (!q || q->pid == self)
		return;
	memset(q->readers, 0, sizeof(q->readers));
	q->pid = self;
}

/* ---- A function ---- */

/* Asks for the function that begins at the session's address `start`. False: nothing is known. */
static bool parameters_ask(struct programs *p, uint64_t start, struct prototype *out)
{
	const uint64_t nr = (start - LAYOUT_DSO_BASE) >> LAYOUT_DSO_SHIFT;
	struct parameter_reader *r;
	struct program_dso d;
	int err;

	if (!layout_is_dso_address(start) || !program_dso_copy(p, (uint32_t)nr, &d))
		return false;
	r = reader_of(p, (uint32_t)nr);
	if (!r)
		return false;
	r->used = session_now_ms();
	err = debug_ask(r->debug, start - program_dso_base(&d) + d.load, out);
	if (err && err != -ENOENT) {
		p->parameters->failures++;
		p->parameters->refused[nr] = true;
		reader_close(r);
	}
	return !err;
}

static struct parameters *parameters_make(struct programs *p, uint64_t func)
{
	struct parameters *made = calloc(1, sizeof(*made) +
					    PARAMETERS_MAX * sizeof(made->v[0]));
	struct prototype *proto = malloc(sizeof(*proto));
	uint64_t offset = 0;
	const char *symbol = symbols_find(p->model->symbols, func, &offset, NULL, NULL);

	if (made && proto && symbol && parameters_ask(p, func - offset, proto)) {
		proto->changed |= prototype_is_clone(symbol);
		parameters_fill(made, proto);
	}
	if (made) {
		struct parameters *less;

		made->func = func;
		less = realloc(made, sizeof(*made) + made->nr * sizeof(made->v[0]));
		made = less ? less : made;
	}
	free(proto);
	return made;
}

static int compare(const void *a, const void *b)
{
	const struct parameters *x = a, *y = b;

	return x->func < y->func ? -1 : x->func > y->func;
}

const struct parameters *program_parameters_of(struct programs *p, uint64_t func)
{
	const struct parameters key = { .func = func };
	struct parameters *made, *const *found;
	struct program_parameters *q;

	if (!p->parameters)
		p->parameters = calloc(1, sizeof(*p->parameters));
	q = p->parameters;
	readers_forget(q);
	found = q ? tfind(&key, &q->tree, compare) : NULL;
	if (found)
		return (*found)->known ? *found : NULL;
	made = q && q->nr < FUNCTIONS_MAX ? parameters_make(p, func) : NULL;
	if (!made)
		return NULL;
	if (!tsearch(made, &q->tree, compare)) {
		free(made);
		return NULL;
	}
	q->nr++;
	return made->known ? made : NULL;
}

void program_parameters_tick(struct programs *p, int64_t now)
{
	struct program_parameters *q = p->parameters;

	for (unsigned int i = 0; q && i < READERS; i++)
		if (q->readers[i].debug && now - q->readers[i].used > IDLE_MS)
			reader_close(&q->readers[i]);
}

void program_parameters_destroy(struct programs *p)
{
	struct program_parameters *q = p->parameters;

	if (!q)
		return;
	for (unsigned int i = 0; i < READERS; i++)
		reader_close(&q->readers[i]);
	tdestroy(q->tree, free);
	free(q);
}
