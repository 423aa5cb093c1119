/* SPDX-License-Identifier: MIT */
/* foreign.c - converts pages and records; see foreign.h */
#include <errno.h>

#include "sources/recording/file/foreign.h"
#include "sources/recording/file/subbuf.h"
#include "sources/recording/file/times.h"

/* ---- records ---- */

static void convert_numbers(const struct foreign *f, const struct foreign_part *p,
			    const uint8_t *in, uint8_t *out, uint32_t nr)
{
	const unsigned int shift = 64 - 8 * p->in;
	uint64_t v;
	uint32_t i;

	if (p->in == 1) {
		memcpy(out, in, nr);
		return;
	}
	for (i = 0; i < nr; i++) {
		v = foreign_load(in + i * p->in, p->in, f->swap);
		if (p->is_signed)
			v = (uint64_t)((int64_t)(v << shift) >> shift);
		if (p->is_stack && v == UINT32_MAX)
			v = UINT64_MAX;
		foreign_store(out + i * p->out, p->out, v);
	}
}

/* Swaps the numbers that a __data_loc or __rel_loc says. */
static void convert_located(const struct foreign *f, const struct foreign_part *p,
			    const uint8_t *in, uint32_t size, uint8_t *out)
{
	const uint32_t word = (uint32_t)foreign_load(in + p->from, 4, f->swap);
	const uint32_t start = p->kind == FOREIGN_REL_LOC ? p->from + 4u : 0;
	const uint32_t at = start + (word & 0xffff), len = word >> 16;

	foreign_store(out + p->to, 4, word);
	if (at <= size && len <= size - at)
		convert_numbers(f, p, in + at, out + at, len / p->in);
}

/* Puts the wider numbers behind the record. Returns the record's new size; 0: no room. */
static uint32_t convert_stack(const struct foreign *f, const struct foreign_part *p,
			      const uint8_t *in, uint32_t size, uint8_t *out, uint32_t written,
			      uint32_t room)
{
	const uint32_t word = (uint32_t)foreign_load(in + p->from, 4, f->swap);
	const uint32_t at = word & 0xffff, nr = (word >> 16) / p->in;
	const uint32_t to = (written + 7) & ~7u, end = to + nr * p->out;

	if (at > size || nr * p->in > size - at || end > UINT16_MAX)
		return written;
	if (end > room)
		return 0;
	memset(out + written, 0, to - written);
	convert_numbers(f, p, in + at, out + to, nr);
	foreign_store(out + p->to, 4, nr * p->out << 16 | to);
	return end;
}

/* Converts what reaches to the record's end. Returns the record's new size; 0: no room. */
static uint32_t convert_rest(const struct foreign *f, const struct foreign_event *e,
			     const struct foreign_part *p, const uint8_t *in, uint32_t size,
			     uint8_t *out, uint32_t room)
{
	const uint32_t nr = (size - p->from) / p->in;
	uint64_t fmt;

	if (p->kind == FOREIGN_WORDS && e->fmt_at + f->word <= size) {
		fmt = foreign_load(in + e->fmt_at, f->word, f->swap);
		return p->to + foreign_words(f, fmt, in + p->from, size - p->from, out + p->to,
					     room - p->to);
	}
	if (nr > (room - p->to) / p->out)
		return 0;
	convert_numbers(f, p, in + p->from, out + p->to, nr);
	return p->to + nr * p->out;
}

static uint32_t convert_part(const struct foreign *f, const struct foreign_event *e,
			     const struct foreign_part *p, const uint8_t *in, uint32_t size,
			     uint8_t *out, uint32_t written, uint32_t room)
{
	const uint32_t count = p->kind == FOREIGN_NUMBERS ? p->count : 1;
	const uint32_t bytes = p->kind == FOREIGN_NUMBERS ? count * p->in : 4;

	if (p->kind == FOREIGN_REST || p->kind == FOREIGN_WORDS)
		return p->from < size ? convert_rest(f, e, p, in, size, out, room) : written;
	if (p->from > size || bytes > size - p->from)
		return written;
	switch (p->kind) {
	case FOREIGN_NUMBERS:
		convert_numbers(f, p, in + p->from, out + p->to, count);
		return written;
	case FOREIGN_STACK:
		return convert_stack(f, p, in, size, out, written, room);
	default:
		convert_located(f, p, in, size, out);
		return written;
	}
}

