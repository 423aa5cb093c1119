/* SPDX-License-Identifier: MIT */
/*
 * boot.c - writes the tracing parameters of a kernel's command line to the files of a session
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "model/text.h"
#include "server/boot.h"
#include "server/nearest.h"
#include "model/text_memory.h"
#include "session/array.h"

enum {
	WAITS		= 1,		/* a parameter's function returns 0, -errno or this */
	SIZE_LEAST	= 4096,		/* bytes of a buffer */
};

struct boot_parameter;

struct boot_item {
	const struct boot_parameter *parameter;
	char		*value;
	bool		given;		/* or refused: there is nothing more to do */
};

struct boot {
	const char	*head;
	struct boot_item *items;	/* in the order of the text */
	unsigned int	nr;
	/* Functions that ftrace= waits for: how many there are, and how many were given */
	unsigned int	filters, chosen;
};

struct boot_parameter {
	const char	*name;
	/* Of a list of values; 0: it has one value */
	char		separator;
	int (*give)(struct boot *b, const struct boot_params *params, const struct boot_item *item);
	const char	*file;
};

/* ---- each kind of parameter ---- */

static int write_line(const struct boot_params *params, const char *path, int flags,
		      const char *value)
{
	char *text;
	int n = asprintf(&text, "%s\n", value), ret;

	if (n < 0)
		return -ENOMEM;
	ret = access_write_all(params->access, path, flags, text, (size_t)n, NULL);
	free(text);
	return ret;
}

static int give_file(struct boot *b, const struct boot_params *params, const struct boot_item *item)
{
	return write_line(params, item->parameter->file, O_TRUNC, item->value);
}

static int give_option(struct boot *b, const struct boot_params *params,
		       const struct boot_item *item)
{
	const bool off = !strncmp(item->value, "no", 2);
	int ret = write_line(params, item->parameter->file, O_APPEND, item->value), err;
	char path[300];

	if (ret != -EINVAL)
		return ret;
	/* The option of a tracer that is not the current one. */
	snprintf(path, sizeof(path), "options/%s", item->value + (off ? 2 : 0));
	err = write_line(params, path, O_TRUNC, off ? "0" : "1");
	return err ? ret : 0;
}

/*
 * A number of bytes, with K, M ...; as in the kernel, what is behind does not count, and what
 * begins without a digit is 0: it has no sign.
 */
static int give_size(struct boot *b, const struct boot_params *params, const struct boot_item *item)
{
	static const char units[] = "kmgtpe";
	const bool is_number = isdigit((unsigned char)*item->value);
	char text[32], *end = item->value;
	unsigned long long bytes = is_number ? strtoull(item->value, &end, 0) : 0;
	const char *unit = *end ? strchr(units, *end | 32) : NULL;

	if (unit && bytes >> (64 - 10 * (unit - units + 1)))
		return -EINVAL;
	if (unit)
		bytes <<= 10 * (unit - units + 1);
	bytes = bytes < SIZE_LEAST ? SIZE_LEAST : bytes;
	snprintf(text, sizeof(text), "%llu", (bytes + 1023) >> 10);
	return write_line(params, item->parameter->file, O_TRUNC, text);
}

/* The file itself takes decimal numbers only. */
static int give_thresh(struct boot *b, const struct boot_params *params,
		       const struct boot_item *item)
{
	char text[32];
	uint64_t us;
	const int err = text_to_u64(item->value, 0, &us);

	if (err)
		return err;
	snprintf(text, sizeof(text), "%" PRIu64, us);
	return write_line(params, item->parameter->file, O_TRUNC, text);
}

/* If there are no functions yet, the file may not exist. */
static int give_function(struct boot *b, const struct boot_params *params,
			 const struct boot_item *item)
{
	int ret = write_line(params, item->parameter->file, O_APPEND, item->value);

	return ret == -EINVAL || ret == -EACCES || ret == -ENOENT ? WAITS : ret;
}

static int give_filter(struct boot *b, const struct boot_params *params,
		       const struct boot_item *item)
{
	int ret = give_function(b, params, item);

	b->chosen += ret != WAITS;
	return ret;
}

