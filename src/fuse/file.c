/* SPDX-License-Identifier: MIT */
/*
 * file.c - FUSE: open, read, write, poll
 *
 *   F1  WRITE parses commands. A shell's redirection flushes before it writes, and nobody sees an
 *       error of FLUSH.
 *   F2  direct_io: with size 0 the kernel would otherwise read nothing.
 *   F3  A waiting read or write is put aside, and the loop answers it. libfuse calls
 *       wait_interrupted() with its own locks held, so that function only sets a mark. As on
 *       tracefs, a signal with a handler interrupts no write, and no read but that of an empty
 *       pipe.
 *   F4  Offsets of writes are ignored: a shell writes one command after the other to one file.
 *   F5  GNU tail -f treats a file on FUSE as remote: it reads only as many bytes as the size has
 *       grown by. The kernel asks for the size without the open file, but with the thread's number.
 *       A thread that has read `trace` to its end gets a larger size from then on, so that it reads
 *       on. stat(2) by path looks the file up before: then the thread gets 0.
 *   F6  close(2) waits for FLUSH, not for RELEASE. So FLUSH commits what is committed at close.
 *   F7  The kernel's files have no O_DIRECT. It finds that out behind their open, which may have
 *       emptied the file.
 *   F8  An append is made behind the size that the kernel has (D2 of dir.c), and the position of
 *       the descriptor counts from there. On tracefs it goes on from where it was. So a read that
 *       goes on behind an append is one from there.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fuse/state.h"
#include "model/model.h"
#include "session/session.h"
#include "tracefs/tree.h"

/* How much `tail -f` reads before it asks again; others may take it for the size of a buffer. */
enum { FOLLOW_AHEAD = 1 << 20 };
enum { AHEAD_MS = 10 };		/* P3 of raw.c */

static struct open_file *fuse_file_of(const struct fuse_file_info *fi)
{
	return (struct open_file *)(uintptr_t)fi->fh;
}

static int open_file_begin(struct open_file *f, int flags)
{
	if (flags & O_DIRECT)
		return -EINVAL;	/* F7 */
	if (!tree_raw_size(f->file))
		return 0;
	f->pages = raw_pages_create();
	return f->pages ? 0 : -ENOMEM;
}

static void fuse_on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount_point *m = mount_of(req);
	struct open_file *f = calloc(1, sizeof(*f));
	int flags = fi->flags & (O_ACCMODE | O_TRUNC | O_APPEND | O_NONBLOCK);
	int ret = f ? tree_open(m->srv->tree, node_of(m, ino)->path, flags, &f->file) : -ENOMEM;

	if (ret < 0) {
		free(f);
		fuse_reply_err(req, node_error(node_of(m, ino), -ret));
		return;
	}
	ret = open_file_begin(f, fi->flags);
	if (ret) {
		tree_release(f->file);
		free(f);
		fuse_reply_err(req, -ret);
		return;
	}
	f->only_read = (flags & O_ACCMODE) == O_RDONLY;
	f->ino = ino;
	f->reader = fuse_req_ctx(req)->pid;
	f->end = -1;
	list_add_tail(&f->node, &m->files);
	if (tree_follows(f->file))
		open_files_named(req, ino, false);
	fi->fh = (uintptr_t)f;
	fi->direct_io = 1;	/* F2 */
	fi->noflush = f->only_read;
	fi->nonseekable = tree_is_stream(f->file);
	if (fuse_reply_open(req, fi))
		open_file_destroy(f);
}

off_t open_file_size(fuse_req_t req, fuse_ino_t ino)
{
	const pid_t who = fuse_req_ctx(req)->pid;
	struct open_file *f;
	off_t size = 0;

	/* Of several files of the thread, it is about the one that was opened last. */
	list_each(f, &mount_of(req)->files, node)
		if (f->ino != ino)
			continue;
		else if (f->pages)
			return RAW_SIZE;
		else if (f->reader == who && f->only_read && tree_follows(f->file))
			size = f->end < 0 || f->named ? 0 : f->end + FOLLOW_AHEAD;
	return size;
}

void open_files_named(fuse_req_t req, fuse_ino_t ino, bool named)
{
	const pid_t who = fuse_req_ctx(req)->pid;
	struct open_file *f;

	list_each(f, &mount_of(req)->files, node)
		if (f->ino == ino && f->reader == who)
			f->named = named;
}

bool open_file_is(const struct mount_point *m, fuse_ino_t ino)
{
	struct open_file *f;

	list_each(f, &m->files, node)
		if (f->ino == ino)
			return true;
	return false;
}

/* ---- requests that wait ---- */

static void wait_interrupted(fuse_req_t req, void *data)
{
	(void)req;
	((struct fuse_wait *)data)->interrupted = true;	/* F3 */
}

