/* SPDX-License-Identifier: MIT */
/*
 * uprobe_file.c - see uprobe_file.h
 *
 *     an answer: head | path 0 | name 0 | data
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "debug/prototype.h"
#include "model/dynamic/uprobe_file.h"

enum question_kind { ASK_STATUS, ASK_FUNCTION, ASK_CHOICES, ASK_PROTOTYPE };

struct question {
	enum question_kind kind;
	const char	*path, *name;
	uint64_t	address;
};

struct answer_head {
	uint32_t	kind;
	int32_t		err;
	uint64_t	address;
	uint32_t	path, name, size;	/* bytes of each; the texts have their 0 */
	uint32_t	pad;
};

struct answer {
	struct answer_head head;
	const char	*path, *name, *data;
};

/* struct elf_function */
struct answer_function {
	uint64_t	address, offset, size;
	uint32_t	chooses, others;
};

/* ---- in the process that asks ---- */

bool uprobe_file_asks(const struct model *m)
{
	return m->files && m->files->out;
}

/* If this file does not answer, the answers of those before are known. */
static void question_begin(struct model *m, const struct question *q)
{
	struct uprobe_files *u = m->files;

	if (!u || (u->asked && !strcmp(u->asked, q->path)))
		return;
	fflush(u->out);
	free((char *)u->asked);
	u->asked = strdup(q->path);
}

/* Returns err. */
static int question_end(struct model *m, const struct question *q, int err, const void *data,
			size_t size)
{
	const struct answer_head h = {
		.kind = q->kind, .err = err, .address = q->address,
		.path = (uint32_t)strlen(q->path) + 1, .name = (uint32_t)strlen(q->name) + 1,
		.size = err ? 0 : (uint32_t)size,
	};

	if (!m->files)
		return err;
	fwrite(&h, sizeof(h), 1, m->files->out);
	fwrite(q->path, h.path, 1, m->files->out);
	fwrite(q->name, h.name, 1, m->files->out);
	fwrite(data, 1, h.size, m->files->out);
	return err;
}

/* ---- in the server ---- */

/* Takes the answer at *at apart, and steps over it. False: the bytes end before it does. */
static bool answer_next(const struct uprobe_files *u, size_t *at, struct answer *out)
{
	const size_t left = u->size - *at;
	uint64_t behind;

	if (left < sizeof(out->head))
		return false;
	memcpy(&out->head, u->bytes + *at, sizeof(out->head));
	behind = (uint64_t)out->head.path + out->head.name + out->head.size;
	if (behind > left - sizeof(out->head) || !out->head.path || !out->head.name)
		return false;
	out->path = u->bytes + *at + sizeof(out->head);
	out->name = out->path + out->head.path;
	out->data = out->name + out->head.name;
	*at += sizeof(out->head) + behind;
	return !out->path[out->head.path - 1] && !out->name[out->head.name - 1];
}

void uprobe_files_take(struct uprobe_files *u, char *bytes, size_t size, int err)
{
	struct answer a;
	size_t at = 0;

	*u = (struct uprobe_files){ .bytes = bytes, .size = bytes ? size : 0 };
	while (at < u->size && answer_next(u, &at, &a))
		u->next = at;
	u->err = err ? err : -EPROTO;
	u->size = u->next;
	u->next = 0;
}

void uprobe_files_free(struct uprobe_files *u)
{
	free(u->bytes);
	*u = (struct uprobe_files){ 0 };
}

static bool answer_is_of(const struct answer *a, const struct question *q)
{
	return a->head.kind == q->kind && a->head.address == q->address &&
	       !strcmp(a->path, q->path) && !strcmp(a->name, q->name);
}

/* Questions and answers have the same order, so the next answer is mostly the right one. */
static bool answer_find(struct uprobe_files *u, const struct question *q, struct answer *out)
{
	const size_t begin = u->next;
	size_t at = begin;

	while (at < u->size) {
		answer_next(u, &at, out);
		u->next = at;
		if (answer_is_of(out, q))
			return true;
	}
	for (at = 0; at < begin;) {
		answer_next(u, &at, out);
		u->next = at;
		if (answer_is_of(out, q))
			return true;
	}
	return false;
}

/* 0; 1: nobody has answered; -errno: that is the answer. */
static int answer_take(struct uprobe_files *u, const struct question *q, struct answer *out)
{
	if (!answer_find(u, q, out))
		return 1;
	return out->head.err < 0 ? out->head.err : out->head.err ? 1 : 0;
}

/* The same for an answer of a fixed size. */
static int answer_copy(struct uprobe_files *u, const struct question *q, void *to, size_t size)
{
	struct answer a;
	const int err = answer_take(u, q, &a);

	if (err || a.head.size != size)
		return err ? err : 1;
	memcpy(to, a.data, size);
	return 0;
}

static bool is_told(const struct model *m)
{
	return m->files && !m->files->out;
}