static bool has_word(struct access *a, const char *path, const char *word)
{
	char *text, *rest, *at;
	bool found = false;
	size_t len;

	if (access_read_all(a, path, &text, &len))
		return false;
	rest = text;
	while (!found && (at = strsep(&rest, " \n")))
		found = !strcmp(at, word);
	free(text);
	return found;
}

/* A function tracer does not start with all functions because the chosen ones do not exist yet. */
static int give_tracer(struct boot *b, const struct boot_params *params,
		       const struct boot_item *item)
{
	bool functions = !strncmp(item->value, "function", 8);

	if (functions && b->filters && !b->chosen && !params->last)
		return WAITS;
	if (!has_word(params->access, "available_tracers", item->value))
		return !strcmp(item->value, "function") || !strcmp(item->value, "function_graph")
			       ? WAITS
			       : -EINVAL;
	return write_line(params, item->parameter->file, O_TRUNC, item->value);
}

static int pend_event(const struct boot_params *params, const char *name)
{
	const char *colon = strchr(name, ':'), *event = colon ? colon + 1 : "";
	char path[1024];

	if (!params->pend || !colon || colon == name || strpbrk(name, "?[/") ||
	    (*event && strcmp(event, "*") && strchr(event, '*')))
		return -ENOENT;
	if (!*event || *event == '*')
		snprintf(path, sizeof(path), "events/%.*s/enable", (int)(colon - name), name);
	else
		snprintf(path, sizeof(path), "events/%.*s/%s/enable", (int)(colon - name), name,
			 event);
	return params->pend(params->pend_arg, path, "1");
}

static int give_event(struct boot *b, const struct boot_params *params,
		      const struct boot_item *item)
{
	int ret = write_line(params, item->parameter->file, O_APPEND, item->value);

	if (ret != -EINVAL)
		return ret;
	return pend_event(params, item->value) ? WAITS : 0;
}

/* EVENT.TRIGGER: for every event of that name. */
struct trigger_search {
	const struct boot_params *params;
	const char	*event, *trigger;
	unsigned int	found;
	int		err;
};

static int try_system(void *arg, const char *system, bool is_dir)
{
	struct trigger_search *s = arg;
	char path[1024];
	mode_t mode;

	snprintf(path, sizeof(path), "events/%s/%s/trigger", system, s->event);
	if (!is_dir || s->params->access->ops->stat(s->params->access, path, &mode))
		return 0;
	s->found++;
	s->err = write_line(s->params, path, O_APPEND, s->trigger);
	return s->err;
}

static int give_trigger(struct boot *b, const struct boot_params *params,
			const struct boot_item *item)
{
	char *event = strdup(item->value), *dot = event ? strchr(event, '.') : NULL;
	struct trigger_search s = { .params = params, .event = event };
	int ret = event ? -EINVAL : -ENOMEM;

	if (dot && dot[1] && !strchr(event, '/')) {
		*dot = '\0';
		s.trigger = dot + 1;
		params->access->ops->list(params->access, "events", try_system, &s);
		ret = s.found ? s.err : WAITS;
	}
	free(event);
	return ret;
}

static int give_stack_filter(struct boot *b, const struct boot_params *params,
			     const struct boot_item *item)
{
	return give_function(b, params, item);
}

/* The stack tracer does not start with all functions because the chosen ones do not exist yet. */
static int give_stack_tracer(struct boot *b, const struct boot_params *params,
			     const struct boot_item *item)
{
	for (unsigned int i = 0; i < b->nr && !params->last; i++)
		if (b->items[i].parameter->give == give_stack_filter && !b->items[i].given)
			return WAITS;
	return give_file(b, params, item);
}

/* The parameters are given in this order. */
static const struct boot_parameter parameters[] = {
	{ "trace_clock", 0, give_file, "trace_clock" },
	{ "trace_buf_size", 0, give_size, "buffer_size_kb" },
	{ "tracing_thresh", 0, give_thresh, "tracing_thresh" },
	{ "ftrace_graph_max_depth", 0, give_file, "max_graph_depth" },
	{ "ftrace_filter", ',', give_filter, "set_ftrace_filter" },
	{ "ftrace_notrace", ',', give_function, "set_ftrace_notrace" },
	{ "ftrace_graph_filter", ',', give_function, "set_graph_function" },
	{ "ftrace_graph_notrace", ',', give_function, "set_graph_notrace" },
	{ "ftrace", 0, give_tracer, "current_tracer" },
	{ "stacktrace_filter", ',', give_stack_filter, "stack_trace_filter" },
	{ "stacktrace", 0, give_stack_tracer, "stack_tracer_enabled" },
	{ "trace_options", ',', give_option, "trace_options" },
	{ "trace_trigger", ',', give_trigger, "events/*/EVENT/trigger" },
	{ "trace_event", ',', give_event, "set_event" },
};

