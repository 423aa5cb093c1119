/* SPDX-License-Identifier: MIT */
/*
 * nearest.c - how far one name is from another, and the nearest of many names
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "model/text.h"
#include "server/nearest.h"

enum { WORD_MAX = 64, NAMES = 3 };

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int m = a < b ? a : b;

	return m < c ? m : c;
}

unsigned int nearest_distance(const char *a, size_t na, const char *b, size_t nb)
{
	unsigned int rows[3][WORD_MAX + 1], *before = rows[0], *last = rows[1], *row = rows[2],
					    *swap;

	if (na > WORD_MAX || nb > WORD_MAX)
		return 2 * WORD_MAX;
	for (size_t j = 0; j <= nb; j++)
		last[j] = before[j] = 2 * (unsigned int)j;
	for (size_t i = 1; i <= na; i++) {
		row[0] = 2 * (unsigned int)i;
		for (size_t j = 1; j <= nb; j++) {
			row[j] = min3(last[j] + 2, row[j - 1] + 2,
				      last[j - 1] + 2 * (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}
		swap = before;
		before = last;
		last = row;
		row = swap;
	}
	return last[nb];
}

unsigned int nearest_tolerance(size_t len)
{
	return len < 3 ? 2 : len < 6 ? 4 : 2 * (unsigned int)(len / 3);
}

/* ---- the nearest of many names ---- */

struct near {
	const char	*name;
	size_t		len;
	unsigned int	far;
};

/* Puts it into the sorted list of the nearest. A name that is there already is not put in again. */
static void nearest_enter(struct near *list, struct near n)
{
	for (int i = 0; i < NAMES; i++) {
		struct near swap = list[i];

		if (swap.name && swap.len == n.len && !memcmp(swap.name, n.name, n.len))
			return;
		if (swap.name && swap.far <= n.far)
			continue;
		list[i] = n;
		n = swap;
		if (!n.name)
			return;
	}
}

/* Compares the part of the name that a star does not stand for. */
static unsigned int far_from(const char *word, size_t len, bool head, bool tail, const char *name,
			     size_t n)
{
	if (tail && n > len)
		n = len;
	else if (head && n > len) {
		name += n - len;
		n = len;
	}
	/* The lengths differ too much in any case. */
	if (n > len + len / 3 + 2 || len > n + n / 3 + 2)
		return 2 * WORD_MAX;
	return nearest_distance(word, len, name, n);
}

void nearest_names(const char *pattern, const char *lines, char *out, size_t size)
{
	const bool head = *pattern == '*';
	const char *word = pattern + strspn(pattern, "*");
	const size_t len = strcspn(word, "*?[:\"");
	const bool tail = word[len] == '*';
	struct near list[NAMES] = { 0 };
	size_t at = 0;

	*out = '\0';
	if (!len || (head && tail) || word[len + strspn(word + len, "*")])
		return;
	for (; *lines; lines = text_next_line(lines)) {
		const size_t n = strcspn(lines, " \n");
		const unsigned int far = far_from(word, len, head, tail, lines, n);

		if (far <= nearest_tolerance(len))
			nearest_enter(list, (struct near){ lines, n, far });
	}
	for (int i = 0; i < NAMES && list[i].name && at < size; i++)
		at += (size_t)snprintf(out + at, size - at, "%s%.*s", i ? ", " : "",
				       (int)list[i].len, list[i].name);
}
