/* SPDX-License-Identifier: MIT */
/*
 * restore.c - saves and restores the recording of a session (R4)
 *
 * The saved text "#source" has the files that were opened and the options:
 *
 *     partial 0
 *     memory 0                                     0: as usual
 *     machine 8 0                                  bytes of a long, enum model_calls
 *     buffer syn
 *     file 4096 1700000000 /home/me/trace.dat      bytes, seconds of its last change, path
 *
 * The data region has the number of records that have passed. The next server opens the same files,
 * if they have not changed, and goes to behind those records.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "model/text_memory.h"
#include "sources/recording/error.h"
#include "sources/recording/source_state.h"

enum { FILES_MAX = 64, BUFFERS_MAX = 64 };

static int print_file(const char *name, FILE *out)
{
	char *path = realpath(name, NULL);
	struct stat st;
	int ret = path && !stat(path, &st) ? 0 : -errno;

	if (!ret)
		fprintf(out, "file %" PRIu64 " %" PRId64 " %s\n", (uint64_t)st.st_size,
			(int64_t)st.st_mtime, path);
	free(path);
	return ret;
}

static char *restore_describe(const struct source_params *params, struct traced_machine machine)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);
	int ret = 0;

	if (!out)
		return NULL;
	fprintf(out, "partial %d\n", params->partial);
	fprintf(out, "memory %" PRIu64 "\n", params->memory);
	fprintf(out, "machine %u %u\n", machine.long_size, machine.calls);
	for (unsigned int i = 0; i < params->nr_buffers; i++)
		fprintf(out, "buffer %s\n", params->buffers[i]);
	for (unsigned int i = 0; !ret && i < params->nr_files; i++)
		ret = print_file(params->files[i], out);
	if (fclose(out) || ret) {
		free(text);
		text = NULL;
	}
	return text;
}

int source_save(struct source *src, const struct source_params *params)
{
	struct session *s = src->model->session;
	data_ref ref = session_data_alloc(s, sizeof(struct source_progress));
	char *text = restore_describe(params, src->model->machine);
	uint64_t id = 0;
	int ret = ref && text ? 0 : -ENOMEM;

	if (!ret)
		ret = saved_add(src->model, src->model->top, SOURCE_SAVED, text, &ref, 1, &id);
	if (!ret)
		src->progress = session_data(s, ref, sizeof(struct source_progress));
	free(text);
	return ret;
}

void source_restore_machine(struct model *m, const char *text)
{
	const char *line = strstr(text, "\nmachine ");
	unsigned int long_size, calls;

	if (line && sscanf(line, "\nmachine %u %u", &long_size, &calls) == 2 &&
	    (long_size == 4 || long_size == 8) && calls <= CALLS_UNKNOWN)
		m->machine = (struct traced_machine){ (uint8_t)long_size, (uint8_t)calls };
}

/* The saved text, parsed in place. */
struct saved_source {
	const char	*files[FILES_MAX], *buffers[BUFFERS_MAX];
	struct source_params params;
	bool		changed;
};

static void parse_file(struct saved_source *k, char *line)
{
	struct stat st;
	uint64_t bytes;
	int64_t seconds;
	int at = 0;

	if (sscanf(line, "%" SCNu64 " %" SCNd64 " %n", &bytes, &seconds, &at) < 2 || !at ||
	    k->params.nr_files == FILES_MAX)
		return;
	line += at;
	k->changed |= stat(line, &st) || (uint64_t)st.st_size != bytes || st.st_mtime != seconds;
	k->files[k->params.nr_files++] = line;
}

static void parse_saved(struct saved_source *k, char *text)
{
	char *line;

	*k = (struct saved_source){ .params = { .files = k->files, .buffers = k->buffers } };
	while ((line = strsep(&text, "\n"))) {
		if (!strncmp(line, "partial ", 8))
			k->params.partial = line[8] == '1';
		else if (!strncmp(line, "memory ", 7))
			k->params.memory = strtoull(line + 7, NULL, 10);
		else if (!strncmp(line, "buffer ", 7) && k->params.nr_buffers < BUFFERS_MAX)
			k->buffers[k->params.nr_buffers++] = line + 7;
		else if (!strncmp(line, "file ", 5))
			parse_file(k, line + 5);
	}
}

static int open_again(struct source *src, struct model *m, data_ref progress,
		      struct source_error *err)
{
	struct source_progress *saved;
	uint64_t records;
	int ret = source_import_tables(src, m, err);

	if (ret)
		return ret;
	saved = session_data(m->session, progress, sizeof(*saved));
	if (!saved)
		return error_set(err, -EPROTO, "", "where the recording was is not known");
	/* Relaxed: the writer is dead. */
	records = atomic_load_explicit(&saved->records, memory_order_relaxed);
	ret = records ? source_seek(src, records) : 0;
	if (ret)
		return error_set(err, ret, "", "%s", strerror(-ret));
	/*
	 * Set only now: the seek would store smaller numbers, and if this server died meanwhile,
	 * the next one would begin there.
	 */
	src->progress = saved;
	return 0;
}

int source_restore(struct model *m, char *text, data_ref progress, struct source **out,
		   struct source_error *err)
{
	struct saved_source k;
	int ret;

	*out = NULL;
	parse_saved(&k, text);
	if (!k.params.nr_files || k.changed)
		return error_set(err, -ESTALE, k.params.nr_files ? k.files[0] : "",
				 "not the recording that it was");
	ret = source_open(&k.params, out, err);
	if (!ret)
		ret = open_again(*out, m, progress, err);
	if (ret) {
		source_close(*out);
		*out = NULL;
	}
	return ret;
}
