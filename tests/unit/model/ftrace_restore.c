/* SPDX-License-Identifier: MIT */
/* ftrace_restore.c - R4: the next server restores the settings of function tracing */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "model/ftrace/groups.h"
#include "model/ftrace/profile.h"
#include "model/instance/pids.h"
#include "plane/hit.h"

struct server_fixture {
	char		name[64];
	struct session	*session;
	struct model	*model;
};

static const char functions[] =
	"1000 alpha\n1010 beta\n1020 gamma\n1030 delta\n2000 load [libone]\n";
static const char event_format[] = "name: first\nID: 100\nformat:\n\n"
	"\tfield:int pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

static void load(struct server_fixture *w)
{
	assert_int_equal(ftrace_sites_load(w->model, functions, strlen(functions)), 0);
}

static int setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct server_fixture *w = calloc(1, sizeof(*w));
	struct instance *inst;

	snprintf(w->name, sizeof(w->name), "ftrace-restore-%d", (int)getpid());
	session_remove_stale(w->name);
	assert_int_equal(session_create(w->name, &params, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_add_event(w->model, "s", event_format, strlen(event_format), NULL),
			 0);
	assert_int_equal(instance_create(w->model, "foo", &inst), 0);
	load(w);
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct server_fixture *w = *state;

	model_destroy(w->model);
	session_destroy(w->session);
	free(w);
	return 0;
}

static int write_file(void *arg, const char *path, const char *text)
{
	struct server_fixture *w = arg;
	struct instance *inst;

	if (!strcmp(path, "set_ftrace_pid"))
		return pids_write(w->model->top, PIDS_FUNCTION, text, strlen(text)) < 0;
	return strcmp(path, "instances/foo") ? 0 : instance_create(w->model, "foo", &inst);
}

