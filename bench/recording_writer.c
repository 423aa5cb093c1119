/* SPDX-License-Identifier: MIT */
/* recording_writer.c - see recording_writer.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "recording_writer.h"

#define COMMON								\
	"format:\n"							\
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"	\
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"	\
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

const char writer_format_switch[] = "name: sched_switch\nID: 260\n" COMMON
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s "
	"next_pid=%d next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, "
	"(REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \"|\", { 0x01, \"S\" }, "
	"{ 0x02, \"D\" }) : \"R\", REC->next_comm, REC->next_pid, REC->next_prio\n";

const char writer_format_waking[] = "name: sched_waking\nID: 263\n" COMMON
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:int prio;\toffset:28;\tsize:4;\tsigned:1;\n"
	"\tfield:int target_cpu;\toffset:32;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, "
	"REC->target_cpu\n";

const char writer_format_rename[] = "name: task_rename\nID: 135\n" COMMON
	"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:char oldcomm[16];\toffset:12;\tsize:16;\tsigned:0;\n"
	"\tfield:char newcomm[16];\toffset:28;\tsize:16;\tsigned:0;\n"
	"\tfield:short oom_score_adj;\toffset:44;\tsize:2;\tsigned:1;\n\n"
	"print fmt: \"pid=%d oldcomm=%s newcomm=%s oom_score_adj=%hd\", REC->pid, REC->oldcomm, "
	"REC->newcomm, REC->oom_score_adj\n";

const char writer_format_print[] = "name: print\nID: 5\n" COMMON
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n\n"
	"print fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n";

const char writer_format_kernel_stack[] = "name: kernel_stack\nID: 4\n" COMMON
	"\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;\n\n"
	"print fmt: \"\\t=> %ps\\n\\t=> %ps\\n\\t=> %ps\\n\", (void *)REC->caller[0], "
	"(void *)REC->caller[1], (void *)REC->caller[2]\n";

static const char header_page[] =
	"\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
	"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
	"\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
	"\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

static const char header_event[] =
	"# compressed entry header\n"
	"\ttype_len    :    5 bits\n"
	"\ttime_delta  :   27 bits\n"
	"\tarray       :   32 bits\n\n"
	"\tpadding     : type == 29\n"
	"\ttime_extend : type == 30\n"
	"\ttime_stamp : type == 31\n"
	"\tdata max type_len  == 28\n";

/* ---- sub-buffers ---- */

void writer_page_start(struct writer_page *p, uint8_t *bytes, uint64_t time)
{
	memset(bytes, 0, WRITER_PAGE);
	memcpy(bytes, &time, 8);
	*p = (struct writer_page){ .bytes = bytes, .time = time };
}

static void put_u32(struct writer_page *p, uint32_t v)
{
	memcpy(p->bytes + 16 + p->used, &v, 4);
	p->used += 4;
}

bool writer_page_add(struct writer_page *p, uint64_t time, const void *record, uint32_t size)
{
	uint32_t room = (size + 3) & ~3u;
	uint32_t head = room > 112 ? 8 : 4;
	uint64_t delta = time - p->time;
	bool extend = delta >> 27;

	if (p->used + head + room + (extend ? 8 : 0) > WRITER_PAGE - 16)
		return false;
	if (extend) {
		put_u32(p, 30 | (uint32_t)(delta & ((1 << 27) - 1)) << 5);
		put_u32(p, delta >> 27);
		delta = 0;
	}
	put_u32(p, (head == 4 ? room / 4 : 0) | (uint32_t)delta << 5);
	if (head == 8)
		put_u32(p, room + 4);
	memcpy(p->bytes + 16 + p->used, record, size);
	p->used += room;
	p->time = time;
	return true;
}

void writer_page_end(struct writer_page *p)
{
	uint64_t commit = p->used;

	memcpy(p->bytes + 8, &commit, 8);
}

/* ---- the file ---- */