/* A write's text is copied: it is in the mount's buffer. */
static struct fuse_wait *wait_copy(const struct fuse_wait *of)
{
	struct fuse_wait *w = malloc(sizeof(*w));
	char *text = w && of->text ? malloc(of->size) : NULL;

	if (!w || (of->text && !text)) {
		free(w);
		return NULL;
	}
	*w = *of;
	w->text = text;
	if (text)
		memcpy(text, of->text, of->size);
	return w;
}

static void wait_put_aside(struct mount_point *m, const struct fuse_wait *of)
{
	struct fuse_wait *w = wait_copy(of);
	fuse_req_t req = of->req;

	if (!w) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	list_add_tail(&w->node, &m->waits);
	fuse_req_interrupt_func(req, wait_interrupted, w);
}

/*
 * A reader that does not read on from where it was sees the file as it is now, as with the kernel's
 * seq files. `tail -f trace` depends on that. A file that is written, too, stays the same one: the
 * beginning of a command may be in it.
 */
static void read_from_elsewhere(struct mount_point *m, struct open_file *f, fuse_ino_t ino,
				off_t off)
{
	struct tree_file *fresh;

	if (tree_is_pipe(f->file))
		return;
	if (off || !f->only_read ||
	    tree_open(m->srv->tree, node_of(m, ino)->path, O_RDONLY, &fresh) < 0) {
		tree_read_anew(f->file);
		return;
	}
	tree_release(f->file);
	f->file = fresh;
}

/* -EAGAIN, -EINPROGRESS: there is no answer yet, and none was sent. */
static int read_text(const struct fuse_wait *r)
{
	char *buf = malloc(r->size);
	const ssize_t ret = buf ? tree_read(r->file->file, buf, r->size, r->off) : -ENOMEM;

	if (ret >= 0) {
		if (!ret || r->file->end == r->off)
			r->file->end = r->off + ret;
		else
			r->file->end = -1;
		r->file->next = r->file->position = r->off + ret;
		fuse_reply_buf(r->req, buf, (size_t)ret);
	}
	free(buf);
	return ret < 0 ? (int)ret : 0;
}

/* F3 */
static bool wait_ends(const struct fuse_wait *w)
{
	return w->unmounts || (w->interrupted && task_ends(fuse_req_ctx(w->req)->pid));
}

/* F8: the offset on tracefs, where the kernel has this one */
static off_t own_offset(struct open_file *f, off_t off)
{
	if (off != f->position + f->moved)
		f->moved = 0;		/* lseek() */
	return off - f->moved;
}

/* F8 */
static void open_file_wrote(struct open_file *f, const struct fuse_wait *w, ssize_t n)
{
	const off_t from = w->appends ? f->position : own_offset(f, w->off);

	f->moved = w->off - from;
	f->position = from + n;
}

/* -EINPROGRESS as for a read */
static int write_answer(struct fuse_wait *w)
{
	/* F1 */
	ssize_t ret = tree_write_by(w->file->file, w->writer, w->text, w->size, &w->wrote);

	/* It was carried out, so this is no error. */
	if (ret == -EINPROGRESS && w->wrote.until && !w->wrote.more && wait_ends(w))
		ret = w->wrote.n;
	if (ret >= 0) {
		open_file_wrote(w->file, w, ret);
		fuse_reply_write(w->req, (size_t)ret);
	}
	return ret < 0 ? (int)ret : 0;
}

static int read_pages(const struct fuse_wait *r)
{
	struct raw_answer answer;
	const int ret = r->page_cache ? raw_read_whole(r->file, &answer, r->size, r->off)
				      : raw_read(r->file, &answer, r->size, r->off);

	if (!ret)
		fuse_reply_iov(r->req, answer.parts, answer.nr);
	return ret;
}

static int wait_answer(struct fuse_wait *w)
{
	if (w->text)
		return write_answer(w);
	return w->file->pages ? read_pages(w) : read_text(w);
}

static void wait_destroy(struct fuse_wait *w)
{
	list_del(&w->node);
	free(w->text);
	free(w);
}

static void fuse_on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			    struct fuse_file_info *fi)
{
	struct open_file *f = fuse_file_of(fi);
	/* Only the page cache reads without a lock owner. */
	struct fuse_wait read = { .req = req, .file = f, .size = size, .off = off,
				  .page_cache = f->pages && !fi->lock_owner };
	int ret;

	/* D2 of dir.c: as the kernel's files that have no splice */
	if (!f->pages && !fi->lock_owner) {
		fuse_reply_err(req, EINVAL);
		return;
	}
	if (!f->pages)
		read.off = own_offset(f, off);
	if ((read.off == 0 || read.off != f->next) && f->was_read && !f->pages)
		read_from_elsewhere(mount_of(req), f, ino, read.off);
	f->was_read = true;
	/* Each read brings the flags of that moment, so fcntl(F_SETFL) has an effect. */
	tree_set_nonblock(f->file, fi->flags & O_NONBLOCK);
	ret = wait_answer(&read);
	if (ret == -EINPROGRESS || (ret == -EAGAIN && !(fi->flags & O_NONBLOCK))) {
		if (read.page_cache && size > RAW_PAGE)
			read.until = session_now_ms() + AHEAD_MS;
		wait_put_aside(mount_of(req), &read);
	} else if (ret) {
		fuse_reply_err(req, -ret);
	}
}

