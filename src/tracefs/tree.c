/* SPDX-License-Identifier: MIT */
/*
 * tree.c - paths, and the life of an open file
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/ftrace/ftrace.h"
#include "model/instance/options.h"
#include "model/text_memory.h"
#include "plane/ring/ring.h"
#include "tracefs/marker.h"
#include "tracefs/tree_state.h"

enum { COMMAND_MAX = 64 * 1024, TEXT_MAX = 4096 };

struct tree *tree_create(struct model *m)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->model = m;
	list_init(&t->held);
	if (marker_names(m)) {
		free(t);
		return NULL;
	}
	return t;
}

void tree_destroy(struct tree *t)
{
	printers_destroy(t->printers);
	free(t);
}

int tree_use_printers(struct tree *t)
{
	t->printers = printers_create();
	return t->printers ? printers_fd(t->printers) : -ENOMEM;
}

void tree_tend(struct tree *t)
{
	if (!t->printers)
		return;
	printers_tend(t->printers);
	long_text_tend(t);
}

int tree_add_extra(struct tree *t, const struct tree_extra *extra)
{
	if (t->nr_extras == sizeof(t->extras) / sizeof(*t->extras))
		return -ENOSPC;
	t->extras[t->nr_extras++] = *extra;
	return 0;
}

/* ---- Paths ---- */

static const struct file_kind *find_kind(const struct file_kind *kinds, const char *name,
					 const struct instance *inst, const struct event *e)
{
	for (; kinds->name; kinds++)
		if (!strcmp(kinds->name, name) && !(kinds->absent && kinds->absent(inst, e)))
			return kinds;
	return NULL;
}

static int file_at(struct place *p, const struct file_kind *kind)
{
	if (!kind)
		return -ENOENT;
	p->dir = p->type;
	p->type = PLACE_FILE;
	p->kind = kind;
	return 0;
}

/* The tables in the order of the directory. */
const struct root_kinds tree_root_kinds[] = {
	{ top_kinds, true },	  { dynamic_kinds, true },
	{ ftrace_top_kinds, true }, { profile_kinds, true },
	{ stack_kinds, true },
	{ instance_kinds, false }, { tracer_kinds, false },
	{ top_tracer_kinds, true }, { ftrace_kinds, false },
	{ buffer_kinds, false },	  { drain_kinds, false },
	{ profile_instance_kinds, false },
	{ NULL, false },
};

static int step_root(struct tree *t, struct place *p, const char *name)
{
	const struct file_kind *kind = NULL;

	if (!strcmp(name, "events"))
		return p->type = PLACE_EVENTS, 0;
	if (!strcmp(name, "options"))
		return p->type = PLACE_OPTIONS, 0;
	if (!strcmp(name, "per_cpu"))
		return p->type = PLACE_PER_CPU, 0;
	if (!p->inst->name) {
		if (!strcmp(name, "instances"))
			return p->type = PLACE_INSTANCES, 0;
		for (unsigned int i = 0; i < t->nr_extras; i++)
			if (!strcmp(t->extras[i].name, name)) {
				p->extra = &t->extras[i];
				p->dir = p->type;
				p->type = PLACE_FILE;
				return 0;
			}
		if (!strcmp(name, "trace_stat") && ftrace_present(t->model))
			return p->type = PLACE_STAT, 0;
	}
	for (const struct root_kinds *k = tree_root_kinds; k->kinds && !kind; k++)
		if (!k->of_top || !p->inst->name)
			kind = find_kind(k->kinds, name, p->inst, NULL);
	return file_at(p, kind);
}

/* "cpu0", "function0" */
static int find_cpu(const struct tree *t, struct place *p, const char *head, const char *name)
{
	const char *at = name + strlen(head);
	char *end;
	unsigned long cpu;

	if (strncmp(name, head, strlen(head)) || *at < '0' || *at > '9' || (*at == '0' && at[1]))
		return -ENOENT;
	cpu = strtoul(at, &end, 10);
	if (*end || cpu >= t->model->nr_cpus)
		return -ENOENT;
	p->cpu = (int)cpu;
	return 0;
}

static int step_per_cpu(struct tree *t, struct place *p, const char *name)
{
	int err = find_cpu(t, p, "cpu", name);

	if (!err)
		p->type = PLACE_CPU;
	return err;
}