/* Converts a record. Returns its size; 0: more than `room`. */
static uint32_t convert_record(const struct foreign *f, const uint8_t *in, uint32_t size,
			       uint8_t *out, uint32_t room)
{
	const uint16_t id = (uint16_t)foreign_load(in, 2, f->swap);
	const struct foreign_event *e = f->events[id];
	const bool wide = e && e->wide;
	uint32_t written = wide ? e->size : size;
	unsigned int i;

	if (written > room)
		return 0;
	if (wide)
		memset(out, 0, written);
	else
		memcpy(out, in, size);
	/* The common fields that each record has. */
	memcpy(out + 2, in + 2, 2);
	foreign_store(out + 4, 4, foreign_load(in + 4, 4, f->swap));
	for (i = 0; e && i < e->nr_parts && written; i++)
		written = convert_part(f, e, &e->parts[i], in, size, out, written, room);
	/* One of the parts was the file's id. */
	foreign_store(out, 2, f->ids ? f->ids[id] : id);
	return written;
}

/* ---- pages ---- */

/* Bytes behind the data of a converted page: the number of lost events, or a damaged record. */
enum { DELTA_BITS = 27, DELTA_MASK = (1 << DELTA_BITS) - 1, DISTANCE_BITS = DELTA_BITS + 32 };
enum { BEHIND = 8, RECORD_HEAD = 8, SHORT_MAX = SUBBUF_DATA_MAX * 4 };

struct out_page {
	uint8_t		*at;
	uint8_t		*end;
	/* If time stamps are converted: */
	uint32_t	cpu;
	uint64_t	before;		/* the time in the file so far */
	uint64_t	time;		/* the time in the converted page so far */
};

uint32_t foreign_page_size(const struct foreign *f, uint32_t size)
{
	return f && f->word == 4 ? 2 * size : size;
}

/*
 * In the worst case all of a record's numbers become twice as large. A stack is put behind its
 * record, where the smaller one stays. A record of the least size, 12 bytes, may need the 8 bytes
 * of a longer distance in time.
 */
uint32_t foreign_growth(const struct foreign *f)
{
	const uint32_t times = f && f->times ? 1 : 0;

	if (!f || f->word != 4)
		return 1 + times;
	return (f->stacks ? 3 : 2) + times;
}

static void put_head(struct out_page *o, uint32_t type, uint32_t delta)
{
	foreign_store(o->at, 4, delta << 5 | type);
	o->at += 4;
}

/* Converts a record to behind its head. Returns false if the page has no room for it. */
static bool put_record(const struct foreign *f, struct out_page *o, const uint8_t *in,
		       uint32_t size, uint32_t delta)
{
	uint8_t *data = o->at + RECORD_HEAD;
	uint32_t written, whole;

	if (o->end - o->at < RECORD_HEAD)
		return false;
	written = convert_record(f, in, size, data, (uint32_t)(o->end - data) & ~3u);
	if (!written)
		return false;
	whole = (written + 3) & ~3u;
	memset(data + written, 0, whole - written);
	if (written == whole && whole <= SHORT_MAX) {
		put_head(o, whole / 4, delta);
		memmove(o->at, data, whole);
		o->at += whole;
	} else {
		put_head(o, 0, delta);
		foreign_store(o->at, 4, written + 4);
		o->at = data + whole;
	}
	return true;
}

/* Time between records. Returns false if the page has no room for it. */
static bool put_time(struct out_page *o, uint32_t type, uint32_t delta, uint32_t value)
{
	if (o->end - o->at < 8)
		return false;
	put_head(o, type, delta);
	foreign_store(o->at, 4, value);
	o->at += 4;
	return true;
}

/*
 * Converts the time of a record, whose distance in the page becomes *delta. A time before the last
 * one becomes the same, because the records of a CPU are in order. Returns false if the page has no
 * room for it.
 */
static bool put_distance(const struct foreign *f, struct out_page *o, uint32_t *delta)
{
	const uint64_t most = (1ull << DISTANCE_BITS) - 1;
	uint64_t time, distance = 0;

	o->before += *delta;
	time = times_convert(f->times, o->cpu, o->before);
	if (time > o->time)
		distance = time - o->time < most ? time - o->time : most;
	o->time += distance;
	*delta = distance & DELTA_MASK;
	if (distance <= DELTA_MASK)
		return true;
	distance >>= DELTA_BITS;
	if (!put_time(o, SUBBUF_TIME_EXTEND, *delta, (uint32_t)distance))
		return false;
	*delta = 0;
	return true;
}

