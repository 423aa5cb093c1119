/* SPDX-License-Identifier: MIT */
/*
 * crash.c - --on-crash: saves what was recorded if a signal of a fault has ended the program
 *
 * The rings are the session's memory, so they have what the program did until its last instruction.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "cli/run/run.h"
#include "cli/save_dat.h"
#include "host/output.h"

/* Whether it is a signal by which a program crashes, and not one that another process sent. */
static bool is_crash(int sig)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGSYS };

	for (size_t i = 0; i < sizeof(crashes) / sizeof(*crashes); i++)
		if (sig == crashes[i])
			return true;
	return false;
}

int run_crash_begin(struct run *r)
{
	return r->crash.file ? save_dat_open("--on-crash", r->crash.file, &r->crash.out)
			     : COMMAND_DONE;
}

int run_crash_save(struct run *r)
{
	const struct save_dat dat = {
		.file = r->crash.file, .option = "--on-crash", .out = r->crash.out,
		.compress = r->asked.compress, .quiet = r->quiet, .ends = run_is_private(r),
		.kernel = r->kernel,
	};
	const int sig = WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0;

	if (!r->crash.out || !is_crash(sig))
		return COMMAND_DONE;
	run_server_again(r);
	if (!r->access || save_dat(r->access, &dat)) {
		/* What -o saves has it, too. */
		r->crash.unsaved = !r->asked.dat_file && run_summary_recorded(r);
		return message_error("--on-crash %s: nothing was saved", r->crash.file);
	}
	fprintf(stderr, "tracefuse: %s crashed (%s): ", r->program[0], strsignal(sig));
	if (run_summary_recorded(r))
		fprintf(stderr, "what led to it is in %s\n", r->crash.file);
	else
		fprintf(stderr, "%s has no records of what led to it: %s\n", r->crash.file,
			*r->check.untraced ? "it ran untraced" :
			"-e NAME or --function records something");
	return COMMAND_DONE;
}

void run_crash_end(struct run *r)
{
	output_close(r->crash.out);
	r->crash.out = NULL;
}