struct writer {
	const struct writer_spec *spec;
	FILE		*out;
	uint64_t	(*where)[2];	/* offset and size by buffer and CPU */
	uint64_t	*sections;	/* of the buffers */
};

static void put(struct writer *w, const void *p, size_t n)
{
	fwrite(p, 1, n, w->out);
}

static void put_number(struct writer *w, uint64_t v, size_t size)
{
	put(w, &v, size);	/* little endian */
}

static uint64_t here(struct writer *w)
{
	return ftell(w->out);
}

static void put_at(struct writer *w, uint64_t at, uint64_t v, size_t size)
{
	uint64_t now = here(w);

	fseek(w->out, at, SEEK_SET);
	put_number(w, v, size);
	fseek(w->out, now, SEEK_SET);
}

static void align_page(struct writer *w)
{
	while (here(w) % WRITER_PAGE)
		fputc(0, w->out);
}

static void put_text(struct writer *w, const char *text, size_t width)
{
	size_t len = text ? strlen(text) : 0;

	put_number(w, len, width);
	put(w, text ? text : "", len);
}

static uint64_t section_start(struct writer *w, unsigned int id, bool compressed)
{
	uint64_t at = here(w);

	put_number(w, id, 2);
	put_number(w, compressed, 2);
	put_number(w, 0, 4);
	put_number(w, 0, 8);
	return at;
}

static void section_end(struct writer *w, uint64_t at)
{
	put_at(w, at + 8, here(w) - at - 16, 8);
}

static void put_header_info(struct writer *w)
{
	put(w, "header_page", 12);
	put_text(w, header_page, 8);
	put(w, "header_event", 13);
	put_text(w, header_event, 8);
}

static unsigned int formats_of(const struct writer_spec *s, const char *system)
{
	unsigned int i, nr = 0;

	for (i = 0; i < s->nr_formats; i++)
		nr += !strcmp(s->formats[i].system, system);
	return nr;
}

static void put_formats_of(struct writer *w, const char *system)
{
	unsigned int i;

	put_number(w, formats_of(w->spec, system), 4);
	for (i = 0; i < w->spec->nr_formats; i++)
		if (!strcmp(w->spec->formats[i].system, system))
			put_text(w, w->spec->formats[i].text, 8);
}

static bool new_system(const struct writer_spec *s, unsigned int i)
{
	return strcmp(s->formats[i].system, "ftrace") &&
	       (!i || strcmp(s->formats[i].system, s->formats[i - 1].system));
}

static void put_event_formats(struct writer *w)
{
	const struct writer_spec *s = w->spec;
	unsigned int i, nr = 0;

	for (i = 0; i < s->nr_formats; i++)
		nr += new_system(s, i);
	put_number(w, nr, 4);
	for (i = 0; i < s->nr_formats; i++) {
		if (!new_system(s, i))
			continue;
		put(w, s->formats[i].system, strlen(s->formats[i].system) + 1);
		put_formats_of(w, s->formats[i].system);
	}
}

static size_t pack(const char *algorithm, const void *in, size_t size, void *out, size_t room)
{
	uLongf n = room;

	if (!strcmp(algorithm, "zstd"))
		return ZSTD_compress(out, room, in, size, 3);
	return compress2(out, &n, in, size, 6) == Z_OK ? n : 0;
}

static int put_chunks(struct writer *w, unsigned int buffer, uint32_t cpu, size_t chunk)
{
	size_t room = chunk + chunk / 2 + 4096, used, n;
	uint8_t *in = malloc(chunk), *out = malloc(room);
	uint64_t at = here(w);
	uint32_t chunks = 0;
	bool more = in && out;

	put_number(w, 0, 4);
	while (more) {
		for (used = 0; used < chunk && more; used += more ? WRITER_PAGE : 0)
			more = w->spec->page(w->spec->arg, buffer, cpu, in + used);
		if (!used)
			break;
		n = pack(w->spec->algorithm, in, used, out, room);
		put_number(w, n, 4);
		put_number(w, used, 4);
		put(w, out, n);
		chunks++;
	}
	put_at(w, at, chunks, 4);
	free(out);
	n = in ? 0 : 1;
	free(in);
	return n ? -ENOMEM : 0;
}

