/* SPDX-License-Identifier: MIT */
/*
 * command.c - function commands, which a hit of a function carries out: FUNCTION:traceoff:3
 *
 * A struct function_command is one command of one instance, with counts or without. Its ops is
 * enabled while it has a function. A function that already has the command is not changed. The
 * functions of one write are a batch: they share parameters, the memory of their counts and the
 * saved text for a new server (R4).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/file.h"
#include "model/ftrace/ftrace.h"
#include "model/ftrace/glob.h"
#include "model/text.h"

static const char *const command_names[FTRACE_NO_COMMAND] = {
	"traceon", "traceoff", "stacktrace", "snapshot",
	"dump", "cpudump", "enable_event", "disable_event",
};

enum { NO_COUNT = -1 };

/* The parts of a write. */
struct request {
	enum ftrace_command command;
	/* It is for the function command with counts, even if no count was given */
	bool		counted;
	int64_t		count;
	struct event_file *target;
	data_ref	counts;		/* the counts of the last server, to restore; 0: none */
};

static enum ftrace_command command_named(const char *name)
{
	int c = 0;

	while (c < FTRACE_NO_COMMAND && strcmp(command_names[c], name))
		c++;
	return (enum ftrace_command)c;
}

bool function_command_exists(const char *command)
{
	return command_named(command) != FTRACE_NO_COMMAND;
}

static bool switches_event(enum ftrace_command c)
{
	return c == FTRACE_ENABLE_EVENT || c == FTRACE_DISABLE_EVENT;
}

/* ---- Function commands ---- */

static struct function_command *command_find(struct ftrace_instance *fi,
					     enum ftrace_command command, bool counted)
{
	struct function_command *p;

	list_each(p, &fi->commands, node)
		if (p->command == command && p->counted == counted)
			return p;
	return NULL;
}

static void count_stack_command(const struct function_command *p, unsigned int by)
{
	struct model *m = p->ops.inst->model;

	if (p->command == FTRACE_STACKTRACE && p->ops.inst == m->top)
		/*
		 * Pairs with wants_command_stack() in sources/recording/run.c. Relaxed: see struct
		 * model.
		 */
		atomic_fetch_add_explicit(&m->stack_commands, by, memory_order_relaxed);
}

static struct function_command *command_create(struct ftrace_instance *fi,
					       enum ftrace_command command, bool counted)
{
	struct function_command *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->command = command;
	p->counted = counted;
	list_init(&p->batches);
	p->ops = (struct ftrace_ops){
		.inst = fi->inst,
		.kind = FTRACE_OPS_COMMAND,
		.callback = "function_trace_probe_call",
		.hashes = &p->hashes,
		.priv = p,
	};
	list_init(&p->ops.node);
	list_add(&p->node, &fi->commands);
	count_stack_command(p, 1);
	return p;
}

static struct function_command *command_get(struct ftrace_instance *fi, enum ftrace_command command,
					    bool counted)
{
	struct function_command *p = command_find(fi, command, counted);

	return p ? p : command_create(fi, command, counted);
}

static void command_drop_unused(struct function_command *p)
{
	if (p->nr)
		return;
	count_stack_command(p, -1u);
	ftrace_ops_disable(&p->ops);
	ftrace_hash_destroy(p->hashes.filter);
	list_del(&p->node);
	free(p->sites);
	free(p);
}

/* ---- Batches ---- */

static bool counts_each_site(const struct function_command *p)
{
	return p->command == FTRACE_DUMP || (p->counted && !switches_event(p->command));
}

/* Allocates the counts. A new server restores them with what is left of each. */
static int batch_counts(struct function_command *p, struct ftrace_batch *b, const struct request *r)
{
	struct model *m = p->ops.inst->model;
	const size_t size = b->nr_counts * sizeof(int64_t);
	int err = 0;

	if (!b->nr_counts)
		return 0;
	/*
	 * An error also if the counts are restored already: the old server died after it had saved
	 * the batch's new text and before it removed the old one.
	 */
	if (r->counts)
		err = session_data_restore(m->session, r->counts, size);
	if (err)
		return err;
	b->counts_ref = r->counts ? r->counts : session_data_alloc(m->session, size);
	b->counts = b->counts_ref ? session_data(m->session, b->counts_ref, size) : NULL;
	if (!b->counts)
		return r->counts ? -EPROTO : -ENOMEM;
	for (uint32_t i = 0; !r->counts && i < b->nr_counts; i++)
		/* Relaxed: no program knows the command yet. */
		atomic_store_explicit(&b->counts[i], r->count, memory_order_relaxed);
	return 0;
}

