/* SPDX-License-Identifier: MIT */
/*
 * web.h - inside of `tracefuse web`: a session's histograms, functions, stacks and trace in a
 * browser, and its numbers for Prometheus
 *
 *     library.c      loads libmicrohttpd, whose functions http.c, stream.c and web.c call
 *     http.c         connections: who may ask (token, Host, Origin), and which function answers
 *     stream.c       pages that are told of each new sample (server-sent events)
 *     session.c      the session, which may end and come again
 *     histograms.c   its histograms as JSON for the page
 *     stacks.c       the stacks of a histogram as a tree
 *     trace.c        pages of `trace`, and the table of functions
 *     command.c      the box for commands
 *     metrics.c      /metrics; the forms that it is printed in: see metrics.h
 *     json.c         texts in JSON
 *     page/          what the browser loads; embed.py makes C of it
 *
 * web.c has the command. One thread does all of it, in the loop there. An answer is made whole
 * before it is sent, so a client that reads slowly holds nothing up.
 */
#ifndef TRACEFUSE_CLI_WEB_WEB_H
#define TRACEFUSE_CLI_WEB_WEB_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "access/access.h"
#include "cli/web/library.h"

enum { WEB_TOKEN = 32 };	/* characters: 128 bits in hexadecimal */

struct metrics_form;
struct web_stream;
struct web_guest;
struct web_sample;

struct web {
	const char	*session;	/* its name */
	struct demangler *names;	/* NULL: no name was mangled so far */
	struct access	*access;	/* NULL: not connected */
	bool		write;		/* --write */
	bool		lost;		/* the session's end was said */
	char		token[WEB_TOKEN + 1];
	struct MHD_Daemon *daemon;
	struct web_guest *guests;
	struct web_stream *streams;
	unsigned int	nr_streams;
	struct web_sample *sample;	/* the newest; NULL: none yet */
};

/* Made when it is needed first. NULL: no memory. */
struct demangler *web_names(struct web *w);

/* ---- session.c ---- */

/*
 * Connects to the session unless it is connected. 0; -ENOENT: it has ended; -errno. Each answer
 * begins with it.
 */
int web_reach(struct web *w);
/* Reads a file as JSON. 0 or -errno; the caller releases *out. */
int web_read_json(struct web *w, const char *path, json_t **out);
/*
 * Calls `fn` for each histogram, until it does not return 0. `path` is its file hist.json, `nr` its
 * place in there.
 */
int web_each_hist(struct web *w, int (*fn)(void *arg, const char *path, size_t nr,
					   const json_t *hist), void *arg);

/* ---- http.c ---- */

/* Listens at an address and a port (0: any). Prints what is wrong. NULL: it cannot. */
struct MHD_Daemon *web_listen(struct web *w, const char *address, uint16_t port);

/* Closes connections that have been open for a while without a request with the token. */
void web_guests_end(struct web *w);

/* Adds the headers that each answer has. */
void web_headers(struct MHD_Response *r, const char *type);

/* ---- stream.c ---- */

/* Answers with a stream of samples. -EAGAIN: there are too many; -ENOMEM. */
int web_stream_begin(struct web *w, struct MHD_Connection *c);
/* Makes a sample, if there are streams, and sends it to all. */
void web_streams_tell(struct web *w);
/* Lets all streams end, so that the daemon can be stopped. */
void web_streams_end(struct web *w);
/* Frees the sample, when no stream is left. */
void web_streams_free(struct web *w);

/* ---- what is answered ---- */

/* Each prints its answer to `out`. 0 or -errno, which becomes a status of HTTP. */
int web_histograms_print(struct web *w, FILE *out);
/* Histogram `nr` of `path`. -ENOENT: there is none, or it has no key that is a stack. */
int web_stacks_print(struct web *w, const char *path, size_t nr, FILE *out);
/* Lines of `trace` of an instance ("": the top one). */
int web_trace_print(struct web *w, const char *instance, size_t from, size_t lines, FILE *out);
int web_functions_print(struct web *w, FILE *out);
int web_command_print(struct web *w, const char *text, size_t len, FILE *out);
int web_metrics_print(struct web *w, const struct metrics_form *form, FILE *out);

/* ---- metrics_accept.c ---- */

/* The form that the header Accept (or NULL) of a request asks for. */
const struct metrics_form *web_metrics_form(const char *accept);

/* ---- json.c ---- */

/* A text of bytes as a string of JSON; what is no UTF-8 is \xNN. */
void web_json_bytes(const char *text, size_t len, FILE *out);
/* A text as JSON already has it (rows_print_text()). NULL: "". */
void web_json_text(const char *text, FILE *out);

/* ---- the page (made by embed.py) ---- */

struct web_file {
	const char	*path, *type;
	const unsigned char *data;
	size_t		size;
};

extern const struct web_file web_files[];	/* ends with a NULL path */

#endif
