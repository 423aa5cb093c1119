/* SPDX-License-Identifier: MIT */
/* session.c - the session of the web server, which may end and come again; see web.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/socket.h"
#include "access/wire.h"
#include "cli/client.h"
#include "cli/web/web.h"

static bool is_alive(struct web *w)
{
	if (access_request(w->access, WIRE_STAT, "", -1, NULL) != -EPIPE)
		return true;
	access_close(w->access);
	w->access = NULL;
	return false;
}

int web_reach(struct web *w)
{
	int ret = w->access && is_alive(w) ? 0 : client_reach(w->session, &w->access);

	if (ret)
		w->access = NULL;
	if (ret && !w->lost)
		message_error("web: session %s: %s", w->session,
			      ret == -ENOENT ? "it has ended" : strerror(-ret));
	else if (!ret && w->lost)
		message_error("web: session %s: it is there again", w->session);
	w->lost = ret;
	return ret;
}

int web_read_json(struct web *w, const char *path, json_t **out)
{
	char *text;
	size_t len;
	int ret = access_read_all(w->access, path, &text, &len);

	if (ret)
		return ret;
	*out = json_loadb(text, len, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
	free(text);
	return *out ? 0 : -ENOMEM;
}

static int each_of_file(struct web *w, const char *path,
			int (*fn)(void *arg, const char *path, size_t nr, const json_t *hist),
			void *arg)
{
	json_t *all, *hist;
	int ret = web_read_json(w, path, &all);
	size_t i;

	/* It was removed meanwhile. */
	if (ret == -ENOENT || ret == -ENODEV)
		return 0;
	if (ret)
		return ret;
	json_array_foreach(all, i, hist) {
		ret = fn(arg, path, i, hist);
		if (ret)
			break;
	}
	json_decref(all);
	return ret;
}

int web_each_hist(struct web *w, int (*fn)(void *arg, const char *path, size_t nr,
					   const json_t *hist), void *arg)
{
	char *text = NULL, *rest, *line;
	int ret = access_request(w->access, WIRE_HISTS, "", -1, &text);

	rest = text;
	while (!ret && (line = strsep(&rest, "\n")))
		if (*line)
			ret = each_of_file(w, line, fn, arg);
	free(text);
	return ret;
}
