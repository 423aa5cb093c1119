/* SPDX-License-Identifier: MIT */
/*
 * eprobe.c - records of probes that the session has defined, argument by argument
 */
#include "model/dynamic/eprobe.h"
#include "show/state.h"

static void put_symbol(struct show *s, uint64_t ip)
{
	if (!print_symbol(&s->env, ip, PRINT_SYMBOL_OFFSET | PRINT_SYMBOL_MODULE, &s->text))
		text_printf(&s->text, "0x%llx", (unsigned long long)ip);
}

/*
 * A symbol string is recorded as the address in text, because the code of a hit knows no symbols.
 */
static bool put_symbol_string(struct show *s, const struct probe_arg *arg, const char *text,
			      uint32_t len)
{
	unsigned long long ip;

	if (strcmp(arg->type->name, "symstr") || !len || text[len - 1] ||
	    sscanf(text, "0x%llx", &ip) != 1)
		return false;
	text_putc(&s->text, '"');
	put_symbol(s, ip);
	text_putc(&s->text, '"');
	return true;
}

static void put_string(struct show *s, const struct probe_arg *arg, const struct show_record *r,
		       uint32_t at)
{
	uint32_t loc = (uint32_t)record_load(r, at, 4), begin = loc & 0xffff, len = loc >> 16;
	const char *text = (const char *)r->at.data + begin;

	if (!len || begin > r->at.size || len > r->at.size - begin) {
		text_puts(&s->text, "(fault)");
		return;
	}
	if (put_symbol_string(s, arg, text, len))
		return;
	text_putc(&s->text, '"');
	text_put(&s->text, text, strnlen(text, len));
	text_putc(&s->text, '"');
}

static void put_signed(struct show *s, uint64_t v, unsigned int size)
{
	const unsigned int unused = 64 - 8 * size;

	text_printf(&s->text, "%lld", (long long)((int64_t)(v << unused) >> unused));
}

static void put_value(struct show *s, const struct probe_arg *arg, const struct show_record *r,
		      uint32_t at)
{
	const uint64_t v =
		arg->type->print == PROBE_STRING ? 0 : record_load(r, at, arg->type->size);

	switch (arg->type->print) {
	case PROBE_STRING:
		put_string(s, arg, r, at);
		break;
	case PROBE_SYMBOL:
		put_symbol(s, v);
		break;
	case PROBE_SIGNED:
		put_signed(s, v, arg->type->size);
		break;
	case PROBE_HEX:
		text_printf(&s->text, "0x%llx", (unsigned long long)v);
		break;
	case PROBE_CHAR:
		text_putc(&s->text, '\'');
		text_putc(&s->text, (char)v);
		text_putc(&s->text, '\'');
		break;
	case PROBE_UNSIGNED:
		text_printf(&s->text, "%llu", (unsigned long long)v);
		break;
	}
}

static void put_arg(struct show *s, const struct probe_arg *arg, const struct show_record *r)
{
	text_printf(&s->text, " %s=", arg->name);
	if (!arg->count)
		put_value(s, arg, r, arg->offset);
	for (unsigned int i = 0; i < arg->count; i++) {
		text_putc(&s->text, i ? ',' : '{');
		put_value(s, arg, r, arg->offset + i * arg->type->size);
	}
	if (arg->count)
		text_putc(&s->text, '}');
}

void show_probe_args(struct show *s, const struct probe *p, const struct show_record *r)
{
	for (unsigned int i = 0; i < p->nr_args; i++)
		put_arg(s, &p->args[i], r);
}

void show_eprobe(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const struct probe *p = &eprobe_of_event(e->event)->probe;

	text_printf(&s->text, "%s: ", e->event->name);
	s->mark = s->text.len;
	text_printf(&s->text, "(%s.%s)", p->base->system->name, p->base->name);
	show_probe_args(s, p, r);
	text_putc(&s->text, '\n');
}
