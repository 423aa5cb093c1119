/* SPDX-License-Identifier: MIT */
/* stop.c - the place where a run stops: "SYSTEM:EVENT if FILTER" */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plane/code.h"
#include "model/errlog.h"
#include "sources/recording/source_state.h"

void source_stop_clear(struct source *src)
{
	if (src->stop_code)
		session_config_free(src->model->session, src->stop_code, src->stop_size);
	if (src->stop_filter)
		filter_destroy(src->stop_filter);
	src->stop_event = NULL;
	src->stop_filter = NULL;
	src->stop_code = 0;
	src->stop_size = 0;
	src->stop_reached = false;
}

/* Splits "SYSTEM:EVENT if FILTER" in place. */
static int stop_split(char *text, char **system, char **event, char **cond)
{
	*system = text + strspn(text, " \t");
	*event = strchr(*system, ':');
	if (!*event)
		return -EINVAL;
	*(*event)++ = 0;
	*cond = *event + strcspn(*event, " \t");
	if (**cond)
		*(*cond)++ = 0;
	*cond += strspn(*cond, " \t");
	if (!**cond) {
		*cond = NULL;
		return 0;
	}
	if (strncmp(*cond, "if", 2) || !strchr(" \t(", (*cond)[2]))
		return -EINVAL;
	*cond += 2;
	*cond += strspn(*cond, " \t");
	return 0;
}

static int set_filter(struct source *src, const char *cond, struct source_error *err)
{
	const char *text;
	int ret;

	ret = filter_parse(src->stop_event, cond, NULL, &src->stop_filter);
	if (!ret)
		ret = filter_compile(src->model, src->stop_filter, &src->stop_code,
				     &src->stop_size);
	if (!ret)
		return 0;
	text = src->stop_filter ? filter_text(src->stop_filter) : cond;
	error_set(err, ret, "", "bad filter: %s", text);
	return ret == -ENOMEM ? ret : -EINVAL;
}

int source_stop_at(struct source *src, const char *text, struct source_error *err)
{
	char *system, *event, *cond, *copy;
	int ret;

	source_stop_clear(src);
	if (!text)
		return 0;
	copy = strdup(text);
	if (!copy)
		return error_set(err, -ENOMEM, "", "out of memory");
	ret = stop_split(copy, &system, &event, &cond);
	if (ret) {
		error_set(err, ret, "", "\"%s\" is not SYSTEM:EVENT or SYSTEM:EVENT if FILTER",
			  text);
		goto out_free;
	}
	src->stop_event = model_find_event(src->model, system, event);
	if (!src->stop_event) {
		ret = error_set(err, -ENOENT, "", "the recording has no event %s:%s", system,
				event);
		goto out_free;
	}
	ret = cond ? set_filter(src, cond, err) : 0;
	if (ret)
		source_stop_clear(src);
out_free:
	free(copy);
	return ret;
}

bool source_stops_before(struct source *src, const struct subbuf_record *r, const struct hit *h)
{
	if (src->stop_reached || !src->stop_event || src->stop_event->id != r->type)
		return false;
	if (!src->stop_filter)
		return true;
	return filter_match(plane_config(src->plane, src->stop_code), h);
}
