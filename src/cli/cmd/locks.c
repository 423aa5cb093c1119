/* SPDX-License-Identifier: MIT */
/*
 * locks.c - `tracefuse locks`: who waits for which lock, how long, and who has it meanwhile
 *
 *     acquired          -> variables by lock: which thread has it, where it took it
 *     contention_begin  -> synthetic lock_wait, with these
 *     lock_wait         -> variables by thread and lock: since when
 *     acquired          -> synthetic lock_waited: where, how long -> histograms -> two tables
 *     contention_end    -> a wait that failed is forgotten
 *
 * A thread waits still for a lock if of its waits for it (lock_wait) one has neither ended with
 * `acquired` nor failed: those of a deadlock.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/answer/answer.h"
#include "cli/draw/table.h"
#include "cli/draw/tally.h"

enum { COLUMN_WAITS, COLUMN_TOTAL, COLUMN_AVG, COLUMN_P99, COLUMN_MAX, COLUMN_WAITER,
       COLUMN_HOLDER, COLUMNS };

static const struct table_column columns[COLUMNS] = {
	{ "waits", TABLE_COUNT }, { "total", TABLE_TIME }, { "avg", TABLE_TIME },
	{ "p99", TABLE_TIME }, { "max", TABLE_TIME }, { "waits in", TABLE_TEXT },
	{ "for who locked it in", TABLE_TEXT },
};

/* The second table: threads and locks. */
enum { THREAD_WAITS, THREAD_TOTAL, THREAD_AVG, THREAD_MAX, THREAD_WAITER, THREAD_HOLDER,
       THREAD_LOCK, THREAD_COLUMNS };

static const struct table_column thread_columns[THREAD_COLUMNS] = {
	{ "waits", TABLE_COUNT }, { "total", TABLE_TIME }, { "avg", TABLE_TIME },
	{ "max", TABLE_TIME }, { "thread", TABLE_TEXT }, { "waits for", TABLE_TEXT },
	{ "lock", TABLE_TEXT },
};

/* The third one: waits that have not ended. */
enum { STILL_WAITER, STILL_HOLDER, STILL_LOCK, STILL_COLUMNS };

static const struct table_column still_columns[STILL_COLUMNS] = {
	{ "waits still", TABLE_TEXT }, { "for", TABLE_TEXT }, { "lock", TABLE_TEXT },
};

/* The histograms of lock_waited. */
enum { BY_PLACE, PLACE_TIMES, BY_THREAD };
/* Those of lock_wait: variables, and as BY_THREAD. */
enum { BEGUN_VARIABLES, BEGUN_BY_THREAD };
/* Those of contention_end */
enum { FAILED_WAITS };

static const char hist_file[] = "events/synthetic/lock_waited/hist";
static const char begun_file[] = "events/synthetic/lock_wait/hist";
static const char failed_file[] = "events/lock/contention_end/hist";

static const struct option long_options[] = {
	ANSWER_TABLE_OPTIONS,
	{ NULL, 0, NULL, 0 },
};

/* ---- by place ---- */

static int add_wait_place(struct table *t, const struct tally_row *r)
{
	struct table_row *to = table_add(t);

	if (!to)
		return -1;
	to->cell[COLUMN_WAITS].number = r->hits;
	to->cell[COLUMN_TOTAL].number = r->sum;
	to->cell[COLUMN_AVG].number = r->hits ? r->sum / r->hits : 0;
	to->cell[COLUMN_P99].number = r->p99;
	to->cell[COLUMN_MAX].number = r->longest;
	to->cell[COLUMN_WAITER].text = tally_key_text(r, 0);
	to->cell[COLUMN_HOLDER].text = tally_key_text(r, 1);
	return to->cell[COLUMN_WAITER].text && to->cell[COLUMN_HOLDER].text ? 0 : -1;
}

static int print_places(const struct answer *a, const json_t *hists)
{
	struct table t = { .columns = columns, .nr_columns = COLUMNS };
	struct tally places;
	int err = tally_read(hists, BY_PLACE, false, &places);

	for (size_t i = 0; !err && i < places.nr; i++)
		err = add_wait_place(&t, &places.v[i]);
	if (!err && !places.nr && !places.dropped)
		message_error("no thread got a lock after a wait (semaphores, condition variables "
			      "and locks that are not libc's, as Rust's, do not count)");
	tally_say_dropped(places.dropped, "waits");
	tally_free(&places);
	if (!err)
		return answer_table_print(a, &t, "total");
	table_free(&t);
	return message_error("out of memory");
}

