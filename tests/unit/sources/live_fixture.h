/* SPDX-License-Identifier: MIT */
/*
 * live_fixture.h - a folder in memory that stands for the tracefs, and for the instance in it
 */
#ifndef TRACEFUSE_TESTS_LIVE_FIXTURE_H
#define TRACEFUSE_TESTS_LIVE_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "../session/temp_place.h"
#include "session/session.h"
#include "sources/live/state.h"

struct fixture {
	struct session	*session;
	struct model	*model;
	struct live	*live;
	char		dir[128];
};

static inline void put(const struct fixture *f, const char *path, const char *text, size_t len)
{
	char whole[512], *slash;
	int fd;

	snprintf(whole, sizeof(whole), "%s/%s", f->dir, path);
	slash = whole + strlen(f->dir);
	while ((slash = strchr(slash + 1, '/'))) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	close(fd);
}

static inline int set_up(void **state)
{
	static const struct session_params small = { .nr_cpus = 2, .nr_slots = 32,
						    .memory = 256 << 20 };
	struct fixture *f = calloc(1, sizeof(*f));

	snprintf(f->dir, sizeof(f->dir), "%s/fake", temp_place_dir);
	assert_int_equal(mkdir(f->dir, 0700), 0);
	assert_int_equal(session_create(NULL, &small, &f->session), 0);
	assert_int_equal(model_create(f->session, &f->model), 0);
	f->live = calloc(1, sizeof(*f->live));
	f->live->model = f->model;
	f->live->wake = -1;
	f->live->kernel.dir = f->live->kernel.calls = f->live->kernel.names = -1;
	f->live->clock.files[LIVE_EVENTS] = f->live->clock.files[LIVE_CALLS] = -1;
	f->live->kernel.top = open(f->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	f->live->kernel.dir = dup(f->live->kernel.top);
	pthread_mutex_init(&f->live->lock, NULL);
	assert_int_equal(live_names_create(f->live), 0);
	assert_int_equal(live_book_begin(f->live), 0);
	*state = f;
	return 0;
}

static inline int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static inline int tear_down(void **state)
{
	struct fixture *f = *state;

	live_names_destroy(f->live);
	close(f->live->kernel.top);
	close(f->live->kernel.dir);
	for (uint32_t id = 0; id < LAYOUT_OWN_IDS; id++)
		free(f->live->filters[id]);
	free(f->live);
	model_destroy(f->model);
	session_destroy(f->session);
	nftw(f->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(f);
	return 0;
}

static inline void text_is(const struct fixture *f, const char *path, const char *wanted)
{
	size_t len;
	char *text = kernel_read(f->live->kernel.dir, path, &len);

	assert_non_null(text);
	assert_string_equal(text, wanted);
	free(text);
}

#endif
