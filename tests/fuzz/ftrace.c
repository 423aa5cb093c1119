/* SPDX-License-Identifier: MIT */
/*
 * ftrace.c - any bytes written to the files that choose functions
 *
 * Input: a byte that chooses file, truncation and the length of each write, then the text; a byte
 * 255 begins the next command. Afterwards each site must count exactly the ops that trace it, and
 * the fixture must become empty again.
 */
#include <stdlib.h>
#include <string.h>

#include "model/ftrace/ftrace.h"
#include "fixture.h"

static const char format[] = EVENT_FORMAT("");

static const char functions[] =
	"1000 vfs_read\n1010 vfs_write\n1020 do_sys_open\n1030 a\n1040 a\n1050 ab*c\n1060 x[y\n"
	"2000 vfs_read [libone]\n2010 load [libone]\n3000 load [other]\n";

static void give(struct instance *inst, uint8_t how, const uint8_t *text, size_t len)
{
	struct ftrace_edit *e = ftrace_edit_open(inst, (enum ftrace_file)(how & 3), how & 4);
	const size_t piece = (how >> 3) + 1u;
	size_t off = 0;

	while (off < len) {
		const size_t size = len - off < piece ? len - off : piece;
		ssize_t n = ftrace_edit_write(e, (const char *)text + off, size, false);

		if (n == 0 || n > (ssize_t)size)
			abort();
		if (n < 0)
			break;
		off += (size_t)n;
	}
	ftrace_edit_close(e);
}

static void check_sites(struct ftrace *ft)
{
	struct ftrace_page *page;

	list_each(page, &ft->pages, node)
		for (uint32_t i = 0; i < page->nr; i++) {
			const size_t nr = ftrace_site_ops(ft, page->sites[i].ip, NULL, 0);

			if ((page->sites[i].flags & FTRACE_SITE_COUNT) != nr)
				abort();
		}
}

static void print_all(struct instance *inst)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (int file = 0; file < 4; file++)
		ftrace_print_file(inst, (enum ftrace_file)file, NULL, out);
	ftrace_print_flagged(inst->model->ftrace, FTRACE_SITE_TOUCHED, out);
	fclose(out);
	free(text);
}

static void clean(struct instance *inst)
{
	for (uint8_t file = 0; file < 4; file++)
		give(inst, file | 4, NULL, 0);
	function_commands_destroy(inst->ftrace);
	check_sites(inst->model->ftrace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *w = fixture("test", format);
	struct instance *inst = w->model->top;
	const uint8_t *end = data + size;

	if (!ftrace_present(w->model)) {
		if (ftrace_sites_load(w->model, functions, sizeof(functions) - 1) ||
		    ftrace_ops_enable(&ftrace_of_instance(inst)->function))
			abort();
	}
	while (data < end) {
		const uint8_t *next = memchr(data + 1, 255, (size_t)(end - data - 1));
		const size_t len = (size_t)((next ? next : end) - data - 1);

		give(inst, *data, data + 1, len);
		check_sites(w->model->ftrace);
		data += 1 + len + (next != NULL);
	}
	print_all(inst);
	clean(inst);
	fixture_reclaim(w);
	return 0;
}
