/* SPDX-License-Identifier: MIT */
/* replay_session.c - see replay_session.h */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "access/access.h"
#include "cli/command.h"
#include "cli/replay_session.h"
#include "host/message.h"
#include "model/model.h"
#include "model/text_memory.h"
#include "session/session.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

int replay_session_open(struct replay_session *s, const struct source_params *params,
			struct source_error *err)
{
	struct session_params shape = { .nr_cpus = 1 };
	int ret = source_open(params, &s->source, err);

	if (ret)
		return ret;
	shape.nr_cpus = source_nr_cpus(s->source);
	ret = session_create(NULL, &shape, &s->session);
	if (!ret)
		ret = model_create(s->session, &s->model);
	if (!ret) {
		ret = source_import(s->source, s->model, err);
		if (ret)
			return ret;
		s->tree = tree_create(s->model);
		s->access = s->tree ? access_tree(s->tree, NULL) : NULL;
		ret = s->access ? 0 : -ENOMEM;
	}
	if (ret)
		*err = (struct source_error){ .located = false };
	if (ret)
		snprintf(err->text, sizeof(err->text), "%s", session_error(ret));
	return ret;
}

int replay_session_failed(const char *command, const struct source_error *err)
{
	char *text = NULL;
	size_t size;
	FILE *out = text_memory_open(&text, &size);

	if (out) {
		source_error_print(err, out);
		fclose(out);
	}
	message_error("%s%s%s", command ? command : "", command ? ": " : "",
		      text ? text : err->text);
	free(text);
	return COMMAND_FAILED;
}

void replay_session_destroy(struct replay_session *s)
{
	if (s->access)
		access_close(s->access);
	if (s->tree)
		tree_destroy(s->tree);
	source_close(s->source);
	if (s->model)
		model_destroy(s->model);
	if (s->session)
		session_destroy(s->session);
	*s = (struct replay_session){ 0 };
}
