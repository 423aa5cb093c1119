/* SPDX-License-Identifier: MIT */
/* json.c - texts in the JSON of the web server; see web.h */
#include <stdlib.h>

#include "cli/draw/rows.h"
#include "cli/web/web.h"
#include "model/text_memory.h"

static void print_escaped(const char *text, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++) {
		const unsigned char c = (unsigned char)text[i];

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
}

void web_json_bytes(const char *text, size_t len, FILE *out)
{
	fputc('"', out);
	while (len) {
		const unsigned char *s = (const unsigned char *)text;
		size_t n = *s < 0x80 ? 1 : rows_shown_length(s, len);

		if (n)
			print_escaped(text, n, out);
		else
			fprintf(out, "\\\\x%02x", *s);
		n = n ? n : 1;
		text += n;
		len -= n;
	}
	fputc('"', out);
}

void web_json_text(const char *text, FILE *out)
{
	char *shown = NULL;
	size_t len = 0;
	FILE *f = text_memory_open(&shown, &len);

	if (f) {
		rows_print_text(text, f);
		if (fclose(f))
			len = 0;
	}
	fputc('"', out);
	print_escaped(shown ? shown : "", len, out);
	fputc('"', out);
	free(shown);
}
