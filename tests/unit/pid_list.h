/* SPDX-License-Identifier: MIT */
/*
 * pid_list.h - set_ftrace_pid of the top instance, with function-fork
 */
#ifndef TRACEFUSE_TESTS_PID_LIST_H
#define TRACEFUSE_TESTS_PID_LIST_H

#include "plane/plane.h"
#include "session/session.h"

static struct pid_set *listed;

/* Makes a list with only this task. */
static inline void list_only(struct session *session, pid_t pid)
{
	struct instance_state *inst = plane_instance(session_plane(session), 0);
	data_ref ref = session_data_alloc(session, sizeof(*listed));

	listed = session_data(session, ref, sizeof(*listed));
	assert_non_null(listed);
	listed->bits[pid / 64] = 1ull << (pid % 64);
	session_instance_use(session, 0, true);
	inst->flags = INSTANCE_FUNCTION_FORK;
	session_pids_publish(session, 0, 2, ref);
	session_pids_follow(session, 0, 1u << 2 | 1u << 3);
	session_follow(session, true);
}

static inline bool is_listed(pid_t pid)
{
	return __atomic_load_n(&listed->bits[pid / 64], __ATOMIC_RELAXED) >> (pid % 64) & 1;
}

#endif
