/* SPDX-License-Identifier: MIT */
/*
 * trace_dat.h - a session as a trace.dat of version 7, as trace-cmd, KernelShark and `tracefuse
 * replay` read it
 *
 * Included by the commands that have -o. The writer reads the files of the tracing directory, so
 * the tree may be in this process or in a server. It consumes nothing from the buffers.
 *
 *     events/header_*, each event's format                        ---> HEADER_INFO, FTRACE_EVENTS,
 *                                                                 EVENT_FORMATS
 *     kallsyms, printk_formats, saved_cmdlines              ---> KALLSYMS, PRINTK, CMDLINES
 *     per_cpu/cpuN/trace_raw, the same of each instance     ---> BUFFER: the pages of each CPU
 *     trace_clock, per_cpu/cpuN/stats                       ---> OPTIONS
 *
 * The format has no place for saved_tgids.
 */
#ifndef TRACEFUSE_EXPORT_TRACE_DAT_H
#define TRACEFUSE_EXPORT_TRACE_DAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* The files of a tracing directory. All return 0 or -errno. */
struct export_files {
	void	*arg;
	/* Text that the caller frees; *len without the 0 behind it. */
	int	(*read)(void *arg, const char *path, char **text, size_t *len);
	/*
	 * Gives a file to take(), piece by piece. If take() returns non-zero, stream() stops and
	 * returns that.
	 */
	int (*stream)(void *arg, const char *path, int (*take)(void *to, const char *buf, size_t n),
		      void *to);
	int (*list)(void *arg, const char *path, int (*fn)(void *to, const char *name, bool is_dir),
		    void *to);
};

struct export_params {
	const struct export_files *files;
	const char	*uname;		/* "Linux HOST RELEASE MACHINE"; NULL: not known */
	bool		compress;	/* zstd */
};

struct export_error {
	char		text[256];	/* "instances/x/trace_clock: No such file or directory" */
};

/*
 * Writes the file at the position of `out`, which must be able to seek. 0, or -errno with *err
 * filled.
 */
int export_trace_dat(const struct export_params *params, FILE *out, struct export_error *err);

#endif