static int step_stat(struct tree *t, struct place *p, const char *name)
{
	int err = find_cpu(t, p, "function", name);

	if (!strcmp(name, stat_all_kind.name))
		return file_at(p, &stat_all_kind);
	return err ? err : file_at(p, &stat_kind);
}

static int step_option(struct place *p, const char *name)
{
	for (int o = 0; o < OPTION_COUNT; o++)
		if (!strcmp(name, option_names[o]) && option_in_directory(p->inst, o)) {
			p->option = o;
			return file_at(p, &option_kind);
		}
	return -ENOENT;
}

static int step_events(struct tree *t, struct place *p, const char *name)
{
	const struct file_kind *kind = find_kind(events_kinds, name, p->inst, NULL);

	if (kind)
		return file_at(p, kind);
	p->system = model_find_system(t->model, name);
	p->type = PLACE_SYSTEM;
	return p->system ? 0 : -ENOENT;
}

bool tree_system_has_files(const struct system *sys)
{
	return strcmp(sys->name, "ftrace") != 0;
}

static int step_system(struct tree *t, struct place *p, const char *name)
{
	if (tree_system_has_files(p->system)) {
		const struct file_kind *kind = find_kind(system_kinds, name, p->inst, NULL);

		if (kind)
			return file_at(p, kind);
	}
	p->event = model_find_event(t->model, p->system->name, name);
	p->type = PLACE_EVENT;
	return p->event ? 0 : -ENOENT;
}

static int tree_step(struct tree *t, struct place *p, const char *name)
{
	switch (p->type) {
	case PLACE_ROOT:
		return step_root(t, p, name);
	case PLACE_INSTANCES:
		p->inst = instance_find(t->model, name);
		p->type = PLACE_ROOT;
		return p->inst ? 0 : -ENOENT;
	case PLACE_OPTIONS:
		return step_option(p, name);
	case PLACE_PER_CPU:
		return step_per_cpu(t, p, name);
	case PLACE_STAT:
		return step_stat(t, p, name);
	case PLACE_CPU:
		return file_at(p, find_kind(cpu_kinds, name, p->inst, NULL));
	case PLACE_EVENTS:
		return step_events(t, p, name);
	case PLACE_SYSTEM:
		return step_system(t, p, name);
	case PLACE_EVENT:
		return file_at(p, find_kind(event_kinds, name, p->inst, p->event));
	default:
		return -ENOTDIR;
	}
}

int tree_resolve(struct tree *t, const char *path, struct place *p)
{
	char name[TREE_NAME_MAX + 1];

	*p = (struct place){ .type = PLACE_ROOT, .inst = t->model->top, .cpu = -1 };
	while (*path) {
		size_t n = strcspn(path, "/");
		int err;

		if (n > TREE_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, path, n);
		name[n] = '\0';
		err = n && strcmp(name, ".") ? tree_step(t, p, name) : 0;
		if (err)
			return err;
		path += n + (path[n] == '/');
	}
	return 0;
}

static uint64_t hash_path(const char *path)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (; *path; path++)
		h = (h ^ (unsigned char)*path) * 0x100000001b3ull;
	return h | 2;
}

static int count_directory(void *nr, const char *name, bool is_dir)
{
	*(unsigned int *)nr += is_dir;
	return 0;
}

int tree_stat(struct tree *t, const char *path, struct tree_stat *out)
{
	struct place p;
	int err = tree_resolve(t, path, &p);

	if (err)
		return err;
	*out = (struct tree_stat){ .mode = S_IFDIR | (*path ? 0750 : 0700),
		.ino = *path ? hash_path(path) : 1, .nlink = 2 };
	if (p.type == PLACE_EVENTS || p.type == PLACE_SYSTEM || p.type == PLACE_EVENT) {
		out->mode = S_IFDIR | 0755;
		out->nlink = 1;		/* the kernel does not count there */
	} else if (p.type == PLACE_ROOT || p.type == PLACE_INSTANCES || p.type == PLACE_PER_CPU) {
		tree_list(t, path, count_directory, &out->nlink);
	} else if (p.type == PLACE_FILE) {
		out->mode = S_IFREG | (p.extra ? p.extra->mode : p.kind->mode);
		out->nlink = 1;
		out->raw = p.kind && p.kind->raw;
		out->endless = p.kind && p.kind->endless;
		out->follows = p.kind && p.kind->follows;
	}
	return 0;
}

/* ---- Open files ---- */

