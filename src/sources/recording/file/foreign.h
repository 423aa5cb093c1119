/* SPDX-License-Identifier: MIT */
/*
 * foreign.h - converts records of kernels with another byte order, size of long or clock
 *
 * A page of the file is converted when a stream comes to it. Everything else sees pages and formats
 * as a 64-bit kernel of this machine's byte order has them.
 *
 *     32-bit, little-endian   | time 8 | commit 4 | type:5 delta:27 | ... ip 4, parent_ip 4
 *     64-bit, big-endian      | time 8 | commit 8 | delta:27 type:5 | ... each number is swapped
 *                                  |
 *                                  v  foreign_page()
 *     converted               | time 8 | commit 8 | type:5 delta:27 | ... ip 8, parent_ip 8
 *
 * The other byte order: the formats say which numbers are in a record; all of them are swapped.
 * Another kernel than the first file's: its events may get other ids.
 * Another clock: times.h says what the time stamps become.
 * A 32-bit kernel: the long numbers and the pointers of system ftrace's events become 64-bit ones,
 * and their formats say so, because the model knows these events. Other events stay as they are:
 * their formats have the sizes of their fields.
 */
#ifndef TRACEFUSE_SOURCES_RECORDING_FILE_FOREIGN_H
#define TRACEFUSE_SOURCES_RECORDING_FILE_FOREIGN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct dat_times;
struct trace_dat;

enum foreign_kind {
	FOREIGN_NUMBERS,	/* `count` numbers */
	FOREIGN_REST,		/* numbers up to the record's end */
	FOREIGN_LOC,		/* __data_loc: numbers elsewhere in the record */
	FOREIGN_REL_LOC,	/* __rel_loc: the same, counted from behind this field */
	FOREIGN_STACK,		/* a __data_loc of long numbers that become 64-bit ones */
	FOREIGN_WORDS,		/* the arguments of bprint's format, up to the record's end */
};

/* A field of a record that is converted. */
struct foreign_part {
	enum foreign_kind kind;
	uint16_t	from, to;	/* offsets in the file's record and in the converted one */
	uint16_t	count;
	uint8_t		in, out;	/* bytes of a number */
	bool		is_signed;
	bool		is_stack;	/* ULONG_MAX is its end */
};

struct foreign_event {
	unsigned int	nr_parts;
	struct foreign_part *parts;
	bool		wide;		/* its fields move */
	uint32_t	size;		/* if wide: of the converted record, without its rest */
	uint16_t	fmt_at;		/* of bprint's format in the file's record */
	char		*format;	/* if wide: the text that describes the converted record */
};

/* A format of bprint, in the file's printk formats. */
struct foreign_text {
	uint64_t	at;
	const char	*text;		/* without a 0 at its end */
	size_t		len;
};

enum { FOREIGN_EVENTS = 1 << 16 };

struct foreign {
	bool		swap;
	uint8_t		word;		/* bytes of the kernel's long */
	bool		stacks;		/* an event has a FOREIGN_STACK */
	uint16_t	*ids;		/* of the events, by the file's; NULL: they stay */
	const struct dat_times *times;	/* NULL: time stamps stay */
	struct foreign_event **events;	/* by id; NULL: no format */
	struct foreign_text *texts;	/* in order of address */
	size_t		nr_texts;
};

static inline uint64_t foreign_load(const uint8_t *p, unsigned int bytes, bool swap)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return swap ? __builtin_bswap64(v) >> (64 - 8 * bytes) : v;
}

static inline void foreign_store(uint8_t *p, unsigned int bytes, uint64_t v)
{
	memcpy(p, &v, bytes);
}

/*
 * Makes d->foreign if the file needs it. 0, or -errno with *d->err filled. The formats must have
 * been found.
 */
int foreign_open(struct trace_dat *d);
void foreign_close(struct foreign *f);
/*
 * Records of event `from` become those of `to` in pages that are converted from now on. 0, -ENOMEM
 */
int foreign_rename(struct trace_dat *d, uint16_t from, uint16_t to);

/* Size of the ring buffer pages for converted records: a power of two. `f` may be NULL. */
uint32_t foreign_page_size(const struct foreign *f, uint32_t size);

/* A converted page has more room: a record is first made behind a long head, then moved. */
enum { FOREIGN_SLACK = 32 };

/* How many times as large the converted records of a page can be. `f` may be NULL. */
uint32_t foreign_growth(const struct foreign *f);

/* Room of a converted page of a page of `size` bytes. */
static inline uint32_t foreign_room(const struct foreign *f, uint32_t size)
{
	return foreign_growth(f) * size + FOREIGN_SLACK;
}

/*
 * Converts a page of a CPU to foreign_room() bytes. A damaged record becomes one that is damaged
 * for subbuf_next(), too. -EPROTO: the page's head is damaged.
 */
int foreign_page(const struct foreign *f, uint32_t cpu, const uint8_t *page, uint32_t size,
		 uint8_t *out);
/* Converts the arguments of bprint's format at `fmt`. Returns their size, at most `room`. */
uint32_t foreign_words(const struct foreign *f, uint64_t fmt, const uint8_t *in, uint32_t size,
		       uint8_t *out, uint32_t room);
/* The format text of an event as its converted records are. NULL: as in the file. */
const char *foreign_format(const struct foreign *f, const char *system, const char *text,
			   size_t len);

#endif
