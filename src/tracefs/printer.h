/* SPDX-License-Identifier: MIT */
/*
 * printer.h - a process that prints a long text of the server, piece by piece as it is read
 *
 *     server: printer_start() --fork--> the printer: prints from its copy of the server's memory,
 *             printer_read()  <--pipe--             and from the session's rings and maps
 *
 * A copy of the memory needs no lock: commands change the server's own. The pipe bounds what is
 * printed before it is read: a printer whose reader stops waits, and nobody waits for it. The tree
 * has one `struct printers`. All calls are made by the thread that calls the tree.
 */
#ifndef TRACEFUSE_TRACEFS_PRINTER_H
#define TRACEFUSE_TRACEFS_PRINTER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct printer;
struct printers;

/* The lines of a text behind its header, as far as needed to know them again. */
struct printer_body {
	uint64_t	bytes;
	uint64_t	hash;		/* of the whole words */
	uint64_t	word;		/* the bytes behind them */
};

struct printer_text {
	const char	*begun;		/* its first bytes, which are printed already */
	size_t		begun_size;
	/* Prints the rest, in the printer. 0 or -errno, which the reader gets behind the text. */
	int		(*print)(void *arg, FILE *out);
	void		*arg;
	/* Not NULL: the whole text is the struct stat of what it names (path_look.h). */
	const char	*path;
	/*
	 * The printer prints the rest into its memory, and then into the pipe: the session's memory
	 * has to stay as it is only until then.
	 */
	bool		whole;
	/* Only what follows these lines, if the text begins with them; no header. NULL: all */
	const struct printer_body *after;
	off_t		start;		/* the offset of the text's first byte */
	/* A descriptor that the printer keeps, as its standard input. 0: none */
	int		input;
};

/* NULL: no memory, or no descriptor */
struct printers *printers_create(void);
/* Call it behind printer_end() of each. A process that does not die in a second is left alone. */
void printers_destroy(struct printers *ps);
/* Readable when printer_read() may succeed that returned -EINPROGRESS: printers_tend(). */
int printers_fd(const struct printers *ps);
void printers_tend(struct printers *ps);

/* 0 or -errno */
int printer_start(struct printers *ps, const struct printer_text *text, struct printer **out);
/* Ends the process, too. */
void printer_end(struct printer *p);
/*
 * Returns how many bytes; 0: the end; -EINPROGRESS: they are not printed yet; -ESPIPE: they are not
 * kept any more; -errno of print(); -EIO: the process died.
 */
ssize_t printer_read(struct printer *p, char *buf, size_t size, off_t off);
/* The process; 0: it has ended, or is to end. */
pid_t printer_pid(const struct printer *p);
/* Whether the text may still read the session's memory. */
bool printer_holds(const struct printer *p);
/* The lines of the whole text. False: it has not ended, or failed. */
bool printer_body(const struct printer *p, struct printer_body *out);
/* The offset behind the bytes that have come. */
off_t printer_pos(const struct printer *p);
/* Whether any have. */
bool printer_came(const struct printer *p);

/*
 * In a copy of the server: it has no descriptor but `fd` any more, which becomes its standard
 * output, and ends with the server.
 */
void printer_become(int fd, pid_t server);

/* Adds bytes to a body. It is the same, however they are divided among the calls. */
void printer_body_add(struct printer_body *b, const char *bytes, size_t n);

#endif