/* An event may be removed while files of its directory are open, and some files' instance, too. */
static void get_place(const struct place *p)
{
	if (p->kind && p->kind->instance_may_go)
		instance_get(p->inst);
	else
		p->inst->refs++;
	if (p->event)
		event_get(p->event);
	else if (p->system)
		system_get(p->system);
}

static void put_place(const struct place *p)
{
	if (p->kind && p->kind->instance_may_go)
		instance_put(p->inst);
	else
		p->inst->refs--;
	if (p->event)
		event_put(p->event);
	else if (p->system)
		system_put(p->system);
}

/*
 * As in the kernel: if the event or the instance is removed, its id can still be read. If a system
 * has lost its last event, only its file `filter` refuses writes.
 */
static bool is_removed(const struct place *p, bool writes)
{
	if (p->event)
		return (p->event->removed || p->inst->removed) && !p->kind->outlives;
	return writes && p->system && p->system->removed && p->kind->command;
}

/* Waits until all running programs obey what was written. Returns as model.settle. */
static uint64_t tree_settle(const struct model *m, uint64_t until)
{
	const uint64_t more = m->settle ? m->settle(m->catch_up_arg, until) : 0;

	if (m->kernel)
		m->kernel->settle(m->kernel->arg);
	return more;
}

int tree_open(struct tree *t, const char *path, int flags, struct tree_file **out)
{
	struct tree_file *f;
	struct place p;
	int err = tree_resolve(t, path, &p);

	if (err)
		return err;
	if (p.type != PLACE_FILE)
		return -EISDIR;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->tree = t;
	f->at = p;
	f->flags = flags;
	/* Opening may empty a file, or stop the recording (pause-on-trace). */
	if (flags & O_TRUNC || (p.kind && p.kind->open))
		model_barrier(t->model);
	err = p.kind && p.kind->open ? p.kind->open(f) : 0;
	tree_settle(t->model, 0);
	if (err) {
		free(f);
		return err;
	}
	get_place(&f->at);	/* trace_pages has changed it */
	*out = f;
	return 0;
}

/* What was recorded before is in what is read, and what programs have reported. */
static void tree_take_in(const struct model *m)
{
	model_barrier(m);
	if (m->catch_up)
		m->catch_up(m->catch_up_arg);
}

/*
 * The copy serves no process and waits for none. It has no thread but this one: the kernel's source
 * has one, which may hold its lock now.
 */
static void tree_alone(struct tree *t)
{
	struct model *m = t->model;

	t->printers = NULL;
	m->catch_up = NULL;
	m->settle = NULL;
	m->step = NULL;
	m->kernel = NULL;
}

pid_t tree_fork(struct tree *t, int fd)
{
	const pid_t server = getpid();
	pid_t child;

	tree_take_in(t->model);
	child = fork();
	if (child)
		return child < 0 ? -errno : child;
	printer_become(fd, server);
	tree_alone(t);
	return 0;
}

/* `begin`: only the beginning, if the text is long. 1: it is */
static int print_into(struct tree_file *f, FILE *out, bool begin)
{
	const struct file_kind *kind = f->at.kind;

	if (f->at.extra)
		return f->at.extra->print(f->at.extra->arg, out);
	return begin && kind->begin ? kind->begin(f, out) : kind->print(f, out);
}

/* Prints into f->text. 0; 1: the beginning; -errno */
static int tree_print_text(struct tree_file *f, bool begin)
{
	FILE *out = text_memory_open(&f->text, &f->len);
	int rc = out ? print_into(f, out, begin) : -ENOMEM;

	if (out && fclose(out) && rc >= 0) {
		if (rc)
			long_text_begun(f);
		rc = -ENOMEM;
	}
	if (rc < 0) {
		free(f->text);
		f->text = NULL;
	}
	return rc;
}

/* A text that was printed stays as it is: a reader of it, byte by byte, needs no more events. */
int tree_print(struct tree_file *f)
{
	int rc;

	tree_take_in(f->tree->model);
	rc = tree_print_text(f, f->tree->printers);
	/* If there can be no more processes or descriptors, others wait for the text. */
	if (rc == 1 && long_text_start(f)) {
		free(f->text);
		rc = tree_print_text(f, false);
	}
	if (rc == 1)
		rc = 0;
	f->printed = !rc;
	f->printed_ms = session_now_ms();
	return rc;
}

/*
 * A reader is at the end of a text that grows (tail -f). If the old records are still there, the
 * new ones are added. A reader that reads again within FOLLOW_MS gets the end, so that cat ends.
 */