/* ---- by thread ---- */

/* "NAME-PID", as saved_cmdlines has them: lines "PID NAME". The caller frees it. */
static char *thread_text(const char *cmdlines, long long pid)
{
	char *text;

	for (const char *line = cmdlines; line && *line; line = strchr(line, '\n')) {
		char *name;

		line += *line == '\n';
		if (strtoll(line, &name, 10) == pid && *name == ' ')
			return asprintf(&text, "%.*s-%lld", (int)strcspn(name + 1, "\n"), name + 1,
					pid) < 0 ? NULL : text;
	}
	return asprintf(&text, "%lld", pid) < 0 ? NULL : text;
}

static long long raw_key(const struct tally_row *r, unsigned int i)
{
	return (long long)json_number_value(json_object_get(json_array_get(r->keys, i), "raw"));
}

/*
 * Who has the lock is known from its record `acquired`, which comes a moment after the lock was
 * taken. A thread that gets the lock in the end has not waited for itself: another one had taken it
 * and was not recorded yet.
 */
static char *holder_text(const struct tally_row *r, const char *cmdlines)
{
	return raw_key(r, 0) == raw_key(r, 1) ? strdup("?") : thread_text(cmdlines, raw_key(r, 1));
}

/* Of rows with the keys thread, holder, lock */
static char *lock_text(const struct tally_row *r)
{
	char *text;

	return asprintf(&text, "0x%llx", raw_key(r, 2)) < 0 ? NULL : text;
}

static int add_wait_thread(struct table *t, const struct tally_row *r, const char *cmdlines)
{
	struct table_row *to = table_add(t);

	if (!to)
		return -1;
	to->cell[THREAD_WAITS].number = r->hits;
	to->cell[THREAD_TOTAL].number = r->sum;
	to->cell[THREAD_AVG].number = r->hits ? r->sum / r->hits : 0;
	to->cell[THREAD_MAX].number = r->longest;
	to->cell[THREAD_WAITER].text = thread_text(cmdlines, raw_key(r, 0));
	to->cell[THREAD_HOLDER].text = holder_text(r, cmdlines);
	to->cell[THREAD_LOCK].text = lock_text(r);
	return to->cell[THREAD_WAITER].text && to->cell[THREAD_HOLDER].text &&
	       to->cell[THREAD_LOCK].text ? 0 : -1;
}

/* Its order is that of the first table where both have the column. */
static int print_threads(const struct answer *a, const json_t *hists, const char *cmdlines)
{
	struct table t = { .columns = thread_columns, .nr_columns = THREAD_COLUMNS };
	struct answer as = *a;
	struct tally threads;
	int err = tally_read_one(hists, BY_THREAD, &threads);

	for (size_t i = 0; !err && i < threads.nr; i++)
		err = add_wait_thread(&t, &threads.v[i], cmdlines);
	tally_say_dropped(threads.dropped, "waits of threads");
	tally_free(&threads);
	if (as.sort && table_column(&t, as.sort) < 0)
		as.sort = NULL;
	/* The first table is empty, too: its head and a message are enough. */
	if (!err && !t.nr)
		return COMMAND_DONE;
	if (!err)
		return message_print("\n", 1) ? COMMAND_FAILED
					      : answer_table_print(&as, &t, "total");
	table_free(&t);
	return message_error("out of memory");
}

/* ---- waits that have not ended ---- */

struct waits {
	struct tally	begun, ended, failed;
};

/* Of the waits of a row of `begun`, how many have not ended with the lock. */
static double not_acquired(const struct waits *w, const struct tally_row *r)
{
	for (size_t i = 0; i < w->ended.nr; i++)
		if (!strcmp(w->ended.v[i].text, r->text))
			return r->hits - w->ended.v[i].hits;
	return r->hits;
}

static bool same_wait(const struct tally_row *begun, const struct tally_row *r, unsigned int lock)
{
	return raw_key(begun, 0) == raw_key(r, 0) && raw_key(begun, 2) == raw_key(r, lock);
}

/*
 * Whether the thread of row `at` waits for its lock, and whether only one holder may be meant. A
 * thread and a lock whose holders differ have several rows: the first one of them speaks for all.
 */
