/* SPDX-License-Identifier: MIT */
/*
 * call_tree.c - the tree of calls from the text of function_graph, also where parts of it are lost
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/answer/call_tree.h"

static int compare(const void *a, const void *b)
{
	return strcmp((*(struct call_tree_node *const *)a)->name,
		      (*(struct call_tree_node *const *)b)->name);
}

static void print_below(struct call_tree_node *n, FILE *out)
{
	assert_int_equal(call_tree_sort(n, compare), 0);
	for (struct call_tree_node *c = n->children; c; c = c->next) {
		fprintf(out, "%s %zu %.0f %.0f(", c->name, c->calls, c->total, c->total - c->below);
		print_below(c, out);
		fputc(')', out);
	}
}

/* "NAME CALLS TOTAL SELF(what it calls)" */
static void reads(const char *lines, const char *wanted, size_t open)
{
	char *text = strdup(lines), *got = NULL;
	struct call_tree t;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(text);
	assert_int_equal(call_tree_read(text, &t), 0);
	print_below(&t.root, out);
	fclose(out);
	assert_string_equal(got, wanted);
	assert_int_equal(t.open, open);
	call_tree_free(&t);
	free(text);
	free(got);
}

static void calls_of_the_same_way_are_one(void **state)
{
	reads(" a-1 |          |  main() {\n"
	      " a-1 | 1.000 us |    leaf();\n"
	      " a-1 |          |    part() {\n"
	      " a-1 | 2.000 us |      leaf();\n"
	      " a-1 | 3.000 us |    } /* part */\n"
	      " a-1 | 4.000 us |    leaf();\n"
	      " a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 1000(leaf 2 5000 5000()part 1 3000 1000(leaf 1 2000 2000()))", 0);
}

static void threads_are_told_apart_and_summed_up(void **state)
{
	reads(" a-1 |          |  work() {\n"
	      " b-2 |          |  work() {\n"
	      " a-1 | 1.000 us |    one();\n"
	      " b-2 | 1.000 us |    two();\n"
	      " b-2 | 3.000 us |  } /* work */\n"
	      " a-1 | 4.000 us |  } /* work */\n",
	      "work 2 7000 5000(one 1 1000 1000()two 1 1000 1000())", 0);
}

static void an_outer_call_may_have_no_begin(void **state)
{
	reads(" a-1 | 1.000 us |    leaf();\n"
	      " a-1 | 5.000 us |  } /* outer */\n"
	      " a-1 | 2.000 us |  next();\n"
	      " a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 2000(next 1 2000 2000()outer 1 5000 4000(leaf 1 1000 1000()))", 0);
}

static void what_has_not_returned_has_the_time_below(void **state)
{
	reads(" a-1 |          |  main() {\n"
	      " a-1 | 1.000 us |    leaf();\n"
	      " a-1 |          |    part() {\n"
	      " a-1 | 2.000 us |      leaf();\n",
	      "main 0 3000 0(leaf 1 1000 1000()part 0 2000 0(leaf 1 2000 2000()))", 2);
}

static void ends_may_be_lost(void **state)
{
	reads(" a-1 |          |  main() {\n"
	      " a-1 |          |    part() {\n"
	      " a-1 | 1.000 us |      leaf();\n"
	      " a-1 | 8.000 us |    } /* other */\n"
	      " a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 8000(part 0 1000 0(leaf 1 1000 1000()))", 1);
}

static void comments_and_other_lines_are_no_calls(void **state)
{
	reads("# tracer: function_graph\n|\n||\n a |  | x();\n"
	      " a-1 |          |  /* a marker */\n"
	      "CPU:1 [LOST 5 EVENTS]\n a-1 | 1.000 us |  leaf();\n a-1 |  |  } /* cut",
	      "leaf 1 1000 1000()", 0);
}

/* Both ways: the text claims a depth that no stack of ours would hold. */
static void depths_have_an_end(void **state)
{
	enum { DEEP = 100000 };
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct call_tree t;

	for (int i = 0; i < DEEP; i++)
		fputs(" a-1 | | f() {\n", out);
	for (int i = 0; i < DEEP; i++)
		fputs(" a-1 | 1.000 us | } /* f */\n", out);
	for (int i = 0; i < DEEP; i++)
		fputs(" a-1 | 1.000 us | } /* g */\n", out);
	fclose(out);
	assert_int_equal(call_tree_read(text, &t), 0);
	assert_int_equal(t.deep, DEEP - CALL_TREE_DEPTH);
	assert_int_equal(t.open, 0);
	call_tree_free(&t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_the_same_way_are_one),
		cmocka_unit_test(threads_are_told_apart_and_summed_up),
		cmocka_unit_test(an_outer_call_may_have_no_begin),
		cmocka_unit_test(what_has_not_returned_has_the_time_below),
		cmocka_unit_test(ends_may_be_lost),
		cmocka_unit_test(comments_and_other_lines_are_no_calls),
		cmocka_unit_test(depths_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
