/* SPDX-License-Identifier: MIT */
/*
 * attach_client.c - lets a process join a session (R20) as src/agent does, but with malloc and
 * pthread
 *
 * The server gives slots in small batches. A thread takes one by a compare-and-swap of the slot's
 * owner word, and stores it in thread-specific data, whose destructor gives it back. fork() wipes a
 * page in the child, so a child knows that it is not attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "plane/arch/ring_commit.h"
#include "plane/ring/ring.h"
#include "layout/attach_wire.h"
#include "session/state.h"
#include "attach_client.h"

enum { ATTACH_WAIT_MS = 1000, LEASE_WAIT_MS = 100 };

struct attachment {
	struct plane	plane;
	int		conn;
	uint32_t	*alive;		/* 1; 0 in a child of fork() */
	pthread_key_t	key;		/* struct slot * of the thread */
	pthread_mutex_t	lock;		/* slots[] and the connection */
	uint32_t	*slots;		/* slots that the server gave */
	unsigned int	nr_slots;
};

static int attach_connect(int dirfd)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval wait = { ATTACH_WAIT_MS / 1000, ATTACH_WAIT_MS % 1000 * 1000 };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/attach", dirfd);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr))) {
		err = errno == EAGAIN ? -ETIMEDOUT : errno == ENOENT ? -ECONNREFUSED : -errno;
		close(fd);
		return err;
	}
	return fd;
}

/*
 * Sends a request and waits for its answer. -ETIMEDOUT: the server does not answer within the
 * limit.
 */
static int attach_ask(struct attachment *a, enum attach_kind kind, bool no_membarrier,
		      struct attach_reply *reply)
{
	struct attach_request q = {
		.version = SESSION_VERSION, .kind = kind, .no_membarrier = no_membarrier };
	ssize_t n;

	if (send(a->conn, &q, sizeof(q), MSG_NOSIGNAL) != sizeof(q))
		return errno == EAGAIN ? -ETIMEDOUT : -ECONNREFUSED;
	do
		n = recv(a->conn, reply, sizeof(*reply), 0);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (n != sizeof(*reply))
		return -ECONNREFUSED;
	return reply->err;
}

static int map_file(int dirfd, const char *name, int prot, void **base, uint64_t *size)
{
	int fd = openat(dirfd, name,
			(prot & PROT_WRITE ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW);
	struct stat st;
	int err = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || st.st_size < 4096) {
		err = -EPROTO;
	} else {
		*base = mmap(NULL, (size_t)st.st_size, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);
		err = *base == MAP_FAILED ? -errno : 0;
		*size = (uint64_t)st.st_size;
	}
	close(fd);
	return err;
}

static int attach_map(struct attachment *a, int dirfd)
{
	void *config, *data;
	int err = map_file(dirfd, "config", PROT_READ, &config, &a->plane.config_size);

	if (err)
		return err;
	a->plane.config = config;
	err = map_file(dirfd, "data", PROT_READ | PROT_WRITE, &data, &a->plane.data_size);
	if (err)
		return err;
	a->plane.data = data;
	a->plane.data_mask = UINT64_MAX;
	madvise(data, a->plane.data_size, MADV_DONTDUMP);
	/* Pairs with the release in session_create(). */
	if (__atomic_load_n(&plane_header(&a->plane)->magic, __ATOMIC_ACQUIRE) != SESSION_MAGIC ||
	    plane_header(&a->plane)->version != SESSION_VERSION ||
	    plane_header(&a->plane)->data_size != a->plane.data_size)
		return -EPROTO;
	return 0;
}

static int slots_take(struct attachment *a, const struct attach_reply *reply)
{
	uint32_t *v = realloc(a->slots, (a->nr_slots + reply->nr_slots) * sizeof(*v));

	if (!v)
		return -ENOMEM;
	a->slots = v;
	for (uint32_t i = 0; i < reply->nr_slots && i < ATTACH_SLOTS; i++)
		if (reply->slots[i] < plane_header(&a->plane)->nr_slots)
			v[a->nr_slots++] = reply->slots[i];
	return 0;
}

static int attach_greet(struct attachment *a)
{
	bool refused = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0;
	struct attach_reply reply;
	int err = attach_ask(a, ATTACH_HELLO, refused, &reply);

	return err ? err : slots_take(a, &reply);
}

/* Called when the thread exits. */
static void slot_leave(void *arg)
{
	struct slot *slot = arg;

	atomic_store_explicit(&slot->depth, 0, memory_order_relaxed);
	/* Pairs with the acquire of the thread that takes it next. */
	atomic_store_explicit(&slot->owner, 0, memory_order_release);
}