enum { NR_PARAMETERS = sizeof(parameters) / sizeof(*parameters) };

/* ---- the text ---- */

static int add_item(struct boot *b, const struct boot_parameter *p, const char *value, size_t len)
{
	if (array_room(&b->items, b->nr, sizeof(*b->items)))
		return -ENOMEM;
	b->items[b->nr] = (struct boot_item){ .parameter = p, .value = strndup(value, len) };
	if (!b->items[b->nr].value)
		return -ENOMEM;
	b->nr++;
	b->filters += p->give == give_filter;
	return 0;
}

/* The last value counts. */
static void drop_earlier(struct boot *b, const struct boot_parameter *p)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		if (b->items[i].parameter != p || b->items[i].given)
			continue;
		b->items[i].given = true;
		b->filters -= p->give == give_filter;
	}
}

static int add_list(struct boot *b, const struct boot_parameter *p, const char *value)
{
	int err = 0;

	/* The events of several are together. */
	if (p->give != give_event)
		drop_earlier(b, p);
	for (; !err && *value; value += strcspn(value, ",") + (strchr(value, ',') != NULL))
		if (strcspn(value, ","))
			err = add_item(b, p, value, strcspn(value, ","));
	return err;
}

static int add_single(struct boot *b, const struct boot_parameter *p, const char *value)
{
	drop_earlier(b, p);
	return add_item(b, p, value, strlen(value));
}

static bool is_about_tracing(const char *name)
{
	return !strncmp(name, "trace", 5) || !strncmp(name, "tracing", 7) ||
	       !strncmp(name, "ftrace", 6) || !strncmp(name, "stacktrace", 10);
}

static const struct boot_parameter *find_parameter(const char *name, size_t len)
{
	for (unsigned int i = 0; i < NR_PARAMETERS; i++)
		if (!strncmp(parameters[i].name, name, len) && !parameters[i].name[len])
			return &parameters[i];
	return NULL;
}

/* Removes the quotes around a value; quotes inside it belong to the value. */
static char *unquote(char *value)
{
	size_t len = strlen(value);

	if (*value != '"')
		return value;
	if (len > 1 && value[len - 1] == '"')
		value[len - 1] = '\0';
	return value + 1;
}

static bool needs_no_value(const struct boot_parameter *p)
{
	return p->give == give_stack_tracer;
}

/* As in the kernel, a filter of the stack tracer switches it on. */
static int boot_add_value(struct boot *b, const struct boot_parameter *p, const char *value)
{
	const int err = p->separator ? add_list(b, p, value) : add_single(b, p, value);

	return err || p->give != give_stack_filter
		       ? err
		       : add_single(b, find_parameter("stacktrace", strlen("stacktrace")), "1");
}

static int boot_add_word(struct boot *b, char *word, FILE *out)
{
	char *value = strchr(word, '=');
	const struct boot_parameter *p;

	if (value)
		*value++ = '\0';
	p = find_parameter(word, strlen(word));
	value = value ? unquote(value) : NULL;
	if (p && !value && needs_no_value(p))
		return boot_add_value(b, p, "1");
	if (p && value && *value)
		return boot_add_value(b, p, value);
	if (out && p)
		fprintf(out, "%s%s= has no value\n", b->head, word);
	else if (out && is_about_tracing(word))
		fprintf(out, "%s%s: a session has no such parameter\n", b->head, word);
	return 0;
}

/* Cuts off the next word. Blanks between double quotes do not end it. */
static char *next_word(char **rest)
{
	char *at = *rest + strspn(*rest, " \t\n"), *word = at;
	bool quoted = false;

	if (!*at)
		return NULL;
	for (; *at && (quoted || !strchr(" \t\n", *at)); at++)
		quoted ^= *at == '"';
	*rest = at + (*at != '\0');
	*at = '\0';
	return unquote(word);
}

