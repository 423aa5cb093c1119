/* SPDX-License-Identifier: MIT */
/*
 * fixture.h - a session of programs with its model, tree and source; the test itself decides when
 * to serve
 */
#ifndef TRACEFUSE_TESTS_SOURCES_FIXTURE_H
#define TRACEFUSE_TESTS_SOURCES_FIXTURE_H

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "layout/attach_wire.h"
#include "model/model.h"
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

static struct session *session;
static struct model *model;
static struct tree *tree;
static struct programs *programs;
static int conn = -1;		/* connection of the program that the test plays */

static int fixture_make(const char *name, const struct programs_params *params)
{
	static const struct session_params small = {
		.nr_cpus = 2, .nr_slots = 32, .memory = 256 << 20 };

	if (session_create(name, &small, &session) || model_create(session, &model))
		return -1;
	tree = tree_create(model);
	return tree ? programs_create(model, tree, params, &programs) : -1;
}

static void fixture_close(bool destroy)
{
	if (conn >= 0)
		close(conn);
	conn = -1;
	programs_destroy(programs);
	programs = NULL;
	tree_destroy(tree);
	model_destroy(model);
	if (destroy)
		session_destroy(session);
	else
		session_close(session);
}

static inline int tear_down(void **state)
{
	fixture_close(true);
	return 0;
}

static inline struct program_tables *tables(void)
{
	return session_data(session, session_header(session)->programs,
			    sizeof(struct program_tables));
}

static inline void serve(void)
{
	struct pollfd p = { .fd = attach_fd(session), .events = POLLIN };

	poll(&p, 1, 1000);
	attach_serve(session);
}

/* attach_request.program of the test */
static inline uint64_t own_program(void)
{
	struct stat st;

	assert_int_equal(fstatat(AT_FDCWD, "/proc/self/exe", &st, 0), 0);
	return attach_file_key(st.st_dev, st.st_ino, (uint64_t)st.st_size,
			       (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec);
}

/* Connects. Call it once for each program that the test plays. */
static inline void dial(void)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };

	if (conn >= 0)
		return;
	conn = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/attach", session_dir(session));
	assert_int_equal(connect(conn, (struct sockaddr *)&addr, sizeof(addr)), 0);
	serve();
}

#endif
