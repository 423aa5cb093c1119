/* SPDX-License-Identifier: MIT */
/*
 * format.h - the text of an event's file `format`
 *
 *     name: sched_waking                                  format_header()
 *     ID: 263
 *     format:
 *     	field:unsigned short common_type;	offset:0;	...     format_fields()
 *     	...
 *     (empty line)
 *     	field:char comm[16];	offset:8;	size:16;	signed:0;
 *
 *     print fmt: "comm=%s", REC->comm
 *
 * The text is stored and printed unchanged. The header is parsed when the event is added, the
 * fields at the first use.
 */
#ifndef TRACEFUSE_MODEL_EVENT_FORMAT_H
#define TRACEFUSE_MODEL_EVENT_FORMAT_H

#include "model/model.h"

struct format_header {
	const char	*name;		/* points into the text, without a 0 at its end */
	size_t		name_len;
	uint16_t	id;
};

/*
 * Whether it can be the name of a system, an event or a field. It becomes a word of commands, part
 * of a path, and is printed to terminals.
 */
bool format_name_valid(const char *name, size_t len);
/* 0, or -EINVAL: it is no format. `text` ends in a 0. */
int format_header(const char *text, struct format_header *out);

/*
 * Parses the fields in the order of the text, common ones first. of_kernel: the event is in a
 * kernel's own source. 0, -EINVAL, -ENOMEM; the caller frees with fields_free().
 */
int format_fields(const char *system, const char *text, bool of_kernel, struct field **fields,
		  unsigned int *nr);
void fields_free(struct field *fields, unsigned int nr);

/* The lines of the fields that every record begins with, and the empty line after them. */
extern const char format_common_fields[];

/*
 * The fields that every event has without being in its record: cpu, comm, stacktrace. NULL: no such
 * field.
 */
const struct field *field_generic(const char *name);

#endif