bool fuse_wait_retry(struct fuse_wait *w)
{
	int ret = wait_answer(w);

	if ((ret == -EAGAIN && w->interrupted) || (ret == -EINPROGRESS && wait_ends(w))) {
		tree_write_end(w->file->file, &w->wrote);
		ret = -EINTR;
	}
	if (ret == -EINPROGRESS ||
	    (ret == -EAGAIN && (!w->until || session_now_ms() < w->until)))
		return false;
	if (ret)
		fuse_reply_err(w->req, -ret);
	wait_destroy(w);
	return true;
}

/* ---- writing ---- */

static void fuse_on_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size,
			     off_t off, struct fuse_file_info *fi)
{
	/* F4 */
	struct fuse_wait write = { .req = req, .file = fuse_file_of(fi), .size = size, .off = off,
				   .appends = fi->flags & O_APPEND, .text = (char *)buf,
				   .writer = fuse_req_ctx(req)->pid };
	const int ret = wait_answer(&write);

	(void)ino;
	if (ret == -EINPROGRESS)
		wait_put_aside(mount_of(req), &write);
	else if (ret)
		fuse_reply_err(req, -ret);
}

static void fuse_on_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	tree_flush(fuse_file_of(fi)->file);	/* F6 */
	fuse_reply_err(req, 0);
}

static void fuse_on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
			     struct fuse_file_info *fi)
{
	(void)ino;
	(void)datasync;
	(void)fi;
	fuse_reply_err(req, 0);
}

static void forget_poller(struct open_file *f)
{
	if (f->poll)
		fuse_pollhandle_destroy(f->poll);
	f->poll = NULL;
}

void open_file_destroy(struct open_file *f)
{
	forget_poller(f);
	list_del(&f->node);
	raw_pages_destroy(f->pages);
	tree_release(f->file);
	free(f);
}

static void fuse_on_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	open_file_destroy(fuse_file_of(fi));
	fuse_reply_err(req, 0);
}

/* ---- poll ---- */

static void fuse_on_poll(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi,
			    struct fuse_pollhandle *ph)
{
	struct open_file *f = fuse_file_of(fi);
	unsigned int ready = tree_poll(f->file);

	(void)ino;
	if (raw_ahead(f->pages))
		ready |= POLLIN | POLLRDNORM;
	if (ph) {
		forget_poller(f);
		f->poll = ph;
		f->poll_events |= fi->poll_events | POLLERR;
	}
	fuse_reply_poll(req, ready);
}

bool open_file_wake(struct open_file *f)
{
	if (!f->poll)
		return false;
	if (!(tree_poll_again(f->file) & f->poll_events))
		return true;
	fuse_lowlevel_notify_poll(f->poll);
	forget_poller(f);
	f->poll_events = 0;
	return false;
}

/*
 * Only trace_pipe_raw is read through the page cache. splice waits for each answer, so that a
 * signal interrupts it (P1).
 */
static void fuse_on_init(void *mount, struct fuse_conn_info *conn)
{
	(void)mount;
	conn->max_readahead = RAW_AHEAD;
	conn->want &= ~FUSE_CAP_ASYNC_READ;
}

const struct fuse_lowlevel_ops fuse_ops = {
	.init = fuse_on_init,
	.lookup = fuse_on_lookup,
	.forget = fuse_on_forget,
	.forget_multi = fuse_on_forget_multi,
	.getattr = fuse_on_getattr,
	.setattr = fuse_on_setattr,
	.access = fuse_on_access,
	.listxattr = fuse_on_listxattr,
	.opendir = fuse_on_opendir,
	.readdir = fuse_on_readdir,
	.releasedir = fuse_on_releasedir,
	.mkdir = fuse_on_mkdir,
	.rmdir = fuse_on_rmdir,
	.unlink = fuse_on_unlink,
	.mknod = fuse_on_mknod,
	.rename = fuse_on_rename,
	.symlink = fuse_on_symlink,
	.create = fuse_on_create,
	.open = fuse_on_open,
	.read = fuse_on_read,
	.write = fuse_on_write,
	.flush = fuse_on_flush,
	.fsync = fuse_on_fsync,
	.release = fuse_on_release,
	.poll = fuse_on_poll,
};
