/* SPDX-License-Identifier: MIT */
/*
 * request.c - carries out the requests on the control socket
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/state.h"
#include "model/dynamic/place.h"
#include "model/event/file.h"
#include "model/ftrace/profile.h"
#include "model/hist/hist.h"
#include "model/model.h"
#include "model/text_memory.h"
#include "session/array.h"
#include "session/attach/attach.h"
#include "session/cgroup.h"
#include "session/session.h"
#include "sources/live/live.h"
#include "sources/program/programs.h"
#include "tracefs/tree.h"

enum { MAX_HANDLES = 4096 };

static int new_handle(struct client *c)
{
	uint32_t i;

	for (i = 0; i < c->nr_files; i++)
		if (!c->files[i].file)
			return (int)i;
	if (i == MAX_HANDLES)
		return -EMFILE;
	if (array_room(&c->files, i, sizeof(*c->files)))
		return -ENOMEM;
	c->files[i] = (struct client_file){ 0 };
	c->nr_files = i + 1;
	return (int)i;
}

static int request_open(struct server *srv, struct client *c, const char *path, int flags)
{
	int handle = new_handle(c);
	int ret = handle;

	flags &= O_ACCMODE | O_TRUNC | O_APPEND | O_NONBLOCK;
	if (handle >= 0) {
		ret = tree_open(srv->tree, path, flags, &c->files[handle].file);
		c->files[handle].flags = flags;
	}
	if (ret < 0 && handle >= 0)
		c->files[handle].file = NULL;
	return ret < 0 ? ret : handle;
}

/* False: there is nothing to read yet. */
static bool request_read(struct client *c, const struct wire_request *rq)
{
	struct client_file *f = &c->files[rq->handle];
	size_t size = rq->flags < WIRE_MAX ? rq->flags : WIRE_MAX;
	char *buf = malloc(size + 1);
	ssize_t ret = buf ? tree_read(f->file, buf, size, (off_t)rq->offset) : -ENOMEM;
	bool wait = ret == -EINPROGRESS || (ret == -EAGAIN && !(f->flags & O_NONBLOCK));

	if (!wait)
		client_answer(c, (int)ret, buf, ret > 0 ? (size_t)ret : 0);
	free(buf);
	return !wait;
}

static int list_name(void *arg, const char *name, bool is_dir)
{
	fputc(is_dir ? 'd' : 'f', arg);
	fputs(name, arg);
	fputc('\0', arg);
	return 0;
}

/* A name may contain any character. A newline would begin another line here. */
static void request_print_name(pid_t pid, FILE *out)
{
	char path[64], name[64] = "";
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	in = fopen(path, "re");
	if (in && fgets(name, sizeof(name), in))
		name[strcspn(name, "\n")] = '\0';
	if (in)
		fclose(in);
	fputs(*name ? name : "?", out);
}

static void print_process(void *arg, pid_t pid, unsigned int slots)
{
	fprintf(arg, "attached %d %u ", (int)pid, slots);
	request_print_name(pid, arg);
	fputc('\n', arg);
}

static void print_quiet(void *arg, pid_t pid)
{
	fprintf(arg, "quiet %d ", (int)pid);
	request_print_name(pid, arg);
	fputc('\n', arg);
}

/* Which limit was reached, and what is smaller than usual because of one. */
static void print_room(struct server *srv, FILE *out)
{
	const uint64_t buffer = session_header(srv->session)->ring_room;
	struct session_room room;

	session_room(srv->session, &room);
	if (room.full)
		fprintf(out,
			"lost the session's memory was full: the tmpfs of %s has %" PRIu64
			" MB; %" PRIu64
			" MB are free now. Make it larger (in a container: --shm-size=1g), set "
			"XDG_RUNTIME_DIR to a larger one, or buffer_size_kb smaller\n",
			session_dir(srv->session), room.total >> 20, room.free >> 20);
	else if (room.used_up)
		fputs("lost the session's addresses were used up: its buffers and histograms are "
		      "too large together\n",
		      out);
	if (cgroup_memory() < room.total && buffer < MODEL_BUFFER)
		fprintf(out,
			"note buffer_size_kb is %" PRIu64
			" by default instead of %d: the control group may have %" PRIu64
			" MB of memory\n",
			buffer >> 10, MODEL_BUFFER >> 10, cgroup_memory() >> 20);
	else if (room.total && buffer < MODEL_BUFFER)
		fprintf(out,
			"note buffer_size_kb is %" PRIu64
			" by default instead of %d: the tmpfs of %s "
			"has %" PRIu64 " MB\n",
			buffer >> 10, MODEL_BUFFER >> 10, session_dir(srv->session),
			room.total >> 20);
}

