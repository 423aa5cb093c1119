/* SPDX-License-Identifier: MIT */
/*
 * hist_session.h - a session with a few events that have the same fields, for tests of histograms
 */
#ifndef TRACEFUSE_TESTS_HIST_SESSION_H
#define TRACEFUSE_TESTS_HIST_SESSION_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include "agent/agent.h"
#include "model/event/program.h"
#include "tracefs/tree.h"
#include "tracefuse/tracefuse.h"
#include "../serve.h"

/* clang-format off */
#define FIELD(type, name, off, size, sign) \
	"\tfield:" type " " name ";\toffset:" #off ";\tsize:" #size ";\tsigned:" #sign ";\n"

static const char hist_body[] =
	FIELD("unsigned short", "common_type", 0, 2, 0)
	FIELD("unsigned char", "common_flags", 2, 1, 0)
	FIELD("unsigned char", "common_preempt_count", 3, 1, 0)
	FIELD("int", "common_pid", 4, 4, 1) "\n"
	FIELD("int", "s32", 8, 4, 1)
	FIELD("unsigned int", "u32", 12, 4, 0)
	FIELD("long", "s64", 16, 8, 1)
	FIELD("unsigned long", "u64", 24, 8, 0)
	FIELD("short", "s16", 32, 2, 1)
	FIELD("unsigned short", "u16", 34, 2, 0)
	FIELD("signed char", "s8", 36, 1, 1)
	FIELD("unsigned char", "u8", 37, 1, 0)
	FIELD("char", "task[16]", 40, 16, 0)
	FIELD("__data_loc char[]", "name", 56, 4, 0)
	"\nprint fmt: \"%d\", REC->s32\n";
/* clang-format on */

struct rec {
	struct record_common common;
	int32_t s32;
	uint32_t u32;
	int64_t s64;
	uint64_t u64;
	int16_t s16;
	uint16_t u16;
	int8_t s8;
	uint8_t u8;
	uint16_t pad;
	char task[16];
	uint32_t name;
	char text[52];
};

static struct model *model;
static struct tree *tree;

/* Makes events of the system app; ids[i] has the one-letter name names[i]. Returns 0 or -1. */
static inline int hist_session_start(const uint32_t *ids, const char *names)
{
	struct event *e;
	bool is_new;

	if (serve_start(NULL, NULL) || model_create(session, &model))
		return -1;
	tree = tree_create(model);
	for (size_t i = 0; tree && names[i]; i++)
		if (model_add_program_event(model, "app", (const char[]){ names[i], 0 }, hist_body,
					    ids[i], &e, &is_new))
			return -1;
	return tree ? 0 : -1;
}

static inline void hist_session_stop(void)
{
	serve_stop();
	tree_destroy(tree);
	model_destroy(model);
	session_close(session);
}

/* Writes a text to a file. 0 or -errno */
static inline int put(const char *path, const char *text)
{
	struct tree_file *f;
	int ret = tree_open(tree, path, O_WRONLY | O_APPEND, &f);

	if (ret)
		return ret;
	ret = (int)tree_write(f, text, strlen(text));
	tree_release(f);
	return ret < 0 ? ret : 0;
}

/* Reads a whole file. NULL: it cannot be opened. */
static inline const char *text_of(const char *path)
{
	static char text[1 << 20];
	struct tree_file *f;
	size_t at = 0;
	ssize_t n;

	if (tree_open(tree, path, O_RDONLY, &f))
		return NULL;
	while ((n = tree_read(f, text + at, sizeof(text) - 1 - at, (off_t)at)) > 0)
		at += (size_t)n;
	tree_release(f);
	text[at] = 0;
	return text;
}

/* The number behind `what`; 0: the text does not contain it. */
static inline uint64_t number_in(const char *text, const char *what)
{
	const char *at = text ? strstr(text, what) : NULL;

	return at ? strtoull(at + strlen(what), NULL, 10) : 0;
}

/* Sets both texts of a record that was 0; `text` has at most 51 bytes. */
static inline void rec_text(struct rec *r, const char *text)
{
	size_t size = strlen(text) + 1;

	memcpy(r->task, text, size < sizeof(r->task) ? size : sizeof(r->task) - 1);
	memcpy(r->text, text, size);
	r->name = (uint32_t)size << 16 | offsetof(struct rec, text);
}

#endif
