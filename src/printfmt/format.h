/* SPDX-License-Identifier: MIT */
/*
 * format.h - an event's print fmt: parsed once, then evaluated on records as the kernel does
 *
 *     print fmt: "comm=%s prio=%d", REC->comm, REC->prio
 *
 *     text --parse--> pieces: "comm=" %s(node) " prio=" %d(node)     parse.c, convert.c
 *                     node:   tree of a C expression                 eval.c
 *
 * Nothing in a record is trusted: a reference to bytes outside of it prints as empty. If a print
 * fmt cannot be parsed, there is no print_format, and the caller prints the fields.
 */
#ifndef TRACEFUSE_PRINTFMT_FORMAT_H
#define TRACEFUSE_PRINTFMT_FORMAT_H

#include "model/model.h"
#include "printfmt/text.h"

struct print_format;
struct print_node;

/* What printing needs to know besides the record. */
struct print_env {
	struct symbols	*symbols;
	struct symbols	*strings;
	unsigned int	long_size;	/* of the traced machine: 4 or 8 bytes */
	bool		hash_ptr;
	bool		bitmask_list;	/* masks as "0-3,7" */
	struct show_text scratch;	/* texts of functions; emptied with each record */
	struct print_memo {		/* addresses that were looked up lately */
		uint64_t	address;
		uint64_t	offset, size;
		const char	*name, *module;
		bool		used;
	} memo[256];
};

struct print_record {
	const uint8_t	*data;
	uint32_t	size;
};

/* 0; -EINVAL: the print fmt cannot be parsed; -ENOMEM. `e` need not outlive the print_format. */
int print_format_create(struct event *e, struct print_format **out);
/*
 * The same for the part of the format's text that begins at `behind`, without the first `args`
 * arguments.
 */
int print_format_create_from(struct event *e, const char *behind, unsigned int args,
			     struct print_format **out);
void print_format_destroy(struct print_format *f);
/*
 * The event is a probe's: a text that could not be fetched has no bytes, not even a 0, and prints
 * as (fault) without the quotes of the format.
 */
void print_format_faults(struct print_format *f);
/* About how much memory a print_format takes; 0 for NULL. */
size_t print_format_bytes(const struct print_format *f);
void print_format_print(const struct print_format *f, struct print_env *env,
			const struct print_record *rec, struct show_text *out);

/* A format whose arguments lie in `words`, as the kernel's vbin_printf() leaves them. */
void print_binary(const char *fmt, const uint8_t *words, uint32_t size, struct print_env *env,
		  struct show_text *out);

enum print_symbol_flags { PRINT_SYMBOL_OFFSET = 1, PRINT_SYMBOL_MODULE = 2 };

/* Prints name, name+0x1/0x20 or name+0x1/0x20 [module]. False: not known, nothing is printed. */
bool print_symbol(struct print_env *env, uint64_t address, unsigned int flags,
		  struct show_text *out);
/* The text of a string that a record points to; NULL: not known. */
const char *print_string_at(struct print_env *env, uint64_t address);

/* The bits of a gfp_t by name, joined by '|'. */
void print_gfp_flags(uint64_t flags, struct show_text *out);
/* Print a list of CPUs or bits: "0-3,7"; and a mask in groups of 32 bits: "ff,ffffffff". */
void print_bit_list(const uint8_t *bits, uint32_t nr_bits, struct show_text *out);
void print_bit_mask(const uint8_t *bits, uint32_t nr_bits, struct show_text *out);

#endif
