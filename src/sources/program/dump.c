/* SPDX-License-Identifier: MIT */
/*
 * dump.c - the function commands dump and cpudump: print the top instance's buffer to the session's
 * file and to stderr
 *
 * The kernel prints to its console at the hit. Here the hit switches tracing off and stores a word.
 * The records stay in the buffer until the server sees the word and prints them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/text_memory.h"
#include "plane/plane.h"
#include "sources/program/programs_state.h"
#include "show/show.h"

static void dump_append(int fd, const char *text, size_t size)
{
	ssize_t n;

	while (size && (n = write(fd, text, size)) > 0) {
		text += n;
		size -= (size_t)n;
	}
}

static void write_out(struct session *s, const char *text, size_t size)
{
	char path[4096 + 8];
	int fd;

	/* The stream escapes control characters if stderr is a terminal. */
	fwrite(text, 1, size, stderr);
	if (!*session_dir(s))
		return;		/* a session without a name has no directory for the file */
	snprintf(path, sizeof(path), "%s/dump", session_dir(s));
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return;
	dump_append(fd, text, size);
	close(fd);
}

/* The word may have any value (R2). */
static int cpu_of(const struct model *m, uint64_t what)
{
	return what >= 2 && what - 2 < m->nr_cpus ? (int)(what - 2) : -1;
}

bool program_dump(struct programs *p)
{
	struct data_header *h = (struct data_header *)session_plane(p->model->session)->data;
	/*
	 * Acquire: tracing was switched off before the hit stored the word. Pairs with the release
	 * of that hit (plane/hit_function.c).
	 */
	const uint64_t what = atomic_load_explicit(&h->dump, memory_order_acquire);
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!what)
		return false;
	out = text_memory_open(&text, &size);
	if (out) {
		show_dump(p->model->top, cpu_of(p->model, what), out);
		if (!fclose(out))
			write_out(p->model->session, text, size);
		free(text);
	}
	/* Relaxed: from now on another hit may store it. */
	atomic_store_explicit(&h->dump, 0, memory_order_relaxed);
	return true;
}