int boot_add(struct boot *b, const char *text, FILE *out)
{
	char *copy = strdup(text), *rest = copy, *word;
	int err = copy ? 0 : -ENOMEM;

	while (!err && (word = next_word(&rest)))
		err = boot_add_word(b, word, out);
	free(copy);
	return err;
}

static char *all_names(void)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	for (unsigned int i = 0; out && i < NR_PARAMETERS; i++)
		fprintf(out, "%s\n", parameters[i].name);
	if (out)
		fclose(out);
	return text;
}

/* Whether it is NAME=VALUE, or a NAME that needs none, for a parameter of a session. */
static bool is_whole(const char *word)
{
	const size_t n = strcspn(word, "=");
	const struct boot_parameter *p = find_parameter(word, n);

	return p && (word[n] ? word[n + 1] != '\0' : needs_no_value(p));
}

/* A whole command line of a kernel: most of it is not for tracing. */
static bool is_kernels(const char *text)
{
	return strstr(text, "BOOT_IMAGE=") || strstr(text, "root=");
}

char *boot_unknown(const char *text, char *near, size_t size)
{
	char *copy = strdup(text), *names = all_names(), *rest = copy, *word, *unknown = NULL;

	while (copy && !unknown && !is_kernels(text) && (word = next_word(&rest)))
		unknown = is_whole(word) ? NULL : strdup(word);
	*near = '\0';
	if (unknown && names) {
		unknown[strcspn(unknown, "=")] = '\0';
		nearest_names(unknown, names, near, size);
	}
	free(names);
	free(copy);
	return unknown;
}

int boot_restore(struct boot *b, const char *text)
{
	int err = 0;

	for (; !err && *text; text = text_next_line(text)) {
		const size_t len = strcspn(text, "\n"), name = strcspn(text, "=\n");
		const struct boot_parameter *p = find_parameter(text, name);

		if (p && name < len)
			err = add_item(b, p, text + name + 1, len - name - 1);
	}
	return err;
}

/* ---- giving ---- */

static void complain(const struct boot *b, const struct boot_params *params,
		     const struct boot_item *item, int err)
{
	const struct boot_parameter *p = item->parameter;

	if (!params->out)
		return;
	if (p->give == give_tracer && err == -EINVAL)
		fprintf(params->out, "%s%s=%s: there is no such tracer, nop stays\n", b->head,
			p->name, item->value);
	else
		fprintf(params->out, "%s%s=%s: refused by %s: %s\n", b->head, p->name, item->value,
			p->file, strerror(-err));
}

bool boot_apply(struct boot *b, const struct boot_params *params)
{
	bool waits = false;

	for (unsigned int k = 0; k < NR_PARAMETERS; k++)
		for (unsigned int i = 0; i < b->nr; i++) {
			struct boot_item *item = &b->items[i];
			int ret;

			if (item->given || item->parameter != &parameters[k])
				continue;
			ret = item->parameter->give(b, params, item);
			item->given = ret != WAITS;
			waits |= ret == WAITS;
			if (ret < 0)
				complain(b, params, item, ret);
		}
	return waits;
}

bool boot_waits_functions(const struct boot *b)
{
	for (unsigned int i = 0; i < b->nr; i++) {
		const struct boot_item *item = &b->items[i];

		if (!item->given && (item->parameter->give == give_function ||
				     item->parameter->give == give_filter ||
				     item->parameter->give == give_tracer))
			return true;
	}
	return false;
}

void boot_print_waiting(const struct boot *b, const char *head, FILE *out)
{
	for (unsigned int i = 0; i < b->nr; i++)
		if (!b->items[i].given)
			fprintf(out, "%s%s=%s\n", head, b->items[i].parameter->name,
				b->items[i].value);
}

struct boot *boot_create(const char *head)
{
	struct boot *b = calloc(1, sizeof(*b));

	if (b)
		b->head = head;
	return b;
}

void boot_destroy(struct boot *b)
{
	if (!b)
		return;
	for (unsigned int i = 0; i < b->nr; i++)
		free(b->items[i].value);
	free(b->items);
	free(b);
}
