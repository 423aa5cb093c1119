/* SPDX-License-Identifier: MIT */
/*
 * own_server.h - a session whose server is a thread of the test that attaches to it
 */
#ifndef TRACEFUSE_TESTS_OWN_SERVER_H
#define TRACEFUSE_TESTS_OWN_SERVER_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>
#include "plane/ring.h"
#include "session/attach.h"
#include "session/session.h"

static struct session *session;
static pthread_t server;
static _Atomic int stop;

/* Of pthread_create(): until stop is set. */
static void *serve(void *arg)
{
	while (!stop) {
		attach_serve(session);
		usleep(500);
	}
	return NULL;
}

static inline data_ref buffer_new(uint64_t bytes_a_cpu)
{
	uint32_t nr_cpus = session_header(session)->nr_cpus;
	uint64_t bytes[LAYOUT_MAX_CPUS];
	data_ref out;

	for (uint32_t i = 0; i < nr_cpus; i++)
		bytes[i] = bytes_a_cpu;
	assert_int_equal(buffer_create(session, 0, nr_cpus, 4096, bytes, 1, true, &out), 0);
	return out;
}

#endif
