/* SPDX-License-Identifier: MIT */
/*
 * serve.h - a session whose server is a thread of the test
 *
 *     serve_start("s", &params) ... attach_open("s", &a) ... serve_stop()        session stays
 */
#ifndef TRACEFUSE_TESTS_SERVE_H
#define TRACEFUSE_TESTS_SERVE_H

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>
#include "session/attach/attach.h"
#include "session/session.h"

static struct session *session;
static pthread_t server;
static _Atomic int stop;
/* For a test that asks the server's own books: they are not for two threads at once. */
static pthread_mutex_t serving = PTHREAD_MUTEX_INITIALIZER;

static void *serve(void *arg)
{
	while (!stop) {
		pthread_mutex_lock(&serving);
		attach_serve(session);
		pthread_mutex_unlock(&serving);
		usleep(500);
	}
	return NULL;
}

/* name NULL: a session without a name. Returns 0 or -1. */
static inline int serve_start(const char *name, const struct session_params *params)
{
	stop = 0;
	return session_create(name, params, &session) || pthread_create(&server, NULL, serve, NULL)
		       ? -1
		       : 0;
}

/* May be called more than once. */
static inline void serve_stop(void)
{
	if (!stop) {
		stop = 1;
		pthread_join(server, NULL);
	}
}

#endif