/* What the files stats had before somebody cleared a buffer. */
static void print_cleared(struct server *srv, FILE *out)
{
	const struct cleared_records *c = &session_header(srv->session)->cleared;

	fprintf(out, "cleared %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->entries,
		c->overrun, c->dropped, c->read);
}

static void print_info(struct server *srv, FILE *out)
{
	fprintf(out, "session %s\nserver %d\nwhat %s\n", session_name(srv->session), (int)getpid(),
		srv->what);
	if (*srv->uname)
		fprintf(out, "uname %.*s\n", (int)strcspn(srv->uname, "\n"), srv->uname);
	for (struct list_head *l = srv->mounts.next; l != &srv->mounts; l = l->next)
		fprintf(out, "mount %s\n", mount_point_dir(mount_point_of(l)));
	attach_processes(srv->session, print_process, out);
	if (attach_quiet_any(srv->session))
		attach_children(srv->session, print_quiet, out);
	if (srv->programs)
		programs_print(srv->programs, out);
	if (srv->live)
		live_print(srv->live, out);
	else
		live_print_gone(srv->model, out);
	if (srv->model->ftrace && ftrace_profile_dropped(srv->model->ftrace))
		fprintf(out, "profile-dropped %llu\n",
			(unsigned long long)ftrace_profile_dropped(srv->model->ftrace));
	print_room(srv, out);
	print_cleared(srv, out);
	place_print_idle(srv->model, out);
	server_boot_print(srv, out);
}

/* The files of one instance. */
static void print_hists_of(const struct instance *inst, FILE *out)
{
	const struct event_file *f;

	list_each(f, &inst->files, node) {
		if (!hist_is_there(f))
			continue;
		if (inst->name)
			fprintf(out, "instances/%s/", inst->name);
		fprintf(out, "events/%s/%s/hist.json\n", f->event->system->name, f->event->name);
	}
}

static void print_hists(const struct server *srv, FILE *out)
{
	const struct instance *inst;

	list_each(inst, &srv->model->instances, node)
		print_hists_of(inst, out);
}

/* The text is that of WIRE_KERNEL. The next server finds it. */
static int keep_kernel(struct server *srv, const char *asked)
{
	struct model *m = srv->model;
	char text[32];

	if (*asked >= '0' && *asked <= '9')
		m->merge_delay_ms = (unsigned int)strtoul(asked, NULL, 10);
	snprintf(text, sizeof(text), "%u%s", m->merge_delay_ms,
		 m->without_kernel_functions ? WIRE_KERNEL_PROGRAMS : "");
	return saved_replace(m, m->top, SERVER_LIVE, text, &m->live_book, 1, &srv->live_saved);
}

/* Once for a session. A recording's has its own order of time. */
static int request_kernel(struct server *srv, const char *asked, FILE *out)
{
	char why[512] = "";
	int ret = 0;

	if (!srv->programs) {
		ret = -EOPNOTSUPP;
		snprintf(why, sizeof(why), "the session is that of a recording: the kernel's "
			 "events need one of their own");
	} else if (!srv->live) {
		srv->model->without_kernel_functions = strstr(asked, WIRE_KERNEL_PROGRAMS);
		ret = live_create(srv->model, &srv->live, why, sizeof(why));
	} else if (!*asked) {
		return 0;
	}
	if (!ret)
		ret = keep_kernel(srv, asked);
	fputs(why, out);
	return ret;
}

/* Answers with the text that `print` writes. */
static void answer_text(struct server *srv, struct client *c, const struct wire_request *rq,
			const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = text_memory_open(&text, &size);
	int ret = out ? 0 : -ENOMEM;

	if (out && rq->op == WIRE_LIST)
		ret = tree_list(srv->tree, path, list_name, out);
	else if (out && rq->op == WIRE_BOOT)
		ret = server_boot_add(srv, path, out);
	else if (out && rq->op == WIRE_KERNEL)
		ret = request_kernel(srv, path, out);
	else if (out && rq->op == WIRE_HISTS)
		print_hists(srv, out);
	else if (out)
		print_info(srv, out);
	if (out && fclose(out))
		ret = -ENOMEM;
	if (size > WIRE_TEXT_MAX)
		ret = -EMSGSIZE;
	client_answer(c, ret, text,
		      (ret < 0 && rq->op != WIRE_KERNEL) || size > WIRE_TEXT_MAX ? 0 : size);
	free(text);
}

static int request_stat(struct server *srv, const char *path)
{
	struct tree_stat st = { 0 };
	int ret = tree_stat(srv->tree, path, &st);

	return ret < 0 ? ret : (int)st.mode;
}

