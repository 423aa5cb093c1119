/* SPDX-License-Identifier: MIT */
/*
 * session.c - a session's memory: create, open, close, destroy (R1, R3, R4)
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "plane/clock.h"
#include "session/ring/book.h"
#include "session/state.h"

enum {
	CONFIG_BYTES	= 256 << 20,
	LOCK_PAUSE_MS	= 10,
	DEFAULT_SLOTS	= LAYOUT_MAX_SLOTS,	/* sparse: only slots that are given have memory */
	/*
	 * Not at the start of a page, where the heads of maps and rings lie. For a load and a store
	 * with the same low 12 bits a processor first assumes the same address, and waits.
	 */
	SLOTS_AT	= 4096 + 2048,
};
#define DEFAULT_MEMORY	(4ull << 30)
#define MIN_MEMORY	(8ull << 20)

const char *session_name(const struct session *s)
{
	return s->name;
}

const char *session_dir(const struct session *s)
{
	return s->dir;
}

struct config_header *session_header(struct session *s)
{
	return s->header;
}

bool session_shortcuts_off(const struct session *s, uint32_t kinds)
{
	/* Relaxed: it is set before anything is made that depends on it. */
	return atomic_load_explicit(&s->header->shortcuts_off, memory_order_relaxed) & kinds;
}

struct plane *session_plane(struct session *s)
{
	return &s->plane;
}

void *session_config(struct session *s, config_ref ref, size_t size)
{
	return region_at(&s->config, ref, size);
}

void *session_data(struct session *s, data_ref ref, size_t size)
{
	return region_at(&s->data, ref, size);
}

void session_heaps_changed(struct session *s)
{
	/*
	 * Relaxed: only the next server reads it, when this one is dead. A release publishes the
	 * memory itself later.
	 */
	atomic_store_explicit(&s->header->config_high, s->config_heap.high, memory_order_relaxed);
	atomic_store_explicit(&s->header->data_high, s->data_heap.high, memory_order_relaxed);
}

config_ref session_config_alloc(struct session *s, size_t size)
{
	config_ref ref = heap_alloc(&s->config_heap, size);

	session_heaps_changed(s);
	return ref;
}

data_ref session_data_alloc(struct session *s, size_t size)
{
	data_ref ref = heap_alloc(&s->data_heap, size);

	session_heaps_changed(s);
	return ref;
}

void session_config_free(struct session *s, config_ref ref, size_t size)
{
	heap_free(&s->config_heap, ref, size);
	session_heaps_changed(s);
}

void session_data_free(struct session *s, data_ref ref, size_t size)
{
	heap_free(&s->data_heap, ref, size);
	session_heaps_changed(s);
}

int session_config_restore(struct session *s, config_ref ref, size_t size)
{
	return heap_restore(&s->config_heap, ref, size);
}

int session_data_restore(struct session *s, data_ref ref, size_t size)
{
	return heap_restore(&s->data_heap, ref, size);
}

/* Whether the address space has no room for a session's regions and the spare behind them. */
static bool addresses_limited(void)
{
	struct rlimit r;

	return !getrlimit(RLIMIT_AS, &r) && r.rlim_cur != RLIM_INFINITY &&
	       r.rlim_cur < 3 * DEFAULT_MEMORY;
}

const char *session_error(int err)
{
	switch (err < 0 ? -err : err) {
	case ENOTSUP:
		return "no tmpfs for a session's memory: $XDG_RUNTIME_DIR and /dev/shm are not "
		       "tmpfs "
		       "(in a container: mount one, for example --tmpfs /dev/shm)";
	case EEXIST:	return "a session of that name exists";
	case EBUSY:	return "the session has a server that runs";
	case ENOENT:
		return access("/proc/self", F_OK) ? "a session needs /proc, which is not there"
						  : "no such session";
	case ECONNREFUSED: return "the session's server has ended";
	case EINVAL:	return "a session's name is 1 to 63 letters, digits, '_', '-' or '.', "
			       "and does not begin with '-' or '.'";
	case EPROTO:	return "the session's files are damaged or of another version";
	case ENOMEM:
		if (addresses_limited())
			return "a session takes more addresses than ulimit -v permits: raise it, "
			       "or set "
			       "it for the program alone (tracefuse run -- sh -c 'ulimit -v ...; "
			       "exec ...')";
		/* fall through */
	case ENOSPC:
		return "no memory left for the session: end others, or make the tmpfs of sessions "
		       "larger ($XDG_RUNTIME_DIR, else /dev/shm; in a container: --shm-size=1g)";
	case ENOTDIR:
	case EACCES:	return place_taken();
	case ETIMEDOUT:	return "another command is making or restoring it and has not finished";
	case EUSERS:	return "the session has no room for another process or thread";
	default:	return strerror(err < 0 ? -err : err);
	}
}

