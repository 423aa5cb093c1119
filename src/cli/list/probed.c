/* SPDX-License-Identifier: MIT */
/*
 * probed.c - one function or note of a program: how it can be probed, or why not
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/list/list.h"
#include "model/demangle/demangle.h"

enum { NAME_WIDTH = 40 };

static const char *const site_kinds[] = {
	[SITE_ROW] = "nops", [SITE_NOP] = "nop", [SITE_CALL] = "call of __fentry__",
	[SITE_CALL_LATE] = "call of mcount", [SITE_SLED] = "sled of XRay",
};

void list_plan(const struct code_file *file, struct list_item *item)
{
	const uint64_t at = item->note ? item->note->address : code_entry(item->fn);

	item->plan = (struct code_plan){ .address = at, .why = CODE_NO_FDE };
	if (item->site)
		return;
	if (item->fn && item->fn->why != CODE_GOOD)
		item->plan.why = item->fn->why;
	else if (file)
		code_plan(file, at, CODE_NO_TRAP, &item->plan);
}

void list_count(struct list_counts *c, const struct list_item *item)
{
	if (item->site) {
		c->sites += item->site->skip == SITE_GOOD;
		c->skipped += item->site->skip != SITE_GOOD;
	} else {
		c->tactics[item->plan.tactic]++;
		c->whys[item->plan.why]++;
	}
	if (item->moved)
		c->moved[item->moved->skip]++;
	if (item->fn)
		c->no_return[item->fn->returns]++;
}

/* ---- Arguments of notes ---- */

static void print_unknown(const struct code_argument *a)
{
	char *text = strndup(a->text, a->text_len);

	if (text)
		list_clean(text, strlen(text));
	printf(" not understood: %s", text ? text : "");
	free(text);
}

/* Memory, as the note has it: what is behind the size. */
static void print_operand(const struct code_argument *a)
{
	const char *at = memchr(a->text, '@', a->text_len);
	const char *text = at ? at + 1 : a->text;

	printf(" at %.*s", (int)(a->text + a->text_len - text), text);
}

static void print_place(const struct code_argument *a)
{
	static const char names[][4] = {
		"ax", "cx", "dx", "bx", "sp", "bp", "si", "di", "r8", "r9", "r10", "r11", "r12",
		"r13", "r14", "r15", "ip",
	};

	switch (a->kind) {
	case CODE_ARGUMENT_REGISTER:
		printf(" in %%%s", names[a->reg]);
		break;
	case CODE_ARGUMENT_VECTOR:
		printf(" in %%xmm%u", a->reg);
		break;
	case CODE_ARGUMENT_CONSTANT:
		printf(" = %" PRId64, a->value);
		break;
	default:
		print_operand(a);
	}
}

/* The value's type: u8 to s64, double; a size that is not said is that of a long. */
static void print_type(const struct code_argument *a)
{
	const unsigned int size = a->size ? a->size : 8;

	if (a->is_float)
		printf("%s", size == 8 ? "double" : "float");
	else
		printf("%c%u", a->is_signed ? 's' : 'u', 8 * size);
}

static void print_arguments(const struct code_note *n)
{
	struct code_argument arguments[CODE_ARGUMENTS];
	const unsigned int nr = code_note_arguments(n, arguments);

	for (unsigned int i = 0; i < nr; i++) {
		printf("    ");
		print_type(&arguments[i]);
		printf(" arg%u", i + 1);
		if (arguments[i].kind == CODE_ARGUMENT_UNKNOWN)
			print_unknown(&arguments[i]);
		else
			print_place(&arguments[i]);
		if (arguments[i].kind != CODE_ARGUMENT_UNKNOWN &&
		    !code_argument_is_fetched(&arguments[i]))
			printf(" (no field)");
		putchar('\n');
	}
}

/* ---- Printing ---- */

void list_answer(const struct list_item *item, FILE *out)
{
	const struct site *s = item->site;

	if (s && s->skip == SITE_GOOD)
		fprintf(out, "site: %s", site_kinds[s->kind]);
	else if (s)
		fprintf(out, "refused: %s", site_skip_text((enum site_skip)s->skip));
	else if (item->plan.tactic == CODE_REFUSED)
		fprintf(out, "refused: %s", code_why_text((enum code_why)item->plan.why));
	else
		fputs(code_tactic_text((enum code_tactic)item->plan.tactic), out);
}

static void print_details(const struct list_item *item)
{
	const struct code_plan *p = &item->plan;

	printf("    address 0x%" PRIx64, item->site ? item->site->at : p->address);
	if (item->fn)
		printf(", function of %u bytes at 0x%" PRIx64, item->fn->size, item->fn->start);
	putchar('\n');
	if (p->tactic != CODE_REFUSED)
		printf("    moves %u instruction%s of %u bytes at 0x%" PRIx64 "\n", p->nr,
		       p->nr == 1 ? "" : "s", p->len, p->at);
	if (item->fn && item->fn->returns != CODE_RETURN_GOOD)
		printf("    its return is not caught: %s\n",
		       code_return_text((enum code_return)item->fn->returns));
	if (item->moved && item->moved->skip)
		printf("    not for function tracers: %s\n",
		       site_skip_text((enum site_skip)item->moved->skip));
	if (item->note && item->note->semaphore)
		printf("    semaphore at 0x%" PRIx64 "\n", item->note->semaphore);
	if (item->note)
		print_arguments(item->note);
}

void list_print(const struct list *l, const struct list_item *item)
{
	const char *readable = item->fn ? demangle(l->names, item->name) : NULL;
	const int used = printf("%s:%s", item->kind, item->name);

	printf("%*s", used < NAME_WIDTH ? NAME_WIDTH - used : 1, "");
	list_answer(item, stdout);
	if (readable)
		printf(" (%s)", readable);
	putchar('\n');
	if (l->details)
		print_details(item);
}

static void print_count(const char *text, size_t nr)
{
	if (nr)
		printf("  %-50s %8zu\n", text, nr);
}

static void print_why(const char *what, const char *why, size_t nr)
{
	char text[120];

	snprintf(text, sizeof(text), "%s: %s", what, why);
	print_count(text, nr);
}

void list_print_counts(const char *what, const struct list_counts *c)
{
	size_t all = c->sites + c->skipped;

	for (unsigned int i = 0; i < CODE_NR_TACTICS; i++)
		all += c->tactics[i];
	printf("%-52s %8zu\n", what, all);
	print_count("site of the compiler", c->sites);
	for (unsigned int i = CODE_WHOLE; i < CODE_NR_TACTICS; i++)
		print_count(code_tactic_text((enum code_tactic)i), c->tactics[i]);
	print_count("refused: the compiler's site cannot be used", c->skipped);
	for (unsigned int i = CODE_GOOD + 1; i < CODE_NR_WHYS; i++)
		print_why("refused", code_why_text((enum code_why)i), c->whys[i]);
	for (unsigned int i = CODE_RETURN_GOOD + 1; i < CODE_NR_RETURNS; i++)
		print_why("return not caught", code_return_text((enum code_return)i),
			  c->no_return[i]);
	print_count("for function tracers", c->moved[SITE_GOOD]);
	for (unsigned int i = SITE_GOOD + 1; i < SITE_NR_SKIPS; i++)
		print_why("not for them", site_skip_text((enum site_skip)i), c->moved[i]);
}
