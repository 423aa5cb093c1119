/* SPDX-License-Identifier: MIT */
/*
 * server_reopen.c - a new server for a session whose server died (R4)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fronts/access.h"
#include "fronts/command.h"
#include "fronts/server.h"
#include "model/model.h"
#include "session/session.h"
#include "tracefs/tree.h"

/* Gives one kept command again. */
struct restoring {
	struct model	*model;
	struct access	*access;
};

static int write_again(void *arg, const char *path, const char *text)
{
	struct restoring *r = arg;
	struct access *a = r->access;
	const char *name = path + strlen("instances/");

	if (!strcmp(path, SERVER_HIST_LEGACY)) {
		r->model->hist_legacy = true;
		return 0;
	}
	if (!strncmp(path, "instances/", 10) && !strchr(name, '/'))
		return a->ops->mkdir(a, path);
	return access_write_all(a, path, O_APPEND, text, strlen(text), NULL);
}

static int restore(struct model *m, struct tree *t)
{
	struct restoring r = { m, access_tree(t, NULL) };
	int ret = r.access ? model_reopen(m, write_again, &r) : -ENOMEM;

	access_close(r.access);
	return ret;
}

static int serve(struct session *s, struct model *m, struct tree *t)
{
	struct server_params params = { .session = s, .model = m, .tree = t, .what = "re-opened" };
	struct server *srv;
	int ret = restore(m, t);

	if (!ret)
		ret = server_create(&params, &srv);
	if (ret)
		return ret;
	server_ready();
	ret = server_run(srv);
	server_destroy(srv);
	return ret;
}

/* In the server's process; returns when the session ends. */
static int run_server(const char *name)
{
	struct session *s;
	struct model *m;
	struct tree *t;
	int ret = session_open(name, &s);

	if (ret)
		return ret;
	ret = model_create(s, &m);
	if (!ret) {
		t = tree_create(m);
		ret = t ? serve(s, m, t) : -ENOMEM;
		if (t)
			tree_destroy(t);
		model_destroy(m);
	}
	if (ret)
		session_close(s);
	else
		session_destroy(s);
	return ret;
}

int server_reopen(const char *name)
{
	int status, ret;
	pid_t child = fork();

	if (child < 0)
		return -errno;
	if (!child) {
		/* This process waits for the server and then ends; the server goes on. */
		ret = server_background();
		if (!ret)
			ret = run_server(name);
		_exit(ret ? -ret & 127 : 0);
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}
