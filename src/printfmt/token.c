/* SPDX-License-Identifier: MIT */
/*
 * token.c - tokens of a print fmt: names, numbers, strings, operators
 */
#include <ctype.h>
#include <stdlib.h>

#include "printfmt/node.h"

static const struct {
	char	text[3];
	int	token;
} pairs[] = {
	{ "<<", OP_SHL }, { ">>", OP_SHR }, { "<=", OP_LE }, { ">=", OP_GE }, { "==", OP_EQ },
	{ "!=", OP_NE }, { "&&", OP_AND }, { "||", OP_OR }, { "->", TOKEN_ARROW },
};

static bool token_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* 12, 0x1f, 1UL: an int if the value fits and the number has no suffix. */
static void take_number(struct print_parser *p)
{
	char *end;
	unsigned int longs = 0;
	bool is_unsigned = false;
	bool decimal = p->at[0] != '0';

	p->number = strtoull(p->at, &end, 0);
	for (; *end && strchr("uUlL", *end); end++) {
		is_unsigned |= *end == 'u' || *end == 'U';
		longs += *end == 'l' || *end == 'L';
	}
	p->at = end;
	if (p->number > UINT32_MAX || (decimal && !is_unsigned && p->number > INT32_MAX))
		longs = 2;
	else if (p->number > INT32_MAX)
		is_unsigned = true;
	if (p->number > INT64_MAX)
		is_unsigned = true;
	p->type = (struct node_type){ .size = parser_long(p, longs), .is_signed = !is_unsigned };
	p->token = TOKEN_NUMBER;
}

static int escape(const char **at)
{
	const char *s = *at;
	int v = 0, n;

	switch (*s) {
	case 'n':
		*at = s + 1;
		return '\n';
	case 't':
		*at = s + 1;
		return '\t';
	case 'r':
		*at = s + 1;
		return '\r';
	case 0:
		return '\\';
	}
	if (*s < '0' || *s > '7') {
		*at = s + 1;
		return *s;
	}
	for (n = 0; n < 3 && *s >= '0' && *s <= '7'; n++)
		v = v * 8 + *s++ - '0';
	*at = s;
	return v & 255;
}

static void take_character(struct print_parser *p)
{
	p->at++;
	if (*p->at == '\\') {
		p->at++;
		p->number = (uint64_t)escape(&p->at);
	} else if (*p->at) {
		p->number = (unsigned char)*p->at++;
	}
	if (*p->at == '\'')
		p->at++;
	p->type = (struct node_type){ .size = 4, .is_signed = true };
	p->token = TOKEN_NUMBER;
}

static void take_operator(struct print_parser *p)
{
	size_t i;

	for (i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (p->at[0] == pairs[i].text[0] && p->at[1] == pairs[i].text[1]) {
			p->token = pairs[i].token;
			p->at += 2;
			return;
		}
	p->token = (unsigned char)*p->at++;
}

void token_next(struct print_parser *p)
{
	while (isspace((unsigned char)*p->at))
		p->at++;
	p->start = p->at;
	if (!*p->at) {
		p->token = TOKEN_END;
	} else if (isdigit((unsigned char)*p->at)) {
		take_number(p);
	} else if (token_is_name(*p->at)) {
		while (token_is_name(*p->at))
			p->at++;
		p->token = TOKEN_NAME;
	} else if (*p->at == '"') {
		p->token = TOKEN_STRING;
		for (p->at++; *p->at && *p->at != '"'; p->at++)
			if (*p->at == '\\' && p->at[1])
				p->at++;
		if (*p->at)
			p->at++;
	} else if (*p->at == '\'') {
		take_character(p);
	} else {
		take_operator(p);
	}
	p->len = (size_t)(p->at - p->start);
}

bool token_is(const struct print_parser *p, const char *name)
{
	return p->token == TOKEN_NAME && strlen(name) == p->len && !memcmp(p->start, name, p->len);
}

char *token_string(struct print_parser *p)
{
	const char *in, *end;
	char *text, *out;

	if (p->token != TOKEN_STRING)
		return NULL;
	/* All literals together are shorter than the rest of the text. */
	text = out = malloc(strlen(p->start) + 1);
	p->no_memory |= !text;
	while (text && p->token == TOKEN_STRING) {
		end = p->start + p->len - 1;
		for (in = p->start + 1; in < end; ) {
			if (*in == '\\') {
				in++;
				*out++ = (char)escape(&in);
			} else {
				*out++ = *in++;
			}
		}
		token_next(p);
	}
	if (!text)
		return NULL;
	*out++ = 0;
	in = realloc(text, (size_t)(out - text));
	return in ? (char *)in : text;
}
