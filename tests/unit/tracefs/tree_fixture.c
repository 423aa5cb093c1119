/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <unistd.h>

#include "../format_text.h"
#include "model/event/file.h"
#include "session/session.h"
#include "tree_fixture.h"

#define PID FIELD("int pid", 8, 4, 1) "\nprint fmt: \"pid=%d\", REC->pid\n"

static const struct {
	const char *system, *format;
} events[] = {
	{ "test", "name: first\nID: 100\n" COMMON PID },
	{ "test", "name: second\nID: 101\n" COMMON PID },
	{ "ftrace", "name: print\nID: 5\n" COMMON
	  FIELD("unsigned long ip", 8, 8, 0)
	  FIELD("char buf[]", 16, 0, 0)
	  "\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n" },
	{ "ftrace", "name: raw_data\nID: 18\n" COMMON
	  FIELD("unsigned int id", 8, 4, 0)
	  FIELD("char buf[]", 12, 0, 0)
	  "\nprint fmt: \"id:%04x %08x\", REC->id, (int)REC->buf[0]\n" },
};

int fixture_setup(void **state)
{
	struct session_params params = { .nr_cpus = 2, .nr_slots = 8, .memory = 256 << 20 };
	struct fixture *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	snprintf(w->name, sizeof(w->name), "tree-test-%d", (int)getpid());
	session_remove_stale(w->name);
	assert_int_equal(session_create(w->name, &params, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		assert_int_equal(model_add_event(w->model, events[i].system, events[i].format,
						 strlen(events[i].format), NULL), 0);
	assert_int_equal(model_arm_internal(w->model, w->model->top), 0);
	w->tree = tree_create(w->model);
	assert_non_null(w->tree);
	*state = w;
	return 0;
}

int fixture_teardown(void **state)
{
	struct fixture *w = *state;

	tree_destroy(w->tree);
	model_destroy(w->model);
	session_destroy(w->session);
	free(w);
	return 0;
}

static int write_again(void *arg, const char *path, const char *text)
{
	const char *name = path + strlen("instances/");
	ssize_t n;

	if (!strncmp(path, "instances/", 10) && !strchr(name, '/'))
		return tree_mkdir(((struct fixture *)arg)->tree, path);
	n = fixture_append(arg, path, text);
	return n < 0 ? (int)n : 0;
}

void fixture_server_dies(struct fixture *w)
{
	tree_destroy(w->tree);
	model_destroy(w->model);
	session_close(w->session);
	assert_int_equal(session_open(w->name, &w->session), 0);
	assert_int_equal(model_create(w->session, &w->model), 0);
	w->tree = tree_create(w->model);
	assert_non_null(w->tree);
}

int fixture_restore(struct fixture *w)
{
	return model_restore(w->model, write_again, w);
}

void fixture_new_server(struct fixture *w)
{
	fixture_server_dies(w);
	assert_int_equal(fixture_restore(w), 0);
}

static ssize_t write_with(struct fixture *w, const char *path, const char *text, int flags)
{
	struct tree_file *f;
	ssize_t n;
	int err = tree_open(w->tree, path, O_WRONLY | flags, &f);

	if (err)
		return err;
	n = *text ? tree_write(f, text, strlen(text)) : 0;
	err = tree_release(f);
	return err ? err : n;
}

ssize_t fixture_write(struct fixture *w, const char *path, const char *text)
{
	return write_with(w, path, text, O_TRUNC);
}

ssize_t fixture_append(struct fixture *w, const char *path, const char *text)
{
	return write_with(w, path, text, O_APPEND);
}

char *fixture_read(struct fixture *w, const char *path)
{
	char *text = NULL, chunk[500];
	struct tree_file *f;
	size_t len = 0;
	FILE *out;
	ssize_t n;

	if (tree_open(w->tree, path, O_RDONLY | O_NONBLOCK, &f))
		return NULL;
	out = open_memstream(&text, &len);
	assert_non_null(out);
	for (off_t off = 0; (n = tree_read(f, chunk, sizeof(chunk), off)) > 0; off += n)
		fwrite(chunk, 1, (size_t)n, out);
	fclose(out);
	tree_release(f);
	if (n < 0 && n != -EAGAIN) {
		free(text);
		return NULL;
	}
	return text;
}
