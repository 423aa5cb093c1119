/* SPDX-License-Identifier: MIT */
/*
 * foreign_words.c - converts the arguments of trace_printk() in a bprint record; its format says
 * where they lie
 *
 * A number lies on its own size, one of 8 bytes on 4. A string lies as it is, with its 0. A pointer
 * whose letters ask for more than an address or a symbol was printed when it was recorded, and is a
 * string.
 */
#include <stdlib.h>

#include "sources/recording/file/foreign.h"

struct words {
	const struct foreign *f;
	const uint8_t	*in;
	uint32_t	size, at;
	uint8_t		*out;
	uint32_t	room, written;
};

static uint32_t words_place(uint32_t at, unsigned int bytes)
{
	const uint32_t align = bytes == 8 ? 4 : bytes;

	return (at + align - 1) & ~(align - 1);
}

static void words_skip_to_end(struct words *w)
{
	w->at = w->size;
}

static void words_take_number(struct words *w, unsigned int in, unsigned int out, bool is_signed)
{
	const uint32_t at = words_place(w->at, in), to = words_place(w->written, out);
	uint64_t v;

	if (at > w->size || in > w->size - at || to > w->room || out > w->room - to) {
		words_skip_to_end(w);
		return;
	}
	v = foreign_load(w->in + at, in, w->f->swap);
	if (is_signed && in == 4)
		v = (uint64_t)(int64_t)(int32_t)v;
	memset(w->out + w->written, 0, to - w->written);
	foreign_store(w->out + to, out, v);
	w->at = at + in;
	w->written = to + out;
}

static void words_take_string(struct words *w)
{
	const uint32_t left = w->size - w->at;
	uint32_t len = (uint32_t)strnlen((const char *)w->in + w->at, left);

	len += len < left;
	if (len > w->room - w->written)
		len = w->room - w->written;
	memcpy(w->out + w->written, w->in + w->at, len);
	w->at += len;
	w->written += len;
}

/* Width or precision: digits, or a star, which is an argument. */
static const char *words_take_width(struct words *w, const char *p, const char *end)
{
	while (p < end && ((*p >= '0' && *p <= '9') || *p == '*')) {
		if (*p++ == '*')
			words_take_number(w, 4, 4, true);
	}
	return p;
}

/* The letters before a conversion: how many bytes the number has in the file and converted. */
static const char *words_read_size(const struct words *w, const char *p, const char *end,
			     unsigned int *in, unsigned int *out)
{
	*in = *out = 4;
	for (; p < end && strchr("hlLqjzt", *p) && *p; p++) {
		if (*p == 'h') {
			*in = *out = *out == 2 ? 1 : 2;
		} else if (*p == 'L' || *p == 'q' || *p == 'j' || (*p == 'l' && *out == 8)) {
			*in = *out = 8;
		} else {
			*in = w->f->word;
			*out = 8;
		}
	}
	return p;
}

static void words_take_pointer(struct words *w, const char *letters, const char *end)
{
	const bool letter = letters < end && ((*letters >= 'a' && *letters <= 'z') ||
					      (*letters >= 'A' && *letters <= 'Z'));

	if (letter && !strchr("SsxKe", *letters))
		words_take_string(w);
	else
		words_take_number(w, w->f->word, 8, false);
}

/* Takes the arguments of the conversion behind a '%'. Returns what follows it. */
static const char *words_take_argument(struct words *w, const char *p, const char *end)
{
	unsigned int in, out;

	while (p < end && strchr("-+ #0", *p) && *p)
		p++;
	p = words_take_width(w, p, end);
	if (p < end && *p == '.')
		p = words_take_width(w, p + 1, end);
	p = words_read_size(w, p, end, &in, &out);
	if (p == end)
		return p;
	if (*p == 's')
		words_take_string(w);
	else if (*p == 'p')
		words_take_pointer(w, p + 1, end);
	else if (*p == 'c')
		words_take_number(w, 1, 1, false);
	else if (*p != '%')
		words_take_number(w, in, out, *p == 'd' || *p == 'i');
	return p + 1;
}

static const struct foreign_text *words_find_text(const struct foreign *f, uint64_t at)
{
	size_t low = 0, high = f->nr_texts, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (f->texts[middle].at == at)
			return &f->texts[middle];
		if (f->texts[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

uint32_t foreign_words(const struct foreign *f, uint64_t fmt, const uint8_t *in, uint32_t size,
		       uint8_t *out, uint32_t room)
{
	struct words w = { .f = f, .in = in, .size = size, .out = out, .room = room };
	const struct foreign_text *text = words_find_text(f, fmt);
	const char *p = text ? text->text : "", *end = p + (text ? text->len : 0);

	while (p < end && w.at < w.size) {
		p = memchr(p, '%', (size_t)(end - p));
		if (!p)
			break;
		p = words_take_argument(&w, p + 1, end);
	}
	return w.written;
}