static int put_cpu(struct writer *w, unsigned int buffer, uint32_t cpu)
{
	const struct writer_spec *s = w->spec;
	uint64_t *where = w->where[buffer * s->nr_cpus + cpu];
	uint8_t page[WRITER_PAGE];
	int ret = 0;

	align_page(w);
	where[0] = here(w);
	if (s->algorithm)
		ret = put_chunks(w, buffer, cpu,
				 (s->chunk_pages ? s->chunk_pages : 10) * (size_t)WRITER_PAGE);
	else
		while (s->page(s->arg, buffer, cpu, page))
			put(w, page, sizeof(page));
	/* As trace-cmd has it, the size of compressed data does not count the number of chunks. */
	where[1] = here(w) - where[0] - (s->algorithm ? 4 : 0);
	return ret;
}

static int put_buffers(struct writer *w)
{
	unsigned int b;
	uint32_t cpu;
	int ret = 0;

	for (b = 0; b < w->spec->nr_buffers && !ret; b++) {
		if (w->spec->version == 7)
			w->sections[b] = section_start(w, 3, w->spec->algorithm);
		for (cpu = 0; cpu < w->spec->nr_cpus && !ret; cpu++)
			ret = put_cpu(w, b, cpu);
		if (w->spec->version == 7)
			section_end(w, w->sections[b]);
	}
	return ret;
}

static void put_option(struct writer *w, unsigned int id, const void *data, uint32_t size)
{
	put_number(w, id, 2);
	put_number(w, size, 4);
	put(w, data, size);
}

static const char *clock_of(const struct writer_buffer *b)
{
	return b->clock ? b->clock : "local";
}

/* ---- version 7 ---- */

static void put_buffer_option(struct writer *w, unsigned int b)
{
	const struct writer_buffer *buffer = &w->spec->buffers[b];
	uint32_t nr = w->spec->nr_cpus, cpu;

	put_number(w, 3, 2);
	put_number(w, 8 + strlen(buffer->name) + 1 + strlen(clock_of(buffer)) + 1 + 8 + 20 * nr, 4);
	put_number(w, w->sections[b], 8);
	put(w, buffer->name, strlen(buffer->name) + 1);
	put(w, clock_of(buffer), strlen(clock_of(buffer)) + 1);
	put_number(w, WRITER_PAGE, 4);
	put_number(w, nr, 4);
	for (cpu = 0; cpu < nr; cpu++) {
		put_number(w, cpu, 4);
		put_number(w, w->where[b * nr + cpu][0], 8);
		put_number(w, w->where[b * nr + cpu][1], 8);
	}
}

static void put_options_v7(struct writer *w, const uint64_t *parts)
{
	uint64_t at = section_start(w, 0, false), none = 0;
	uint32_t nr_cpus = w->spec->nr_cpus;
	unsigned int i;

	for (i = 0; i < 6; i++)
		put_option(w, 16 + i, &parts[i], 8);
	put_option(w, 5, "Linux bench 6.12.0 x86_64", 26);
	put_option(w, 8, &nr_cpus, 4);
	put_option(w, 999, "of a version to come", 21);
	for (i = 0; i < w->spec->nr_buffers; i++)
		put_buffer_option(w, i);
	put_option(w, 0, &none, 8);
	section_end(w, at);
}

