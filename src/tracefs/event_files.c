/* SPDX-License-Identifier: MIT */
/*
 * event_files.c - events/: enable, filter, format, id, trigger, hist
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>

#include "model/event/file.h"
#include "model/event/set.h"
#include "model/hist/hist.h"
#include "model/hist/json.h"
#include "model/text.h"
#include "session/session.h"
#include "tracefs/tree_state.h"

enum { HIST_PACE = 20 };

static struct event_file *event_files_get(const struct tree_file *f)
{
	return event_file_get(f->at.inst, f->at.event);
}

/* Parses "0" or "1" as the kernel's kstrtoul() does. */
static int parse_switch(const char *buf, size_t size, bool *on)
{
	uint64_t v;
	int err = text_to_u64_len(buf, size, 10, &v);

	if (err)
		return err;
	if (v > 1)
		return -EINVAL;
	*on = v;
	return 0;
}

/* ---- events/, events/SYSTEM ---- */

static int print_set_enable(struct tree_file *f, FILE *out)
{
	fprintf(out, "%c\n", event_set_enabled(f->at.inst, f->at.system));
	return 0;
}

static ssize_t write_set_enable(struct tree_file *f, const char *buf, size_t size)
{
	bool on;
	int err = parse_switch(buf, size, &on);

	if (!err)
		err = instance_expand(f->at.inst);
	if (!err)
		err = event_set_enable(f->at.inst, f->at.system, on, f->pieces);
	return err ? err : (ssize_t)size;
}

static int print_header_page(struct tree_file *f, FILE *out)
{
	fprintf(out, "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		     "\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		     "\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n"
		     "\tfield: char data;\toffset:16;\tsize:%u;\tsigned:0;\n",
		f->at.inst->subbuf_size - 16);
	return 0;
}

static int print_header_event(struct tree_file *f, FILE *out)
{
	fputs("# compressed entry header\n"
	      "\ttype_len    :    5 bits\n"
	      "\ttime_delta  :   27 bits\n"
	      "\tarray       :   32 bits\n"
	      "\n"
	      "\tpadding     : type == 29\n"
	      "\ttime_extend : type == 30\n"
	      "\ttime_stamp : type == 31\n"
	      "\tdata max type_len  == 28\n", out);
	if (f->tree->model->of_programs)
		fputs(MODEL_PROGRAMS_MARK, out);
	return 0;
}

static int print_system_filter(struct tree_file *f, FILE *out)
{
	system_print_filter(out);
	return 0;
}

static int command_system_filter(struct tree_file *f, char *text)
{
	return system_set_filter(f->at.inst, f->at.system, text, f->pieces);
}

const struct file_kind events_kinds[] = {
	{ .name = "enable", .mode = 0640, .print = print_set_enable, .write = write_set_enable },
	{ .name = "header_event", .mode = 0440, .print = print_header_event, .once = true },
	{ .name = "header_page", .mode = 0440, .print = print_header_page, .once = true },
	{ 0 }
};

const struct file_kind system_kinds[] = {
	{ .name = "enable", .mode = 0640, .print = print_set_enable, .write = write_set_enable },
	{ .name = "filter",
	 .mode = 0640,
	 .print = print_system_filter,
	 .command = command_system_filter,
	 .once = true },
	{ 0 } };

/* ---- events/SYSTEM/EVENT ---- */

static int print_enable(struct tree_file *f, FILE *out)
{
	event_file_print_enable(event_file_find(f->at.inst, f->at.event), out);
	fputc('\n', out);
	return 0;
}

static ssize_t write_enable(struct tree_file *f, const char *buf, size_t size)
{
	struct event_file *ef = event_files_get(f);
	bool on;
	int err = parse_switch(buf, size, &on);

	if (!err)
		err = ef ? instance_expand(f->at.inst) : -ENOMEM;
	if (!err)
		err = event_file_enable(ef, on);
	return err ? err : (ssize_t)size;
}

static int print_filter(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_files_get(f);

	if (!ef)
		return -ENOMEM;
	event_file_print_filter(ef, out);
	return 0;
}

static int command_filter(struct tree_file *f, char *text)
{
	struct event_file *ef = event_files_get(f);

	return ef ? event_file_set_filter(ef, text) : -ENOMEM;
}

static int print_format(struct tree_file *f, FILE *out)
{
	fputs(f->at.event->format, out);
	return 0;
}

static int print_id(struct tree_file *f, FILE *out)
{
	fprintf(out, "%u\n", f->at.event->id);
	return 0;
}

static int open_trigger(struct tree_file *f)
{
	struct event_file *ef = event_files_get(f);

	if (!ef)
		return -ENOMEM;
	if ((f->flags & O_TRUNC) && (f->flags & O_ACCMODE) != O_RDONLY)
		event_file_trigger_truncate(ef);
	return 0;
}

