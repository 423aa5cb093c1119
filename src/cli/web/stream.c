/* SPDX-License-Identifier: MIT */
/*
 * stream.c - pages that are told of each new sample of the histograms; see web.h
 *
 * A sample is made once for all pages. A connection is suspended until there is a sample. A page
 * that has not yet taken the last one gets none of those between: nothing piles up.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/web/web.h"
#include "model/text_memory.h"

enum { STREAMS = 32, BLOCK = 64 * 1024 };

struct web_sample {
	unsigned int	users;
	char		*text;
	size_t		len;
};

struct web_stream {
	struct web_stream *next, **link;
	struct web	*web;
	struct MHD_Connection *connection;
	struct web_sample *sample;	/* what is sent; NULL: it waits for the next one */
	size_t		off;
	bool		suspended, ending;
};

static void put_sample(struct web_sample *s)
{
	if (!s || --s->users)
		return;
	free(s->text);
	free(s);
}

static struct web_sample *get_sample(struct web_sample *s)
{
	if (s)
		s->users++;
	return s;
}

/* A line of data has no newline in it: JSON has none in its texts, and others are removed. */
static void print_event(char *json, size_t len, FILE *out)
{
	for (size_t i = 0; i < len; i++)
		if (json[i] == '\n')
			json[i] = ' ';
	fputs("data: ", out);
	fwrite(json, 1, len, out);
	fputs("\n\n", out);
}

static int print_sample(struct web *w, FILE *out)
{
	int err = web_reach(w);
	char *json = NULL;
	size_t len;
	FILE *f;

	if (err)
		return err;
	f = text_memory_open(&json, &len);
	if (!f)
		return -ENOMEM;
	err = web_histograms_print(w, f);
	if (fclose(f))
		return -ENOMEM;
	if (!err)
		print_event(json, len, out);
	free(json);
	return err;
}

/* Of a session that cannot be read, the reason is the sample. */
static struct web_sample *make_sample(struct web *w)
{
	struct web_sample *s = calloc(1, sizeof(*s));
	FILE *out = s ? text_memory_open(&s->text, &s->len) : NULL;
	int err = out ? print_sample(w, out) : -ENOMEM;

	if (out && err)
		fprintf(out, "event: lost\ndata: %s\n\n",
			err == -ENOENT ? "the session has ended" : strerror(-err));
	if (!out || fclose(out)) {
		free(s);
		return NULL;
	}
	s->users = 1;
	return s;
}

static void stream_free(void *arg)
{
	struct web_stream *s = arg;

	*s->link = s->next;
	if (s->next)
		s->next->link = s->link;
	s->web->nr_streams--;
	put_sample(s->sample);
	free(s);
}

static ssize_t stream_read(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct web_stream *s = arg;
	size_t n;

	if (s->ending)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!s->sample) {
		s->suspended = true;
		MHD_suspend_connection(s->connection);
		return 0;
	}
	n = s->sample->len - s->off;
	n = n < max ? n : max;
	memcpy(buf, s->sample->text + s->off, n);
	s->off += n;
	if (s->off == s->sample->len) {
		put_sample(s->sample);
		s->sample = NULL;
	}
	return (ssize_t)n;
}

static struct web_stream *stream_add_stream(struct web *w, struct MHD_Connection *c)
{
	struct web_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct web_stream){ .web = w, .connection = c, .next = w->streams,
				  .link = &w->streams, .sample = get_sample(w->sample) };
	if (s->next)
		s->next->link = &s->next;
	w->streams = s;
	w->nr_streams++;
	return s;
}

int web_stream_begin(struct web *w, struct MHD_Connection *c)
{
	struct MHD_Response *response;
	struct web_stream *s;
	int ret;

	if (w->nr_streams == STREAMS)
		return -EAGAIN;
	if (!w->nr_streams) {
		put_sample(w->sample);
		w->sample = make_sample(w);
	}
	s = stream_add_stream(w, c);
	response = s ? MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, BLOCK, stream_read, s,
							 stream_free) : NULL;
	if (!response) {
		if (s)
			stream_free(s);
		return -ENOMEM;
	}
	web_headers(response, "text/event-stream");
	ret = MHD_queue_response(c, MHD_HTTP_OK, response) == MHD_YES ? 0 : -ENOMEM;
	MHD_destroy_response(response);
	return ret;
}

static void wake(struct web_stream *s)
{
	if (!s->suspended)
		return;
	s->suspended = false;
	MHD_resume_connection(s->connection);
}

void web_streams_tell(struct web *w)
{
	if (!w->nr_streams)
		return;
	put_sample(w->sample);
	w->sample = make_sample(w);
	for (struct web_stream *s = w->streams; s; s = s->next) {
		if (s->sample)
			continue;
		s->sample = get_sample(w->sample);
		s->off = 0;
		if (s->sample)
			wake(s);
	}
}

void web_streams_end(struct web *w)
{
	for (struct web_stream *s = w->streams; s; s = s->next) {
		s->ending = true;
		wake(s);
	}
}

void web_streams_free(struct web *w)
{
	put_sample(w->sample);
	w->sample = NULL;
}