static bool membarrier_works(void)
{
	long have = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

	if (have < 0 || !(have & MEMBARRIER_CMD_GLOBAL_EXPEDITED))
		return false;
	/* The server itself makes hits: for sources and for trace_marker. */
	return !syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) &&
	       !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
}

/* Sets up the private memory, for create and for open, when the files are mapped. */
static int session_start(struct session *s, bool fresh, bool no_membarrier)
{
	struct config_header *h = s->header;
	int err;

	s->plane = (struct plane){ .config = s->config.base, .data = s->data.base,
				   .config_size = s->config.size, .data_size = s->data.size,
				   .data_mask = region_mask(&s->data) };
	s->membarrier = !no_membarrier && membarrier_works();
	/*
	 * Read in hit_enter(): L2 in limbo.c. Programs that asked for the fence continue under a
	 * new server.
	 */
	if (fresh || !s->membarrier)
		atomic_store_explicit(&h->fence, s->membarrier ? 0 : 1, memory_order_seq_cst);
	/*
	 * Programs may have made ways without a fence under the old server. None of them is valid
	 * any more (W1).
	 */
	atomic_fetch_add_explicit(&h->epoch, 1, memory_order_seq_cst);
	err = heap_init(&s->config_heap, &s->config, h->heap, s->config.size,
			fresh ? 0 : h->config_high);
	if (!err)
		err = heap_init(&s->data_heap, &s->data, h->data_heap, s->data.size,
				fresh ? 0 : h->data_high);
	s->config_heap.twice = true;
	return err ? err : slots_create(s);
}

static uint64_t align_page(uint64_t v)
{
	return (v + 4095) & ~4095ull;
}

static void header_fill(struct config_header *h, const struct session_params *p)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	h->version = SESSION_VERSION;
	h->made = follow_now();
	h->nr_cpus = p->nr_cpus ? p->nr_cpus : cpus > 0 ? (uint32_t)cpus : 1;
	h->nr_slots = p->nr_slots ? p->nr_slots : DEFAULT_SLOTS;
	h->config_size = CONFIG_BYTES;
	h->data_size = p->memory ? p->memory : DEFAULT_MEMORY;
	h->events = LAYOUT_EVENTS_AT;
	h->processes = h->events + LAYOUT_MAX_EVENTS * sizeof(struct event_entry);
	h->sites = align_page(h->processes + LAYOUT_MAX_PROCESSES * sizeof(struct process_entry));
	_Static_assert(sizeof(*h) <= LAYOUT_EVENTS_AT, "the events lie behind the header");
	h->instance_books = align_page(h->sites + sizeof(struct site_control));
	h->slot_books =
		align_page(h->instance_books + LAYOUT_MAX_INSTANCES * sizeof(struct instance_book));
	h->heap = align_page(h->slot_books + h->nr_slots * sizeof(struct slot_book));
	h->slots = SLOTS_AT;
	h->instances = align_page(h->slots + h->nr_slots * sizeof(struct slot));
	h->programs =
		align_page(h->instances + LAYOUT_MAX_INSTANCES * sizeof(struct instance_state));
	h->data_heap = align_page(h->programs + sizeof(struct program_tables));
	clock_calibrate(&h->tsc);
}

static int params_check(const struct session_params *p)
{
	if (p->nr_cpus > LAYOUT_MAX_CPUS || p->nr_slots > LAYOUT_MAX_SLOTS)
		return -EINVAL;
	return p->memory && p->memory < MIN_MEMORY ? -ENOMEM : 0;
}

/*
 * Backs what lies before the data region's heap, and does not change it. Slots and waiters that
 * were never given stay without memory (slot_back()).
 */