static void batch_free(struct function_command *p, struct ftrace_batch *b)
{
	struct model *m = p->ops.inst->model;

	if (b->counts_ref && !m->closing)
		session_data_retire(m->session, b->counts_ref, b->nr_counts * sizeof(int64_t));
	if (b->table && !m->closing)
		session_config_retire(m->session, b->table, b->table_size);
	if (b->target && !m->closing)
		event_file_soft(b->target, -1);
	saved_remove(m, &b->saved);
	list_del(&b->node);
	free(b);
}

/*
 * err: plans may still lead to the batch's memory. Then that is not freed: it is lost until the
 * session ends.
 */
static void batch_drop(struct function_command *p, struct ftrace_batch *b, int err)
{
	if (err)
		b->counts_ref = b->table = 0;
	batch_free(p, b);
}

static struct ftrace_batch *batch_create(struct function_command *p, const struct request *r,
					 uint32_t nr)
{
	struct ftrace_batch *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->nr = nr;
	b->nr_counts = counts_each_site(p) ? nr : p->counted;
	list_add_tail(&b->node, &p->batches);
	if (batch_counts(p, b, r) || (r->target && event_file_soft(r->target, 1))) {
		batch_free(p, b);
		return NULL;
	}
	b->target = r->target;
	return b;
}

/* ---- Sites ---- */

static int function_command_by_address(const void *a, const void *b)
{
	const struct function_command_site *x = a, *y = b;

	return x->ip < y->ip ? -1 : x->ip > y->ip;
}

const struct function_command_site *function_command_find(const struct function_command *p,
							  uint64_t ip)
{
	const struct function_command_site key = { .ip = ip };

	if (!p->nr)
		return NULL;
	return bsearch(&key, p->sites, p->nr, sizeof(key), function_command_by_address);
}

_Atomic int64_t *function_command_count(const struct function_command_site *s)
{
	return s->batch->counts ? &s->batch->counts[s->index] : NULL;
}

/* Adds the batch's sites, which are sorted, behind the others. Then all are sorted. */
static int sites_add(struct function_command *p, struct ftrace_batch *b, const uint64_t *ips)
{
	struct function_command_site *sites =
		realloc(p->sites, ((size_t)p->nr + b->nr) * sizeof(*sites));
	bool sorted;

	if (!sites)
		return -ENOMEM;
	p->sites = sites;
	sorted = !p->nr || sites[p->nr - 1].ip < ips[0];
	for (uint32_t i = 0; i < b->nr; i++)
		sites[p->nr + i] =
			(struct function_command_site){ ips[i], b, b->nr_counts > 1 ? i : 0 };
	p->nr += b->nr;
	if (!sorted)
		qsort(sites, p->nr, sizeof(*sites), function_command_by_address);
	return 0;
}

static void sites_remove(struct function_command *p, const struct ftrace_batch *b,
			 const struct ftrace_hash *kept)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nr; i++) {
		if (b ? p->sites[i].batch == b : !ftrace_hash_has(kept, p->sites[i].ip))
			p->sites[i].batch->nr--;
		else
			p->sites[n++] = p->sites[i];
	}
	p->nr = n;
}

/* ---- Adding ---- */

/* Takes over `hash`: the function command's sites, with the new ones. */
static int function_command_put_in_place(struct function_command *p, struct ftrace_hash *hash)
{
	struct ftrace *ft = ftrace_of(p->ops.inst->model);
	int err = ftrace_hashes_replace(ft, &p->hashes, hash, NULL);

	if (err)
		ftrace_hash_destroy(hash);
	return err ? err : ftrace_ops_enable(&p->ops);
}

