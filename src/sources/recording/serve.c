/* SPDX-License-Identifier: MIT */
/*
 * serve.c - a thread that runs a recording in a server, and its control file `replay`
 *
 *     write "start"       running = true          thread:  while running: step a batch, with
 *           "stop"        running = false                  `state` locked; else wait for `wake`
 *           "rewind"      to the first record
 *           "position N"  seek, by the thread
 *
 * The thread never takes the control lock. A writer of the file holds that lock, and waits for the
 * thread for at most one batch.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "sources/recording/source_state.h"
#include "tracefs/tree.h"

enum { SERVE_BATCH = 4096 };

struct source_server {
	pthread_t	thread;
	pthread_mutex_t	state;		/* held while stepping */
	pthread_cond_t	wake;
	_Atomic uint32_t waiting;	/* how many want `state`: the thread lets them go first */
	bool		running;
	bool		ending;
	bool		seeking;
	uint64_t	target;
};

static void serve_enter(struct source_server *srv)
{
	/* Relaxed: only a hint that makes the thread pause; the mutex orders everything. */
	atomic_fetch_add_explicit(&srv->waiting, 1, memory_order_relaxed);
	pthread_mutex_lock(&srv->state);
	atomic_fetch_sub_explicit(&srv->waiting, 1, memory_order_relaxed);
}

static void serve_leave(struct source_server *srv)
{
	pthread_cond_signal(&srv->wake);
	pthread_mutex_unlock(&srv->state);
}

static void seek_some(struct source *src, struct source_server *srv)
{
	uint64_t here = src->started ? src->records : 0;
	uint64_t next = srv->target;
	int ret;

	if (next < here) {
		source_rewind(src);
		here = 0;
	}
	if (here < next && next - here > SERVE_BATCH)
		next = here + SERVE_BATCH;
	ret = source_seek(src, next);
	if (ret < 0 || src->end || next == srv->target)
		srv->seeking = false;
}

static void run_some(struct source *src, struct source_server *srv)
{
	int ret = source_step(src, SERVE_BATCH);

	if (ret != 1)
		srv->running = false;
}

static void *serve_thread(void *arg)
{
	struct source *src = arg;
	struct source_server *srv = src->server;

	pthread_mutex_lock(&srv->state);
	while (!srv->ending) {
		if (srv->seeking)
			seek_some(src, srv);
		else if (srv->running)
			run_some(src, srv);
		else
			pthread_cond_wait(&srv->wake, &srv->state);
		/* Relaxed: a hint, see serve_enter(). */
		if (atomic_load_explicit(&srv->waiting, memory_order_relaxed)) {
			pthread_mutex_unlock(&srv->state);
			sched_yield();
			pthread_mutex_lock(&srv->state);
		}
	}
	pthread_mutex_unlock(&srv->state);
	return NULL;
}

static const char *state_name(const struct source_server *srv)
{
	if (srv->seeking)
		return "seeking";
	return srv->running ? "running" : "stopped";
}

static int print_control(void *arg, void *file_stream)
{
	struct source *src = arg;
	struct source_position pos;
	FILE *out = file_stream;
	const struct source_error *damage;

	serve_enter(src->server);
	source_position(src, &pos);
	fprintf(out, "state: %s\n", state_name(src->server));
	fprintf(out, "position: %" PRIu64 "\n", pos.records);
	fprintf(out, "time: %" PRIu64 ".%09" PRIu64 "\n", pos.time / 1000000000,
		pos.time % 1000000000);
	fprintf(out, "end: %s\n", pos.end ? "yes" : "no");
	damage = source_damage(src);
	if (damage) {
		fputs("damage: ", out);
		source_error_print(damage, out);
		fputc('\n', out);
	}
	if (src->names.forgot)
		fputs("names: some are older ones, or missing: " SOURCE_MEMORY_TEXT "\n", out);
	serve_leave(src->server);
	return 0;
}

static int parse_position(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno || *end ? -EINVAL : 0;
}

static int command(struct source *src, struct source_server *srv, const char *word)
{
	uint64_t target;
	int ret;

	if (!strcmp(word, "start")) {
		ret = model_source_rings(src->model);
		if (ret)
			return ret;
		srv->running = true;
	} else if (!strcmp(word, "stop")) {
		srv->running = false;
		srv->seeking = false;
	} else if (!strcmp(word, "rewind")) {
		srv->seeking = false;
		source_rewind(src);
	} else if (!strncmp(word, "position ", 9) && !parse_position(word + 9, &target)) {
		srv->target = target;
		srv->seeking = true;
	} else {
		return -EINVAL;
	}
	return 0;
}

static ssize_t write_control(void *arg, const char *text, size_t len)
{
	struct source *src = arg;
	char word[64];
	size_t n = len;
	int ret;

	while (n && strchr(" \t\n", text[n - 1]))
		n--;
	if (n >= sizeof(word))
		return -EINVAL;
	memcpy(word, text, n);
	word[n] = 0;
	serve_enter(src->server);
	ret = command(src, src->server, word);
	serve_leave(src->server);
	return ret ? ret : (ssize_t)len;
}

int source_serve(struct source *src, struct tree *tree, pthread_mutex_t *lock)
{
	struct tree_extra extra = {
		.name = "replay", .mode = 0640, .print = print_control, .write = write_control,
		.arg = src,
	};
	struct source_server *srv = calloc(1, sizeof(*srv));
	int ret;

	if (!srv)
		return -ENOMEM;
	pthread_mutex_init(&srv->state, NULL);
	pthread_cond_init(&srv->wake, NULL);
	src->server = srv;
	pthread_mutex_lock(lock);
	ret = tree_add_extra(tree, &extra);
	pthread_mutex_unlock(lock);
	if (!ret)
		ret = -pthread_create(&srv->thread, NULL, serve_thread, src);
	if (ret) {
		src->server = NULL;
		free(srv);
	}
	return ret;
}

void source_serve_end(struct source *src)
{
	struct source_server *srv = src->server;

	if (!srv)
		return;
	serve_enter(srv);
	srv->ending = true;
	serve_leave(srv);
	pthread_join(srv->thread, NULL);
	pthread_cond_destroy(&srv->wake);
	pthread_mutex_destroy(&srv->state);
	src->server = NULL;
	free(srv);
}
