/* SPDX-License-Identifier: MIT */
/*
 * proto.c - protobuf messages
 *
 *     field:    varint (number << 3 | type), then a varint, or a length and that many bytes
 *     message:  its length is known at the end, and has PROTO_LENGTH bytes all the same:
 *               leading zeros are allowed
 */
#include <stdlib.h>
#include <string.h>

#include "export/form.h"

enum { TYPE_VARINT = 0, TYPE_64_BITS = 1, TYPE_BYTES = 2, PROTO_LENGTH = 4, VARINT_MOST = 10 };

static bool proto_room(struct proto *p, size_t n)
{
	size_t room = p->room ? p->room : 256;
	uint8_t *more;

	while (room - p->len < n)
		room *= 2;
	if (room == p->room)
		return true;
	more = realloc(p->bytes, room);
	if (!more) {
		p->failed = true;
		return false;
	}
	p->bytes = more;
	p->room = room;
	return true;
}

static void put_varint(struct proto *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		p->bytes[p->len++] = (uint8_t)v | 0x80;
	p->bytes[p->len++] = (uint8_t)v;
}

void proto_number(struct proto *p, uint32_t field, uint64_t v)
{
	if (!proto_room(p, 2 * VARINT_MOST))
		return;
	put_varint(p, field << 3 | TYPE_VARINT);
	put_varint(p, v);
}

void proto_double(struct proto *p, uint32_t field, double v)
{
	if (!proto_room(p, VARINT_MOST + sizeof(v)))
		return;
	put_varint(p, field << 3 | TYPE_64_BITS);
	memcpy(p->bytes + p->len, &v, sizeof(v));
	p->len += sizeof(v);
}

void proto_text(struct proto *p, uint32_t field, const char *text, size_t len)
{
	len = strnlen(text, len);
	if (!proto_room(p, 2 * VARINT_MOST + len))
		return;
	put_varint(p, field << 3 | TYPE_BYTES);
	put_varint(p, len);
	memcpy(p->bytes + p->len, text, len);
	p->len += len;
}

size_t proto_open(struct proto *p, uint32_t field)
{
	if (!proto_room(p, VARINT_MOST + PROTO_LENGTH))
		return 0;
	put_varint(p, field << 3 | TYPE_BYTES);
	p->len += PROTO_LENGTH;
	return p->len;
}

void proto_close(struct proto *p, size_t at)
{
	size_t len = p->len - at;

	for (unsigned int i = 0; !p->failed && i < PROTO_LENGTH; i++, len >>= 7)
		p->bytes[at - PROTO_LENGTH + i] =
			(uint8_t)((len & 0x7f) | (i + 1 < PROTO_LENGTH ? 0x80 : 0));
}

void proto_free(struct proto *p)
{
	free(p->bytes);
	*p = (struct proto){ .bytes = NULL };
}