static void batch_undo(struct function_command *p, struct ftrace_batch *b)
{
	sites_remove(p, b, NULL);
	list_del(&b->node);
	batch_drop(p, b, function_command_publish(p));
}

static int add_sites(struct function_command *p, const struct request *r, struct ftrace_hash *hash,
		     const uint64_t *ips, uint32_t nr)
{
	struct ftrace_batch *b = batch_create(p, r, nr);
	int err;

	if (!b) {
		ftrace_hash_destroy(hash);
		return -ENOMEM;
	}
	err = sites_add(p, b, ips);
	if (!err)
		err = function_command_publish(p);
	if (!err)
		err = ftrace_save_batch(p, b);
	if (err)
		ftrace_hash_destroy(hash);
	else
		err = function_command_put_in_place(p, hash);
	if (err)
		batch_undo(p, b);
	return err;
}

/* The addresses of the set that the function command does not have, sorted. */
static uint64_t *new_ones(const struct function_command *p, const struct ftrace_hash *hash,
			  uint32_t *nr)
{
	uint64_t *ips = ftrace_hash_addresses(hash);

	*nr = 0;
	for (uint32_t i = 0; ips && i < hash->count; i++)
		if (!ftrace_hash_has(p->hashes.filter, ips[i]))
			ips[(*nr)++] = ips[i];
	return ips;
}

static int add_matching(struct function_command *p, const struct request *r, char *function)
{
	struct ftrace_hash *hash = ftrace_hash_copy(p->hashes.filter, true);
	uint64_t *ips = NULL;
	uint32_t nr = 0;
	int n = hash ? ftrace_hash_match(ftrace_of(p->ops.inst->model), hash, function, NULL)
		     : -ENOMEM,
	    err;

	if (n > 0) {
		ips = new_ones(p, hash, &nr);
		n = ips ? (int)nr : -ENOMEM;
	}
	if (n <= 0) {
		ftrace_hash_destroy(hash);
		err = n ? n : -EINVAL;
	} else {
		err = add_sites(p, r, hash, ips, nr);
	}
	free(ips);
	return err;
}

static int function_command_enter(void *arg, struct ftrace_site *site)
{
	return ftrace_hash_add(arg, site->ip);
}

/* All new functions get what is left of the old function's count. */
static int inherit_batch(struct function_command *p, const struct ftrace_batch *b,
			 const struct ftrace_page *old, struct ftrace_page *page)
{
	struct request r = { p->command, p->counted, NO_COUNT, b->target, 0 };
	struct ftrace_hash *hash = ftrace_hash_copy(p->hashes.filter, true);
	uint64_t *ips = NULL;
	uint32_t nr = 0;
	int n = hash ? 0 : -ENOMEM;

	for (uint32_t i = 0; n >= 0 && i < old->nr; i++) {
		const struct function_command_site *s = function_command_find(p, old->sites[i].ip);

		if (!s || s->batch != b)
			continue;
		if (s->batch->counts)
			/*
			 * Relaxed: a hit of the old function that decrements it later only changes
			 * the old count.
			 */
			r.count = atomic_load_explicit(function_command_count(s),
						       memory_order_relaxed);
		n = ftrace_page_match(page, ftrace_site_name(old, &old->sites[i]),
				      function_command_enter, hash);
	}
	if (n >= 0)
		ips = new_ones(p, hash, &nr);
	if (nr)
		n = add_sites(p, &r, hash, ips, nr);
	else
		ftrace_hash_destroy(hash);
	free(ips);
	return n < 0 ? n : 0;
}

int function_commands_inherit(struct ftrace_instance *fi, const struct ftrace_page *old,
			      struct ftrace_page *page)
{
	struct function_command *p;
	struct ftrace_batch *b;
	int err = 0;

	list_each(p, &fi->commands, node)
		list_each(b, &p->batches, node)
			err = err ? err : inherit_batch(p, b, old, page);
	return err;
}

static int function_command_add(struct ftrace_instance *fi, const struct request *r, char *function)
{
	struct function_command *p = command_get(fi, r->command, r->counted);
	int err = p ? add_matching(p, r, function) : -ENOMEM;

	if (p)
		command_drop_unused(p);
	return err;
}

