/* SPDX-License-Identifier: MIT */
/* dso.c - the DSOs of running programs: their entries in the table, and their files (R19) */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "elf/file.h"
#include "sources/program/programs_state.h"

/* The process may have written anything. */
static void path_take(const struct program_tables *t, uint32_t at, char out[LAYOUT_PATH])
{
	const uint32_t room = at < LAYOUT_PATHS ? LAYOUT_PATHS - at : 0;
	const size_t most = room < LAYOUT_PATH ? room : LAYOUT_PATH;

	memset(out, 0, LAYOUT_PATH);
	if (most)
		memcpy(out, t->paths + at, strnlen(t->paths + at, most - 1));
}

bool program_dso_copy(struct programs *p, uint32_t nr, struct program_dso *out)
{
	struct session *s = p->model->session;
	const struct program_tables *t = session_data(s, session_header(s)->programs, sizeof(*t));
	const struct dso_entry *e;

	if (!t)
		return false;
	e = &t->dsos[nr];
	/* Pairs with the release in the program that wrote the entry (agent/join/dso.c). */
	if (atomic_load_explicit(&e->state, memory_order_acquire) != DSO_READY)
		return false;
	out->nr = nr;
	out->pid = e->pid;
	out->size = e->size;
	out->load = e->load;
	out->id_len = e->id_len;
	/* Relaxed: program_sites_loaded() is called after it was stored. */
	out->moved = atomic_load_explicit(&e->moved, memory_order_relaxed);
	memcpy(out->id, e->id, sizeof(out->id));
	path_take(t, e->path, out->path);
	return out->size && out->size <= 1ull << LAYOUT_DSO_SHIFT && out->id_len <= sizeof(out->id);
}

const char *program_dso_name(const struct program_dso *d, char out[256])
{
	const char *slash = strrchr(d->path, '/');

	snprintf(out, 256, "%.255s", slash ? slash + 1 : d->path);
	program_text_clean(out);
	for (char *c = out; *c; c++)
		if (*c == ' ' || *c == ']')
			*c = '_';
	return *out ? out : "?";
}

/* ---- its file ---- */

struct search {
	const struct program_dso *dso;
	const char	*own_mounts;
	elf_reader	read;
	void		*out;
	bool		found;
};

static bool path_is_own(const char *own_mounts, const char *path)
{
	return *own_mounts && !strncmp(path, own_mounts, strlen(own_mounts));
}

static void try_path(struct search *s, const char *path)
{
	const struct elf_want want = {
		.id = s->dso->id,
		.id_len = s->dso->id_len,
		.load = s->dso->load,
		.size = s->dso->size,
	};

	if (s->found || path_is_own(s->own_mounts, path))
		return;
	s->found = !s->read(path, &want, s->out);
}

/* Tries the process's own file, for a program whose file was removed or replaced. */
static void try_exe(struct search *s, pid_t pid)
{
	char path[64], target[LAYOUT_PATH + 64];
	ssize_t len = (ssize_t)strlen(s->dso->path), n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	n = s->found ? -1 : readlink(path, target, sizeof(target));
	if (n >= len && !memcmp(target, s->dso->path, (size_t)len) &&
	    (n == len || target[len] == ' '))
		try_path(s, path);
}

/* Tries the path as the process sees it. */
static void try_root(struct search *s, pid_t pid)
{
	char path[LAYOUT_PATH + 64];

	if (s->found)
		return;
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid, s->dso->path);
	try_path(s, path);
	try_exe(s, pid);
}

struct collecting {
	const struct program_dso *dso;
	struct program_owners *out;
};

static void owner_add(void *arg, pid_t pid, unsigned int slots)
{
	struct collecting *c = arg;

	if ((uint32_t)pid == c->dso->pid)
		c->out->first = pid;
	else if (c->out->nr < PROGRAM_OWNERS)
		c->out->others[c->out->nr++] = pid;
}

void program_dso_owners(struct programs *p, const struct program_dso *d,
			struct program_owners *out)
{
	struct collecting c = { .dso = d, .out = out };

	*out = (struct program_owners){ .own_mounts = session_dir(p->model->session) };
	attach_processes(p->model->session, owner_add, &c);
}

bool program_dso_try(const struct program_dso *d, const struct program_owners *o, elf_reader read,
		     void *out)
{
	struct search s = { .dso = d, .read = read, .out = out, .own_mounts = o->own_mounts };

	/* A path below the server's own mounts is refused also as a process sees it. */
	if (d->path[0] != '/' || path_is_own(s.own_mounts, d->path))
		return false;
	if (o->first)
		try_root(&s, o->first);
	try_path(&s, d->path);
	for (unsigned int i = 0; i < o->nr; i++)
		try_root(&s, o->others[i]);
	return s.found;
}

bool program_dso_read(struct programs *p, const struct program_dso *d, elf_reader read, void *out)
{
	struct program_owners owners;

	program_dso_owners(p, d, &owners);
	return program_dso_try(d, &owners, read, out);
}
