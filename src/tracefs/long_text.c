/* SPDX-License-Identifier: MIT */
/*
 * long_text.c - open files whose text is long: a printer makes it while it is read (R35)
 *
 *   begin() here, the first part -> a printer: that part, and the rest -> reads
 *   read at the end again, later  -> another printer: what has come since (tail -f)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "tracefs/tree_state.h"

size_t text_body(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && text[at] == '#')
		at += strcspn(text + at, "\n") + 1;
	return at < len ? at : len;
}

int long_text_all(struct tree_file *f, FILE *out)
{
	return 1;
}

/* In the printer. */
static int print_all(void *arg, FILE *out)
{
	struct tree_file *f = arg;
	const struct file_kind *kind = f->at.kind;

	/* The server serves processes. */
	f->tree->model->step = NULL;
	return kind->rest ? kind->rest(f, out) : kind->print(f, out);
}

static void hold(struct tree_file *f, bool held)
{
	if (held == f->held)
		return;
	session_hold(f->tree->model->session, held);
	if (held)
		list_add_tail(&f->held_node, &f->tree->held);
	else
		list_del(&f->held_node);
	f->held = held;
}

void long_text_tend(struct tree *t)
{
	struct tree_file *f, *next;

	list_each_safe(f, next, &t->held, held_node)
		if (!printer_holds(f->printer))
			hold(f, false);
}

void long_text_begun(struct tree_file *f)
{
	if (f->at.kind->end)
		f->at.kind->end(f);
}

int long_text_start(struct tree_file *f)
{
	const struct file_kind *kind = f->at.kind;
	const struct printer_text text = {
		.begun = f->text, .begun_size = f->len, .print = print_all, .arg = f,
		.whole = kind->whole,
		.after = f->following ? &f->body : NULL, .start = f->following ? f->follow_at : 0,
	};
	int err = printer_start(f->tree->printers, &text, &f->printer);

	long_text_begun(f);
	if (err)
		return err;
	f->ended = false;
	hold(f, !kind->stays);
	free(f->text);
	f->text = NULL;
	f->len = 0;
	return 0;
}

void long_text_end(struct tree_file *f)
{
	printer_end(f->printer);
	f->printer = NULL;
	hold(f, false);
}

/* Starts a printer of what has come since. False: nothing, or it cannot be known. */
static bool follow_on(struct tree_file *f)
{
	struct printer *before = f->printer;
	struct printer_body body;

	if (session_now_ms() - f->printed_ms < FOLLOW_MS || !printer_body(before, &body))
		return false;
	if (printer_came(before))
		f->body = body;
	f->follow_at = printer_pos(before);
	f->following = true;
	f->printer = NULL;
	if (tree_print(f) || !f->printer) {
		/* Less than there was. */
		free(f->text);
		f->text = NULL;
		f->printer = before;
		f->printed = true;
	}
	f->following = false;
	if (f->printer == before)
		return false;
	printer_end(before);
	return true;
}

ssize_t long_text_read(struct tree_file *f, char *buf, size_t size, off_t off)
{
	ssize_t n;

	if (f->ended && f->at.kind->follows && off == printer_pos(f->printer))
		follow_on(f);
	n = printer_read(f->printer, buf, size, off);
	if (n == 0 && !f->ended) {
		f->ended = true;
		f->printed_ms = session_now_ms();
	}
	return n;
}