static int request_mount(struct server *srv, struct client *c, const struct wire_request *rq,
			 const char *dir)
{
	int fd = c->passed_fd;

	if (rq->op == WIRE_MOUNT)
		return server_mount(srv, *dir ? dir : NULL);
	if (fd < 0)
		return -EBADF;
	c->passed_fd = -1;
	return mount_point_create(srv, dir, fd);
}

/* False: it is tried again. */
static bool request_write(struct client *c, const struct wire_request *rq, const char *body)
{
	struct client_file *f = &c->files[rq->handle];
	const int ret = (int)tree_write_by(f->file, c->pid, body, rq->size, &f->wrote);

	if (ret == -EINPROGRESS)
		return false;
	f->wrote = (struct tree_wrote){ 0 };
	client_answer(c, ret, NULL, 0);
	return true;
}

static int request_release(struct client *c, const struct wire_request *rq)
{
	struct client_file *f = &c->files[rq->handle];
	const int ret = tree_release(f->file);

	f->file = NULL;
	return ret;
}

/* The body: the path, a 0, the text. */
static int request_pend(struct server *srv, const struct wire_request *rq, const char *body)
{
	size_t path = strlen(body) + 1;

	if (!srv->programs || path > rq->size)
		return -ENOENT;
	return programs_pend(srv->programs, body, rq->flags & O_TRUNC, body + path,
			     rq->size - path);
}

static int request_systems(struct server *srv, const char *names)
{
	const struct programs_params params = {
		.systems = !strcmp(names + 1, "*") ? NULL : names + 1,
		.kernel_names = *names == '+',
	};

	if (!*names)
		return -EINVAL;
	return srv->programs ? programs_add_systems(srv->programs, &params) : -EOPNOTSUPP;
}

static int untraced_reasons(const struct server *srv)
{
	struct attach_losses losses;
	int met = 0;

	attach_losses(srv->session, &losses);
	for (unsigned int i = 0; i < UNTRACED_REASONS; i++)
		met |= (losses.untraced[i] != 0) << i;
	return met;
}

static int request_rmdir(struct server *srv, const char *path)
{
	int ret = tree_rmdir(srv->tree, path);

	if (!ret)
		mount_points_forget(srv, path, NULL);
	return ret;
}

static int request_path(struct server *srv, struct client *c, const struct wire_request *rq,
			const char *path)
{
	switch (rq->op) {
	case WIRE_OPEN:
		return request_open(srv, c, path, (int)rq->flags);
	case WIRE_STAT:
		return request_stat(srv, path);
	case WIRE_MKDIR:
		return tree_mkdir(srv->tree, path);
	case WIRE_RMDIR:
		return request_rmdir(srv, path);
	case WIRE_MOUNT:
	case WIRE_ADOPT:
		return request_mount(srv, c, rq, path);
	case WIRE_END:
		server_stop(srv);
		return 0;
	case WIRE_STAY:
		/* Relaxed: as in server_orphaned() */
		atomic_store_explicit(&srv->stays, true, memory_order_relaxed);
		return 0;
	case WIRE_BARRIER:
		return barrier_begin(srv, c, path);
	case WIRE_FUNCTIONS:
		return srv->programs ? barrier_functions_ask(srv, path) : -EOPNOTSUPP;
	case WIRE_UNTRACED:
		return untraced_reasons(srv);
	case WIRE_GO:
		return barrier_go(srv, path);
	case WIRE_PEND:
		return request_pend(srv, rq, path);
	case WIRE_SYSTEMS:
		return request_systems(srv, path);
	default:
		return -ENOSYS;
	}
}

static bool uses_handle(uint32_t op)
{
	return op == WIRE_READ || op == WIRE_WRITE || op == WIRE_RELEASE;
}

bool request_serve(struct server *srv, struct client *c, const struct wire_request *rq, char *body)
{
	if (uses_handle(rq->op) && (rq->handle >= c->nr_files || !c->files[rq->handle].file)) {
		client_answer(c, -EBADF, NULL, 0);
		return true;
	}
	if (rq->op == WIRE_READ)
		return request_read(c, rq);
	if (rq->op == WIRE_WRITE)
		return request_write(c, rq, body);
	if (rq->op == WIRE_WAITS) {
		int number = barrier_next(srv, c);

		if (number)
			client_answer(c, number, NULL, 0);
		return number;
	}
	if (rq->op == WIRE_LIST || rq->op == WIRE_INFO || rq->op == WIRE_BOOT ||
	    rq->op == WIRE_KERNEL || rq->op == WIRE_HISTS)
		answer_text(srv, c, rq, body);
	else if (rq->op == WIRE_RELEASE)
		client_answer(c, request_release(c, rq), NULL, 0);
	else
		client_answer(c, request_path(srv, c, rq, body), NULL, 0);
	return true;
}