static bool waits_still(const struct waits *w, size_t at, bool *one_holder)
{
	const struct tally_row *r = &w->begun.v[at];
	double left = 0;
	unsigned int holders = 0;

	for (size_t i = 0; i < w->begun.nr; i++) {
		const double open = same_wait(&w->begun.v[i], r, 2) ?
				    not_acquired(w, &w->begun.v[i]) : 0;

		if (open > 0 && i < at)
			return false;
		left += open;
		holders += open > 0;
	}
	for (size_t i = 0; i < w->failed.nr; i++)
		if (same_wait(r, &w->failed.v[i], 1))
			left -= w->failed.v[i].hits;
	*one_holder = holders == 1;
	return left > 0 && not_acquired(w, r) > 0;
}

static int add_still(struct table *t, const struct tally_row *r, bool one_holder,
		     const char *cmdlines)
{
	struct table_row *to = table_add(t);

	if (!to)
		return -1;
	to->cell[STILL_WAITER].text = thread_text(cmdlines, raw_key(r, 0));
	to->cell[STILL_HOLDER].text = one_holder ? thread_text(cmdlines, raw_key(r, 1))
						 : strdup("?");
	to->cell[STILL_LOCK].text = lock_text(r);
	return to->cell[STILL_WAITER].text && to->cell[STILL_HOLDER].text &&
	       to->cell[STILL_LOCK].text ? 0 : -1;
}

static int make_still(struct table *t, const struct waits *w, const char *cmdlines)
{
	bool one_holder;
	int err = 0;

	for (size_t i = 0; !err && i < w->begun.nr; i++)
		if (waits_still(w, i, &one_holder))
			err = add_still(t, &w->begun.v[i], one_holder, cmdlines);
	return err;
}

/* Where waits found no room it is not known which ones have ended. */
static int print_still(const struct answer *a, const json_t *begun, const json_t *ended,
		       const json_t *failed, const char *cmdlines)
{
	struct table t = { .columns = still_columns, .nr_columns = STILL_COLUMNS };
	struct answer as = *a;
	struct waits w = { 0 };
	int err = tally_read_one(begun, BEGUN_BY_THREAD, &w.begun), status = COMMAND_DONE;

	err = err ? err : tally_read_one(ended, BY_THREAD, &w.ended);
	err = err ? err : tally_read_one(failed, FAILED_WAITS, &w.failed);
	if (w.begun.dropped || w.ended.dropped || w.failed.dropped)
		message_error("some waits found no room: it is not known which threads wait still");
	else
		err = err ? err : make_still(&t, &w, cmdlines);
	tally_free(&w.begun);
	tally_free(&w.ended);
	tally_free(&w.failed);
	as.sort = NULL;
	if (err)
		status = message_error("out of memory");
	else if (t.nr)
		status = message_print("\n", 1);
	if (!status && t.nr)
		return answer_table_print(&as, &t, "waits still");
	table_free(&t);
	return status;
}

static int locks_print_still(const struct answer *a, struct access *access, const json_t *ended,
			     const char *cmdlines)
{
	json_t *begun = tally_open(access, begun_file);
	json_t *failed = begun ? tally_open(access, failed_file) : NULL;
	const int status = failed ? print_still(a, begun, ended, failed, cmdlines) : COMMAND_FAILED;

	json_decref(begun);
	json_decref(failed);
	return status;
}

static int locks_print(const struct answer *a, struct access *access)
{
	json_t *hists = tally_open(access, hist_file);
	char *cmdlines = NULL;
	size_t len;
	int status;

	if (!hists)
		return COMMAND_FAILED;
	/* Without names there are numbers. */
	if (access_read_all(access, "saved_cmdlines", &cmdlines, &len))
		cmdlines = NULL;
	status = print_places(a, hists);
	if (!status)
		status = print_threads(a, hists, cmdlines);
	if (!status)
		status = locks_print_still(a, access, hists, cmdlines);
	free(cmdlines);
	json_decref(hists);
	return status;
}

/* ---- the lines ---- */