static int print_trigger(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_files_get(f);

	if (!ef)
		return -ENOMEM;
	event_file_trigger_print(ef, out);
	return 0;
}

static int command_trigger(struct tree_file *f, char *text)
{
	struct event_file *ef = event_files_get(f);

	return ef ? event_file_trigger_write(ef, text) : -ENOMEM;
}

static bool prepare_trigger(struct tree_file *f, const char *buf, size_t size)
{
	return buffer_files_prepare(f, buf, size, "snapshot");
}

/*
 * A large map takes a while. Who waits in poll(2) has it counted again and again, which is to cost
 * a small part of the server's time.
 */
static void hist_count(struct tree_file *f)
{
	const struct event_file *ef = event_file_find(f->at.inst, f->at.event);
	const int64_t before = session_now_ms();

	f->hits = ef ? hist_total_hits(ef) : 0;
	f->hits_wait = before + HIST_PACE * (session_now_ms() - before);
}

/* As in the kernel, POLLPRI is for hits since this open file was last opened, read or polled. */
static int open_hist(struct tree_file *f)
{
	hist_count(f);
	f->hits_seen = f->hits;
	return 0;
}

/* As in the kernel, hits from before the first read count as new. */
static unsigned int poll_hist(struct tree_file *f)
{
	if (f->at.event->removed)
		return POLLERR;
	if (session_now_ms() < f->hits_wait)
		return 0;
	hist_count(f);
	return (f->hits != f->hits_read ? POLLIN | POLLRDNORM : 0) |
	       (f->hits != f->hits_seen ? POLLPRI : 0);
}

static void polled_hist(struct tree_file *f)
{
	if (!f->at.event->removed)
		f->hits_seen = f->hits;
}

/* Hits that come while it is printed make the file ready again. */
static void read_hist(struct tree_file *f)
{
	hist_count(f);
	f->hits_read = f->hits_seen = f->hits;
}

static int event_files_print_hist(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_file_find(f->at.inst, f->at.event);

	return ef ? hist_print(ef, out) : 0;
}

static int print_hist_debug(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_file_find(f->at.inst, f->at.event);

	return ef ? hist_debug_print(ef, out) : 0;
}

/* Reading and sorting so many entries takes a while. */
static int begin_hist(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_file_find(f->at.inst, f->at.event);

	read_hist(f);
	if (!ef || !hist_is_large(ef))
		return f->at.kind->print(f, out);
	if (f->at.kind->rest)
		hist_print_begin(ef, out);
	return 1;
}

static int rest_hist(struct tree_file *f, FILE *out)
{
	return hist_print_rest(event_file_find(f->at.inst, f->at.event), out);
}

static int print_hist_json(struct tree_file *f, FILE *out)
{
	struct event_file *ef = event_file_find(f->at.inst, f->at.event);

	if (ef)
		return hist_json_print(ef, out);
	fputs("[]\n", out);
	return 0;
}

static bool no_enable(const struct instance *inst, const struct event *e)
{
	return !event_has_enable(e);
}

static bool no_trigger(const struct instance *inst, const struct event *e)
{
	return !event_has_trigger(e);
}

static bool no_id(const struct instance *inst, const struct event *e)
{
	return !event_has_id(e);
}

const struct file_kind event_kinds[] = {
	{ .name = "enable",
	 .mode = 0640,
	 .print = print_enable,
	 .write = write_enable,
	 .absent = no_enable },
	{ .name = "filter",
	 .mode = 0640,
	 .print = print_filter,
	 .command = command_filter,
	 .once = true,
	 .absent = no_enable },
	{ .name = "format", .mode = 0440, .print = print_format, .instance_may_go = true,
	  .endless = true },
	{ .name = "hist", .mode = 0440, .open = open_hist, .print = event_files_print_hist,
	  .begin = begin_hist, .rest = rest_hist, .whole = true, .endless = true,
	  .poll = poll_hist, .polled = polled_hist },
	{ .name = "hist_debug", .mode = 0440, .print = print_hist_debug, .endless = true },
	{ .name = "hist.json", .mode = 0440, .open = open_hist, .print = print_hist_json,
	  .begin = begin_hist, .whole = true, .hidden = true, .poll = poll_hist,
	  .polled = polled_hist },
	{ .name = "id", .mode = 0440, .print = print_id, .outlives = true,
	  .instance_may_go = true, .absent = no_id },
	{ .name = "trigger",
	 .mode = 0640,
	 .open = open_trigger,
	 .print = print_trigger,
	 .command = command_trigger,
	 .prepare = prepare_trigger,
	 .instance_may_go = true,
	 .absent = no_trigger },
	{ 0 } };
