/* SPDX-License-Identifier: MIT */
/* internal.c - prints events of system ftrace: function, print, stacks, raw data ... */
#include "model/cmdlines.h"
#include "model/symbols.h"
#include "show/state.h"

#define STACK_TRAMPOLINE	0x7fffffffull	/* a frame of ftrace itself */

static bool begins_with_symbol(const char *text, const char *name)
{
	const size_t len = strlen(name);

	return !strncmp(text, name, len) && (!text[len] || text[len] == '+');
}

/*
 * Whether returns that are probed go there. What a return's handler has on its stack lies behind.
 * text: the symbol as it is printed.
 */
static bool is_rethook(const struct show *s, uint64_t ip, const char *text)
{
	uint64_t offset;

	if (!begins_with_symbol(text, "arch_rethook_trampoline") &&
	    !begins_with_symbol(text, "__kretprobe_trampoline"))
		return false;
	return symbols_find(s->env.symbols, ip, &offset, NULL, NULL) && !offset;
}

void show_ip(struct show *s, uint64_t ip, bool offset)
{
	unsigned int flags = offset ? PRINT_SYMBOL_OFFSET | PRINT_SYMBOL_MODULE : 0;
	size_t start = s->text.len;

	if (!ip) {
		text_putc(&s->text, '0');
		return;
	}
	if (!print_symbol(&s->env, ip, flags, &s->text)) {
		text_put(&s->text, "0x", 2);
		text_hex(&s->text, ip, 8);
	} else if (s->text.bytes[start] != 0) {
		text_putc(&s->text, 0);
		s->text.len--;
		if (!s->text.failed && is_rethook(s, ip, s->text.bytes + start)) {
			s->text.len = start;
			text_puts(&s->text, "[unknown/kretprobe'd]");
		}
	}
	if (show_option(s, OPTION_SYM_ADDR)) {
		text_put(&s->text, " <", 2);
		text_hex(&s->text, ip, 16);
		text_putc(&s->text, '>');
	}
}

static void symbol(struct show *s, uint64_t ip)
{
	show_ip(s, ip, show_option(s, OPTION_SYM_OFFSET));
}

static uint64_t word(const struct show_event *e, const struct show_record *r, int field,
		     uint32_t size)
{
	return record_load(r, e->at[field], size);
}

static void hex_word(struct show *s, uint64_t v, int digits)
{
	text_hex(&s->text, v, digits);
	text_putc(&s->text, ' ');
}

/* ---- function, func_repeats: at[] is ip, parent_ip, count, top_delta_ts, bottom_delta_ts ---- */

static void function_names(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint64_t parent = word(e, r, 1, 8);

	symbol(s, word(e, r, 0, 8));
	if (!show_option(s, OPTION_PRINT_PARENT) || !parent)
		return;
	text_puts(&s->text, " <-");
	symbol(s, parent);
}

static void function_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	function_names(s, e, r);
	text_putc(&s->text, '\n');
}

static void function_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	text_hex(&s->text, word(e, r, 0, 8), 1);
	text_putc(&s->text, ' ');
	text_hex(&s->text, word(e, r, 1, 8), 1);
	text_putc(&s->text, '\n');
}

static void function_hex(struct show *s, const struct show_event *e, const struct show_record *r)
{
	hex_word(s, word(e, r, 0, 8), 16);
	hex_word(s, word(e, r, 1, 8), 16);
}

static void function_binary(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint64_t ip = word(e, r, 0, 8), parent = word(e, r, 1, 8);

	text_put(&s->text, &ip, 8);
	text_put(&s->text, &parent, 8);
}

static uint64_t repeats_delta(const struct show_event *e, const struct show_record *r)
{
	return word(e, r, 3, 2) << 32 | word(e, r, 4, 4);
}

static void repeats_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	function_names(s, e, r);
	text_printf(&s->text, " (repeats: %u, last_ts:", (unsigned int)word(e, r, 2, 2));
	show_time(s, r->time - repeats_delta(e, r));
	text_puts(&s->text, ")\n");
}

static void repeats_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	text_printf(&s->text, "%llu %llu %u %llu\n", (unsigned long long)word(e, r, 0, 8),
		    (unsigned long long)word(e, r, 1, 8), (unsigned int)word(e, r, 2, 2),
		    (unsigned long long)repeats_delta(e, r));
}

/* ---- context_switch, wakeup: at[] is prev_pid, next_pid, next_cpu, prev_prio ... in a row ---- */

struct switched {
	unsigned int	prev_pid, next_pid, next_cpu;
	unsigned int	prev_prio, prev_state, next_prio, next_state;
};