static int data_base_back(struct session *s, const struct config_header *h)
{
	/* Relaxed: this server has stored it, or one that is dead. */
	uint32_t given = atomic_load_explicit(&h->slots_high, memory_order_relaxed);
	int err = region_keep(&s->data, 0, h->slots + (uint64_t)given * sizeof(struct slot));

	if (err)
		return err;
	return region_keep(&s->data, h->instances,
			   h->programs - h->instances + offsetof(struct program_tables, waiters) +
				   (uint64_t)given * sizeof(struct waiter));
}

/* Makes both files in dirfd, or as memory without a name. */
static int session_files(struct session *s, const struct session_params *p)
{
	struct config_header h = { 0 };
	struct data_header *d;
	int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, fd, err;

	header_fill(&h, p);
	fd = s->dirfd < 0 ? memfd_create("tracefuse-config", MFD_CLOEXEC)
			  : openat(s->dirfd, "config", flags, 0600);
	err = fd < 0 ? -errno : region_create(&s->config, fd, h.config_size, false);
	if (err)
		return err;
	fd = s->dirfd < 0 ? memfd_create("tracefuse-data", MFD_CLOEXEC)
			  : openat(s->dirfd, "data", flags, 0600);
	err = fd < 0 ? -errno : region_create(&s->data, fd, h.data_size, true);
	if (err)
		return err;
	err = region_back(&s->config, 0, h.heap);
	if (!err)
		err = data_base_back(s, &h);
	if (err)
		return err;
	s->header = (struct config_header *)s->config.base;
	h.ring_room = room_of_ring(s, h.nr_cpus);
	*s->header = h;
	d = (struct data_header *)s->data.base;
	d->magic = SESSION_MAGIC;
	return 0;
}

static struct session *session_new(void)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->dirfd = s->lock_fd = s->config.fd = s->data.fd = s->listen_fd = s->poll_fd = -1;
	for (int i = 0; i < LAYOUT_MAX_PROCESSES; i++)
		s->processes[i].pidfd = s->processes[i].conn = s->processes[i].peer = -1;
	return s;
}

static void session_release(struct session *s)
{
	for (unsigned int i = 0; i < LAYOUT_MAX_PROCESSES; i++) {
		process_drop_peer(s, &s->processes[i]);
		if (s->processes[i].pidfd >= 0)
			close(s->processes[i].pidfd);
		if (s->processes[i].conn >= 0)
			close(s->processes[i].conn);
	}
	attach_stop(s);
	limbo_destroy(&s->limbo);
	heap_destroy(&s->config_heap);
	heap_destroy(&s->data_heap);
	slots_destroy(s);
	free(s->buffers.v);
	region_close(&s->config);
	region_close(&s->data);
	session_served(s);
	if (s->dirfd >= 0)
		close(s->dirfd);
	free(s);
}

static void session_unlink(struct session *s)
{
	if (!s->dir[0])
		return;
	place_empty(s->dirfd);
	rmdir(s->dir);
}

void session_destroy(struct session *s)
{
	if (!s)
		return;
	session_unlink(s);
	session_release(s);
}

void session_close(struct session *s)
{
	if (s && s->private)
		session_destroy(s);
	else if (s)
		session_release(s);
}

/*
 * Makes the session's directory and leaves it in s->dir and s->dirfd. It has a private name at
 * first. Until *base is closed no process takes it for a session without a server.
 */