static int attach_prepare(struct attachment *a)
{
	a->alive = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (a->alive == MAP_FAILED) {
		a->alive = NULL;
		return -errno;
	}
	/* Older kernels do not know MADV_WIPEONFORK. Then the child has to call attach_close(). */
	madvise(a->alive, 4096, MADV_WIPEONFORK);
	*a->alive = 1;
	return -pthread_key_create(&a->key, slot_leave);
}

static void attach_free(struct attachment *a)
{
	if (a->plane.config)
		munmap((void *)(uintptr_t)a->plane.config, a->plane.config_size);
	if (a->plane.data)
		munmap(a->plane.data, a->plane.data_size);
	if (a->alive)
		munmap(a->alive, 4096);
	if (a->conn >= 0)
		close(a->conn);
	free(a->slots);
	free(a);
}

static int attach_dir(const char *name)
{
	char path[4096 + 128];
	int err, fd;

	if (!session_name_valid(name) && name[0] != '.')
		return -EINVAL;
	if (strchr(name, '/'))
		return -EINVAL;
	err = place_base(path, 4096, false);
	if (err)
		return err;
	snprintf(path + strlen(path), 128, "/%.63s", name);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int attach_open(const char *name, struct attachment **out)
{
	int dirfd = attach_dir(name), err;
	struct attachment *a;

	if (dirfd < 0)
		return dirfd;
	a = calloc(1, sizeof(*a));
	if (!a) {
		close(dirfd);
		return -ENOMEM;
	}
	pthread_mutex_init(&a->lock, NULL);
	err = a->conn = attach_connect(dirfd);
	if (a->conn >= 0)
		err = attach_map(a, dirfd);
	close(dirfd);
	if (!err)
		err = attach_greet(a);
	if (!err)
		err = attach_prepare(a);
	if (err) {
		attach_free(a);
		return err;
	}
	*out = a;
	return 0;
}

static bool attached_here(const struct attachment *a)
{
	return *(volatile uint32_t *)a->alive;
}

void attach_close(struct attachment *a)
{
	struct attach_request bye = { .version = SESSION_VERSION, .kind = ATTACH_BYE };

	pthread_key_delete(a->key);
	if (attached_here(a)) {
		for (unsigned int i = 0; i < a->nr_slots; i++)
			slot_leave(plane_slot(&a->plane, a->slots[i]));
		send(a->conn, &bye, sizeof(bye), MSG_NOSIGNAL);
	}
	pthread_mutex_destroy(&a->lock);
	attach_free(a);
}

struct plane *attach_plane(struct attachment *a)
{
	return &a->plane;
}

static struct slot *slot_claim(struct attachment *a)
{
	uint32_t tid = (uint32_t)syscall(SYS_gettid);

	for (unsigned int i = 0; i < a->nr_slots; i++) {
		struct slot *slot = plane_slot(&a->plane, a->slots[i]);
		uint32_t none = 0;

		/* Pairs with the release in slot_leave() and slot_recycle(). */
		if (atomic_compare_exchange_strong_explicit(
			    &slot->owner, &none, tid, memory_order_acquire, memory_order_relaxed))
			return slot;
	}
	return NULL;
}

static struct slot *slot_ask(struct attachment *a)
{
	struct slot *slot = slot_claim(a);
	struct attach_reply reply;

	if (slot || attach_ask(a, ATTACH_MORE, false, &reply) || slots_take(a, &reply))
		return slot;
	return slot_claim(a);
}

void attach_await_lease(struct slot *slot)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	/* Acquire, here and below: pairs with the release in ring_lease_give(). */
	uint64_t lease = atomic_load_explicit(&slot->lease, memory_order_acquire);

	if ((uint32_t)lease || (rseq_cpu() >= 0 && !(lease & RING_LEASE_ONLY)))
		return;
	/* Release: pairs with the acquire in ring_leases_serve(). */
	atomic_store_explicit(&slot->lease, lease | RING_LEASE_WANTED, memory_order_release);
	for (int i = 0; i < LEASE_WAIT_MS; i++) {
		if ((uint32_t)atomic_load_explicit(&slot->lease, memory_order_acquire))
			return;
		nanosleep(&pause, NULL);
	}
}

struct slot *attach_slot(struct attachment *a)
{
	struct slot *slot;

	if (!attached_here(a))
		return NULL;
	slot = pthread_getspecific(a->key);
	if (slot)
		return slot;
	pthread_mutex_lock(&a->lock);
	slot = slot_ask(a);
	pthread_mutex_unlock(&a->lock);
	if (slot) {
		pthread_setspecific(a->key, slot);
		attach_await_lease(slot);
	}
	return slot;
}
