/* SPDX-License-Identifier: MIT */
/* tally.c - see tally.h: cuts pieces, runs the workers that count them, and adds up their maps */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "plane/run.h"
#include "sources/recording/tally.h"

enum {
	/* Unpacked; so large that taking the next one costs nothing */
	PIECE_BYTES	= 1 << 20,
	WORKERS_MAX	= 64,
	TALLY_WRITER	= BUFFER_MAX_SETS,	/* no ring; its map has one column */
	UNPACKER_COST	= 256 << 10,
};

struct piece {
	struct stream_piece where;
	const struct stream *stream;
	unsigned int	file;
	/* The results of a piece: T3. */
	uint64_t	records, hits, lost, time;
};

struct tally {
	struct source	*src;
	struct tally_plan *plan;
	struct piece	*pieces;
	unsigned int	nr_pieces, room;
	uint64_t	taken;		/* bytes of the recording's memory */
	uint32_t	largest;	/* size of the largest chunk, unpacked or read */

	_Atomic unsigned int next;	/* next piece; T3 */
	_Atomic uint32_t ordered;	/* a worker has found a record that needs the order */
	_Atomic uint64_t records, hits, bytes;	/* the sum so far, only for progress */
	void		(*passed)(void *arg);
	void		*arg;
};

struct worker {
	struct tally	*t;
	pthread_t	thread;
	/* The session's config region with the worker's own data region */
	struct plane	plane;
	struct slot	*slot;
	struct unpacker	**unpackers;	/* by file; NULL: the file needs none */
	struct stream	part;
	struct run	run;
	struct hit	hit;
};

/* ---- pieces ---- */

static bool take_memory(struct tally *t, uint64_t bytes)
{
	if (!source_memory_take(&t->src->window.memory, bytes))
		return false;
	t->taken += bytes;
	return true;
}

static bool more_pieces(struct tally *t)
{
	const unsigned int room = t->room ? 2 * t->room : 64;
	struct piece *pieces;

	if (!take_memory(t, (room - t->room) * sizeof(*pieces)))
		return false;
	pieces = realloc(t->pieces, room * sizeof(*pieces));
	if (!pieces)
		return false;
	t->pieces = pieces;
	t->room = room;
	return true;
}

static unsigned int tally_file_of(const struct tally *t, const struct stream *s)
{
	unsigned int i = 0;

	while (t->src->window.files[i] != s->dat)
		i++;
	return i;
}

/*
 * Cuts a stream into pieces. Returns 0 or 1 like tally_run(). *chunk: the stream's largest chunk.
 */
static int cut_stream(struct tally *t, const struct stream *s, uint32_t *chunk)
{
	struct stream_piece p = { 0 };
	uint32_t largest;
	int ret;

	while ((ret = stream_piece_next(s, &p, PIECE_BYTES, &largest)) > 0) {
		if (t->nr_pieces == t->room && !more_pieces(t))
			return 1;
		t->pieces[t->nr_pieces++] =
			(struct piece){ .where = p, .stream = s, .file = tally_file_of(t, s) };
		*chunk = largest > *chunk ? largest : *chunk;
	}
	return ret < 0;
}

/*
 * The run in order needs two chunks of each stream in memory, and reports it if there is too
 * little. Then this run returns 1, so that the result does not depend on the way of running.
 */
static int cut_all(struct tally *t)
{
	const struct window *w = &t->src->window;
	uint64_t chunks = 0;
	unsigned int i;
	uint32_t chunk;

	for (i = 0; i < w->nr_streams; i++) {
		/* Its pages are converted by the run in order. */
		if (w->streams[i].dat->foreign)
			return 1;
		chunk = 0;
		if (cut_stream(t, &w->streams[i], &chunk))
			return 1;
		chunks += 2ull * chunk;
		chunk = stream_piece_room(&w->streams[i], chunk);
		t->largest = chunk > t->largest ? chunk : t->largest;
	}
	return chunks > w->memory.limit - w->memory.used;
}

/* ---- a worker ---- */