static int session_place(struct session *s, const char *name, int *base)
{
	char path[3968];
	int err = place_base(path, sizeof(path), true);

	place_private_name(s->name, sizeof(s->name));
	if (err == -ENOTSUP && !name)
		return 0;	/* it is for this process alone: memory without a name is enough */
	if (err)
		return err;
	*base = place_open_dir(path);
	if (*base < 0)
		return *base;
	place_sweep(*base);
	place_hold(*base);
	if (name && !faccessat(*base, name, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	if (mkdirat(*base, s->name, 0700))
		return -errno;
	/* `path` is shorter than s->dir by more than a name. */
	strcat(strcat(strcpy(s->dir, path), "/"), s->name);
	s->dirfd = openat(*base, s->name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return s->dirfd < 0 ? -errno : 0;
}

/* ---- making and restoring a session ---- */

/*
 * A process locks the file `lock` in the session's directory while it makes or restores the
 * session. It unlocks the file when the server answers commands. So only one process restores it,
 * and others wait for that one (session_await()). The kernel drops the lock of a process that dies;
 * a running server has no lock.
 */
static int lock_open(int dirfd, int flags)
{
	int fd = openat(dirfd, "lock", flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);

	return fd < 0 ? -errno : fd;
}

/* -EBUSY: another process has it; -ENOENT: the session was removed meanwhile. */
static int session_lock(struct session *s)
{
	struct stat st;

	s->lock_fd = lock_open(s->dirfd, O_CREAT);
	if (s->lock_fd < 0)
		return s->lock_fd;
	if (flock(s->lock_fd, LOCK_EX | LOCK_NB))
		return -EBUSY;
	return fstat(s->lock_fd, &st) || !st.st_nlink ? -ENOENT : 0;
}

void session_served(struct session *s)
{
	if (s->lock_fd >= 0)
		close(s->lock_fd);
	s->lock_fd = -1;
}

static int session_take_over(struct session *s)
{
	int err = session_lock(s);

	return err ? err : place_alive(s->dirfd) ? -EBUSY : 0;
}

/* The session is complete and will be served: it gets its name. */
static int session_rename(struct session *s, const char *name)
{
	char dir[sizeof(s->dir)];

	strcpy(dir, s->dir);
	strcpy(strrchr(dir, '/') + 1, name);
	if (renameat2(AT_FDCWD, s->dir, AT_FDCWD, dir, RENAME_NOREPLACE))
		return -errno;
	strcpy(s->dir, dir);
	strcpy(s->name, name);
	return 0;
}

int session_create(const char *name, const struct session_params *params, struct session **out)
{
	static const struct session_params defaults;
	const struct session_params *p = params ? params : &defaults;
	struct session *s;
	int err = params_check(p), base = -1;

	if (err)
		return err;
	if (name && !session_name_valid(name))
		return -EINVAL;
	s = session_new();
	if (!s)
		return -ENOMEM;
	s->private = !name;
	err = session_place(s, name, &base);
	if (!err && name)
		err = session_lock(s);
	if (!err)
		err = session_files(s, p);
	if (!err)
		err = session_start(s, true, p->no_membarrier);
	if (!err)
		err = attach_listen(s);
	if (!err) {
		/*
		 * Release: a program that sees the magic sees the whole header. Pairs with the
		 * acquire in map_session() of agent/join/attach.c.
		 */
		__atomic_store_n(&s->header->magic, SESSION_MAGIC, __ATOMIC_RELEASE);
		err = name ? session_rename(s, name) : 0;
	}
	if (base >= 0)
		close(base);
	if (err) {
		session_destroy(s);
		return err;
	}
	*out = s;
	return 0;
}

static int header_check(struct session *s)
{
	const struct config_header *h = (const struct config_header *)s->config.base;

	if (h->magic != SESSION_MAGIC || h->version != SESSION_VERSION ||
	    h->config_size != s->config.size || !h->nr_cpus || h->nr_cpus > LAYOUT_MAX_CPUS ||
	    !h->nr_slots || h->nr_slots > LAYOUT_MAX_SLOTS || h->slots_high > h->nr_slots)
		return -EPROTO;
	if (h->events != LAYOUT_EVENTS_AT || h->heap >= h->config_size || h->slots != SLOTS_AT ||
	    h->processes != h->events + LAYOUT_MAX_EVENTS * sizeof(struct event_entry) ||
	    h->sites != align_page(h->processes +
				   LAYOUT_MAX_PROCESSES * sizeof(struct process_entry)) ||
	    h->instance_books != align_page(h->sites + sizeof(struct site_control)) ||
	    h->slot_books != align_page(h->instance_books +
					LAYOUT_MAX_INSTANCES * sizeof(struct instance_book)) ||
	    h->heap != align_page(h->slot_books + h->nr_slots * sizeof(struct slot_book)) ||
	    h->instances != align_page(h->slots + h->nr_slots * sizeof(struct slot)) ||
	    h->programs != align_page(h->instances +
				      LAYOUT_MAX_INSTANCES * sizeof(struct instance_state)) ||
	    h->data_heap != align_page(h->programs + sizeof(struct program_tables)))
		return -EPROTO;
	return 0;
}

static int session_map(struct session *s)
{
	int fd = openat(s->dirfd, "config", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	int err = fd < 0 ? -EPROTO : region_open(&s->config, fd, 0, false);

	if (!err)
		err = header_check(s);
	if (err)
		return err;
	s->header = (struct config_header *)s->config.base;
	fd = openat(s->dirfd, "data", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	err = fd < 0 ? -EPROTO : region_open(&s->data, fd, s->header->data_size, true);
	if (err)
		return err;
	if (((struct data_header *)s->data.base)->magic != SESSION_MAGIC)
		return -EPROTO;
	err = region_keep(&s->config, 0, s->header->heap);
	return err ? err : data_base_back(s, s->header);
}

static int session_find(struct session *s, const char *name)
{
	char base[3968];
	int err = place_base(base, sizeof(base), false);

	if (err)
		return err;
	snprintf(s->name, sizeof(s->name), "%s", name);
	snprintf(s->dir, sizeof(s->dir), "%s/%s", base, name);
	s->dirfd = place_open_dir(s->dir);
	return s->dirfd < 0 ? s->dirfd : 0;
}

/* Waits for the process that has the lock. */
static int lock_await(int fd, unsigned int ms)
{
	const struct timespec pause = { .tv_nsec = LOCK_PAUSE_MS * 1000000l };
	int64_t end = session_now_ms() + ms;

	while (flock(fd, LOCK_SH | LOCK_NB)) {
		if (session_now_ms() >= end)
			return -ETIMEDOUT;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int session_await(const char *name, unsigned int ms)
{
	struct session *s = session_new();
	int err = s ? session_find(s, name) : -ENOMEM;

	if (!err)
		s->lock_fd = lock_open(s->dirfd, 0);
	if (!err && s->lock_fd >= 0)
		err = lock_await(s->lock_fd, ms);
	if (s)
		session_release(s);
	return err == -ENOENT ? 0 : err;	/* there is no session to wait for */
}

int session_open(const char *name, struct session **out)
{
	struct session *s;
	int err;

	if (!session_name_valid(name))
		return -EINVAL;
	s = session_new();
	if (!s)
		return -ENOMEM;
	err = session_find(s, name);
	if (!err)
		err = session_take_over(s);
	if (!err)
		err = session_map(s);
	if (!err)
		err = session_start(s, false, false);
	if (!err)
		err = attach_listen(s);
	if (err) {
		session_release(s);
		return err;
	}
	processes_restore(s);
	*out = s;
	return 0;
}

/* Takes out the old server's plans that the new one has not replaced. */
static void plans_drop_old(struct session *s, uint64_t high)
{
	struct event_entry *e = (struct event_entry *)(s->config.base + s->header->events);

	for (int i = 0; i < LAYOUT_MAX_EVENTS; i++) {
		/* Relaxed: this server has stored it, or one that is dead. */
		config_ref plan = atomic_load_explicit(&e[i].plan, memory_order_relaxed);

		if (plan && plan < high)
			session_publish(s, &e[i].plan, 0);
	}
}

static void heap_drop_old(struct session *s, struct heap *heap)
{
	struct extents old = { 0 };

	heap_restore_done(heap, &old);
	for (size_t i = 0; i < old.nr; i++)
		limbo_add(s, heap, extents_at(&old, i)->off, extents_at(&old, i)->len);
	extents_free(&old);
}

/* session.c itself restores saved texts and scratch memory. */
static int restore_saved(struct session *s, uint64_t id, const struct saved *o, const char *path,
			const char *text, void *arg)
{
	if (id < *(const uint64_t *)arg)
		session_config_restore(s, id, sizeof(*o) + o->path_len + o->text_len);
	return 0;
}

void session_restore_done(struct session *s)
{
	uint64_t high = s->config_heap.inherited;

	if (!high)
		return;
	session_saved_each(s, restore_saved, &high);
	session_hits_restore(s);
	for (uint32_t i = 0; i < slots_end(s); i++) {
		struct slot_book *b = slot_book(s, i);

		if (b->scratch && b->scratch < s->data_heap.inherited &&
		    session_data_restore(s, b->scratch,
				       sizeof(struct hit_scratch) * LAYOUT_HIT_LEVELS))
			b->scratch = 0;
	}
	plans_drop_old(s, high);
	heap_drop_old(s, &s->config_heap);
	heap_drop_old(s, &s->data_heap);
}