static void new_server(struct server_fixture *w)
{
	model_destroy(w->model);
	session_close(w->session);
	assert_int_equal(session_open(w->name, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	assert_int_equal(model_restore(w->model, write_file, w), 0);
}

static void edit(struct instance *inst, enum ftrace_file file, const char *text)
{
	struct ftrace_edit *e = ftrace_edit_open(inst, file, false);
	size_t len = strlen(text), off = 0;

	while (off < len) {
		ssize_t n = ftrace_edit_write(e, text + off, len - off, false);

		assert_true(n > 0);
		off += (size_t)n;
	}
	assert_int_equal(ftrace_edit_close(e), 0);
}

#define assert_reads(inst, file, expected) \
	assert_prints(ftrace_print_file(inst, file, NULL, out), expected)

/* The sites come later, when the programs report them again. */
static void sets_come_back_before_their_sites(void **state)
{
	struct server_fixture *w = *state;

	edit(w->model->top, FTRACE_FILE_FILTER, "*a\n");
	edit(w->model->top, FTRACE_FILE_FILTER, "!gamma\n");
	edit(w->model->top, FTRACE_FILE_FILTER, "*:mod:libt*\n");
	edit(w->model->top, FTRACE_FILE_NOTRACE, "beta\n");
	edit(instance_find(w->model, "foo"), FTRACE_FILE_NOTRACE, "load\n");
	edit(w->model->top, FTRACE_FILE_GRAPH, "alpha gamma delta\n");
	edit(w->model->top, FTRACE_FILE_GRAPH_NOTRACE, "delta\n");
	for (int i = 0; i < 2; i++) {
		char *graph = printed(
			ftrace_print_file(w->model->top, FTRACE_FILE_GRAPH, NULL, out));

		new_server(w);
		assert_false(ftrace_present(w->model));
		load(w);
		assert_reads(w->model->top, FTRACE_FILE_FILTER, "alpha\nbeta\ndelta\n*:mod:libt\n");
		assert_reads(w->model->top, FTRACE_FILE_NOTRACE, "beta\n");
		assert_reads(instance_find(w->model, "foo"), FTRACE_FILE_NOTRACE,
			     "load [libone]\n");
		assert_reads(w->model->top, FTRACE_FILE_GRAPH, graph);
		assert_reads(w->model->top, FTRACE_FILE_GRAPH_NOTRACE, "delta\n");
		free(graph);
	}
}

static void who_waited_waits_on(void **state)
{
	struct server_fixture *w = *state;
	static const struct ftrace_new_site site = { 0x3000, "late", false, NULL };

	edit(w->model->top, FTRACE_FILE_FILTER, "l*:mod:libt*\n");
	new_server(w);
	assert_reads(w->model->top, FTRACE_FILE_FILTER, "l*:mod:libt\n");
	load(w);
	assert_int_equal(ftrace_sites_add(w->model, "libtwo", &site, 1, NULL), 0);
	assert_reads(w->model->top, FTRACE_FILE_FILTER, "late [libtwo]\nl*:mod:libt\n");
}

static void probes_come_back_with_what_is_left(void **state)
{
	struct server_fixture *w = *state;
	struct ftrace_ops *ops;

	edit(w->model->top, FTRACE_FILE_FILTER,
	     "beta:traceoff:9 delta:traceoff:9 alpha:stacktrace\n");
	edit(w->model->top, FTRACE_FILE_FILTER, "gamma:enable_event:s:first:4 !beta:traceoff:0\n");
	assert_int_equal(ftrace_site_ops(ftrace_of(w->model), 0x1030, &ops, 1), 1);
	atomic_fetch_sub(function_command_count(function_command_find(ops->priv, 0x1030)), 2);
	for (int i = 0; i < 2; i++) {
		new_server(w);
		load(w);
		/* The command whose functions changed last comes first. */
		assert_reads(w->model->top, FTRACE_FILE_FILTER,
			     "#### all functions enabled ####\n"
			     "delta:traceoff:count=7\ngamma:enable_event:s:first:count=4\nalpha:"
			     "stacktrace:unlimited\n");
		assert_prints(ftrace_print_flagged(ftrace_of(w->model), FTRACE_SITE_ENABLED, out),
			      "alpha (1)           ->function_trace_probe_call\ngamma (1)          "
			      " ->function_trace_probe_call\n"
			      "delta (1)           ->function_trace_probe_call\n");
	}
	edit(w->model->top, FTRACE_FILE_FILTER,
	     "!*:enable_event:s:first:0 !*:stacktrace !*:traceoff:0\n");
	new_server(w);
	load(w);
	assert_reads(w->model->top, FTRACE_FILE_FILTER, "#### all functions enabled ####\n");
}

static int note_probe(struct session *s, uint64_t id, const struct saved *o, const char *path,
		      const char *text, void *arg)
{
	if (!strcmp(path, "#ftrace/command"))
		*(const struct saved **)arg = o;
	return 0;
}

/* The server died after it had saved a batch anew, before it removed the old text. */
static void a_batch_that_is_kept_twice_comes_back_once(void **state)
{
	static const char *const batches[][2] = {
		{ "*a:traceoff:9\n", "!*:traceoff:0\n" }, { "*a:stacktrace\n", "!*:stacktrace\n" },
	};
	struct server_fixture *w = *state;

	for (int i = 0; i < 2; i++) {
		const struct saved *o = NULL;
		const char *text;
		char *before;
		uint64_t id;

		edit(w->model->top, FTRACE_FILE_FILTER, batches[i][0]);
		before = printed(ftrace_print_file(w->model->top, FTRACE_FILE_FILTER, NULL, out));
		session_saved_each(w->session, note_probe, &o);
		assert_non_null(o);
		text = o->bytes + o->path_len;
		assert_int_equal(
			session_saved_add(w->session, o->bytes, text, o->refs, o->nr_refs, &id), 0);
		new_server(w);
		load(w);
		assert_reads(w->model->top, FTRACE_FILE_FILTER, before);
		free(before);
		edit(w->model->top, FTRACE_FILE_FILTER, batches[i][1]);
		new_server(w);
		load(w);
		assert_reads(w->model->top, FTRACE_FILE_FILTER,
			     "#### all functions enabled ####\n");
	}
}

static void pids_and_the_profile_come_back(void **state)
{
	struct server_fixture *w = *state;

	assert_int_equal(pids_write(w->model->top, PIDS_FUNCTION, "7 4194304\n", 10), 10);
	assert_int_equal(ftrace_profile_set(w->model->top, true), 0);
	new_server(w);
	assert_int_equal(ftrace_of(w->model)->profile, FTRACE_PROFILE_ON);
	assert_int_equal(ftrace_profile_set(w->model->top, FTRACE_PROFILE_DETAILS), 0);
	new_server(w);
	assert_int_equal(ftrace_of(w->model)->profile, FTRACE_PROFILE_DETAILS);
	assert_int_equal(ftrace_profile_set(w->model->top, FTRACE_PROFILE_OFF), 0);
	new_server(w);
	assert_int_equal(ftrace_of(w->model)->profile, FTRACE_PROFILE_OFF);
	assert_prints(pids_print(w->model->top, PIDS_FUNCTION, out), "7\nno pid\n");
	assert_prints(pids_print(w->model->top, PIDS_NO_FUNCTION, out), "no pid\n");
	assert_prints(pids_print(w->model->top, PIDS_TRACE, out), "");
}

/* ---- Groups: programs keep their words ---- */

static uint32_t words[64];	/* by (ip >> 4) & 63 */

static void changed(void *arg, const struct ftrace_change *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		words[list[i].site->ip >> 4 & 63] = ftrace_groups_word(arg, list[i].site);
}

static void listen(struct model *m)
{
	struct ftrace *ft = ftrace_of(m);

	ft->changed_arg = ft;
	ft->changed = changed;
}

static uint32_t word(uint64_t ip)
{
	return words[ip >> 4 & 63];
}

static const struct plan *plan_at(struct server_fixture *w, uint32_t entry)
{
	return plan_of(session_plane(w->session), (uint16_t)entry);
}

static void numbers_keep_their_meaning(void **state)
{
	struct server_fixture *w = *state;
	struct instance *foo = instance_find(w->model, "foo");
	uint32_t top, both;

	listen(w->model);
	edit(w->model->top, FTRACE_FILE_FILTER, "alpha:traceoff:5 beta:traceoff:6\n");
	edit(foo, FTRACE_FILE_FILTER, "beta:stacktrace\n");
	top = word(0x1000);
	both = word(0x1010);
	assert_int_not_equal(top, both);
	for (int i = 0; i < 2; i++) {
		new_server(w);
		/* Programs continue before the server knows their functions again. */
		assert_int_equal(plan_at(w, top)->nr_arms, 1);
		assert_int_equal(plan_at(w, both)->nr_arms, 2);
		assert_int_equal(plan_at(w, both)->wants, PLAN_WANTS_STACK);
		memset(words, 0, sizeof(words));
		listen(w->model);
		load(w);
		assert_int_equal(word(0x1000), top);
		assert_int_equal(word(0x1010), both);
	}
}

static void what_does_not_come_back_has_no_part_in_its_groups(void **state)
{
	struct server_fixture *w = *state;
	uint32_t probe, both, stale;

	listen(w->model);
	edit(w->model->top, FTRACE_FILE_FILTER, "alpha:traceoff beta:traceoff\n");
	probe = word(0x1000);
	edit(w->model->top, FTRACE_FILE_FILTER, "beta\n");
	/* No tracer is chosen in the next server. */
	assert_int_equal(ftrace_ops_enable(&ftrace_of_instance(w->model->top)->function), 0);
	both = word(0x1010);
	assert_int_equal(ftrace_profile_set(w->model->top, true), 0);
	stale = word(0x1010);
	assert_int_equal(ftrace_profile_set(w->model->top, false), 0);
	assert_int_equal(word(0x1010), both);
	assert_int_equal(stale & SITE_HOOKED, SITE_HOOKED);
	new_server(w);
	assert_int_equal(plan_at(w, probe)->nr_arms, 1);
	assert_int_equal(plan_at(w, both)->nr_arms, 1);
	assert_int_equal(plan_at(w, stale & SITE_GROUP)->nr_arms, 1);
	listen(w->model);
	load(w);
	assert_int_equal(word(0x1010), probe);
	/* The old words mean nothing once no program has them. */
	ftrace_groups_settled(ftrace_of(w->model), 0);
	assert_non_null(plan_at(w, probe));
	assert_null(plan_at(w, both));
	assert_null(plan_at(w, stale & SITE_GROUP));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sets_come_back_before_their_sites),
		TEST(who_waited_waits_on),
		TEST(probes_come_back_with_what_is_left),
		TEST(a_batch_that_is_kept_twice_comes_back_once),
		TEST(pids_and_the_profile_come_back),
		TEST(numbers_keep_their_meaning),
		TEST(what_does_not_come_back_has_no_part_in_its_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
