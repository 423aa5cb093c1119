/* SPDX-License-Identifier: MIT */
/*
 * server_make.c - a new session for running programs, served in the background
 */
#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fronts/server.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/programs.h"
#include "tracefs/tree.h"

/* Until the session ends. */
static int serve(struct session *s, struct model *m, struct tree *t, struct programs *p)
{
	struct server_params params = {
		.session = s, .model = m, .tree = t, .programs = p, .what = "running programs",
	};
	struct server *srv;
	int ret = server_create(&params, &srv);

	if (ret)
		return ret;
	server_ready();
	ret = server_run(srv);
	server_destroy(srv);
	return ret;
}

static int run_model(struct session *s, struct model *m, const struct programs_params *params)
{
	struct tree *t = tree_create(m);
	struct programs *p = NULL;
	int ret = t ? programs_create(m, t, params, &p) : -ENOMEM;

	if (!ret)
		ret = serve(s, m, t, p);
	programs_destroy(p);
	if (t)
		tree_destroy(t);
	return ret;
}

static int run_session(const char *name, const struct programs_params *params)
{
	struct session *s;
	struct model *m;
	int ret = session_create(name, NULL, &s);

	if (ret)
		return ret;
	ret = model_create(s, &m);
	if (!ret) {
		ret = run_model(s, m, params);
		model_destroy(m);
	}
	session_destroy(s);
	return ret;
}

int server_make(const char *name, const struct programs_params *params)
{
	int status, ret;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		/* This process waits for the server and then ends; the server goes on. */
		ret = server_background();
		if (!ret)
			ret = run_session(name, params);
		_exit(ret ? -ret & 127 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}
