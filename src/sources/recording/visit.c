/* SPDX-License-Identifier: MIT */
/* visit.c - shows the records of the window one by one, for a caller that wants no hits */
#include "sources/recording/source_state.h"

enum { OFTEN = 1 << 16 };	/* records between two changes of source_position() */

static struct source_record record_of(struct source *src, const struct stream *s)
{
	const struct subbuf_record *r = &s->record;
	const int32_t pid = (int32_t)subbuf_u32(r->data + 4);

	return (struct source_record){
		.data = r->data, .size = r->size, .type = r->type, .cpu = s->cpu, .pid = pid,
		.time = r->time, .lost = s->lost,
		.comm = task_names_find(&src->names, pid, s->cpu, r->time),
	};
}

/* Moves the window to its next record. 0 or -errno */
static int window_step(struct window *w)
{
	int ret = window_pull(w);

	if (ret > 0)
		window_settle(w);
	else if (!ret)
		window_drop(w);
	return ret < 0 ? ret : 0;
}

int source_visit(struct source *src, int (*take)(void *arg, const struct source_record *r),
		 void *arg)
{
	struct window *w = &src->window;
	struct source_record r = { .time = 0 };
	uint64_t records = 0;
	struct stream *s;
	int ret;

	source_learn_names(src);
	source_rewind(src);
	ret = window_rewind(w);
	task_names_reset(&src->names);
	while (!ret && (s = window_first(w))) {
		r = record_of(src, s);
		if (++records == OFTEN) {
			source_passed(src, records, 0, r.time);
			records = 0;
		}
		ret = take(arg, &r);
		if (!ret)
			ret = window_step(w);
	}
	source_passed(src, records, 0, r.time);
	return ret;
}
