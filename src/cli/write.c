/* SPDX-License-Identifier: MIT */
/*
 * write.c - writes a text to a file of a session, and prints the new entries of error_log if it is
 * refused
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/client.h"
#include "cli/write.h"
#include "cli/options.h"
#include "model/text_memory.h"

/* Joins the words with blanks and adds a newline, as echo does. Without words, reads stdin. */
static char *gather(int argc, char **argv, size_t *len)
{
	char *text = NULL, buf[4096];
	FILE *out = text_memory_open(&text, len);
	size_t n;

	if (!out)
		return NULL;
	for (int i = 0; i < argc; i++)
		fprintf(out, "%s%s", argv[i], i + 1 < argc ? " " : "\n");
	while (!argc && (n = fread(buf, 1, sizeof(buf), stdin)) > 0)
		fwrite(buf, 1, n, out);
	fclose(out);
	return text;
}

/* Makes a setting of an event that does not exist yet pending. */
static bool pend_text(struct access *a, const struct command *cmd, const char *argument,
		      const char *path, int flags, const char *text, size_t len)
{
	if (access_pend(a, path, flags & O_TRUNC, text, len))
		return false;
	fprintf(stderr, "tracefuse: %s: %s: pending until a program defines the event\n", cmd->name,
		argument);
	return true;
}

static int write_one_text(struct access *a, const struct command *cmd, const char *argument,
			  int flags, const char *text, size_t len)
{
	const char *step;
	char path[1024];
	char *mark;
	int ret;

	if (!client_path(argument, path, sizeof(path)))
		return COMMAND_FAILED;
	mark = access_errors_mark(a, path);
	ret = access_write_all(a, path, flags, text, len, &step);
	if (!ret || (ret == -ENOENT && pend_text(a, cmd, argument, path, flags, text, len))) {
		free(mark);
		return COMMAND_DONE;
	}
	message_error("%s: %s: %s%s%s", cmd->name, argument, strcmp(step, "open") ? step : "",
		      strcmp(step, "open") ? " error: " : "", strerror(-ret));
	access_errors_print(a, path, mark, stderr);
	return COMMAND_FAILED;
}

int client_write(const struct command *cmd, int flags, int argc, char **argv)
{
	const char *name = NULL;
	int status = options_parse(cmd, argc, argv, &name, NULL, NULL);
	struct access *a;
	char *session, *text;
	size_t len = 0;

	if (status)
		return status;
	if (optind == argc)
		return command_usage(cmd, "which file?");
	session = client_session(cmd, name);
	a = session ? client_connect(cmd, session) : NULL;
	free(session);
	if (!a)
		return COMMAND_FAILED;
	text = gather(argc - optind - 1, argv + optind + 1, &len);
	status = text ? write_one_text(a, cmd, argv[optind], flags, text, len) :
		 message_error("out of memory");
	free(text);
	access_close(a);
	return status;
}
