/* SPDX-License-Identifier: MIT */
/*
 * cursor.h - reads the numbers of .eh_frame and of exception tables, within their bytes
 *
 * Included by fde.c and unwind.c.
 *
 * Sources: DWARF 5, section 6.4 and 7.6; Linux Standard Base, .eh_frame.
 */
#ifndef TRACEFUSE_ELF_CODE_CURSOR_H
#define TRACEFUSE_ELF_CODE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	/* how a number is written: DW_EH_PE_* */
	PE_PTR = 0, PE_ULEB = 1, PE_U2 = 2, PE_U4 = 3, PE_U8 = 4, PE_SLEB = 9, PE_S2 = 10,
	PE_S4 = 11, PE_S8 = 12, PE_PCREL = 0x10, PE_OMIT = 0xff,
	EH_ENTRY_MAX = 1 << 16,	/* bytes of a CIE or FDE */
};

/* A reader of bytes. Behind the end it reads 0 and is `bad`. */
struct cursor {
	const uint8_t	*b;
	size_t		size, at;
	uint64_t	address;	/* of b */
	bool		bad;
};

static inline bool cursor_has(struct cursor *c, uint64_t n)
{
	if (n > c->size - c->at)
		c->bad = true;
	return !c->bad;
}

static inline void cursor_skip(struct cursor *c, uint64_t n)
{
	if (cursor_has(c, n))
		c->at += n;
}

static inline uint64_t take_bytes(struct cursor *c, unsigned int n)
{
	uint64_t v = 0;

	if (!cursor_has(c, n))
		return 0;
	memcpy(&v, c->b + c->at, n);
	c->at += n;
	return v;
}

static inline uint64_t take_leb(struct cursor *c, bool is_signed)
{
	unsigned int shift = 0;
	uint64_t v = 0, byte;

	do {
		byte = take_bytes(c, 1);
		v |= shift < 64 ? (byte & 0x7f) << shift : 0;
		shift += 7;
	} while ((byte & 0x80) && !c->bad);
	return is_signed && shift < 64 && (byte & 0x40) ? v | UINT64_MAX << shift : v;
}

/* A number without regard to what it counts from. */
static inline uint64_t take_plain(struct cursor *c, uint8_t how)
{
	switch (how & 15) {
	case PE_PTR: case PE_U8: case PE_S8:
		return take_bytes(c, 8);
	case PE_ULEB: case PE_SLEB:
		return take_leb(c, (how & 15) == PE_SLEB);
	case PE_U2:
		return take_bytes(c, 2);
	case PE_S2:
		return (uint64_t)(int64_t)(int16_t)take_bytes(c, 2);
	case PE_U4:
		return take_bytes(c, 4);
	case PE_S4:
		return (uint64_t)(int64_t)(int32_t)take_bytes(c, 4);
	}
	c->bad = true;
	return 0;
}

/* An address; 0 is no address. It counts from its own place, or from 0. */
static inline uint64_t take_address(struct cursor *c, uint8_t how)
{
	const uint64_t here = c->address + c->at;
	const uint64_t v = take_plain(c, how);

	if ((how & 0xf0) != PE_PCREL && (how & 0xf0))
		c->bad = true;
	return v && (how & 0xf0) == PE_PCREL ? here + v : v;
}

/* ---- CIE ---- */

struct cie {
	uint64_t	at;
	bool		is_good;
	bool		has_length;	/* augmentation "z": FDEs say how long their own is */
	bool		is_signal;
	bool		is_part;	/* no function begins with its row (fde.c) */
	uint8_t		address, lsda;	/* how they are written */
	uint64_t	code_unit;	/* what distances in code are multiplied by */
	int64_t		data_unit;	/* the same on the stack */
	uint64_t	return_column;
	uint64_t	rows;		/* offset of its instructions in the CIE */
};

static inline void cie_augment(struct cie *e, struct cursor *c, const char *letters)
{
	for (letters++; *letters && !c->bad; letters++) {
		uint8_t how;

		switch (*letters) {
		case 'R':
			e->address = (uint8_t)take_bytes(c, 1);
			break;
		case 'L':
			e->lsda = (uint8_t)take_bytes(c, 1);
			break;
		case 'P':
			how = (uint8_t)take_bytes(c, 1);
			take_plain(c, how);
			break;
		case 'S':
			e->is_signal = true;
			break;
		case 'B':
			break;
		default:
			c->bad = true;
		}
	}
}

/* The CIE that c has from its length on, and nothing else. e->at and e->lsda are set. */
static inline void cie_parse(struct cie *e, struct cursor *c)
{
	char letters[8] = "";
	uint64_t more = 0;

	c->at = 0;
	cursor_skip(c, 9);				/* length, id, version */
	for (size_t i = 0; i < sizeof(letters) && !c->bad; i++) {
		letters[i] = (char)take_bytes(c, 1);
		if (!letters[i])
			break;
	}
	if (letters[sizeof(letters) - 1])
		return;
	e->code_unit = take_leb(c, false);
	e->data_unit = (int64_t)take_leb(c, true);
	e->return_column = take_leb(c, false);
	if (*letters == 'z') {
		e->has_length = true;
		more = take_leb(c, false);
		e->rows = c->at + more;
		if (!cursor_has(c, more))
			return;
		cie_augment(e, c, letters);
	} else if (*letters) {
		return;
	} else {
		e->rows = c->at;
	}
	e->is_good = !c->bad;
}

#endif