static void tally_count(struct worker *w, const struct tally_event *e,
			const struct subbuf_record *r)
{
	const struct tally_hist *h = &w->t->plan->hists[e->first], *end = h + e->nr;

	w->hit.record = r->data;
	w->hit.size = r->size;
	w->hit.time = w->run.time = r->time;
	for (; h < end; h++)
		if (!h->filter || filter_match(h->filter, &w->hit))
			hist_fold(h->code, &w->run);
}

/*
 * Counts the records of a page. False: a record needs the order. *ret: -EPROTO if the page is
 * damaged.
 */
static bool count_page(struct worker *w, struct piece *piece, int *ret)
{
	const struct tally_plan *plan = w->t->plan;
	struct subbuf page = w->part.page;
	uint64_t records = 0, hits = 0;
	struct subbuf_record r = { 0 };
	unsigned int to;

	while ((*ret = subbuf_next(&page, &r)) > 0) {
		records++;
		to = plan->of_type[r.type];
		if (to == TALLY_PASSED)
			continue;
		if (to == TALLY_ORDERED)
			return false;
		hits++;
		tally_count(w, &plan->events[to - TALLY_FIRST], &r);
	}
	piece->records += records;
	piece->hits += hits;
	if (records)
		piece->time = r.time;
	return true;
}

static struct map_view own_map(const struct worker *w, const struct tally_map *m)
{
	return map_view_of(&w->plane, m->own, &m->own_layout);
}

static bool map_lost(struct map_view own)
{
	/* Relaxed: the map is the worker's own. */
	return atomic_load_explicit(&own.data->drops, memory_order_relaxed);
}

/* A full map has lost keys. Which keys are lost depends on the order. */
static bool maps_are_full(const struct worker *w)
{
	const struct tally_plan *plan = w->t->plan;
	unsigned int i;

	for (i = 0; i < plan->nr_maps; i++)
		if (map_lost(own_map(w, &plan->maps[i])))
			return true;
	return false;
}

static bool count_piece(struct worker *w, struct piece *piece)
{
	struct source_error err;
	int ret, page;

	w->part.unpacker = w->unpackers[piece->file];
	stream_piece_open(&w->part, piece->stream, &piece->where);
	w->hit.cpu = piece->stream->cpu;
	while ((ret = stream_next_page(&w->part, &err)) > 0)
		if (!count_page(w, piece, &page) || page < 0)
			return false;
	piece->lost = w->part.lost_total;
	return !ret && !maps_are_full(w);
}

static bool is_ordered(struct tally *t)
{
	/* Relaxed: a worker that sees it late only counts some more pieces in vain. */
	return atomic_load_explicit(&t->ordered, memory_order_relaxed);
}

/* Publishes the progress. P1 of run.c: this is the stepping thread. */
static void tally_tell(struct tally *t)
{
	struct source *src = t->src;

	atomic_store_explicit(&src->records,
			      atomic_load_explicit(&t->records, memory_order_relaxed),
			      memory_order_relaxed);
	atomic_store_explicit(&src->bytes, atomic_load_explicit(&t->bytes, memory_order_relaxed),
			      memory_order_relaxed);
	if (t->passed)
		t->passed(t->arg);
}

/*
 * Counts pieces. The first worker is the caller's own thread, which publishes the progress of all.
 */
static void work(struct worker *w, bool tells)
{
	struct tally *t = w->t;
	struct piece *piece;
	unsigned int i;

	/* Relaxed, here and below: by T3, and because progress needs no order. */
	while (!is_ordered(t) &&
	       (i = atomic_fetch_add_explicit(&t->next, 1, memory_order_relaxed)) < t->nr_pieces) {
		piece = &t->pieces[i];
		if (!count_piece(w, piece)) {
			atomic_store_explicit(&t->ordered, 1, memory_order_relaxed);
			return;
		}
		atomic_fetch_add_explicit(&t->records, piece->records, memory_order_relaxed);
		atomic_fetch_add_explicit(&t->hits, piece->hits, memory_order_relaxed);
		atomic_fetch_add_explicit(&t->bytes, piece->where.end - piece->where.at,
					  memory_order_relaxed);
		if (tells)
			tally_tell(t);
	}
}

static void *work_thread(void *arg)
{
	work(arg, false);
	return NULL;
}

/* ---- workers ---- */

static uint64_t mask_of(uint64_t bytes)
{
	return bytes <= 1 ? 0 : ~0ull >> __builtin_clzll(bytes - 1);
}

