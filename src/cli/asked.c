/* SPDX-License-Identifier: MIT */
/*
 * asked.c - the options that `tracefuse run` and `tracefuse replay` have in common
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "access/access.h"
#include "cli/asked.h"
#include "server/boot.h"
#include "cli/event_names.h"
#include "cli/export/export.h"
#include "host/mounts.h"
#include "model/text_memory.h"
#include "session/array.h"
#include "session/session.h"

int words_add(struct words *w, const char *word)
{
	if (array_room(&w->v, w->nr, sizeof(*w->v)))
		return -ENOMEM;
	w->v[w->nr++] = word;
	return 0;
}

void asked_free(struct asked *a)
{
	free(a->setups.v);
	free(a->cats.v);
	free(a->events.v);
	for (unsigned int i = 0; i < a->lists.nr; i++)
		free((char *)a->lists.v[i]);
	free(a->lists.v);
	free(a->boots.v);
}

char *asked_boot(const struct words *boots)
{
	const char *env = getenv("TRACEFUSE_BOOT");
	char *text = NULL;
	size_t size;
	FILE *out = (env && *env) || boots->nr ? text_memory_open(&text, &size) : NULL;

	if (!out)
		return NULL;
	fputs(env ? env : "", out);
	for (unsigned int i = 0; i < boots->nr; i++)
		fprintf(out, " %s", boots->v[i]);
	fclose(out);
	return text;
}

int asked_add_names(struct asked *a, struct words *names, const char *list)
{
	char *rest = strdup(list), *name;
	int ret = rest ? words_add(&a->lists, rest) : -ENOMEM;

	if (ret)
		free(rest);
	while (!ret && (name = strsep(&rest, ",")))
		if (*name)
			ret = words_add(names, name);
	return ret;
}

bool asked_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMG";
	const char *unit;
	char *end;

	errno = 0;
	*bytes = strtoull(text, &end, 10);
	unit = *end ? strchr(units, *end) : NULL;
	end += unit ? 1 : 0;
	for (; unit && unit >= units; unit--)
		if (__builtin_mul_overflow(*bytes, 1024, bytes))
			errno = ERANGE;
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static int buffer_size_read(struct asked *a, const struct command *cmd, const char *text)
{
	uint64_t bytes;

	if (!asked_size(text, &bytes) || !bytes || bytes > 1ull << 50)
		return command_usage(cmd, "--buffer-size %s: a size is like 512K or 16M", text);
	a->buffer_kb = (bytes + 1023) / 1024;
	return COMMAND_DONE;
}

int asked_buffer_set(const struct asked *a, struct access *access)
{
	char kb[32];
	int ret;

	if (!a->buffer_kb)
		return COMMAND_DONE;
	snprintf(kb, sizeof(kb), "%llu\n", (unsigned long long)a->buffer_kb);
	ret = access_write_all(access, "buffer_size_kb", O_TRUNC, kb, strlen(kb), NULL);
	return ret ? message_error("--buffer-size %lluK: %s", (unsigned long long)a->buffer_kb,
				   strerror(-ret))
		   : COMMAND_DONE;
}

int asked_option(struct asked *a, const struct command *cmd, int opt, char **argv)
{
	int ret = 0;

	switch (opt) {
	case ASKED_SESSION:
		a->session_name = optarg;
		break;
	case ASKED_MOUNT:
		a->mount_dir = optarg;
		break;
	case ASKED_FORCE:
		a->force = true;
		break;
	case ASKED_DRAW:
		a->draw = true;
		break;
	case ASKED_AS:
		a->hist_form = optarg;
		break;
	case ASKED_BUFFER_SIZE:
		return buffer_size_read(a, cmd, optarg);
	case ASKED_SAVE:
		a->save_dir = optarg;
		break;
	case 'o':
		a->dat_file = optarg;
		break;
	case ASKED_COMPRESS:
		a->compress = true;
		break;
	case ASKED_HIST_LEGACY:
		a->hist_legacy = true;
		break;
	case ASKED_SETUP:
		ret = words_add(&a->setups, optarg);
		break;
	case ASKED_CAT:
		ret = words_add(&a->cats, optarg);
		break;
	case ASKED_BOOT:
		ret = words_add(&a->boots, optarg);
		break;
	case 'e':
		ret = asked_add_names(a, &a->events, optarg);
		break;
	case ':':
		return command_usage(cmd, "%s needs an argument", argv[optind - 1]);
	default:
		return command_unknown_option(cmd, argv[optind - 1]);
	}
	return ret ? message_error("out of memory") : COMMAND_DONE;
}

int asked_boots_check(const struct words *boots, const struct command *cmd)
{
	char near[128], hint[160], *unknown;
	int status = COMMAND_DONE;

	for (unsigned int i = 0; !status && i < boots->nr; i++) {
		unknown = boot_unknown(boots->v[i], near, sizeof(near));
		if (!unknown)
			continue;
		event_names_hint(strcmp(near, unknown) ? near : "", hint, sizeof(hint));
		status = command_usage(cmd, "--boot: %s%s%s", unknown,
				       strcmp(near, unknown) ? ": a session has no such parameter"
							     : "= has no value",
				       hint);
		free(unknown);
	}
	return status;
}

int asked_check(const struct asked *a, const struct command *cmd)
{
	if (a->session_name && !session_name_valid(a->session_name))
		return command_usage(cmd, "'%s' can be no session's name", a->session_name);
	if (a->save_dir && !a->cats.nr)
		return command_usage(cmd, "--save DIR saves what --cat names: give --cat FILE");
	if (a->draw && (!a->cats.nr || a->save_dir))
		return command_usage(cmd, "--draw draws what --cat prints: give --cat FILE%s",
				     a->save_dir ? " without --save" : "");
	if (a->hist_form && (!a->cats.nr || a->draw || a->save_dir))
		return command_usage(cmd, "--as FORM is for what --cat prints: give --cat FILE%s",
				     a->draw ? " without --draw"
				     : a->save_dir ? " without --save" : "");
	if (a->hist_form && !hist_form_known(a->hist_form))
		return command_usage(cmd, "--as %s: there are csv, json and folded", a->hist_form);
	if (a->compress && !a->dat_file)
		return command_usage(cmd, "--compress is for -o FILE");
	if (a->force && !a->mount_dir)
		return command_usage(cmd, "--force is for --mount DIR");
	return asked_boots_check(&a->boots, cmd);
}

int asked_mount(const struct asked *a, char *out)
{
	int ret = a->mount_dir ? mounts_prepare(a->mount_dir, a->force, out) : 0;

	if (!a->mount_dir)
		*out = '\0';
	return ret ? mounts_failed(a->mount_dir, ret) : COMMAND_DONE;
}