static void follow(struct tree_file *f)
{
	char *old = f->text, *joined = NULL;
	size_t old_len = f->len, body;
	const size_t from = text_body(old, old_len), had = old_len - from;
	int err;

	if (session_now_ms() - f->printed_ms < FOLLOW_MS)
		return;
	f->body = (struct printer_body){ 0 };
	printer_body_add(&f->body, old + from, had);
	f->follow_at = (off_t)old_len;
	f->following = true;
	err = tree_print(f);
	f->following = false;
	if (!err && f->printer) {
		free(old);
		return;
	}
	if (err) {
		f->text = old;
		f->len = old_len;
		f->printed = true;
		return;
	}
	body = text_body(f->text, f->len);
	if (f->len - body > had && !memcmp(old + from, f->text + body, had))
		joined = realloc(old, old_len + f->len - body - had);
	if (joined) {
		memcpy(joined + old_len, f->text + body + had, f->len - body - had);
		old = joined;
		old_len += f->len - body - had;
	}
	free(f->text);
	f->text = old;
	f->len = old_len;
}

ssize_t tree_read(struct tree_file *f, char *buf, size_t size, off_t off)
{
	int err;

	if ((f->flags & O_ACCMODE) == O_WRONLY)
		return -EBADF;
	if (off && f->at.kind && f->at.kind->once)
		return 0;
	if (is_removed(&f->at, false))
		return -ENODEV;
	if (f->at.kind && f->at.kind->read) {
		tree_take_in(f->tree->model);
		return f->at.kind->read(f, buf, size, off);
	}
	if (f->at.extra ? !f->at.extra->print : !f->at.kind->print)
		return -EINVAL;
	err = f->printed ? 0 : tree_print(f);
	if (err)
		return err;
	if (f->at.kind && f->at.kind->fits && size <= f->len)
		return -EINVAL;
	if (!f->printer && f->at.kind && f->at.kind->follows && off == (off_t)f->len)
		follow(f);
	if (f->printer) {
		ssize_t n = long_text_read(f, buf, size, off);

		if (n != -ESPIPE)
			return n;
		/* As the kernel's seq files, it is made again for an offset before. */
		long_text_end(f);
		f->printed = false;
		return tree_read(f, buf, size, off);
	}
	if (off < 0 || (size_t)off >= f->len)
		return 0;
	if (size > f->len - (size_t)off)
		size = f->len - (size_t)off;
	memcpy(buf, f->text + off, size);
	return (ssize_t)size;
}

void tree_read_anew(struct tree_file *f)
{
	if (!f->printed || f->printer)
		return;
	free(f->text);
	f->text = NULL;
	f->len = 0;
	f->printed = false;
}

void tree_set_nonblock(struct tree_file *f, bool on)
{
	f->flags = on ? f->flags | O_NONBLOCK : f->flags & ~O_NONBLOCK;
}

/* Whether the text ends in backslash-newline: the command continues in the next write (R30). */
static bool continues(const char *buf, size_t size)
{
	return size >= 2 && buf[size - 1] == '\n' && buf[size - 2] == '\\';
}

static void forget_begun(struct tree_file *f)
{
	free(f->begun);
	f->begun = NULL;
	f->begun_len = 0;
}

/* A command that is too long is forgotten: the writer may go on with another one. */
static int begin_command(struct tree_file *f, const char *buf, size_t size)
{
	char *begun;

	if (size > COMMAND_MAX - f->begun_len) {
		forget_begun(f);
		return -E2BIG;
	}
	begun = realloc(f->begun, f->begun_len + size);
	if (!begun)
		return -ENOMEM;
	memcpy(begun + f->begun_len, buf, size);
	f->begun = begun;
	f->begun_len += size;
	return 0;
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/*
 * Joins the lines of a command: removes each backslash and newline, and the blanks around them. One
 * blank remains before "if", and where blanks separated two words ("name \ u64 field").
 */
static char *tree_join(const char *s, size_t len)
{
	char *out = malloc(len + 1), *o = out;

	if (!out)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		char *end;
		size_t next;

		if (s[i] != '\\' || i + 1 >= len || s[i + 1] != '\n') {
			*o++ = s[i];
			continue;
		}
		end = o;
		next = i + 2;
		while (o > out && (o[-1] == ' ' || o[-1] == '\t'))
			o--;
		for (i += 2; i < len && (s[i] == ' ' || s[i] == '\t'); i++)
			;
		if (len - i >= 3 && !strncmp(s + i, "if ", 3))
			*o++ = ' ';
		else if ((o < end || i > next) && o > out && i < len && in_word(o[-1]) &&
			 in_word(s[i]))
			*o++ = ' ';
		i--;
	}
	*o = '\0';
	return out;
}