int uprobe_file_unanswered(struct probe_log *log)
{
	const int err = log->model->files ? log->model->files->err : -EIO;

	log->at = 1;
	if (err == -ETIMEDOUT)
		return probe_wrong(log, err, 0, "The file does not answer");
	if (err == -ENOMEM)
		return err;
	return probe_wrong(log, err, 0, err == -EIO ? "The process that read the file died" :
			   "What was read of the file makes no sense");
}

/* ---- which file it is ---- */

static int status_read(const char *path, struct uprobe_status *out)
{
	struct stat st;

	if (stat(path, &st))
		return -errno;
	out->is = elf_status_of(&st);
	out->is_regular = S_ISREG(st.st_mode);
	return 0;
}

int uprobe_file_status(struct model *m, const char *path, struct uprobe_status *out)
{
	const struct question q = { ASK_STATUS, path, "", 0 };

	if (is_told(m))
		return answer_copy(m->files, &q, out, sizeof(*out));
	question_begin(m, &q);
	return question_end(m, &q, status_read(path, out), out, sizeof(*out));
}

/* ---- its functions ---- */

int uprobe_file_function(struct model *m, const char *path, const char *name,
			 struct elf_function *out)
{
	const struct question q = { ASK_FUNCTION, path, name, 0 };
	struct answer_function a = { 0 };
	int err;

	if (!is_told(m)) {
		question_begin(m, &q);
		err = elf_functions_find(&m->functions, path, name, out);
		if (!err)
			a = (struct answer_function){ out->address, out->offset, out->size,
						      out->chooses, out->others };
		return question_end(m, &q, err, &a, sizeof(a));
	}
	err = answer_copy(m->files, &q, &a, sizeof(a));
	*out = (struct elf_function){ .address = a.address, .offset = a.offset, .size = a.size,
				      .chooses = a.chooses, .others = a.others };
	return err;
}

/* It ends, and has no character that breaks a line. */
static bool answer_is_text(const char *text, size_t room)
{
	const size_t len = strnlen(text, room);

	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)text[i]))
			return false;
	return len < room;
}

char *uprobe_file_choices(struct model *m, const char *path, const struct elf_function *f)
{
	const struct question q = { ASK_CHOICES, path, "", f->address };
	struct answer a;
	char *text;

	if (!is_told(m)) {
		question_begin(m, &q);
		text = elf_functions_choices(m->functions, path, f);
		question_end(m, &q, text ? 0 : -ENOENT, text, text ? strlen(text) + 1 : 0);
		return text;
	}
	if (answer_take(m->files, &q, &a) || !answer_is_text(a.data, a.head.size))
		return NULL;
	return strdup(a.data);
}

/* ---- their arguments ---- */

static size_t prototype_size(unsigned int nr)
{
	return offsetof(struct prototype, parameters) + nr * sizeof(struct prototype_value);
}

static bool value_is_good(const struct prototype_value *v)
{
	return answer_is_text(v->name, sizeof(v->name)) &&
	       answer_is_text(v->text, sizeof(v->text)) &&
	       answer_is_text(v->place, sizeof(v->place));
}

/* A byte of a bool may be anything. */
static bool bool_is_good(const bool *b)
{
	unsigned char byte;

	memcpy(&byte, b, 1);
	return byte <= 1;
}

static bool prototype_is_good(const struct prototype *p)
{
	if (!bool_is_good(&p->varargs) || !bool_is_good(&p->unprototyped) ||
	    !bool_is_good(&p->changed) || !bool_is_good(&p->loose) ||
	    !answer_is_text(p->name, sizeof(p->name)) ||
	    !answer_is_text(p->file, sizeof(p->file)) || !value_is_good(&p->result))
		return false;
	for (unsigned int i = 0; i < p->nr; i++)
		if (!value_is_good(&p->parameters[i]))
			return false;
	return true;
}

/* The number of parameters is that of the bytes. */
static bool prototype_take(const struct answer *a, struct prototype *out)
{
	const size_t size = a->head.size, fixed = prototype_size(0);

	if (size < fixed || size > prototype_size(PROTOTYPE_PARAMETERS) ||
	    (size - fixed) % sizeof(out->parameters[0]))
		return false;
	memcpy(out, a->data, size);
	out->nr = (unsigned int)((size - fixed) / sizeof(out->parameters[0]));
	return true;
}

int uprobe_file_prototype(struct model *m, const char *path, uint64_t address,
			  struct prototype *out)
{
	const struct question q = { ASK_PROTOTYPE, path, "", address };
	struct answer a;
	int err;

	memset(out, 0, sizeof(*out));
	if (!is_told(m)) {
		question_begin(m, &q);
		err = debug_kept_prototype(&m->prototypes, path, address, out);
		return question_end(m, &q, err, out, prototype_size(out->nr));
	}
	err = answer_take(m->files, &q, &a);
	if (err)
		return err;
	if (!prototype_take(&a, out) || !prototype_is_good(out))
		return 1;
	return 0;
}
