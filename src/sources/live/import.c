/* SPDX-License-Identifier: MIT */
/*
 * import.c - the running kernel's events, strings and symbols go into the model
 *
 * Events keep the kernel's ids: those that a session makes begin at LAYOUT_OWN_IDS.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/symbols.h"
#include "sources/live/state.h"

/* A system whose events are added. */
struct import {
	struct live	*live;
	const char	*system;
};

static int import_format(int dir, const char *name, void *arg)
{
	const struct import *in = arg;
	struct live *l = in->live;
	char path[512];
	struct event *e = NULL;
	size_t len;
	char *text;
	int err;

	if ((size_t)snprintf(path, sizeof(path), "%s/format", name) >= sizeof(path))
		return 0;
	text = kernel_read(dir, path, &len);
	if (!text)
		return errno == ENOMEM ? -ENOMEM : 0;
	err = model_add_event(l->model, in->system, text, len, &e);
	free(text);
	if (!err && e->id < LAYOUT_OWN_IDS)
		l->known[e->id / 64] |= 1ull << e->id % 64;
	l->nr_hidden += err == -EEXIST;
	l->nr_strange += err == -EINVAL;
	return err == -ENOMEM || err == -ENOSPC ? err : 0;
}

/* The records of system ftrace are not events that one enables. */
static int import_system(int dir, const char *name, void *arg)
{
	struct import in = { arg, name };

	return !strcmp(name, "ftrace") ? 0 : kernel_each_dir(dir, name, import_format, &in);
}

/* The number behind `key` in a format. */
static uint32_t format_number(const char *text, const char *key, uint32_t usual)
{
	const char *at = text ? strstr(text, key) : NULL;

	return at ? (uint32_t)strtoul(at + strlen(key), NULL, 10) : usual;
}

static void import_stack(struct live *l)
{
	size_t len;
	char *text = kernel_read(kernel_events(&l->kernel), "events/ftrace/kernel_stack/format",
				 &len);
	const char *caller = text ? strstr(text, "caller") : NULL;

	l->stack_type = format_number(text, "ID: ", 4);
	l->stack_at = format_number(caller, "offset:", 16);
	free(text);
}

static void import_namers(struct live *l)
{
	static const char *const names[LIVE_NAMERS] = { "task_rename", "task_newtask" };

	for (unsigned int i = 0; i < LIVE_NAMERS; i++) {
		const struct event *e = model_find_event(l->model, "task", names[i]);

		l->namers[i] = e && live_bit(l->known, e->id) ? e->id : 0;
	}
}

int live_import(struct live *l)
{
	int err = kernel_each_dir(kernel_events(&l->kernel), "events", import_system, l);

	if (err)
		return err;
	import_stack(l);
	import_namers(l);
	task_names_rules(&l->names, l->model);
	return 0;
}

/* "ffffffff81000000 T _stext" "ffffffffc0000000 t name\t[module]" */
static void import_symbol(struct live *l, char *line)
{
	char *end, *name, *module;
	unsigned long long addr = strtoull(line, &end, 16);

	if (!addr || end[0] != ' ' || !end[1] || end[2] != ' ')
		return;
	name = end + 3;
	module = strchr(name, '\t');
	if (module) {
		*module++ = '\0';
		module += *module == '[';
		module[strcspn(module, "]")] = '\0';
	}
	/* Without memory the address is shown as a number. */
	(void)symbols_add(l->model->symbols, addr, end[1], name, module);
}

void live_import_symbols(void *arg)
{
	struct live *l = arg;
	size_t len;
	char *text, *rest, *line;

	if (l->has_symbols)
		return;
	l->has_symbols = true;
	rest = text = kernel_read(AT_FDCWD, "/proc/kallsyms", &len);
	while ((line = strsep(&rest, "\n")))
		import_symbol(l, line);
	free(text);
}

void live_import_probes(struct live *l)
{
	char *text, *rest, *line, *end;
	size_t len;

	if (l->probes.nr)
		return;
	rest = text = kernel_read(AT_FDCWD, "/proc/kallsyms", &len);
	while ((line = strsep(&rest, "\n"))) {
		const uint64_t addr = strtoull(line, &end, 16);

		/* Without memory, stacks have one function more. */
		if (addr && end[0] == ' ' && end[1] && end[2] == ' ')
			(void)stack_probes_line(&l->probes, addr, end + 3);
	}
	stack_probes_end(&l->probes);
	free(text);
}
