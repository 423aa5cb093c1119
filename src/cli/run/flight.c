/* SPDX-License-Identifier: MIT */
/* flight.c - see flight.h */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/access.h"
#include "cli/raw.h"
#include "cli/run/run.h"
#include "cli/save_dat.h"
#include "host/output.h"
#include "sources/recording/file/subbuf.h"

/*
 * RECORD_TURNS: how often to look for a record that a thread is about to make. LIVE_TURNS: how
 * often to look into the live rings at once.
 */
enum { LOOK_EACH_MS = 20, RECORD_TURNS = 100, LIVE_TURNS = 4 };

enum { RANK_ROOM = 16 };	/* bytes of ".10" in the name of a file, at most */

/* ---- names and texts ---- */

/* FILE of the longest one, then FILE.1, FILE.2 ..., before the ending ".dat". */
static void flight_name(const struct flight *f, unsigned int rank, char out[PATH_MAX])
{
	const char *file = f->asked->file, *ending = strrchr(file, '.');

	if (!ending || strchr(ending, '/') || ending == file)
		ending = file + strlen(file);
	if (rank)
		snprintf(out, PATH_MAX, "%.*s.%u%s", (int)(ending - file), file, rank, ending);
	else
		snprintf(out, PATH_MAX, "%s", file);
}