static struct switched switch_of(const struct show_event *e, const struct show_record *r)
{
	return (struct switched){
		(unsigned int)word(e, r, 0, 4),
		(unsigned int)word(e, r, 1, 4),
		(unsigned int)word(e, r, 2, 4),
		(unsigned int)word(e, r, 3, 1),
		(unsigned int)record_load(r, e->at[3] + 1u, 1),
		(unsigned int)record_load(r, e->at[3] + 2u, 1),
		(unsigned int)record_load(r, e->at[3] + 3u, 1),
	};
}

static char state_letter(unsigned int state)
{
	return state < 9 ? "RSDTtXZPI"[state] : '?';
}

static void switch_text_with(struct show *s, const struct show_event *e,
			     const struct show_record *r, const char *arrow)
{
	struct switched w = switch_of(e, r);

	text_printf(&s->text, " %7d:%3d:%c %s [%03d] %7d:%3d:%c %s\n", (int)w.prev_pid,
		    (int)w.prev_prio, state_letter(w.prev_state), arrow, (int)w.next_cpu,
		    (int)w.next_pid, (int)w.next_prio, state_letter(w.next_state),
		    cmdlines_find(s->model->cmdlines, (int)w.next_pid));
}

static void switch_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_text_with(s, e, r, "==>");
}

static void wakeup_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_text_with(s, e, r, "  +");
}

static void switch_raw_with(struct show *s, const struct show_event *e, const struct show_record *r,
			    char state)
{
	struct switched w = switch_of(e, r);

	text_printf(&s->text, "%d %d %c %d %d %d %c\n", (int)w.prev_pid, (int)w.prev_prio,
		    state ? state : state_letter(w.prev_state), (int)w.next_cpu, (int)w.next_pid,
		    (int)w.next_prio, state_letter(w.next_state));
}

static void switch_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_raw_with(s, e, r, 0);
}

static void wakeup_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_raw_with(s, e, r, '+');
}

static void switch_hex_with(struct show *s, const struct show_event *e, const struct show_record *r,
			    char state)
{
	struct switched w = switch_of(e, r);

	hex_word(s, w.prev_pid, 8);
	hex_word(s, w.prev_prio, 2);
	hex_word(s, (uint8_t)(state ? state : state_letter(w.prev_state)), 2);
	hex_word(s, w.next_cpu, 8);
	hex_word(s, w.next_pid, 8);
	hex_word(s, w.next_prio, 2);
	hex_word(s, (uint8_t)state_letter(w.next_state), 8);
}

static void switch_hex(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_hex_with(s, e, r, 0);
}

static void wakeup_hex(struct show *s, const struct show_event *e, const struct show_record *r)
{
	switch_hex_with(s, e, r, '+');
}

static void switch_binary(struct show *s, const struct show_event *e, const struct show_record *r)
{
	struct switched w = switch_of(e, r);
	uint8_t bytes[4] = { (uint8_t)w.prev_prio, (uint8_t)w.prev_state, (uint8_t)w.next_prio,
			     (uint8_t)w.next_state };

	text_put(&s->text, &w.prev_pid, 4);
	text_put(&s->text, bytes, 2);
	text_put(&s->text, &w.next_cpu, 4);
	text_put(&s->text, &w.next_pid, 4);
	text_put(&s->text, bytes + 2, 2);
}

/* ---- kernel_stack, user_stack: at[] is caller ---- */

static void stack_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint32_t at;
	uint64_t ip;

	text_puts(&s->text, "<stack trace>\n");
	for (at = e->at[0]; at + 8 <= r->at.size; at += 8) {
		ip = record_load(r, at, 8);
		if (ip == UINT64_MAX)
			break;
		text_puts(&s->text, " => ");
		if (ip == STACK_TRAMPOLINE)
			text_puts(&s->text, "[FTRACE TRAMPOLINE]");
		else
			symbol(s, ip);
		text_putc(&s->text, '\n');
	}
}

/* An address of a session of programs: those of the kernel's records are not in this range. */
static bool is_session_address(uint64_t ip)
{
	return ip >= LAYOUT_STACK_CUT &&
	       ip < LAYOUT_DSO_BASE + ((uint64_t)LAYOUT_MAX_DSOS << LAYOUT_DSO_SHIFT);
}

/*
 * In a record of a kernel the object of an address is known only while its process lives, so the
 * addresses alone are printed.
 */