/* ---- Removing ---- */

static bool function_command_matches(struct ftrace *ft, uint64_t ip, const struct ftrace_glob *g)
{
	struct ftrace_page *page;
	struct ftrace_site *site = ftrace_site_find(ft, ip, &page);

	return site && ftrace_site_is_called(page, site, g);
}

static void batches_move(struct list_head *from, struct list_head *to)
{
	struct ftrace_batch *b, *next;

	list_each_safe(b, next, from, node) {
		if (b->nr)
			continue;
		list_del(&b->node);
		list_add_tail(&b->node, to);
	}
}

/* Without memory all is as before. */
static int remove_sites(struct function_command *p, struct ftrace_hash *hash,
			struct list_head *gone)
{
	const uint32_t nr = p->nr;
	struct function_command_site *sites = malloc(nr * sizeof(*sites));
	int err;

	if (!sites)
		return -ENOMEM;
	memcpy(sites, p->sites, nr * sizeof(*sites));
	sites_remove(p, NULL, hash);
	batches_move(&p->batches, gone);
	err = function_command_publish(p);
	if (!err && !p->nr)
		ftrace_ops_disable(&p->ops);	/* an empty filter would mean all functions */
	if (!err)
		err = ftrace_hashes_replace(ftrace_of(p->ops.inst->model), &p->hashes, hash, NULL);
	if (err) {
		batches_move(gone, &p->batches);
		for (uint32_t i = 0; i < p->nr; i++)
			p->sites[i].batch->nr--;
		for (uint32_t i = 0; i < nr; i++)
			sites[i].batch->nr++;
		memcpy(p->sites, sites, nr * sizeof(*sites));
		p->nr = nr;
		(void)function_command_publish(p);
		(void)ftrace_ops_enable(&p->ops);
	}
	free(sites);
	return err;
}

static int remove_from(struct function_command *p, const struct ftrace_glob *g)
{
	struct ftrace *ft = ftrace_of(p->ops.inst->model);
	struct ftrace_hash *hash = ftrace_hash_copy(p->hashes.filter, true);
	struct ftrace_batch *b, *next;
	struct list_head gone;
	int err = hash ? 0 : -ENOMEM;

	list_init(&gone);
	for (uint32_t i = 0; hash && i < p->nr; i++)
		if (!g || function_command_matches(ft, p->sites[i].ip, g))
			ftrace_hash_remove(hash, p->sites[i].ip);
	if (hash)
		err = hash->count == p->nr ? -EINVAL : remove_sites(p, hash, &gone);
	if (err) {
		ftrace_hash_destroy(hash);
		return err;
	}
	list_each(b, &p->batches, node)
		ftrace_save_batch(p, b);
	list_each_safe(b, next, &gone, node)
		batch_free(p, b);
	return 0;
}

/* An empty name or a single star means all functions. */
static int function_command_remove_matching(struct ftrace_instance *fi, const struct request *r,
					    char *function)
{
	struct function_command *p = command_find(fi, r->command, r->counted);
	const bool all = !*function || !strcmp(function, "*");
	struct ftrace_glob g;
	int err;

	if (*function == '!')
		return -EINVAL;
	if (!p)
		return -ENODEV;
	ftrace_glob_parse(&g, function);
	err = remove_from(p, all ? NULL : &g);
	command_drop_unused(p);
	return err;
}

/* ---- Commands ---- */

/* ":COUNT[:...]"; for an event the count may not be empty. */
static int parse_count(struct request *r, char *text)
{
	const char *number = strsep(&text, ":");
	uint64_t v;
	int err;

	if (!*number)
		return switches_event(r->command) ? -EINVAL : 0;
	err = text_to_u64(number, 0, &v);
	if (!err)
		r->count = (int64_t)v;
	return err;
}

static int parse_event(struct instance *inst, struct request *r, char **parameters)
{
	const char *system = strsep(parameters, ":"), *name;
	struct event *e;

	if (!*parameters)
		return -EINVAL;
	name = strsep(parameters, ":");
	e = model_find_event(inst->model, system, name);
	if (!e || !event_has_enable(e))
		return -EINVAL;
	r->target = event_file_get(inst, e);
	return r->target ? 0 : -ENOMEM;
}