static int add_waits(struct answer *a)
{
	static const struct answer_event acquired = { (char *)"lock", (char *)"acquired" };
	static const struct answer_event begin = { (char *)"lock", (char *)"contention_begin" };
	static const struct answer_event end = { (char *)"lock", (char *)"contention_end" };
	static const struct answer_event wait = { (char *)"synthetic", (char *)"lock_wait" };
	int err = answer_trigger(a, &acquired, "hist:keys=lock_addr:lock_holder=common_pid,"
				 "lock_site=call_site:size=16384");

	if (!err)
		err = answer_trigger(a, &begin, "hist:keys=lock_addr:size=16384:"
				     "onmatch(lock.acquired)."
				     "lock_wait(lock_addr,$lock_holder,$lock_site) if flags != 0");
	if (!err)
		err = answer_trigger(a, &wait, "hist:keys=common_pid,lock:"
				     "wait_begin=common_timestamp,wait_holder=holder,"
				     "wait_locked_at=locked_at:size=16384");
	if (!err)
		err = answer_trigger(a, &wait, "hist:keys=common_pid,holder,lock:size=16384");
	if (!err)
		err = answer_trigger(a, &acquired, "hist:keys=common_pid,lock_addr:"
				     "wait_ns=common_timestamp-$wait_begin:size=16384:"
				     "onmatch(synthetic.lock_wait).lock_waited(lock_addr,call_site,"
				     "$wait_holder,$wait_locked_at,$wait_ns)");
	return err ? err : answer_trigger(a, &end, "hist:keys=common_pid,lock_addr:wait_over="
					  "common_timestamp-$wait_begin:size=16384 if ret != 0");
}

static int locks_lines(struct answer *a)
{
	static const struct answer_event waited = { (char *)"synthetic", (char *)"lock_waited" };
	static const char *const triggers[] = {
		[BY_PLACE] = "hist:keys=at.sym-offset,locked_at.sym-offset:vals=ns:most=ns:"
			     "onmax($most).save(lock)",
		[PLACE_TIMES] = "hist:keys=at.sym-offset,locked_at.sym-offset,ns.exp=3:size=16384:"
				"pct=99.0",
		[BY_THREAD] = "hist:keys=common_pid,holder,lock:vals=ns:longest=ns:"
			      "size=16384:onmax($longest).save(at)",
	};
	int err = answer_line_undone(a, "synthetic_events",
				     "lock_wait u64 lock; pid_t holder; u64 locked_at",
				     "!lock_wait");

	if (!err)
		err = answer_line_undone(a, "synthetic_events", "lock_waited u64 lock; u64 at; "
					 "pid_t holder; u64 locked_at; u64 ns", "!lock_waited");
	if (!err)
		err = add_waits(a);
	for (size_t i = 0; !err && i < sizeof(triggers) / sizeof(*triggers); i++)
		err = answer_trigger(a, &waited, triggers[i]);
	if (!err)
		err = words_add(&a->more, begun_file);
	if (!err)
		err = words_add(&a->more, failed_file);
	a->file = strdup(hist_file);
	return err || !a->file ? message_error("out of memory") : COMMAND_DONE;
}

static int locks_parse(struct answer *a, int argc, char **argv)
{
	const struct table t = { .columns = columns, .nr_columns = COLUMNS };
	int status = answer_parse(a, long_options, argc, argv);

	if (!status && (a->words.nr || a->recordings.nr))
		status = command_usage(a->command, "%s: it looks at programs and sessions only",
				       a->words.nr ? a->words.v[0] : a->recordings.v[0]);
	return status ? status : answer_table_check(a, &t);
}

static int locks_run(int argc, char **argv)
{
	struct answer a = { .command = &command_locks, .print = locks_print,
			    .targets = answer_no_recordings };

	return answer_make(&a, locks_parse(&a, argc, argv), locks_lines);
}

const struct command command_locks = {
	.name = "locks",
	.summary = "who waits for whom at which lock, and how long",
	.run = locks_run,
	.help =
"usage: tracefuse locks [options] -- PROGRAM ARGUMENTS...\n"
"       tracefuse locks [options] -s SESSION\n"
"\n"
"Prints the waits for mutexes, read-write locks and spinlocks, in two tables. By place:\n"
"in which function a thread waits, and in which one the lock was taken by the thread that\n"
"has it; how often, how long together, on average, at most for 99 % (p99, exact to 9 %),\n"
"and the longest. By thread: which one waits for which, and for which lock. A wait for a\n"
"lock that nobody has taken since the counting began is not there, nor one that failed.\n"
"Threads that wait still at the end, as in a deadlock, are in a third table. In a session\n"
"it counts until Ctrl-C.\n"
"\n"
"      --sort COLUMN       the order: total (default), waits, avg, p99, max ...\n"
"      --lines N           only the first N lines of each table\n"
"      --show              print the lines of ftrace that this stands for, and nothing\n"
"                          else\n"
"      --plain             the files hist as they are\n"
"  -s, --session NAME      count in a session that is there\n"
"      --for SECONDS       with -s: how long\n"
"  -q, --quiet             no summary of the program's session\n",
};
