/* SPDX-License-Identifier: MIT */
/*
 * format.c - parses the text of an event's file `format` into fields, and prints it
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/event/format.h"

const char format_common_fields[] =
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n";

enum { FORMAT_MAX_FIELDS = 1024 };

bool format_name_valid(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)name[i] <= ' ' || name[i] == 0x7f || name[i] == '/')
			return false;
	return len > 0;
}

int format_header(const char *text, struct format_header *out)
{
	const char *end;
	char *digits_end;
	unsigned long id;

	if (strncmp(text, "name: ", 6))
		return -EINVAL;
	out->name = text + 6;
	end = strchr(out->name, '\n');
	if (!end || !format_name_valid(out->name, (size_t)(end - out->name)))
		return -EINVAL;
	out->name_len = (size_t)(end - out->name);
	if (strncmp(end, "\nID: ", 5))
		return -EINVAL;
	id = strtoul(end + 5, &digits_end, 10);
	if (digits_end == end + 5 || *digits_end != '\n' || id == 0 || id >= LAYOUT_MAX_EVENTS)
		return -EINVAL;
	if (strncmp(digits_end, "\nformat:\n", 9))
		return -EINVAL;
	out->id = (uint16_t)id;
	return 0;
}

static enum field_kind field_kind_of_type(const char *type)
{
	bool chars = strstr(type, "char") != NULL;

	if (strstr(type, "__data_loc")) {
		if (chars)
			return FIELD_DYN_STRING;
		if (strstr(type, "cpumask_t"))
			return FIELD_CPUMASK;
	}
	if (strstr(type, "__rel_loc") && chars)
		return FIELD_RDYN_STRING;
	if (strchr(type, '[') && chars)
		return FIELD_STATIC_STRING;
	if (!strcmp(type, "char *") || !strcmp(type, "const char *"))
		return FIELD_PTR_STRING;
	return FIELD_OTHER;
}

/*
 * "char comm[16]" gives type "char[16]" and name "comm"; "__data_loc char[] name" is not changed.
 */
static int parse_declaration(const char *decl, size_t len, struct field *f)
{
	const char *name = decl + len, *bracket = NULL, *end = decl + len;

	if (len > 2 && decl[len - 1] == ']') {
		bracket = memrchr(decl, '[', len);
		if (!bracket)
			return -EINVAL;
		end = name = bracket;
	}
	while (name > decl && name[-1] != ' ')
		name--;
	if (name == decl || !format_name_valid(name, (size_t)(end - name)))
		return -EINVAL;
	if (asprintf(&f->type, "%.*s%.*s", (int)(name - 1 - decl), decl,
		     bracket ? (int)(decl + len - bracket) : 0, bracket ? bracket : "") < 0) {
		f->type = NULL;
		return -ENOMEM;
	}
	f->name = strndup(name, (size_t)(end - name));
	if (!f->name)
		return -ENOMEM;
	if (bracket)
		f->len = (uint16_t)strtoul(bracket + 1, NULL, 10);
	return 0;
}

/*
 * For a task's name, a kernel has the type of its source, with the length as a word, and hist_debug
 * shows that. The format has the number.
 */
static int name_task_comm(struct field *f)
{
	size_t len = strlen(f->name);
	char *type;

	if (strcmp(f->type, "char[16]") || len < 4 || strcmp(f->name + len - 4, "comm"))
		return 0;
	type = strdup("char[TASK_COMM_LEN]");
	if (!type)
		return -ENOMEM;
	free(f->type);
	f->type = type;
	return 0;
}

static int format_parse_field(const char *system, const char *line, bool common, struct field *f)
{
	unsigned int offset, size;
	int is_signed;
	const char *semi = strchr(line, ';');
	int err;

	if (!semi ||
	    sscanf(semi, ";\toffset:%u;\tsize:%u;\tsigned:%d;", &offset, &size, &is_signed) != 3 ||
	    offset > UINT16_MAX || size > UINT16_MAX)
		return -EINVAL;
	err = parse_declaration(line, (size_t)(semi - line), f);
	if (err)
		return err;
	f->offset = (uint16_t)offset;
	f->size = (uint16_t)size;
	f->is_signed = is_signed != 0;
	f->common = common;
	f->kind = field_kind_of_type(f->type);
	if (f->kind == FIELD_OTHER && !strcmp(system, "synthetic") &&
	    !strcmp(f->type, "__data_loc unsigned long[]"))
		f->kind = FIELD_STACKTRACE;
	return 0;
}

void fields_free(struct field *fields, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		free(fields[i].name);
		free(fields[i].type);
	}
	free(fields);
}

static unsigned int count_fields(const char *text)
{
	unsigned int nr = 0;

	while ((text = strstr(text, "\tfield:"))) {
		nr++;
		text += 7;
	}
	return nr;
}

int format_fields(const char *system, const char *text, bool of_kernel, struct field **fields,
		  unsigned int *nr)
{
	unsigned int max = count_fields(text), n = 0;
	const char *line = strstr(text, "\nformat:\n");
	bool common = true;
	struct field *array;
	int err;

	if (!line || max > FORMAT_MAX_FIELDS)
		return -EINVAL;
	array = calloc(max + 1, sizeof(*array));
	if (!array)
		return -ENOMEM;
	for (line += 9; *line; line++) {
		if (!strncmp(line, "\tfield:", 7)) {
			err = format_parse_field(system, line + 7, common, &array[n++]);
			if (!err && of_kernel)
				err = name_task_comm(&array[n - 1]);
			if (err)
				goto free_fields;
		} else if (*line == '\n') {
			common = false;
		} else {
			break;		/* print fmt */
		}
		line += strcspn(line, "\n");
		if (!*line)
			break;
	}
	*fields = array;
	*nr = n;
	return 0;

free_fields:
	fields_free(array, n);
	return err;
}

const struct field *field_generic(const char *name)
{
	static const struct field generic[] = {
		{ .name = (char *)"CPU",
		  .type = (char *)"int",
		  .is_signed = true,
		  .kind = FIELD_CPU },
		{ .name = (char *)"cpu",
		  .type = (char *)"int",
		  .is_signed = true,
		  .kind = FIELD_CPU },
		{ .name = (char *)"common_cpu",
		  .type = (char *)"int",
		  .is_signed = true,
		  .kind = FIELD_CPU },
		{ .name = (char *)"COMM", .type = (char *)"char *", .kind = FIELD_COMM },
		{ .name = (char *)"comm", .type = (char *)"char *", .kind = FIELD_COMM },
		{ .name = (char *)"stacktrace",
		  .type = (char *)"char *",
		  .kind = FIELD_STACKTRACE },
		{ .name = (char *)"STACKTRACE",
		  .type = (char *)"char *",
		  .kind = FIELD_STACKTRACE },
	};

	for (size_t i = 0; i < sizeof(generic) / sizeof(generic[0]); i++)
		if (!strcmp(generic[i].name, name))
			return &generic[i];
	return NULL;
}