static bool is_joined(const char *buf, size_t size)
{
	const char *first = memchr(buf, '\\', size);

	return first && memmem(first, size - (size_t)(first - buf), "\\\n", 2);
}

/*
 * The text of several lines, with room for one more byte. One without a backslash may contain
 * zeros, which end a line. NULL: no memory.
 */
static char *lines_text(const char *buf, size_t size, size_t *len)
{
	const bool joined = is_joined(buf, size);
	char *text = joined ? tree_join(buf, size) : malloc(size + 1);

	if (!text)
		return NULL;
	if (!joined) {
		memcpy(text, buf, size);
		text[size] = '\0';
	}
	*len = joined ? strlen(text) : size;
	return text;
}

static int run_lines(struct tree_file *f, const char *buf, size_t size)
{
	size_t len;
	char *text = lines_text(buf, size, &len);
	int err;

	if (!text)
		return -ENOMEM;
	err = f->at.kind->lines(f, text, len);
	free(text);
	return err;
}

static int run_command(struct tree_file *f, const char *buf, size_t size)
{
	char *text;
	size_t n;
	int err;

	if (f->at.kind->lines)
		return run_lines(f, buf, size);
	/* As in the kernel, what is behind a 0 counts, too. */
	if (size >= TEXT_MAX && !is_joined(buf, size))
		return -EINVAL;
	text = tree_join(buf, size);
	if (!text)
		return -ENOMEM;
	n = strlen(text);
	if (n >= TEXT_MAX) {
		free(text);
		return -EINVAL;
	}
	if (n && text[n - 1] == '\n')
		text[n - 1] = '\0';
	err = f->at.kind->command(f, text);
	free(text);
	return err;
}

/* The command whose first writes ended in a backslash. */
static int run_begun(struct tree_file *f)
{
	const int err = run_command(f, f->begun, f->begun_len);

	if (err != -EINPROGRESS)
		forget_begun(f);
	return err;
}

static ssize_t write_command(struct tree_file *f, const char *buf, size_t size)
{
	int err;

	if (continues(buf, size) || f->begun) {
		err = f->goes_on ? 0 : begin_command(f, buf, size);
		if (!err && !continues(buf, size))
			err = run_begun(f);
	} else {
		err = run_command(f, buf, size);
	}
	return err ? err : (ssize_t)size;
}

