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
#include "cli/answer/calls.h"

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
	reads(" a-1 | 1.000 us |      leaf();\n"
	      " a-1 | 5.000 us |    } /* outer */\n"
	      " a-1 | 2.000 us |    next();\n"
	      " a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 2000(next 1 2000 2000()outer 1 5000 4000(leaf 1 1000 1000()))", 0);
}

static void what_has_not_returned_lasts_to_the_end(void **state)
{
	reads(" 7.000000 | a-1 |          |  main() {\n"
	      " 7.000001 | a-1 | 1.000 us |    leaf();\n"
	      " 7.000003 | a-1 |          |    part() {\n"
	      " 7.000004 | a-1 | 2.000 us |      leaf();\n"
	      " 7.000010 | b-2 | 1.000 us |  other();\n",
	      "main 1 6000 2000(leaf 1 1000 1000()part 1 3000 1000(leaf 1 2000 2000()))"
	      "other 1 1000 1000()", 2);
}

static void ends_may_be_lost(void **state)
{
	reads(" a-1 |          |  main() {\n"
	      " a-1 |          |    part() {\n"
	      " a-1 | 1.000 us |      leaf();\n"
	      " a-1 | 8.000 us |    } /* other */\n"
	      " a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 0(other 1 8000 8000()part 1 1000 0(leaf 1 1000 1000()))", 0);
}

/* What is deeper than the tree may be is part of its caller, and nothing else is lost. */
static void many_begins_may_be_lost(void **state)
{
	enum { DEPTH = 300 };
	char *text = NULL;
	struct call_tree t;
	size_t size, calls = 0;
	FILE *out = open_memstream(&text, &size);
	const struct call_tree_node *n;

	fprintf(out, " a-1 | 1.000 us | %*sleaf();\n", 2 * DEPTH + 1, "");
	for (int i = DEPTH - 1; i >= 0; i--)
		fprintf(out, " a-1 | %d.000 us | %*s} /* f */\n", DEPTH - i + 1, 2 * i + 1, "");
	fclose(out);
	assert_int_equal(call_tree_read(text, &t), 0);
	for (n = t.root.children; n; n = n->children)
		calls += n->calls;
	assert_int_equal(calls + t.deep, DEPTH + 1);
	assert_int_equal((int)t.root.children->total, (DEPTH + 1) * 1000);
	call_tree_free(&t);
	free(text);
}

/* As with tracing_thresh, which records no begins. */
static void begins_may_all_be_missing(void **state)
{
	reads(" a-1 | 1.000 us |  } /* f */\n"
	      " a-1 | 2.000 us |  } /* f */\n"
	      " a-1 | 3.000 us |  } /* f */\n",
	      "f 3 6000 6000()", 0);
	reads(" a-1 | 1.000 us |    } /* g */\n"
	      " a-1 | 2.000 us |    } /* g */\n"
	      " a-1 | 5.000 us |  } /* f */\n",
	      "f 1 5000 2000(g 2 3000 3000())", 0);
	reads(" a-1 | 1.000 us |    } /* g */\n"
	      " a-1 | 2.000 us |  } /* f */\n"
	      " a-1 | 1.000 us |    } /* g */\n"
	      " a-1 | 3.000 us |  } /* f */\n"
	      " a-1 | 1.000 us |      } /* h */\n",
	      "f 2 5000 3000(g 2 2000 2000())h 1 1000 1000()", 0);
	reads(" a-1 |          |  main() {\n"
	      " a-1 | 3.000 us |      g();\n"
	      " a-1 | 5.000 us |    } /* f */\n"
	      " a-1 | 6.000 us |  } /* main */\n",
	      "main 1 6000 1000(f 1 5000 2000(g 1 3000 3000()))", 0);
}

/* a() ends where b() begins, or before. */
static void times_do_not_overlap(void **state)
{
	reads(" 7.000000 | 0) a-1 |          |  main() {\n"
	      " 7.000000 | 0) a-1 |          |    a() {\n"
	      " 7.000009 | 0) a-1 | 8.000 us |    } /* b */\n"
	      " 7.000009 | 0) a-1 | 9.000 us |  } /* main */\n",
	      "main 1 9000 0(a 1 1000 1000()b 1 8000 8000())", 0);
}