/*
 * dump always has a count, which is 1 whatever was written. cpudump has none, but only the first
 * one dumps.
 */
static int function_command_parse(struct instance *inst, struct request *r, char *parameters,
				  bool adds)
{
	int err;

	if (r->command == FTRACE_DUMP || r->command == FTRACE_CPUDUMP) {
		r->count = 1;
		return 0;
	}
	if (switches_event(r->command)) {
		err = parameters ? parse_event(inst, r, &parameters) : -EINVAL;
		if (err)
			return err;
	}
	r->counted = parameters != NULL;
	return parameters && adds ? parse_count(r, parameters) : 0;
}

int function_command_write(struct instance *inst, char *function, const char *command,
			   char *parameters)
{
	struct ftrace_instance *fi = ftrace_of_instance(inst);
	struct request r = { .command = command_named(command), .count = NO_COUNT };
	const bool adds = *function != '!';
	int err;

	if (r.command == FTRACE_NO_COMMAND)
		return -EINVAL;
	err = function_command_parse(inst, &r, parameters, adds);
	if (err)
		return err;
	if (!adds)
		return function_command_remove_matching(fi, &r, function + 1);
	if (r.command == FTRACE_SNAPSHOT)
		err = instance_snapshot_alloc(inst);
	return err ? err : function_command_add(fi, &r, function);
}

/* ---- Printing ---- */

/* For an event, -1 means no count. Other commands have a count or none. */
static void print_count(const struct function_command *p, const struct function_command_site *s,
			FILE *out)
{
	_Atomic int64_t *word = function_command_count(s);
	/* Relaxed: a hit may decrement it at any time. */
	const int64_t count = word ? atomic_load_explicit(word, memory_order_relaxed) : NO_COUNT;

	if (!word || (switches_event(p->command) && count == NO_COUNT))
		fputs(":unlimited\n", out);
	else
		fprintf(out, ":count=%" PRId64 "\n", count);
}

static int print_function_command(struct ftrace *ft, const struct function_command *p,
				  uint32_t *left_out, FILE *out)
{
	uint64_t *ips = ftrace_hash_list(p->hashes.filter);

	if (!ips)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->nr; i++) {
		const struct function_command_site *s = function_command_find(p, ips[i]);
		const struct event_file *target = s->batch->target;

		if (!ftrace_site_find(ft, ips[i], NULL))
			continue;	/* its DSO is gone, maybe for a while */
		if (*left_out && (*left_out)--)
			continue;
		ftrace_print_function(ft, ips[i], out);
		fprintf(out, ":%s", command_names[p->command]);
		if (target)
			fprintf(out, ":%s:%s", target->event->system->name, target->event->name);
		print_count(p, s, out);
	}
	free(ips);
	return 0;
}

int function_commands_print(struct ftrace_instance *fi, uint32_t left_out, FILE *out)
{
	struct ftrace *ft = ftrace_of(fi->inst->model);
	struct function_command *p;
	int err = 0;

	list_each(p, &fi->commands, node)
		err = err ? err : print_function_command(ft, p, &left_out, out);
	return err;
}

void function_commands_destroy(struct ftrace_instance *fi)
{
	struct function_command *p, *next;
	struct ftrace_batch *b, *next_batch;

	list_each_safe(p, next, &fi->commands, node) {
		ftrace_ops_disable(&p->ops);
		list_each_safe(b, next_batch, &p->batches, node)
			batch_free(p, b);
		p->nr = 0;
		command_drop_unused(p);
	}
}

/* ---- R4: "COMMAND COUNTED SYSTEM:EVENT|- ADDRESS.INDEX ..." ---- */

void function_command_describe(const struct function_command *p, const struct ftrace_batch *b,
			       FILE *out)
{
	fprintf(out, "%s %d ", command_names[p->command], p->counted);
	if (b->target)
		fprintf(out, "%s:%s", b->target->event->system->name, b->target->event->name);
	else
		fputc('-', out);
	fprintf(out, " %u", b->nr_counts);
	for (uint32_t i = 0; i < p->nr; i++)
		if (p->sites[i].batch == b)
			fprintf(out, " %" PRIx64 ".%x", p->sites[i].ip, p->sites[i].index);
}

