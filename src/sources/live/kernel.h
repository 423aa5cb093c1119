/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - the running kernel's tracing directory, and the instance in it that is ours
 *
 * An instance is named tracefuse-PID-START-NS: the server's process, when it began (in clock ticks
 * since the machine did), and its name space of pids. So the next server knows those whose owner is
 * gone, and removes them. No mount option of tracefs is ever set: it would hold for all mounts.
 *
 * A second instance, with "-calls" behind that name, has the function tracers. A tracer that begins
 * or ends empties the buffers of its instance, and does so only while nobody reads them. So another
 * tracer begins in an instance "-calls-2", which takes the place of the first one.
 */
#ifndef TRACEFUSE_SOURCES_LIVE_KERNEL_H
#define TRACEFUSE_SOURCES_LIVE_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KERNEL_NAME = 96 };

struct kernel {
	int	top;		/* descriptor of the directory; -1: none, root has lent the rest */
	int	dir;		/* of the instance; -1: none */
	int	calls;		/* of the instance for calls of functions; -1: none */
	bool	second;		/* that is the one whose name ends with a number */
	int	names;		/* of saved_cmdlines; -1: it cannot be read */
	char	name[KERNEL_NAME];
	char	spared[KERNEL_NAME];	/* left behind, but not to be removed yet; "": none */
};

/*
 * Finds the directory, removes instances that were left behind and makes our own. -errno with a
 * sentence in `why`.
 */
int kernel_open(struct kernel *k, char *why, size_t size);
/*
 * Opens the instance of another process, which removes it. The next kernel_open() here, or in a
 * child, has this one.
 */
int kernel_borrow(struct kernel *k, const char *name);
/* The name of the instance for calls. */
struct kernel_name {
	char	text[KERNEL_NAME];
};
struct kernel_name kernel_calls_name(const struct kernel *k);
/*
 * Makes an instance for calls, beside the present one if there is one: its descriptor or -errno.
 * Then it either takes the place of the present one, which is removed, or it is removed.
 */
int kernel_make_calls(const struct kernel *k);
void kernel_take_calls(struct kernel *k, int dir);
void kernel_discard_calls(const struct kernel *k, int dir);
/* Removes the present one. */
void kernel_close_calls(struct kernel *k);
/* Removes the instance that was spared. */
void kernel_remove_spared(struct kernel *k);
/* The directory in which the events are described. */
static inline int kernel_events(const struct kernel *k)
{
	return k->top >= 0 ? k->top : k->dir;
}
/* Closes and removes the instance. The caller has closed its files before. */
void kernel_close(struct kernel *k);

/*
 * Of an instance that another server has left: it records no more; and how many records of a CPU
 * there were, those included that were overwritten. 0 or -errno
 */
int kernel_stop(const char *name);
int kernel_recorded(const char *name, uint32_t cpu, uint64_t *nr);

/* Whole files below a directory's descriptor. 0 or -errno */
int kernel_write(int dir, const char *file, const char *text);
/* Calls fn for each directory in one, until it returns an error. */
int kernel_each_dir(int parent, const char *name, int (*fn)(int dir, const char *name, void *arg),
		    void *arg);
/* The caller frees it; NULL: it cannot be read (errno). */
char *kernel_read_open(int fd, size_t *len);	/* from where it stands */
char *kernel_read(int dir, const char *file, size_t *len);

#endif