/* "20.1 ms" */
static const char *time_text(uint64_t ns, char out[32])
{
	static const struct {
		uint64_t	ns;
		const char	*name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (ns >= units[i].ns) {
			snprintf(out, 32, "%.3g %s", (double)ns / (double)units[i].ns,
				 units[i].name);
			return out;
		}
	snprintf(out, 32, "%u ns", (unsigned int)ns);
	return out;
}

static void event_path(const struct flight *f, const char *file, char *out, size_t size)
{
	snprintf(out, size, "events/synthetic/%s/%s", f->asked->event, file);
}

/* A file of the event; NULL: it cannot be read. The caller frees. */
static char *event_text(const struct run *r, const char *file)
{
	char path[300], *text;
	size_t len;

	event_path(&r->flight, file, path, sizeof(path));
	return access_read_all(r->access, path, &text, &len) ? NULL : text;
}

static void flight_fail(struct run *r, const char *what, int err)
{
	r->flight.failed = true;
	message_error("%s: %s: latencies are not saved any more", what, strerror(err));
}

/* ---- what is in the snapshot ---- */

struct look {
	struct flight	*flight;
	struct raw_part	part;		/* what is looked at */
	uint32_t	id, at_ns;	/* of the event: its number, its field */
	char		*page;
	uint32_t	subbuf, have;	/* of the page */
	uint64_t	bytes, first;	/* of one CPU; first: UINT64_MAX: no record */
	uint64_t	last;		/* the time of the last record */
	uint64_t	full;		/* the first time that a full ring still has */
	struct flight_kept found[FLIGHT_KEEP_MOST];
	unsigned int	nr;
};

/* If there are more than fit, the shortest one goes. */
static void look_add(struct look *l, const struct flight_kept *k)
{
	unsigned int to = l->nr;

	if (l->nr < FLIGHT_KEEP_MOST) {
		l->nr++;
	} else {
		to = 0;
		for (unsigned int i = 1; i < l->nr; i++)
			if (l->found[i].ns < l->found[to].ns)
				to = i;
		if (l->found[to].ns >= k->ns)
			return;
	}
	l->found[to] = *k;
}

static void look_at_record(struct look *l, const struct subbuf_record *rec)
{
	struct flight_kept k = { .end = rec->time };

	if (l->first == UINT64_MAX)
		l->first = rec->time;
	if (rec->time > l->last)
		l->last = rec->time;
	if (rec->type != l->id || rec->size < l->at_ns + sizeof(k.ns))
		return;
	memcpy(&k.ns, rec->data + l->at_ns, sizeof(k.ns));
	memcpy(&k.pid, rec->data + 4, sizeof(k.pid));
	if (k.ns > l->flight->limit)
		look_add(l, &k);
}

static int look_at_page(struct look *l)
{
	struct subbuf_record rec;
	struct subbuf b;
	uint64_t lost;
	int ret = subbuf_start(&b, (const uint8_t *)l->page, l->subbuf, &lost);

	while (!ret && (ret = subbuf_next(&b, &rec)) == 1) {
		look_at_record(l, &rec);
		ret = 0;
	}
	l->bytes += l->subbuf;
	return ret;
}

static int look_take(void *to, const char *buf, size_t n)
{
	struct look *l = to;
	int ret = 0;

	while (n && !ret) {
		const uint32_t room = l->subbuf - l->have;
		const uint32_t part = n < room ? (uint32_t)n : room;

		memcpy(l->page + l->have, buf, part);
		l->have += part;
		buf += part;
		n -= part;
		if (l->have == l->subbuf) {
			l->have = 0;
			ret = look_at_page(l);
		}
	}
	return ret;
}

/* The number in a file of the instance. */
static int read_number(const struct run *r, const char *path, uint64_t *out)
{
	char *text;
	size_t len;
	const int err = access_read_all(r->access, path, &text, &len);

	if (err)
		return err;
	*out = strtoull(text, NULL, 10);
	free(text);
	return 0;
}

/* The event's number, and where its field is. */
static int look_format(const struct run *r, struct look *l)
{
	char *text = event_text(r, "format");
	const char *id = text ? strstr(text, "\nID: ") : NULL;
	const char *field = text ? strstr(text, " ns;\toffset:") : NULL;
	const int err = id && field ? 0 : -EPROTO;

	if (!err) {
		l->id = (uint32_t)strtoul(id + 5, NULL, 10);
		l->at_ns = (uint32_t)strtoul(field + 12, NULL, 10);
	}
	free(text);
	return err;
}

static int count_cpus(void *arg, const char *name, bool is_dir)
{
	*(uint32_t *)arg += is_dir;
	return 0;
}

static int look_at_cpus(const struct run *r, struct look *l)
{
	uint32_t nr_cpus = 0;
	int err = r->access->ops->list(r->access, "per_cpu", count_cpus, &nr_cpus);

	for (uint32_t cpu = 0; !err && cpu < nr_cpus; cpu++) {
		char path[64];
		uint64_t kb = 0;

		snprintf(path, sizeof(path), "per_cpu/cpu%u/buffer_size_kb", cpu);
		err = read_number(r, path, &kb);
		snprintf(path, sizeof(path), "per_cpu/cpu%u/trace_raw", cpu);
		l->first = UINT64_MAX;
		l->bytes = l->have = 0;
		if (!err)
			err = raw_stream(r->access, path, &l->part, look_take, l);
		if (l->bytes + 2 * l->subbuf > kb << 10 && l->first > l->full &&
		    l->first != UINT64_MAX)
			l->full = l->first;
	}
	return err;
}

/* Finds the latencies in a part. 0 or -errno */
static int flight_find(const struct run *r, struct look *l)
{
	uint64_t kb;
	int err = look_format(r, l);

	if (!err)
		err = read_number(r, "buffer_subbuf_size_kb", &kb);
	if (err)
		return err;
	l->subbuf = (uint32_t)kb << 10;
	l->page = malloc(l->subbuf);
	err = l->page ? look_at_cpus(r, l) : -ENOMEM;
	free(l->page);
	return err;
}

/* ---- saving ---- */

/*
 * Whether the files of all ranks can be made, and the one that is being written: each name is free,
 * or of a regular file. A device, a link or a directory would be moved away. An exit status.
 */
static int flight_check_files(const struct flight *f)
{
	char name[PATH_MAX];
	struct stat st;

	if (strlen(f->asked->file) + RANK_ROOM > PATH_MAX)
		return message_error("-o %s: %s", f->asked->file, strerror(ENAMETOOLONG));
	for (unsigned int rank = 0; rank <= f->asked->keep; rank++) {
		flight_name(f, rank, name);
		if (!lstat(name, &st) && !S_ISREG(st.st_mode))
			return message_error("-o %s: %s is no regular file, as each latency gets "
					     "one", f->asked->file, name);
	}
	return COMMAND_DONE;
}

/* Whether the file of that rank is still the one that was saved: another run may have its name. */
static bool flight_is_own(const struct flight *f, unsigned int rank)
{
	const struct stat *was = &f->kept[rank].file;
	char name[PATH_MAX];
	struct stat st;

	flight_name(f, rank, name);
	return !lstat(name, &st) && st.st_dev == was->st_dev && st.st_ino == was->st_ino &&
	       st.st_size == was->st_size && st.st_mtim.tv_sec == was->st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == was->st_mtim.tv_nsec;
}

static int flight_check_own(const struct flight *f)
{
	char name[PATH_MAX];

	for (unsigned int rank = 0; rank < f->nr; rank++)
		if (!flight_is_own(f, rank)) {
			flight_name(f, rank, name);
			return message_error("%s is not the file any more that was saved: does "
					     "another run have the same -o?", name);
		}
	return COMMAND_DONE;
}

/* Files of an earlier run would look like those of this one. */
static void flight_remove_old(struct flight *f)
{
	char name[PATH_MAX];
	struct stat st;

	for (unsigned int rank = 1; !f->replaced && rank < FLIGHT_KEEP_MOST; rank++) {
		flight_name(f, rank, name);
		if (!lstat(name, &st) && S_ISREG(st.st_mode))
			unlink(name);
	}
	f->replaced = true;
}

static int flight_move(const struct flight *f, unsigned int from, unsigned int to)
{
	char from_name[PATH_MAX], to_name[PATH_MAX];

	flight_name(f, from, from_name);
	flight_name(f, to, to_name);
	return rename(from_name, to_name) ? message_error("-o %s: %s", to_name, strerror(errno))
					  : COMMAND_DONE;
}

/* The file behind the last rank, which is complete, gets this rank. An exit status. */
static int flight_insert(struct flight *f, unsigned int rank, const struct flight_kept *k)
{
	const unsigned int keep = f->asked->keep;
	char name[PATH_MAX];
	int status = flight_check_files(f);

	if (!status)
		status = flight_check_own(f);
	for (unsigned int i = f->nr < keep ? f->nr : keep - 1; !status && i > rank; i--) {
		status = flight_move(f, i - 1, i);
		if (!status)
			f->kept[i] = f->kept[i - 1];
	}
	if (!status)
		status = flight_move(f, keep, rank);
	if (status)
		return status;
	f->kept[rank] = *k;
	f->nr += f->nr < keep;
	flight_name(f, rank, name);
	if (lstat(name, &f->kept[rank].file))
		return message_error("-o %s: %s", name, strerror(errno));
	return COMMAND_DONE;
}

/*
 * Saves the records up to the end of one latency. split: where the newer part begins, the one that
 * was looked at. had: the time since which the older part is whole.
 */
static void flight_save(struct run *r, const struct look *l, struct flight_kept *k, uint64_t split,
			uint64_t had)
{
	struct flight *f = &r->flight;
	const uint64_t wanted = k->ns + f->asked->before;
	const uint64_t from = k->end > wanted ? k->end - wanted : 0;
	const uint64_t have = l->full > had ? l->full : had;
	const struct save_dat_parts parts = {
		{ !l->part.snapshot, from, split ? split - 1 : 0 },
		{ l->part.snapshot, from > split ? from : split, k->end },
	};
	char name[PATH_MAX];
	struct save_dat dat = { .file = f->asked->file, .parts = &parts, .quiet = true };
	unsigned int rank = 0;

	while (rank < f->nr && f->kept[rank].ns >= k->ns)
		rank++;
	if (rank >= f->asked->keep)
		return;
	k->lost = have > from ? (have < k->end ? have : k->end) - from : 0;
	flight_remove_old(f);
	flight_name(f, f->asked->keep, name);
	/* Its rank only when it is complete: what is kept stays if the disk is full. */
	f->failed = save_dat_open(NULL, name, &dat.out) || save_dat(r->access, &dat);
	output_close(dat.out);
	if (!f->failed && flight_insert(f, rank, k)) {
		f->failed = true;
		unlink(name);
	}
	if (f->failed)
		message_error("latencies are not saved any more");
}

static int by_length(const void *a, const void *b)
{
	const uint64_t left = ((const struct flight_kept *)a)->ns;
	const uint64_t right = ((const struct flight_kept *)b)->ns;

	return left > right ? -1 : left < right;
}

/* The limit from now on: as soon as enough are kept, only longer ones are wanted. */
static void flight_limit(struct flight *f)
{
	if (f->nr == f->asked->keep && f->kept[f->nr - 1].ns > f->limit)
		f->limit = f->kept[f->nr - 1].ns;
}

/* The longest ones first, so that none is written and then dropped. */
static void flight_save_all(struct run *r, struct look *l, uint64_t split, uint64_t had)
{
	qsort(l->found, l->nr, sizeof(l->found[0]), by_length);
	for (unsigned int i = 0; i < l->nr && !r->flight.failed; i++) {
		run_child_signals(r);
		flight_save(r, l, &l->found[i], split, had);
	}
	flight_limit(&r->flight);
}

static int trigger_write(const struct run *r, const char *text)
{
	char path[300];

	event_path(&r->flight, "trigger", path, sizeof(path));
	return access_write_all(r->access, path, O_APPEND, text, strlen(text), NULL);
}

/* Sets the trigger again, for what would be kept. */
static int flight_arm(struct run *r)
{
	struct flight *f = &r->flight;
	char text[64];
	int err = trigger_write(r, "!snapshot:1");

	snprintf(text, sizeof(text), "snapshot:1 if ns > %" PRIu64, f->limit);
	return err ? err : trigger_write(r, text);
}

static bool flight_is_taken(struct run *r)
{
	char *text = r->access ? event_text(r, "trigger") : NULL;
	const bool taken = text && strstr(text, "snapshot:count=0");

	/* If its server has died, another one goes on with the session, and with the trigger. */
	if (!text)
		run_server_again(r);
	free(text);
	return taken;
}

/*
 * What came while the snapshot was looked at, from the live rings: until there is nothing more, or
 * a few times if there is always more. From then on the trigger takes the next one.
 */
static int flight_save_live(struct run *r, struct look *l, uint64_t split)
{
	const uint64_t had = r->flight.split;
	uint64_t seen = split;
	unsigned int turns = 0;
	int err;

	do {
		*l = (struct look){ .flight = l->flight, .part = { 0, seen, UINT64_MAX } };
		err = flight_find(r, l);
		if (err)
			return err;
		flight_save_all(r, l, split, had);
		if (l->last >= seen)
			seen = l->last + 1;
	} while (l->nr && !r->flight.failed && ++turns < LIVE_TURNS);
	return 0;
}

static int flight_save_snapshot(struct run *r, struct look *l)
{
	struct flight *f = &r->flight;
	uint64_t split;
	int err;

	*l = (struct look){ .flight = f, .part = { 1, f->split, UINT64_MAX } };
	err = flight_find(r, l);
	if (err)
		return err;
	/* The thread that took it has not recorded the latency yet. */
	if (!l->nr && f->turns++ < RECORD_TURNS)
		return 0;
	f->turns = 0;
	split = l->last > f->split ? l->last + 1 : f->split;
	flight_save_all(r, l, f->split, 0);
	err = flight_save_live(r, l, split);
	f->split = split;
	return err ? err : flight_arm(r);
}

void run_flight_look(struct run *r)
{
	struct flight *f = &r->flight;
	struct look *l;
	int err;

	if (!f->asked || f->failed || !r->set_up)
		return;
	if (!flight_is_taken(r)) {
		if (!r->access)
			flight_fail(r, "the flight recorder", ECONNREFUSED);
		return;
	}
	l = malloc(sizeof(*l));
	err = l ? flight_save_snapshot(r, l) : -ENOMEM;
	free(l);
	if (err && !f->failed)
		flight_fail(r, "the flight recorder", -err);
}

/* ---- begin and end ---- */

int run_flight_begin(struct run *r)
{
	struct flight *f = &r->flight;
	struct output *out;
	char name[PATH_MAX];
	int status;

	if (!f->asked)
		return COMMAND_DONE;
	f->limit = f->asked->over;
	status = flight_check_files(f);
	for (unsigned int rank = 0; !status && rank <= f->asked->keep; rank++) {
		flight_name(f, rank, name);
		status = save_dat_open(NULL, name, &out);
		if (!status)
			output_close(out);
	}
	return status;
}

int run_flight_ms(const struct run *r)
{
	return r->flight.asked && !r->flight.failed ? LOOK_EACH_MS : -1;
}

/* How many latencies there were above the limit: the hits of the histogram with that condition. */
static unsigned long long flight_count(const struct run *r)
{
	char condition[48], *text = event_text(r, "hist");
	const char *at = text;
	unsigned long long nr = 0;

	snprintf(condition, sizeof(condition), " if ns > %" PRIu64, r->flight.asked->over);
	at = at ? strstr(at, condition) : NULL;
	at = at ? strstr(at, "Hits: ") : NULL;
	if (at)
		nr = strtoull(at + 6, NULL, 10);
	free(text);
	return nr;
}

/*
 * How many latencies are longer than the shortest one that is kept, and are not kept. By the drawn
 * histogram, so ranges that only partly are longer do not count.
 */
static unsigned long long flight_longer(const struct run *r)
{
	const struct flight *f = &r->flight;
	const uint64_t shortest = f->nr ? f->kept[f->nr - 1].ns : 0;
	static const char key[] = "\n{ ns: ", hits[] = "hitcount:";
	char *text = event_text(r, "hist"), *at = text;
	unsigned long long nr = 0, low;
	uint64_t least = UINT64_MAX;

	while (at && (at = strstr(at, key))) {
		at += sizeof(key) - 1;
		low = strtoull(at + strspn(at, "~ "), NULL, 10);
		at = strstr(at, hits);
		if (!at || low <= shortest)
			continue;
		nr += strtoull(at + sizeof(hits) - 1, NULL, 10);
		if (low < least)
			least = low;
	}
	free(text);
	for (unsigned int i = 0; i < f->nr; i++)
		if (f->kept[i].ns >= least && nr)
			nr--;
	return nr;
}

static void flight_print_missed(const struct run *r, unsigned long long all)
{
	const struct flight *f = &r->flight;
	unsigned long long nr = flight_longer(r);

	if (f->nr < f->asked->keep)
		nr = all - f->nr;
	if (nr && f->failed)
		fprintf(stderr, "tracefuse: %llu%s not saved, because saving has failed\n", nr,
			f->nr < f->asked->keep ? " were" : " longer ones were");
	else if (nr)
		fprintf(stderr, "tracefuse: %llu%s not saved, because others were being saved: a "
			"higher --over or a larger --buffer-size helps\n", nr,
			f->nr < f->asked->keep ? " were" : " longer ones were");
}

static void flight_print_kept(const struct flight *f, unsigned int rank)
{
	const struct flight_kept *k = &f->kept[rank];
	char name[PATH_MAX], took[32], lost[32];

	flight_name(f, rank, name);
	fprintf(stderr, "  %s: %s, until %" PRIu64 ".%06" PRIu64 ", thread %d", name,
		time_text(k->ns, took), k->end / 1000000000, k->end / 1000 % 1000000, k->pid);
	if (k->lost > f->asked->before)
		fprintf(stderr, "; its first %s were overwritten (--buffer-size is too small)",
			time_text(k->lost - f->asked->before, lost));
	else if (k->lost)
		fprintf(stderr, "; the first %s of the time before it were overwritten",
			time_text(k->lost, lost));
	if (!flight_is_own(f, rank))
		fputs("; the file is another one now", stderr);
	fputc('\n', stderr);
}

int run_flight_end(struct run *r)
{
	struct flight *f = &r->flight;
	unsigned long long all;
	char over[32];

	if (!f->asked)
		return COMMAND_DONE;
	run_flight_look(r);
	run_server_again(r);
	if (!r->access)
		return message_error("--over: the session is gone: how many latencies there were "
				     "is not known");
	all = flight_count(r);
	time_text(f->asked->over, over);
	if (!all && !f->nr) {
		fprintf(stderr, "tracefuse: no latency above %s: nothing was saved\n", over);
		return f->failed ? COMMAND_FAILED : COMMAND_DONE;
	}
	fprintf(stderr, "tracefuse: %llu above %s, %u saved%s\n", all, over, f->nr,
		f->nr ? ":" : "");
	for (unsigned int i = 0; i < f->nr; i++)
		flight_print_kept(f, i);
	if (all > f->nr)
		flight_print_missed(r, all);
	return f->failed ? COMMAND_FAILED : COMMAND_DONE;
}