static void user_stack_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint64_t ip;
	uint32_t i;

	text_puts(&s->text, "<user stack trace>\n");
	for (i = 0; i < LAYOUT_USER_STACK; i++) {
		ip = record_load(r, e->at[0] + i * 8, 8);
		if (!ip)
			break;
		text_puts(&s->text, " => ");
		if (is_session_address(ip)) {
			symbol(s, ip);
		} else {
			text_puts(&s->text, " <");
			text_hex(&s->text, ip, 16);
			text_putc(&s->text, '>');
		}
		text_putc(&s->text, '\n');
	}
}

/* ---- print, bprint, bputs: at[] is ip, then buf or fmt or str, then bprint's buf ---- */

static void print_buf(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint32_t at = e->at[1];

	if (at < r->at.size)
		text_put(&s->text, r->at.data + at,
			 strnlen((const char *)r->at.data + at, r->at.size - at));
}

static void bprint_buf(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const char *fmt = print_string_at(&s->env, word(e, r, 1, 8));
	uint32_t at = e->at[2] < r->at.size ? e->at[2] : r->at.size;

	s->env.long_size = e->event->machine.long_size;
	if (fmt)
		print_binary(fmt, r->at.data + at, r->at.size - at, &s->env, &s->text);
	else
		text_printf(&s->text, "(0x%llx)\n", (unsigned long long)word(e, r, 1, 8));
}

static void bputs_buf(struct show *s, const struct show_event *e, const struct show_record *r)
{
	const char *str = print_string_at(&s->env, word(e, r, 1, 8));

	if (str)
		text_puts(&s->text, str);
	else
		text_printf(&s->text, "(0x%llx)\n", (unsigned long long)word(e, r, 1, 8));
}

static void message(struct show *s, const struct show_event *e, const struct show_record *r,
		    show_fn *body)
{
	symbol(s, word(e, r, 0, 8));
	text_put(&s->text, ": ", 2);
	body(s, e, r);
}

static void print_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	message(s, e, r, print_buf);
}

static void bprint_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	message(s, e, r, bprint_buf);
}

static void bputs_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	message(s, e, r, bputs_buf);
}

static void print_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	text_printf(&s->text, "# %llx ", (unsigned long long)word(e, r, 0, 8));
	print_buf(s, e, r);
}

static void binary_message_raw(struct show *s, const struct show_event *e,
			       const struct show_record *r, show_fn *body)
{
	text_printf(&s->text, ": %llx : ", (unsigned long long)word(e, r, 0, 8));
	body(s, e, r);
}

static void bprint_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	binary_message_raw(s, e, r, bprint_buf);
}

static void bputs_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	binary_message_raw(s, e, r, bputs_buf);
}

/* ---- raw_data: at[] is id, buf ---- */

static void raw_data_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint32_t at;

	text_printf(&s->text, "# %x buf:", (unsigned int)word(e, r, 0, 4));
	show_piece(s);
	for (at = e->at[1]; at < r->at.size; at++) {
		text_putc(&s->text, ' ');
		text_hex(&s->text, r->at.data[at], 2);
		show_piece(s);
	}
	text_putc(&s->text, '\n');
}

/* ---- hwlat, osnoise, timerlat ---- */

static void hwlat_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	unsigned int nmis = (unsigned int)record_load(r, e->at[0] + 40u, 4);

	text_printf(&s->text, "#%-5u inner/outer(us): %4llu/%-5llu ts:%lld.%09lld count:%d",
		    (unsigned int)word(e, r, 1, 4), (unsigned long long)word(e, r, 0, 8),
		    (unsigned long long)record_load(r, e->at[0] + 8u, 8),
		    (long long)word(e, r, 2, 8), (long long)word(e, r, 3, 8),
		    (int)word(e, r, 4, 4));
	if (nmis)
		text_printf(&s->text, " nmi-total:%llu nmi-count:%u",
			    (unsigned long long)record_load(r, e->at[0] + 16u, 8), nmis);
	text_putc(&s->text, '\n');
}

static void hwlat_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	text_printf(&s->text, "%llu %lld %lld %09lld %u\n", (unsigned long long)word(e, r, 0, 8),
		    (long long)record_load(r, e->at[0] + 8u, 8), (long long)word(e, r, 2, 8),
		    (long long)word(e, r, 3, 8), (unsigned int)word(e, r, 1, 4));
}

static void osnoise_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint64_t noise = word(e, r, 0, 8), runtime = word(e, r, 1, 8), max = word(e, r, 2, 8);
	uint64_t ratio = runtime ? (runtime - noise) * 10000000 / runtime : 0;
	uint32_t i;

	text_printf(&s->text, "%llu %10llu %3llu.%05llu %7llu", (unsigned long long)runtime,
		    (unsigned long long)noise, (unsigned long long)(ratio / 100000),
		    (unsigned long long)(ratio % 100000), (unsigned long long)max);
	for (i = 0; i < 5; i++)
		text_printf(&s->text, " %6u", (unsigned int)record_load(r, e->at[3] + i * 4, 4));
	text_putc(&s->text, '\n');
}

