/* SPDX-License-Identifier: MIT */
/* make.c - see make.h */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "make.h"

static const struct writer_format formats[] = {
	{ "ftrace", writer_format_kernel_stack },
	{ "ftrace", writer_format_print },
	{ "sched", writer_format_switch },
	{ "sched", writer_format_waking },
	{ "task", writer_format_rename },
};

static const struct writer_buffer buffers[] = { { .name = "" },
						{ .name = "foo" },
						{ .name = "bar" } };

uint64_t made_time(unsigned int b, uint32_t cpu, unsigned int n)
{
	/* Every 50th step does not fit into 27 bits. Some times of two CPUs are equal. */
	return 1000000 + n * 1000ull + (n / 50) * (1ull << 30) + b * 7 + cpu / 2 * 300;
}

static bool next_page(void *arg, unsigned int b, uint32_t cpu, uint8_t *bytes)
{
	struct made *m = arg;
	unsigned int *n = &m->next[b][cpu];
	struct writer_waking r = { .type = WRITER_WAKING_ID, .comm = "waker", .prio = 120 };
	struct writer_page p;

	if (cpu == MADE_EMPTY_CPU || *n == m->nr_records)
		return false;
	writer_page_start(&p, bytes, made_time(b, cpu, *n));
	for (; *n < m->nr_records; (*n)++) {
		r.pid = r.common_pid = MADE_PID(b, cpu, *n);
		r.target_cpu = cpu;
		if (!writer_page_add(&p, made_time(b, cpu, *n), &r, sizeof(r)))
			break;
	}
	writer_page_end(&p);
	return true;
}

static char *temporary(FILE **out)
{
	const char *dir = getenv("TMPDIR");
	char *path;
	int fd;

	if (asprintf(&path, "%s/tracefuse-recording-XXXXXX", dir ? dir : "/tmp") < 0)
		abort();
	fd = mkstemp(path);
	*out = fd < 0 ? NULL : fdopen(fd, "w+");
	if (!*out)
		abort();
	return path;
}

char *made_file(struct made *m)
{
	struct writer_spec spec = {
		.version = m->version, .algorithm = m->algorithm, .nr_cpus = MADE_CPUS,
		.formats = formats, .nr_formats = sizeof(formats) / sizeof(formats[0]),
		.buffers = buffers, .nr_buffers = m->nr_buffers, .chunk_pages = 2,
		.kallsyms = "ffffffff81000000 T start_here\nffffffff81000100 t next\t[module]\n",
		.printk = "0xffffffff82000000 : \"hello %d\\n\"\n",
		.cmdlines = "42 answer\n43 two words\n",
		.page = next_page, .arg = m,
	};
	FILE *out;
	char *path = temporary(&out);

	memset(m->next, 0, sizeof(m->next));
	if (writer_run(&spec, out) || fclose(out))
		abort();
	return path;
}

struct list {
	const struct made_record *records;
	unsigned int	nr;
	unsigned int	next[MADE_CPUS];
};

/* The CPU's first record from `from` on; nr: there is none. */
static unsigned int next_record(const struct list *l, uint32_t cpu, unsigned int from)
{
	while (from < l->nr && l->records[from].cpu != cpu)
		from++;
	return from;
}

static bool list_page(void *arg, unsigned int b, uint32_t cpu, uint8_t *bytes)
{
	struct list *l = arg;
	unsigned int n = next_record(l, cpu, l->next[cpu]);
	struct writer_page p;

	(void)b;
	if (n == l->nr)
		return false;
	writer_page_start(&p, bytes, l->records[n].time);
	for (; n < l->nr; n = next_record(l, cpu, n + 1))
		if (!writer_page_add(&p, l->records[n].time, l->records[n].bytes,
				     l->records[n].size))
			break;
	writer_page_end(&p);
	l->next[cpu] = n;
	return true;
}

char *made_records(const struct made_record *records, unsigned int nr, const char *algorithm)
{
	struct list list = { .records = records, .nr = nr };
	struct writer_spec spec = {
		.version = 7, .algorithm = algorithm, .nr_cpus = MADE_CPUS,
		.formats = formats, .nr_formats = sizeof(formats) / sizeof(formats[0]),
		.buffers = buffers, .nr_buffers = 1, .chunk_pages = 1,
		.cmdlines = "100 last-name\n", .page = list_page, .arg = &list,
	};
	FILE *out;
	char *path = temporary(&out);

	if (writer_run(&spec, out) || fclose(out))
		abort();
	return path;
}

char *made_bytes(const void *bytes, size_t size)
{
	FILE *out;
	char *path = temporary(&out);

	if (fwrite(bytes, 1, size, out) != size || fclose(out))
		abort();
	return path;
}

uint8_t *made_read(const char *path, size_t *size)
{
	FILE *in = fopen(path, "re");
	uint8_t *bytes = NULL;

	if (!in || fseek(in, 0, SEEK_END))
		abort();
	*size = ftell(in);
	rewind(in);
	bytes = malloc(*size + 1);
	if (!bytes || fread(bytes, 1, *size, in) != *size)
		abort();
	fclose(in);
	return bytes;
}

void made_remove(char *path)
{
	unlink(path);
	free(path);
}