/* Passes the time between records on. Returns false if the page has no room for it. */
static bool convert_time(const struct foreign *f, struct out_page *o, uint32_t type, uint32_t delta,
			 uint32_t value)
{
	const uint64_t time = ((uint64_t)value << DELTA_BITS) + delta;

	if (!f->times)
		return put_time(o, type, delta, value);
	o->before = type == SUBBUF_TIME_EXTEND ? o->before + time
					       : subbuf_absolute(time, o->before);
	return true;
}

/*
 * The time of an event that was discarded counts (subbuf_skip()). It has been as large as what it
 * becomes. Returns false if the page has no room for it.
 */
static bool convert_discarded(const struct foreign *f, struct out_page *o, uint32_t delta)
{
	if (!f->times)
		return put_time(o, SUBBUF_PADDING, delta, 4);
	o->before += delta > 1 ? delta : 0;
	return true;
}

/*
 * Converts the event at `at`. Returns the next one, NULL if it is damaged, and `end` if the rest of
 * the page is empty.
 */
static const uint8_t *convert_event(const struct foreign *f, struct out_page *o, const uint8_t *at,
				    const uint8_t *end)
{
	const uint32_t head = (uint32_t)foreign_load(at, 4, f->swap);
	/* A big-endian kernel has the bit field's first bits at the other end of the word. */
	const uint32_t type = f->swap ? head >> 27 : head & 31;
	uint32_t delta = f->swap ? head & DELTA_MASK : head >> 5;
	const uint8_t *data = at + 4;
	uint32_t value, size = type * 4;

	if (type == SUBBUF_PADDING && !delta)
		return end;
	if (!type || type > SUBBUF_DATA_MAX) {
		if (end - data < 4)
			return NULL;
		value = (uint32_t)foreign_load(data, 4, f->swap);
		if (type == SUBBUF_PADDING)
			return value >= 4 && value <= end - data && convert_discarded(f, o, delta)
				       ? data + value : NULL;
		if (type)
			return convert_time(f, o, type, delta, value) ? data + 4 : NULL;
		if (value < 4)
			return NULL;
		data += 4;
		size = value - 4;
	}
	if (size < SUBBUF_RECORD_MIN || size > end - data)
		return NULL;
	if ((f->times && !put_distance(f, o, &delta)) || !put_record(f, o, data, size, delta))
		return NULL;
	size = (size + 3) & ~3u;
	return size < end - data ? data + size : end;
}

/* The time of the page's head. */
static void put_page_time(const struct foreign *f, struct out_page *o, uint64_t time, uint8_t *out)
{
	o->before = time;
	o->time = f->times ? times_convert(f->times, o->cpu, time) : time;
	foreign_store(out, 8, o->time);
}

int foreign_page(const struct foreign *f, uint32_t cpu, const uint8_t *page, uint32_t size,
		 uint8_t *out)
{
	const uint32_t head = 8 + f->word, room = foreign_room(f, size);
	const uint32_t flags = (uint32_t)foreign_load(page + 8, f->word, f->swap);
	const uint32_t commit = flags & SUBBUF_COMMIT_MASK;
	const uint8_t *at = page + head, *end = at + commit;
	struct out_page o = { out + SUBBUF_HEADER, out + room - BEHIND, .cpu = cpu };
	uint32_t kept = flags & SUBBUF_MISSED;

	if (commit > size - head)
		return -EPROTO;
	put_page_time(f, &o, foreign_load(page, 8, f->swap), out);
	while (at && end - at >= 4)
		at = convert_event(f, &o, at, end);
	if (!at) {
		/* A record of 0 bytes is damage. */
		memset(o.at, 0, 8);
		o.at += 8;
	} else if (flags & SUBBUF_MISSED && flags & SUBBUF_STORED &&
		   commit + f->word <= size - head) {
		foreign_store(o.at, 8, foreign_load(end, f->word, f->swap));
		kept |= SUBBUF_STORED;
	}
	foreign_store(out + 8, 8, (uint64_t)(o.at - out - SUBBUF_HEADER) | kept);
	return 0;
}
