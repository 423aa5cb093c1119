/* SPDX-License-Identifier: MIT */
/*
 * echo.c - echo and printf of the setup reader
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "setup/state.h"

static int octal(const char **s, int digits)
{
	int value = 0;

	while (digits-- && **s >= '0' && **s <= '7')
		value = value * 8 + *(*s)++ - '0';
	return value;
}

static int hexadecimal(const char **s)
{
	int value = 0;

	for (int i = 0; i < 2 && isxdigit((unsigned char)**s); i++, (*s)++)
		value = value * 16 + (isdigit((unsigned char)**s) ? **s - '0' : (**s | 32) - 'a' + 10);
	return value;
}

/* s is behind a backslash; returns false at \c. */
static bool put_escape(FILE *out, const char **s, bool leading_zero)
{
	static const char letters[] = "abefnrtv\\", values[] = "\a\b\033\f\n\r\t\v\\";
	const char *known = **s ? strchr(letters, **s) : NULL;

	if (**s == 'c')
		return false;
	if (known) {
		fputc(values[known - letters], out);
		(*s)++;
	} else if (**s == 'x' && isxdigit((unsigned char)(*s)[1])) {
		(*s)++;
		fputc(hexadecimal(s), out);
	} else if (**s == '0' || (!leading_zero && **s >= '1' && **s <= '7')) {
		*s += leading_zero;
		fputc(octal(s, 3), out);
	} else {
		fputc('\\', out);
	}
	return true;
}

static bool put_escaped(FILE *out, const char *s)
{
	while (*s) {
		if (*s != '\\') {
			fputc(*s++, out);
			continue;
		}
		s++;
		if (!put_escape(out, &s, true))
			return false;
	}
	return true;
}

static bool echo_options(const char *arg, bool *newline, bool *escapes)
{
	if (arg[0] != '-' || !arg[1] || arg[1 + strspn(arg + 1, "neE")])
		return false;
	for (const char *s = arg + 1; *s; s++) {
		if (*s == 'n')
			*newline = false;
		else
			*escapes = *s == 'e';
	}
	return true;
}

int setup_echo(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	bool newline = true, escapes = false;
	unsigned int i = 1;

	(void)s;
	while (i < argc && echo_options(argv[i], &newline, &escapes))
		i++;
	for (unsigned int first = i; i < argc; i++) {
		if (i > first)
			fputc(' ', io->out);
		if (!escapes)
			fputs(argv[i], io->out);
		else if (!put_escaped(io->out, argv[i]))
			return 0;
	}
	if (newline)
		fputc('\n', io->out);
	return 0;
}

/* One conversion; s is behind '%'. Returns behind it. */
static const char *put_conversion(FILE *out, const char *s, const char *arg)
{
	char format[32] = "%";
	size_t n = strspn(s, "-+ #0123456789.");

	if (n > 20)
		n = 20;
	memcpy(format + 1, s, n);
	s += n;
	switch (*s) {
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		snprintf(format + 1 + n, sizeof(format) - 1 - n, "ll%c", *s);
		fprintf(out, format, arg ? strtoll(arg, NULL, 0) : 0);
		break;
	case 's':
		strcpy(format + 1 + n, "s");
		fprintf(out, format, arg ? arg : "");
		break;
	case 'b':
		put_escaped(out, arg ? arg : "");
		break;
	case 'c':
		if (arg && *arg)
			fputc(*arg, out);
		break;
	default:
		fputc('%', out);
		return s;
	}
	return s + 1;
}

int setup_printf(struct setup *s, unsigned int argc, char **argv, struct setup_io *io)
{
	unsigned int i = 2, before;

	(void)s;
	if (argc < 2) {
		setup_error(s, io->err, "printf: usage: printf format [arguments]");
		return 2;
	}
	do {
		before = i;
		for (const char *f = argv[1]; *f; ) {
			if (*f == '\\') {
				f++;
				put_escape(io->out, &f, false);
			} else if (*f == '%' && f[1] == '%') {
				fputc('%', io->out);
				f += 2;
			} else if (*f == '%') {
				f = put_conversion(io->out, f + 1, i < argc ? argv[i] : NULL);
				i++;
			} else {
				fputc(*f++, io->out);
			}
		}
	} while (i < argc && i > before);
	return 0;
}
