/* SPDX-License-Identifier: MIT */
/*
 * words.c - counts the words of its input: functions that call each other, and a section with signals blocked
 *
 * Knows nothing of tracing. docs/tracers.md traces it, built with
 *     cc -O1 -fpatchable-function-entry=5 -o words words.c
 */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct word {
	char		*text;
	unsigned int	count;
};

struct table {
	struct word	*words;
	unsigned int	size, used;
};

unsigned int hash_of(const char *text);
struct word *find_place(const struct table *t, const char *text);
void grow_table(struct table *t);
void count_word(struct table *t, const char *text);
void read_words(struct table *t, FILE *in);
void print_words(const struct table *t);
void save_words(const struct table *t);

__attribute__((noinline)) unsigned int hash_of(const char *text)
{
	unsigned int h = 5381;

	for (; *text; text++)
		h = h * 33 + (unsigned char)*text;
	return h;
}

__attribute__((noinline)) struct word *find_place(const struct table *t, const char *text)
{
	unsigned int i = hash_of(text) % t->size;

	while (t->words[i].text && strcmp(t->words[i].text, text))
		i = (i + 1) % t->size;
	return &t->words[i];
}

__attribute__((noinline)) void grow_table(struct table *t)
{
	struct table bigger = { .size = t->size * 2, .used = t->used };

	bigger.words = calloc(bigger.size, sizeof(*bigger.words));
	for (unsigned int i = 0; i < t->size; i++)
		if (t->words[i].text)
			*find_place(&bigger, t->words[i].text) = t->words[i];
	free(t->words);
	*t = bigger;
}

__attribute__((noinline)) void count_word(struct table *t, const char *text)
{
	struct word *w;

	if (2 * t->used >= t->size)
		grow_table(t);
	w = find_place(t, text);
	if (!w->text) {
		w->text = strdup(text);
		t->used++;
	}
	w->count++;
}

__attribute__((noinline)) void read_words(struct table *t, FILE *in)
{
	char text[64];

	while (fscanf(in, " %63s", text) == 1)
		count_word(t, text);
}

__attribute__((noinline)) void print_words(const struct table *t)
{
	for (unsigned int i = 0; i < t->size; i++)
		if (t->words[i].count > 1)
			printf("%u %s\n", t->words[i].count, t->words[i].text);
}

/* No signal is to come in between. */
__attribute__((noinline)) void save_words(const struct table *t)
{
	sigset_t all, before;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	print_words(t);
	fflush(stdout);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

int main(int argc, char **argv)
{
	struct table t = { .words = calloc(4, sizeof(*t.words)), .size = 4 };
	FILE *in = argc > 1 ? fopen(argv[1], "r") : stdin;

	if (!in) {
		perror(argv[1]);
		return 1;
	}
	read_words(&t, in);
	save_words(&t);
	return 0;
}
