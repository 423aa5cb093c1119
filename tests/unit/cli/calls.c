/* SPDX-License-Identifier: MIT */
/* calls.c - the sums of calls from the text of function_graph, also where parts of it are lost */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/answer/calls.h"

static int print_sum(void *arg, const struct calls_sum *s)
{
	fprintf(arg, "%s %zu %.0f %.0f", s->name, s->calls, s->total, s->self);
	if (s->backward)
		fprintf(arg, " back %zu", s->backward);
	fputc(';', arg);
	return 0;
}

/* "NAME CALLS TOTAL SELF;" */
static void reads(const char *lines, const char *wanted)
{
	char *text = strdup(lines), *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	assert_non_null(text);
	assert_int_equal(calls_each(text, print_sum, out), 0);
	fclose(out);
	assert_string_equal(got, wanted);
	free(text);
	free(got);
}

static void a_function_in_itself_counts_once(void **state)
{
	reads(" a-1 |          |  rec() {\n"
	      " a-1 |          |    rec() {\n"
	      " a-1 | 1.000 us |      rec();\n"
	      " a-1 | 2.000 us |    } /* rec */\n"
	      " a-1 | 4.000 us |  } /* rec */\n",
	      "rec 3 4000 4000;");
}

static void also_where_its_begins_are_lost(void **state)
{
	reads(" a-1 | 1.000 us |      rec();\n"
	      " a-1 | 2.000 us |    } /* rec */\n"
	      " a-1 | 4.000 us |  } /* rec */\n",
	      "rec 3 4000 4000;");
	reads(" a-1 | 1.000 us |      } /* rec */\n"
	      " b-2 | 1.000 us |  rec();\n"
	      " a-1 | 2.000 us |    } /* leaf */\n"
	      " a-1 | 4.000 us |  } /* rec */\n"
	      " a-1 | 8.000 us |  rec();\n",
	      "leaf 1 2000 1000;rec 4 13000 12000;");
}

/* The difference of two times, as the graph prints it: of clocks that differ, or of damage. */
static void a_call_that_ends_before_it_begins_takes_no_time(void **state)
{
	reads(" a-1 |          |  main() {\n"
	      " a-1 | 18446744073709551.000 us |    leaf();\n"
	      " a-1 | 2.000 us |  } /* main */\n",
	      "leaf 1 0 0 back 1;main 1 2000 2000;");
}

static void a_thread_may_have_bars_in_its_name(void **state)
{
	reads(" 7.000001 |   0)   x-3|y-1     |               |  main() {\n"
	      " 7.000002 |   1)    a|b-2     |   12.000 us   |  operator|();\n"
	      " 7.000003 |   0)   x-3|y-1     |   2.000 us    |  } /* main */\n",
	      "main 1 2000 2000;operator| 1 12000 12000;");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_in_itself_counts_once),
		cmocka_unit_test(also_where_its_begins_are_lost),
		cmocka_unit_test(a_call_that_ends_before_it_begins_takes_no_time),
		cmocka_unit_test(a_thread_may_have_bars_in_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