static int restore_target(struct instance *inst, const char *text, struct request *r)
{
	char *copy = strdup(text), *parameters = copy;
	int err = copy ? 0 : -ENOMEM;

	if (!err && strcmp(text, "-"))
		err = parse_event(inst, r, &parameters);
	free(copy);
	return err;
}

/*
 * " ADDRESS.INDEX". -ENOENT: the text ends. No sscanf(): it searches for the end of the text in
 * each call.
 */
static int read_site(const char **text, uint64_t *ip, uint32_t *index)
{
	char *end;

	if (**text != ' ')
		return -ENOENT;
	*ip = strtoull(*text + 1, &end, 16);
	if (*end != '.')
		return -EPROTO;
	*index = (uint32_t)strtoul(end + 1, &end, 16);
	*text = end;
	return 0;
}

/* Makes room for `more` sites. */
static int sites_room(struct function_command *p, size_t more)
{
	struct function_command_site *sites = realloc(p->sites, (p->nr + more) * sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	p->sites = sites;
	return 0;
}

/* Reads the addresses behind the header, with the numbers of their counts. */
static int restore_sites(struct function_command *p, struct ftrace_batch *b, const char *text,
			 struct ftrace_hash *hash)
{
	uint32_t index;
	uint64_t ip;
	int err = sites_room(p, strlen(text) / 4 + 1);

	while (!err && !(err = read_site(&text, &ip, &index))) {
		if (b->counts && index >= b->nr_counts)
			return -EPROTO;
		if (ftrace_hash_has(hash, ip))
			/*
			 * Another batch has it: the old server died as described in batch_counts()
			 */
			continue;
		p->sites[p->nr++] = (struct function_command_site){ ip, b, index };
		b->nr++;
		err = ftrace_hash_add(hash, ip);
	}
	if (err != -ENOENT)
		return err;
	qsort(p->sites, p->nr, sizeof(*p->sites), function_command_by_address);
	return b->nr ? 0 : -EPROTO;
}

static int restore_batch(struct function_command *p, const struct request *r, uint32_t nr_counts,
			 const char *text)
{
	struct ftrace_hash *hash = ftrace_hash_copy(p->hashes.filter, true);
	struct ftrace_batch *b = calloc(1, sizeof(*b));
	int err = hash && b ? 0 : -ENOMEM;

	if (b)
		list_init(&b->node);
	if (!err) {
		b->nr_counts = nr_counts;
		list_add_tail(&b->node, &p->batches);
		err = batch_counts(p, b, r);
	}
	if (!err)
		err = restore_sites(p, b, text, hash);
	if (!err && r->target) {
		err = event_file_soft(r->target, 1);
		b->target = err ? NULL : r->target;
	}
	if (!err)
		err = function_command_publish(p);
	if (!err)
		err = function_command_put_in_place(p, hash);
	else
		ftrace_hash_destroy(hash);
	if (!err)
		return ftrace_save_batch(p, b);
	if (b)
		batch_undo(p, b);
	return err;
}

int function_command_restore(struct ftrace_instance *fi, const struct restored *o,
			 const char *text)
{
	struct request r = { .count = NO_COUNT, .counts = restored_ref(o, 0) };
	char command[32], event[512];
	unsigned int nr_counts;
	struct function_command *p;
	int counted, n, err;

	if (sscanf(text, "%31s %d %511s %u%n", command, &counted, event, &nr_counts, &n) != 4)
		return -EPROTO;
	r.command = command_named(command);
	if (r.command == FTRACE_NO_COMMAND)
		return -EPROTO;
	err = restore_target(fi->inst, event, &r);
	if (err)
		return err;
	p = command_get(fi, r.command, counted);
	if (!p)
		return -ENOMEM;
	err = restore_batch(p, &r, nr_counts, text + n);
	command_drop_unused(p);
	return err;
}
