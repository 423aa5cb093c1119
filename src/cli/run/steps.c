/* SPDX-License-Identifier: MIT */
/*
 * steps.c - the first and the last steps of a command that has a session of its own: run, live
 */
#include <stdlib.h>
#include <sys/wait.h>

#include "access/access.h"
#include "cli/run/run.h"
#include "host/output.h"

enum { MERGE_DELAY_MAX = 60000 };

int run_merge_delay(struct run *r, const char *text)
{
	char *end;
	const unsigned long ms = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || ms > MERGE_DELAY_MAX)
		return command_usage(r->command, "--merge-delay: %s is no number of ms up to %d",
				     text, MERGE_DELAY_MAX);
	r->merge_delay = text;
	return COMMAND_DONE;
}

int run_results(struct run *r)
{
	int status;

	run_server_again(r);
	if (!r->access)
		return COMMAND_FAILED;
	r->results.quiet = r->quiet;
	r->results.ends = run_is_private(r);
	r->results.kernel = r->kernel;
	status = results_write(&r->results, r->access, NULL);
	run_dump(r);
	run_summary(r);
	run_unsaved(r);
	return status;
}

static void run_release(struct run *r)
{
	output_signals_let_in();
	run_setup_barrier_end(r);
	run_server_close(r);
	results_close(&r->results);
	run_crash_end(r);
	run_setup_free(r);
	free(r->preload);
	free(r->info_before);
	run_functions_free(r);
	free(r->kernel_events.v);
	run_flood_free(r);
	asked_free(&r->asked);
}

/* The program succeeded, and something else did not. */
static int run_fail(bool reader_left)
{
	if (reader_left)
		output_signals_die();
	return COMMAND_FAILED;
}

int run_end(struct run *r, int status, bool failed)
{
	const bool reader_left = r->results.reader_left && !run_is_refused(r) && !r->flight.failed;

	run_release(r);
	if (status)
		return status;
	failed |= message_flush() != COMMAND_DONE;
	if (failed && WIFEXITED(r->status) && !WEXITSTATUS(r->status))
		return run_fail(reader_left);
	if (!r->pid)
		return COMMAND_DONE;
	run_child_die_like(r->status);
}