static bool make_unpackers(struct worker *w)
{
	const struct window *win = &w->t->src->window;
	unsigned int i, f;

	w->unpackers = calloc(win->nr_files, sizeof(struct unpacker *));
	for (i = 0; w->unpackers && i < win->nr_streams; i++) {
		f = tally_file_of(w->t, &win->streams[i]);
		if (win->streams[i].compressed && !w->unpackers[f] &&
		    unpacker_create(win->files[f]->algorithm, &w->unpackers[f]))
			return false;
	}
	return w->unpackers;
}

static uint64_t worker_bytes(const struct tally *t)
{
	const uint64_t unpackers = (uint64_t)t->src->window.nr_files * UNPACKER_COST;

	return t->plan->bytes + t->largest + unpackers;
}

/* False: no memory for another worker. The caller calls worker_destroy() in any case. */
static bool worker_create(struct worker *w, struct tally *t)
{
	const struct plane *p = t->src->plane;
	struct stream_chunk *chunk = &w->part.chunk[0];
	void *own;

	*w = (struct worker){ .t = t };
	if (!take_memory(t, worker_bytes(t)) || !make_unpackers(w))
		return false;
	own = mmap(NULL, t->plan->bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (own == MAP_FAILED)
		return false;
	w->plane = (struct plane){
		.config = p->config, .config_size = p->config_size, .data = own,
		.data_size = t->plan->bytes, .data_mask = mask_of(t->plan->bytes),
	};
	chunk->bytes = t->largest ? malloc(t->largest) : NULL;
	chunk->room = chunk->bytes ? t->largest : 0;
	w->slot = plane_given(&w->plane, t->plan->slot);
	w->slot->scratch = t->plan->scratch;
	w->hit.writer = TALLY_WRITER;
	w->run = (struct run){ .p = &w->plane, .slot = w->slot, .h = &w->hit, .seen = &w->hit };
	return !t->largest || chunk->bytes;
}

static void worker_destroy(struct worker *w)
{
	unsigned int i;

	if (w->plane.data)
		munmap(w->plane.data, w->plane.data_size);
	stream_close(&w->part);
	for (i = 0; w->unpackers && i < w->t->src->window.nr_files; i++)
		unpacker_destroy(w->unpackers[i]);
	free(w->unpackers);
}

/* CPUs that this process may run on. */
static unsigned int usable_cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) ? 1 : (unsigned int)CPU_COUNT(&set);
}

static unsigned int workers_wanted(const struct tally *t, unsigned int threads)
{
	const unsigned int nr = threads ? threads : usable_cpus();
	const unsigned int most = nr < WORKERS_MAX ? nr : WORKERS_MAX;

	return most < t->nr_pieces ? most : t->nr_pieces ? t->nr_pieces : 1;
}

/*
 * Runs the workers. If no more threads can be made, there are fewer workers; the first needs no
 * thread. Returns their number.
 */
static unsigned int work_all(struct tally *t, struct worker *workers, unsigned int wanted)
{
	unsigned int nr, started;

	for (nr = 0; nr < wanted; nr++)
		if (!worker_create(&workers[nr], t))
			break;
	if (nr < wanted)
		worker_destroy(&workers[nr]);
	for (started = 1; started < nr; started++)
		if (pthread_create(&workers[started].thread, NULL, work_thread, &workers[started]))
			break;
	if (nr)
		work(&workers[0], true);
	while (started > 1)
		pthread_join(workers[--started].thread, NULL);
	return nr;
}

/* ---- adding up ---- */

static uint32_t nr_keys(struct map_view m)
{
	/*
	 * Relaxed: the writer is this thread, or was joined. With one writer, `pool` is the number
	 * of keys.
	 */
	return (uint32_t)atomic_load_explicit(&m.data->pool, memory_order_relaxed);
}

static void add_map(struct map_view to, const struct slot *slot, struct map_view from,
		    uint64_t raised)
{
	uint32_t elt, sum, at;

	for (elt = 1; elt <= nr_keys(from); elt++) {
		at = map_insert(to, slot, map_elt(from, elt));
		for (sum = 0; at && sum < from.layout->nr_sums; sum++)
			if (raised >> sum & 1)
				map_raise(to, at, sum, *map_sum(from, 0, elt, sum));
			else
				map_add(to, at, sum, *map_sum(from, 0, elt, sum), TALLY_WRITER);
	}
}

