/* SPDX-License-Identifier: MIT */
/* fixture.c - opens a session with a recording's events for the golden tests, and uses its files */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fixture.h"
#include "model/ftrace/ftrace.h"
#include "session/state.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

int fixture_open_threads(const char *const *recordings, unsigned int nr, unsigned int threads,
		       struct fixture *out)
{
	struct source_params files = {
		.files = recordings, .nr_files = nr, .threads = threads,
	};
	struct session_params params = { 0 };
	struct source_error err = { .text = "" };
	int rc;

	*out = (struct fixture){ 0 };
	rc = source_open(&files, &out->source, &err);
	if (rc)
		goto failed;
	params.nr_cpus = source_nr_cpus(out->source);
	rc = session_create(NULL, &params, &out->session);
	if (!rc)
		rc = model_create(out->session, &out->model);
	if (!rc)
		rc = source_import(out->source, out->model, &err);
	if (rc)
		goto failed;
	out->tree = tree_create(out->model);
	if (out->tree)
		return 0;
	rc = -ENOMEM;
failed:
	printf("# cannot open %s: %s %s\n", recordings[0], strerror(-rc), err.text);
	fixture_close(out);
	return rc;
}

int fixture_open(const char *const *recordings, unsigned int nr, struct fixture *out)
{
	return fixture_open_threads(recordings, nr, 0, out);
}

void fixture_close(struct fixture *h)
{
	if (h->tree)
		tree_destroy(h->tree);
	if (h->source)
		source_close(h->source);
	if (h->model)
		model_destroy(h->model);
	if (h->session)
		session_destroy(h->session);
}

/* Copies what the file holds, and leaves its holes. */
static int region_copy(const struct region *r, int to)
{
	off_t at, end = 0;

	while ((at = lseek(r->fd, end, SEEK_DATA)) >= 0) {
		end = lseek(r->fd, at, SEEK_HOLE);
		for (ssize_t n; at < end; at += n) {
			n = pwrite(to, r->base + at, (size_t)(end - at), at);
			if (n <= 0)
				return n ? -errno : -ENOSPC;
		}
	}
	return errno == ENXIO ? 0 : -errno;	/* ENXIO: no more data */
}

/* The copy takes the place of the shared file: its addresses, and its descriptor. */
static int region_split(struct region *r)
{
	int fd = memfd_create("fixture", MFD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = ftruncate(fd, (off_t)r->size) ? -errno : region_copy(r, fd);
	if (!err && (mmap(r->base, r->size, PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) == MAP_FAILED ||
		     dup3(fd, r->fd, O_CLOEXEC) < 0))
		err = -errno;
	close(fd);
	return err;
}

int fixture_split(struct fixture *h)
{
	int err = region_split(&h->session->config);

	return err ? err : region_split(&h->session->data);
}

int fixture_functions(struct fixture *h, const char *file)
{
	FILE *in = fopen(file, "r");
	char *text = NULL;
	size_t cap = 0;
	ssize_t len = in ? getdelim(&text, &cap, 0, in) : -1;
	int rc = len < 0 ? -EIO : ftrace_sites_load(h->model, text, (size_t)len);

	free(text);
	if (in)
		fclose(in);
	return rc;
}

static ssize_t read_all(struct tree_file *f, char *buf, size_t max, int *err)
{
	size_t n = 0;

	while (n < max) {
		ssize_t r = tree_read(f, buf + n, max - n, (off_t)n);

		if (r < 0) {
			*err = (int)-r;
			break;
		}
		if (r == 0)
			break;
		n += (size_t)r;
	}
	return (ssize_t)n;
}

/* A buffer of max bytes: malloc() may write all of them (MALLOC_PERTURB_), which takes seconds. */
static char *read_mapped(struct tree_file *f, size_t max, size_t *len, int *err)
{
	char *room = mmap(NULL, max, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *text;

	if (room == MAP_FAILED)
		abort();
	*len = (size_t)read_all(f, room, max, err);
	text = malloc(*len + 1);
	memcpy(text, room, *len);
	text[*len] = '\0';
	munmap(room, max);
	return text;
}

char *fixture_read(struct fixture *h, const char *file, size_t max, size_t *len, int *err)
{
	struct tree_file *f;
	int rc = tree_open(h->tree, file, O_RDONLY | O_NONBLOCK, &f);
	char *text;

	*err = rc < 0 ? -rc : 0;
	*len = 0;
	if (rc < 0)
		return calloc(1, 1);
	text = read_mapped(f, max, len, err);
	tree_release(f);
	return text;
}

static void write_all(struct tree_file *f, const char *text, size_t len, struct answer *a)
{
	size_t off = 0;

	for (int guard = 0; off < len && guard < 60; guard++) {
		ssize_t w = tree_write(f, text + off, len - off);

		if (w < 0) {
			a->write_errno = (int)-w;
			return;
		}
		a->writes[a->nr_writes++] = w;
		if (w == 0)
			return;
		off += (size_t)w;
	}
}

struct answer fixture_command(struct fixture *h, const char *op, const char *file, const char *text,
			      size_t len)
{
	struct answer a = { 0 };
	struct tree_file *f;
	int rc;

	if (!strcmp(op, "mkdir") || !strcmp(op, "rmdir")) {
		rc = *op == 'm' ? tree_mkdir(h->tree, file) : tree_rmdir(h->tree, file);
		a.open_errno = -rc;
		return a;
	}
	if (!strcmp(op, "r")) {
		free(fixture_read(h, file, 32768, &len, &a.open_errno));
		return a;
	}
	rc = tree_open(h->tree, file, O_WRONLY | (*op == 'a' ? O_APPEND : O_TRUNC), &f);
	if (rc < 0) {
		a.open_errno = -rc;
		return a;
	}
	write_all(f, text, len, &a);
	rc = tree_release(f);
	a.close_errno = rc < 0 ? -rc : 0;
	return a;
}