/* An exception leaves two calls at once, and main() goes on; then longjmp() does the same. */
static void calls_may_be_left(void **state)
{
	char text[] = " 7.000000 | 0) a-1 |          |  main() {\n"
		      " 7.000001 | 0) a-1 |          |    part() {\n"
		      " 7.000002 | 0) a-1 | 1.000 us |      leaf();\n"
		      " 7.000003 | 0) a-1 |          |      throws() {\n"
		      " 7.000013 | 0) a-1 | 2.000 us |    next();\n"
		      " 7.000015 | 0) a-1 |          |    part() {\n"
		      " 7.000020 | 0) a-1 | 20.00 us |  } /* main */\n";
	struct call_tree t;

	reads(text, "main 1 20000 1000(next 1 2000 2000()"
		    "part 2 17000 6000(leaf 1 1000 1000()throws 1 10000 10000()))", 0);
	assert_int_equal(call_tree_read(text, &t), 0);
	assert_int_equal(t.left, 3);
	call_tree_free(&t);
}

static void idle_tasks_are_told_apart(void **state)
{
	reads(" 0) <idle>-0 |          |  a() {\n"
	      " 1) <idle>-0 |          |  a() {\n"
	      " 0) <idle>-0 | 1.000 us |    b();\n"
	      " 1) <idle>-0 | 4.000 us |  } /* a */\n"
	      " 0) <idle>-0 | 3.000 us |  } /* a */\n",
	      "a 2 7000 6000(b 1 1000 1000())", 0);
}

static int note_sum(void *arg, const struct calls_sum *s)
{
	FILE *out = arg;

	fprintf(out, "%s %zu-%zu %.0f %.0f %.0f;", s->name, s->calls, s->left, s->total, s->self,
		s->p50);
	return 0;
}

static void sums_have_the_times_of_what_returned(void **state)
{
	char text[] = " 0.000000 | 0) a-1 |          |  main() {\n"
		      " 0.000001 | 0) a-1 | 1.000 us |    part();\n"
		      " 0.000002 | 0) a-1 |          |    part() {\n"
		      " 0.000003 | 0) a-1 | 2.000 us |      leaf();\n"
		      " 0.000010 | 0) a-1 | 5.000 us |    part();\n"
		      " 0.000015 | 0) a-1 |          |    throws() {\n"
		      " 0.000030 | 0) a-1 | 30.00 us |  } /* main */\n";
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	assert_int_equal(calls_each(text, note_sum, out), 0);
	fclose(out);
	assert_string_equal(got, "leaf 1-0 2000 2000 2000;main 1-0 30000 1000 30000;"
				 "part 3-1 14000 12000 5000;throws 1-1 15000 15000 15000;");
	free(got);
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
	enum { DEEP = 2000 };
	size_t size;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);
	struct call_tree t;

	for (int i = 0; i < DEEP; i++)
		fprintf(out, " a-1 | | %*sf() {\n", 1 + 2 * (i + DEEP), "");
	for (int i = DEEP; i--;)
		fprintf(out, " a-1 | 1.000 us | %*s} /* f */\n", 1 + 2 * (i + DEEP), "");
	for (int i = DEEP; i--;)
		fprintf(out, " a-1 | 1.000 us | %*s} /* g */\n", 1 + 2 * i, "");
	fclose(out);
	assert_int_equal(call_tree_read(text, &t), 0);
	assert_int_equal(t.deep, 2 * (DEEP - CALL_TREE_DEPTH));
	assert_int_equal(t.open, 0);
	assert_int_equal(t.left, 0);
	call_tree_free(&t);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_of_the_same_way_are_one),
		cmocka_unit_test(threads_are_told_apart_and_summed_up),
		cmocka_unit_test(an_outer_call_may_have_no_begin),
		cmocka_unit_test(what_has_not_returned_lasts_to_the_end),
		cmocka_unit_test(ends_may_be_lost),
		cmocka_unit_test(many_begins_may_be_lost),
		cmocka_unit_test(begins_may_all_be_missing),
		cmocka_unit_test(times_do_not_overlap),
		cmocka_unit_test(calls_may_be_left),
		cmocka_unit_test(idle_tasks_are_told_apart),
		cmocka_unit_test(sums_have_the_times_of_what_returned),
		cmocka_unit_test(comments_and_other_lines_are_no_calls),
		cmocka_unit_test(depths_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