static void add_worker(struct worker *to, const struct worker *from)
{
	const struct tally_plan *plan = to->t->plan;
	unsigned int i;

	for (i = 0; i < plan->nr_maps; i++)
		add_map(own_map(to, &plan->maps[i]), to->slot, own_map(from, &plan->maps[i]),
			plan->maps[i].raised);
}

static struct map_view real_map(const struct tally *t, const struct tally_map *m)
{
	return map_view_of(t->src->plane, m->real, m->layout);
}

/* Whether the session's map has room for all keys that are new to it. */
static bool tally_fits(struct map_view real, struct map_view own)
{
	uint32_t nr = 0, i;

	for (i = 0; i <= real.layout->entry_mask; i++)
		/* Relaxed: as in nr_keys(). */
		nr += atomic_load_explicit(map_entry(real, i), memory_order_relaxed) != 0;
	for (i = 1; i <= nr_keys(own); i++)
		nr += !map_find(real, map_elt(own, i));
	return nr <= real.layout->max_elts;
}

/* Adds the maps to the session's. False: a map would be full; then nothing is changed. */
static bool add_to_session(struct tally *t, const struct worker *all)
{
	const struct tally_plan *plan = t->plan;
	unsigned int i;

	for (i = 0; i < plan->nr_maps; i++)
		if (!tally_fits(real_map(t, &plan->maps[i]), own_map(all, &plan->maps[i])))
			return false;
	for (i = 0; i < plan->nr_maps; i++)
		add_map(real_map(t, &plan->maps[i]), t->src->slot, own_map(all, &plan->maps[i]),
			plan->maps[i].raised);
	return true;
}

static bool files_were_cut(const struct tally *t)
{
	struct source_error err;
	unsigned int i;

	for (i = 0; i < t->src->window.nr_files; i++)
		if (trace_dat_cut(t->src->window.files[i], &err))
			return true;
	return false;
}

static bool put_together(struct tally *t, struct worker *workers, unsigned int nr)
{
	unsigned int i;

	if (!nr || is_ordered(t) || files_were_cut(t))
		return false;
	for (i = 1; i < nr; i++)
		add_worker(&workers[0], &workers[i]);
	return !maps_are_full(&workers[0]) && add_to_session(t, &workers[0]);
}

/* Moves the window to behind its last record. */
static void tally_finish(struct tally *t)
{
	struct window *w = &t->src->window;
	uint64_t hits = 0, records = 0, time = 0;
	const struct piece *p;
	unsigned int i;

	for (i = 0; i < w->nr_streams; i++)
		stream_finish(&w->streams[i]);
	for (size_t k = 0; k < t->nr_pieces; k++) {
		p = &t->pieces[k];
		w->streams[p->stream - w->streams].lost_total += p->lost;
		records += p->records;
		hits += p->hits;
		time = p->time > time ? p->time : time;
	}
	w->nr_live = 0;
	source_passed(t->src, records, hits, time);
}

static int run_workers(struct tally *t, unsigned int threads)
{
	const unsigned int wanted = workers_wanted(t, threads);
	struct worker *workers = calloc(wanted, sizeof(*workers));
	unsigned int nr = workers ? work_all(t, workers, wanted) : 0, i;
	bool done = put_together(t, workers, nr);

	for (i = 0; i < nr; i++)
		worker_destroy(&workers[i]);
	free(workers);
	return !done;
}

int tally_run(struct source *src, unsigned int threads, void (*passed)(void *arg), void *arg)
{
	struct tally t = { .src = src, .passed = passed, .arg = arg };
	int ret = tally_plan_make(src, &t.plan);

	if (!ret)
		ret = cut_all(&t) || run_workers(&t, threads);
	/* Relaxed: P1 of run.c. If the count was in vain, the run in order begins at 0. */
	atomic_store_explicit(&src->records, 0, memory_order_relaxed);
	if (!ret)
		tally_finish(&t);
	source_memory_give(&src->window.memory, t.taken);
	free(t.pieces);
	tally_plan_free(t.plan);
	return ret != 0;
}