static int put_v7(struct writer *w)
{
	const struct writer_spec *s = w->spec;
	const char *algorithm = s->algorithm ? s->algorithm : "none";
	uint64_t parts[6], options;
	int ret;

	put(w, algorithm, strlen(algorithm) + 1);
	put(w, "1", 2);
	options = here(w);
	put_number(w, 0, 8);
	parts[0] = section_start(w, 16, false);
	put_header_info(w);
	section_end(w, parts[0]);
	parts[1] = section_start(w, 17, false);
	put_formats_of(w, "ftrace");
	section_end(w, parts[1]);
	parts[2] = section_start(w, 18, false);
	put_event_formats(w);
	section_end(w, parts[2]);
	parts[3] = section_start(w, 19, false);
	put_text(w, s->kallsyms, 4);
	section_end(w, parts[3]);
	parts[4] = section_start(w, 20, false);
	put_text(w, s->printk, 4);
	section_end(w, parts[4]);
	parts[5] = section_start(w, 21, false);
	put_text(w, s->cmdlines, 8);
	section_end(w, parts[5]);
	ret = put_buffers(w);
	put_at(w, options, here(w), 8);
	put_options_v7(w, parts);
	return ret;
}

/* ---- version 6 ---- */

/* The table of a buffer's CPUs, to be filled in later; returns where it is. */
static uint64_t put_table(struct writer *w)
{
	uint32_t cpu;
	uint64_t at;

	put(w, "flyrecord", 10);
	at = here(w);
	for (cpu = 0; cpu < w->spec->nr_cpus; cpu++) {
		put_number(w, 0, 8);
		put_number(w, 0, 8);
	}
	return at;
}

static void fill_table(struct writer *w, uint64_t at, unsigned int buffer)
{
	uint32_t cpu;

	for (cpu = 0; cpu < w->spec->nr_cpus; cpu++, at += 16) {
		put_at(w, at, w->where[buffer * w->spec->nr_cpus + cpu][0], 8);
		put_at(w, at + 8, w->where[buffer * w->spec->nr_cpus + cpu][1], 8);
	}
}

/* Buffer 0 is the top one; the others are found through options. */
static int put_v6(struct writer *w)
{
	const struct writer_spec *s = w->spec;
	uint64_t *tables = w->sections, options = 0;
	unsigned int b;
	int ret;

	put_header_info(w);
	put_formats_of(w, "ftrace");
	put_event_formats(w);
	put_text(w, s->kallsyms, 4);
	put_text(w, s->printk, 4);
	put_text(w, s->cmdlines, 8);
	put_number(w, s->nr_cpus, 4);
	put(w, "options  ", 10);
	put_option(w, 5, "Linux bench 6.12.0 x86_64", 26);
	put_option(w, 4, "[local] global counter\n", 24);
	options = here(w);
	for (b = 1; b < s->nr_buffers; b++) {
		put_number(w, 3, 2);
		put_number(w, 8 + strlen(s->buffers[b].name) + 1, 4);
		put_number(w, 0, 8);
		put(w, s->buffers[b].name, strlen(s->buffers[b].name) + 1);
	}
	put_number(w, 0, 2);
	tables[0] = put_table(w);
	for (b = 1; b < s->nr_buffers; b++) {
		put_at(w, options + 6, here(w), 8);
		options += 6 + 8 + strlen(s->buffers[b].name) + 1;
		tables[b] = put_table(w);
	}
	ret = put_buffers(w);
	for (b = 0; b < s->nr_buffers; b++)
		fill_table(w, tables[b], b);
	return ret;
}

int writer_run(const struct writer_spec *spec, FILE *out)
{
	struct writer w = { .spec = spec, .out = out };
	int ret = -ENOMEM;

	w.where = calloc(spec->nr_buffers * spec->nr_cpus + 1, sizeof(*w.where));
	w.sections = calloc(spec->nr_buffers + 1, sizeof(*w.sections));
	if (w.where && w.sections) {
		put(&w, "\x17\x08\x44tracing", 10);
		put(&w, spec->version == 6 ? "6" : "7", 2);
		put_number(&w, 0, 1);
		put_number(&w, 8, 1);
		put_number(&w, WRITER_PAGE, 4);
		ret = spec->version == 6 ? put_v6(&w) : put_v7(&w);
	}
	free(w.where);
	free(w.sections);
	return ret ? ret : ferror(out) ? -EIO : 0;
}