static void osnoise_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	uint32_t i;

	text_printf(&s->text, "%lld %llu %llu", (long long)word(e, r, 1, 8),
		    (unsigned long long)word(e, r, 0, 8), (unsigned long long)word(e, r, 2, 8));
	for (i = 0; i < 5; i++)
		text_printf(&s->text, " %u", (unsigned int)record_load(r, e->at[3] + i * 4, 4));
	text_putc(&s->text, '\n');
}

static void timerlat_text(struct show *s, const struct show_event *e, const struct show_record *r)
{
	static const char *const contexts[] = { "irq", "thread", "user-ret" };
	uint64_t context = word(e, r, 1, 4);

	text_printf(&s->text, "#%-5u context %6s timer_latency %9llu ns\n",
		    (unsigned int)word(e, r, 0, 4), context < 3 ? contexts[context] : "?",
		    (unsigned long long)word(e, r, 2, 8));
}

static void timerlat_raw(struct show *s, const struct show_event *e, const struct show_record *r)
{
	text_printf(&s->text, "%u %d %llu\n", (unsigned int)word(e, r, 0, 4), (int)word(e, r, 1, 4),
		    (unsigned long long)word(e, r, 2, 8));
}

/* ---- the functions of an event ---- */

static const struct {
	const char	*name;
	const char	*fields[6];
	show_fn		*text, *raw, *hex, *binary, *message;
} internals[] = {
	{ "function",
	 { "ip", "parent_ip" },
	 function_text,
	 function_raw,
	 function_hex,
	 function_binary,
	 NULL },
	{ "func_repeats",
	 { "ip", "parent_ip", "count", "top_delta_ts", "bottom_delta_ts" },
	 repeats_text,
	 repeats_raw,
	 NULL,
	 NULL,
	 NULL },
	{ "context_switch",
	 { "prev_pid", "next_pid", "next_cpu", "prev_prio" },
	 switch_text,
	 switch_raw,
	 switch_hex,
	 switch_binary,
	 NULL },
	{ "wakeup",
	 { "prev_pid", "next_pid", "next_cpu", "prev_prio" },
	 wakeup_text,
	 wakeup_raw,
	 wakeup_hex,
	 switch_binary,
	 NULL },
	{ "kernel_stack", { "caller" }, stack_text, NULL, NULL, NULL, NULL },
	{ "user_stack", { "caller" }, user_stack_text, NULL, NULL, NULL, NULL },
	{ "print", { "ip", "buf" }, print_text, print_raw, NULL, NULL, print_buf },
	{ "bprint", { "ip", "fmt", "buf" }, bprint_text, bprint_raw, NULL, NULL, bprint_buf },
	{ "bputs", { "ip", "str" }, bputs_text, bputs_raw, NULL, NULL, bputs_buf },
	{ "raw_data", { "id", "buf" }, raw_data_text, raw_data_text, NULL, NULL, NULL },
	{ "hwlat",
	 { "duration", "seqnum", "tv_sec", "tv_nsec", "count" },
	 hwlat_text,
	 hwlat_raw,
	 NULL,
	 NULL,
	 NULL },
	{ "osnoise",
	 { "noise", "runtime", "max_sample", "hw_count" },
	 osnoise_text,
	 osnoise_raw,
	 NULL,
	 NULL,
	 NULL },
	{ "timerlat",
	 { "seqnum", "context", "timer_latency" },
	 timerlat_text,
	 timerlat_raw,
	 NULL,
	 NULL,
	 NULL },
};

bool show_internal_event(struct show_event *e)
{
	const struct field *f;
	size_t i;
	int k;

	for (i = 0; i < sizeof(internals) / sizeof(internals[0]); i++)
		if (!strcmp(internals[i].name, e->event->name))
			break;
	if (i == sizeof(internals) / sizeof(internals[0]))
		return false;
	for (k = 0; k < 6 && internals[i].fields[k]; k++) {
		f = event_find_field(e->event, internals[i].fields[k]);
		if (!f)
			return false;
		e->at[k] = f->offset;
	}
	e->text = internals[i].text;
	e->raw = internals[i].raw;
	e->hex = internals[i].hex;
	e->binary = internals[i].binary;
	e->message = internals[i].message;
	if (e->text == function_text)
		e->kind = SHOW_FUNCTION;
	else if (e->text == stack_text)
		e->kind = SHOW_STACK;
	return true;
}
