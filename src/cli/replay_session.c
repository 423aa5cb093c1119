/* SPDX-License-Identifier: MIT */
/* replay_session.c - see replay_session.h */

#include "access/access.h"
#include "cli/replay_session.h"
#include "model/model.h"
#include "session/session.h"
#include "sources/recording/source.h"
#include "tracefs/tree.h"

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