static ssize_t tree_write_text(struct tree_file *f, pid_t writer, const char *buf, size_t size)
{
	if ((f->flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (is_removed(&f->at, true))
		return -ENODEV;
	if (f->at.extra)
		return f->at.extra->write ? f->at.extra->write(f->at.extra->arg, buf, size)
					  : -EINVAL;
	if (!size)
		return 0;
	if (f->at.kind->command || f->at.kind->lines)
		return write_command(f, buf, size);
	if (f->at.kind->write_by)
		return f->at.kind->write_by(f, writer, buf, size);
	return f->at.kind->write ? f->at.kind->write(f, buf, size) : -EINVAL;
}

/* The command may have begun in earlier writes, and this one may not end it. */
static bool look_at_joined(struct tree_file *f, const char *buf, size_t size)
{
	char *whole = malloc(f->begun_len + size + 1), *text = NULL;
	bool again = false;
	size_t len;

	if (whole) {
		if (f->begun)
			memcpy(whole, f->begun, f->begun_len);
		memcpy(whole + f->begun_len, buf, size);
		text = lines_text(whole, f->begun_len + size, &len);
	}
	if (text)
		again = f->at.kind->look(f, text, len);
	free(text);
	free(whole);
	return again;
}

/* It is called again and again until who looks has ended: a long text is not copied each time. */
static bool tree_look(struct tree_file *f, const char *buf, size_t size)
{
	return f->begun || is_joined(buf, size) ? look_at_joined(f, buf, size)
						: f->at.kind->look(f, buf, size);
}

/* Nothing of the write is taken. */
static bool tree_prepare(struct tree_file *f, const char *buf, size_t size)
{
	const struct file_kind *kind = f->at.kind;

	if ((f->flags & O_ACCMODE) == O_RDONLY || is_removed(&f->at, true) || !kind)
		return false;
	if (kind->look && tree_look(f, buf, size))
		return true;
	return !(f->flags & O_NONBLOCK) && kind->prepare && kind->prepare(f, buf, size);
}

/* All of the write or, if the writer can wait, a piece. -EINPROGRESS: w->more, or nothing. */
static ssize_t write_piece(struct tree_file *f, struct tree_wrote *w, pid_t writer,
			   const char *buf, size_t size, bool patient)
{
	ssize_t n;

	f->pieces = patient ? &f->work : NULL;
	pieces_begin(&f->work);
	model_barrier(f->tree->model);
	n = tree_write_text(f, writer ? writer : gettid(), buf, size);
	w->more = n == -EINPROGRESS && (f->work.lines || f->work.at);
	if (!w->more)
		pieces_end(&f->work);
	f->goes_on = w->more;
	return n;
}

/*
 * The pieces of two writes of one open file do not mix. Programs obey each piece, as they do a
 * command.
 */
ssize_t tree_write_by(struct tree_file *f, pid_t writer, const char *buf, size_t size,
		      struct tree_wrote *wrote)
{
	const bool patient = wrote && !(f->flags & O_NONBLOCK);
	struct tree_wrote once = { .until = 0 };
	struct tree_wrote *w = wrote ? wrote : &once;

	if ((patient && f->goes_on && !w->more) ||
	    (wrote && !w->more && !w->until && tree_prepare(f, buf, size)))
		return -EINPROGRESS;
	if (!w->until) {
		w->n = write_piece(f, w, writer, buf, size, patient);
		if (w->n == -EINPROGRESS && !w->more)
			return w->n;
	}
	w->until = tree_settle(f->tree->model, w->until);
	return (w->until && patient) || w->more ? -EINPROGRESS : w->n;
}

void tree_write_end(struct tree_file *f, struct tree_wrote *w)
{
	if (!w->more)
		return;
	w->more = f->goes_on = false;
	pieces_end(&f->work);
	forget_begun(f);
}

ssize_t tree_write(struct tree_file *f, const char *buf, size_t size)
{
	return tree_write_by(f, 0, buf, size, NULL);
}

void tree_flush(struct tree_file *f)
{
	if (f->at.kind && f->at.kind->flush)
		f->at.kind->flush(f);
	tree_settle(f->tree->model, 0);
}

int tree_release(struct tree_file *f)
{
	int err = 0;

	f->pieces = NULL;
	pieces_end(&f->work);
	/* the last line ended in a backslash, and no other came */
	if (f->begun && !f->goes_on && !is_removed(&f->at, true))
		err = run_command(f, f->begun, f->begun_len);
	long_text_end(f);
	if (f->at.kind && f->at.kind->release)
		f->at.kind->release(f);
	tree_settle(f->tree->model, 0);
	put_place(&f->at);
	free(f->begun);
	free(f->text);
	free(f->pending);
	free(f);
	return err;
}

bool tree_is_pipe(const struct tree_file *f)
{
	return f->at.kind && f->at.kind->pipe;
}

bool tree_follows(const struct tree_file *f)
{
	return f->at.kind && f->at.kind->follows;
}

bool tree_is_stream(const struct tree_file *f)
{
	const struct file_kind *kind = f->at.kind;

	return kind && (kind->pipe || kind->raw || kind->stream);
}

unsigned int tree_poll_again(struct tree_file *f)
{
	const struct file_kind *kind = f->at.kind;

	return kind && kind->poll ? kind->poll(f)
				  : POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM;
}

unsigned int tree_poll(struct tree_file *f)
{
	const struct file_kind *kind = f->at.kind;
	unsigned int ready;

	f->hits_wait = 0;
	ready = tree_poll_again(f);
	if (kind && kind->polled)
		kind->polled(f);
	return ready;
}

size_t tree_raw_size(const struct tree_file *f)
{
	return f->at.kind && f->at.kind->raw ? f->at.inst->subbuf_size : 0;
}

uint64_t tree_raw_unread(const struct tree_file *f)
{
	data_ref b = instance_buffer(f->at.inst, tree_is_pipe(f) ? 0 : 1);

	return b ? ring_unread(f->tree->model->session, b, f->at.cpu) : 0;
}
