/* SPDX-License-Identifier: MIT */
/*
 * attach.c - the process joins its session (R20), and a child of fork() joins it again (R22)
 *
 *     constructor -> find the directory, connect, map, HELLO, EVENTS, READY -> AGENT_ON
 *     child's first hit -> connect, HELLO                                (the maps are inherited)
 *
 * If any step fails the program runs untraced; with TRACEFUSE_VERBOSE it prints why.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include "agent/libc.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "plane/arch/counter.h"
#include "tracefuse/tracefuse.h"

/* Each hit reads its first words: they lie in one cache line. */
struct agent agent __attribute__((aligned(64))) = { .conn.fd = -1, .key = -1 };

/* No event here is armed. It is not const, so that it takes no place in the file. */
static struct event_entry never[4096];

const struct event_entry *agent_provider_events = never;
uint32_t agent_provider_id;

/* ---- Messages ---- */

static size_t say_add(char *out, size_t at, size_t room, const char *text)
{
	size_t len = strlen(text);

	if (len > room - at)
		len = room - at;
	memcpy(out + at, text, len);
	return at + len;
}

__attribute__((cold)) void agent_say(const char *what, int err)
{
	char text[256], digits[16];
	size_t at = 0, nr = sizeof(digits);

	if (!agent.verbose)
		return;
	at = say_add(text, at, sizeof(text) - 2, "tracefuse: ");
	at = say_add(text, at, sizeof(text) - 2, what);
	digits[--nr] = 0;
	for (int v = err < 0 ? -err : err; v; v /= 10)
		digits[--nr] = (char)('0' + v % 10);
	if (err) {
		at = say_add(text, at, sizeof(text) - 2, ": error ");
		at = say_add(text, at, sizeof(text) - 2, digits + nr);
	}
	text[at++] = '\n';
	agent_syscall(SYS_write, 2, text, at);
}

/* ---- Memory ---- */

/*
 * Bytes of addresses behind the data region. They go up to the next power of two,
 * because plane_data() masks offsets to that size, and once more as far, because an
 * element's number times its size is added to the offset.
 */
static uint64_t spare_of(uint64_t size, int prot)
{
	uint64_t room = 4096;

	if (!(prot & PROT_WRITE))
		return 0;
	while (room < size)
		room <<= 1;
	return 2 * room - size;
}

/*
 * Maps the file with `spare` bytes of addresses behind it.
 *
 * If the program has called mlockall(MCL_FUTURE), the kernel fills what is mapped
 * at once, and with it a sparse file. So the mapping is made without permissions,
 * which prevents that, then unlocked, and then gets its permissions. At load the
 * program has not called it yet.
 */
static long map_spared(long fd, int prot, uint64_t size, uint64_t spare)
{
	long at = agent_syscall(SYS_mmap, 0, size + spare, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	long err;

	if (is_error(at))
		return at == -EAGAIN ? -ENOMEM : at;	/* RLIMIT_MEMLOCK */
	err = agent_syscall(SYS_mmap, at, size, agent.late ? PROT_NONE : prot,
			    MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
	err = is_error(err) ? err : 0;
	if (!err && agent.late) {
		agent_syscall(SYS_munlock, at, size + spare);
		err = agent_syscall(SYS_mprotect, at, size, prot);
	}
	if (err) {
		agent_syscall(SYS_munmap, at, size + spare);
		return err;
	}
	agent_syscall(SYS_madvise, at, size + spare, MADV_DONTDUMP);
	return at;
}

static long map_alone(long fd, int prot, uint64_t size)
{
	long at = agent_syscall(SYS_mmap, 0, size, prot, MAP_SHARED | MAP_NORESERVE, fd, 0);

	if (!is_error(at))
		agent_syscall(SYS_madvise, at, size, MADV_DONTDUMP);
	return at;
}

static long map_open(long fd, int prot, uint64_t size, uint64_t spare)
{
	int err = room_make(size + spare);

	if (err)
		return err;
	return spare || agent.late ? map_spared(fd, prot, size, spare) : map_alone(fd, prot, size);
}

static long map_file(int *dir, const char *name, int prot, uint64_t *size, uint64_t *spare)
{
	int fd = place_open_file(dir, name, prot & PROT_WRITE ? O_RDWR : O_RDONLY, size);
	long at = -EPROTO;

	if (fd < 0)
		return fd;
	if (*size >= 4096)
		at = map_open(fd, prot, *size, *spare = spare_of(*size, prot));
	agent_syscall(SYS_close, fd);
	return at;
}

static void unmap(struct plane *p)
{
	if (agent.here)
		agent_syscall(SYS_munmap, agent.here, agent.here_size);
	agent.here = NULL;
	if (p->config)
		agent_syscall(SYS_munmap, p->config, p->config_size);
	if (p->data)
		agent_syscall(SYS_munmap, p->data, p->data_size + agent.data_spare);
	*p = (struct plane){ 0 };
	room_give_back();
}

static int map_config(int *dir, struct plane *p)
{
	long at = map_file(dir, "config", PROT_READ, &p->config_size, &agent.data_spare);

	if (is_error(at))
		return (int)at;
	p->config = (const char *)at;
	/* Pairs with the release in session_create(). */
	if (__atomic_load_n(&plane_header(p)->magic, __ATOMIC_ACQUIRE) != SESSION_MAGIC ||
	    plane_header(p)->version != SESSION_VERSION)
		return -EPROTO;
	return 0;
}

static int map_data(int *dir, struct plane *p)
{
	long at = map_file(dir, "data", PROT_READ | PROT_WRITE, &p->data_size, &agent.data_spare);

	if (is_error(at))
		return (int)at;
	p->data = (char *)at;
	p->data_mask = (p->data_size + agent.data_spare) / 2 - 1;
	return plane_header(p)->data_size != p->data_size ? -EPROTO : 0;
}

static void here_wipe(void)
{
	for (uint32_t i = 0; agent.here && i < agent.here->nr_given; i++)
		memset(&agent.here->threads[agent.here->given[i]], 0,
		       sizeof(agent.here->threads[0]));
	if (agent.here)
		memset(agent.here, 0, sizeof(*agent.here));
}

/* The thread memory that is made writable at once: most programs have no more threads than that. */
enum { HERE_PAGE = 4096, HERE_THREADS = 16 };

/* Bytes of the mapping with that many threads, or with as many as there are slots. */
static size_t here_bytes(uint32_t threads)
{
	const uint32_t most = plane_header(&agent.plane)->nr_slots;

	return sizeof(*agent.here) +
	       (threads < most ? threads : most) * sizeof(agent.here->threads[0]);
}

/*
 * Makes part of the mapping writable. The rest is not, so that it does not count for RLIMIT_DATA.
 * 0, -errno
 */
static int here_open(const void *from, size_t size)
{
	uintptr_t low = (uintptr_t)from & -(uintptr_t)HERE_PAGE;

	size = ((uintptr_t)from + size - low + HERE_PAGE - 1) & -(size_t)HERE_PAGE;
	return (int)agent_syscall(SYS_mprotect, low, size, PROT_READ | PROT_WRITE);
}

/*
 * The mapping that is empty in a child. Kernels before 4.14 cannot wipe it; then only a handler of
 * fork() does.
 */
static int map_here(void)
{
	bool wipes;
	long at;
	int err;

	if (agent.here)
		return 0;
	agent.here_size = here_bytes(plane_header(&agent.plane)->nr_slots);
	err = room_make(agent.here_size);
	if (err)
		return err;
	at = agent_syscall(SYS_mmap, 0, agent.here_size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (is_error(at))
		return (int)at;
	/* While it is one mapping: the kernel joins and splits mappings at each of these calls. */
	agent_syscall(SYS_madvise, at, agent.here_size, MADV_DONTDUMP);
	wipes = !agent_syscall(SYS_madvise, at, agent.here_size, MADV_WIPEONFORK);
	err = here_open((const void *)at, here_bytes(HERE_THREADS));
	if (err) {
		agent_syscall(SYS_munmap, at, agent.here_size);
		return err;
	}
	agent.here = (struct agent_here *)at;
	/*
	 * Written first: reading it first would take two page faults. Relaxed: nobody else has it
	 * yet.
	 */
	atomic_store_explicit(&agent.here->attached, 0, memory_order_relaxed);
	if (!wipes)
		pthread_atfork(NULL, NULL, here_wipe);
	return 0;
}

/* ---- The exchange ---- */

int attach_slots(const struct attach_reply *reply)
{
	struct agent_here *h = agent.here;
	int err = 0;

	for (uint32_t i = 0; i < reply->nr_slots && i < ATTACH_SLOTS; i++) {
		uint32_t slot = reply->slots[i];

		if (slot >= plane_header(&agent.plane)->nr_slots || slot >= LAYOUT_MAX_SLOTS ||
		    h->nr_given >= LAYOUT_MAX_SLOTS)
			continue;
		if (slot >= HERE_THREADS)
			err = here_open(&h->threads[slot], sizeof(h->threads[0]));
		if (err)
			break;
		h->given[h->nr_given] = (uint16_t)slot;
		/*
		 * Release: pairs with the acquires in attach_detach(), which may run in another
		 * thread's guard, and in agent_other_renamed().
		 */
		__atomic_store_n(&h->nr_given, h->nr_given + 1, __ATOMIC_RELEASE);
	}
	return h->nr_given ? 0 : err;
}

/*
 * A number for the program that exec has started: the same in all copies of the agent (dlmopen())
 * and in all children of fork(). libc makes its stack guard from the kernel's 16 random bytes, so
 * the number has only 15 bits of them. So one exec in 32,768 with an open connection is not seen;
 * then slots stay until the process ends.
 */
static uint64_t image_of_process(void)
{
	const void *random = (const void *)libc_getauxval(AT_RANDOM);
	uint64_t words[2] = { 0 };

	if (random)
		memcpy(words, random, sizeof(words));
	return (words[0] * 0x9e3779b97f4a7c15ull ^ words[1] * 0xc2b2ae3d27d4eb4full) >> 48 | 1;
}

/*
 * Only when the program begins: later its path may lead to another file. A path of /dev/fd is that
 * of a descriptor, which may be another one now.
 */
static uint64_t program_key(void)
{
	struct stat st;

	if (agent.late || !agent.exe || !strncmp(agent.exe, "/dev/", 5) || !agent_may_ask() ||
	    agent_syscall(SYS_newfstatat, AT_FDCWD, agent.exe, &st, 0))
		return 0;
	return attach_file_key(st.st_dev, st.st_ino, (uint64_t)st.st_size,
			       (uint64_t)st.st_ctim.tv_sec, (uint64_t)st.st_ctim.tv_nsec);
}

/* meanwhile: called while the server prepares its answer; NULL: the process only waits. */
static int greet(struct attach_reply *reply, void (*meanwhile)(void))
{
	struct attach_request q = {
		.version = SESSION_VERSION,
		.kind = ATTACH_HELLO,
		.table = agent_providers_table ? agent_providers_table() : 0,
		.value = agent.here->is_known,
		.ready = agent.all_said,
		.program = agent.program,
	};
	int err;

	if (!agent.image)
		agent.image = image_of_process();
	q.image = agent.image;
	q.no_membarrier = agent.here->no_membarrier;
	err = request_begin(&q);
	if (!err && meanwhile)
		meanwhile();
	if (!err)
		err = request_end(&q, reply);
	if (err)
		return err;
	agent.here->is_known = true;
	agent.here->pid = reply->pid;
	agent.here->process = reply->process;
	section_attached();
	agent.here->own_pid = (int32_t)agent_syscall(SYS_getpid);
	agent.here->other_pids = reply->pid && reply->pid != (uint32_t)agent.here->own_pid;
	err = attach_slots(reply);
	/* Relaxed: this thread's own accesses; a later fault of another thread detaches then. */
	return !err && atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_DETACHED
		       ? -EPROTO
		       : err;
}

/*
 * Registers before the server knows of the process. While the server looks at the process, the
 * kernel treats it as one with several threads, and the call takes milliseconds. The second call is
 * made again where its result counts.
 */
static void register_early(void)
{
	if (!agent.here->no_membarrier)
		agent.here->no_membarrier =
			agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0,
				      0) != 0;
	/*
	 * A filter of the program need not allow more calls than those of attach_again().
	 */
	if (agent.starting && !agent_syscall(SYS_prctl, PR_GET_SECCOMP))
		agent_syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE,
			      0, 0);
}

static int connect_server(bool child)
{
	int err, inherited;

	/* Relaxed: see agent_restricted(). */
	if (atomic_load_explicit(&agent.joins_not, memory_order_relaxed))
		return -EPERM;
	register_early();
	err = request_connect();
	if (!err || !child)
		return err;
	inherited = request_inherit();
	/* Without a connection of its parent's the first error says why. */
	return inherited == -ENOTCONN ? err : inherited;
}

static int connect_and_greet(struct attach_reply *reply, bool child)
{
	int err = connect_server(child);

	if (!err)
		err = greet(reply, NULL);
	if (err)
		request_close();
	return err;
}

static enum untraced untraced_reason(int err)
{
	switch (err) {
	case ATTACH_NO_DESCRIPTOR:
		return UNTRACED_DESCRIPTORS;
	case -EUSERS:
		return UNTRACED_FULL;
	case -ETIMEDOUT:
		return UNTRACED_LATE;
	case -ECONNREFUSED:
	case -ECONNRESET:	/* it was killed before it answered */
		return UNTRACED_SERVER;
	default:
		return UNTRACED_OTHER;
	}
}

/*
 * The session's memory is mapped, but the process cannot join: this count is all that it can
 * report.
 */
static void untraced_count(int err)
{
	struct losses *l = &((struct data_header *)agent.plane.data)->losses;
	enum untraced why = untraced_reason(err);

	/* What filters answer, the last one those of systemd's address families. */
	if ((err == -EPERM || err == -ENOSYS || err == -EAFNOSUPPORT) &&
	    (agent.began_filtered || agent_filtered()))
		why = UNTRACED_SANDBOX;
	/* Relaxed: a count. */
	atomic_fetch_add_explicit(&l->untraced[why], 1, memory_order_relaxed);
}

int attach_again(void)
{
	struct attach_reply reply;
	int err;

	/* Relaxed: read and written under the lock. */
	if (atomic_load_explicit(&agent.here->attached, memory_order_relaxed))
		return 0;
	if (atomic_load_explicit(&agent.here->retry, memory_order_relaxed) > counter_read() ||
	    sites_wait_for_fork())
		return -EAGAIN;
	err = connect_and_greet(&reply, true);
	if (err) {
		/* Relaxed, as the next one: written under the lock. */
		if (!atomic_exchange_explicit(&agent.here->refused, true, memory_order_relaxed))
			untraced_count(err);
		atomic_store_explicit(&agent.here->retry, counter_read() + AGENT_WAIT_TICKS,
				      memory_order_relaxed);
		return err;
	}
	/* Relaxed: see quiet_is(). */
	atomic_store_explicit(&agent.quiet, false, memory_order_relaxed);
	/* Pairs with the acquire in agent_attached(). */
	atomic_store_explicit(&agent.here->attached, 1, memory_order_release);
	sites_tell();	/* a quiet program's */
	sites_again();
	return 0;
}

int attach_more(void)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_MORE };
	struct attach_reply reply;
	int err;

	if (!request_usable()) {
		agent.conn.fd = -1;
		return connect_and_greet(&reply, false);
	}
	err = request_ask(&q, &reply);
	return err ? err : attach_slots(&reply);
}

uint32_t attach_pid(uint32_t tid)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_PID, .value = tid };
	struct attach_reply reply;

	if (!agent.here->other_pids || (!request_usable() && attach_more()) ||
	    request_ask(&q, &reply) || !reply.pid)
		return tid;
	return reply.pid;
}

/* Waits until the setup has been applied, without a limit. q has had its first answer. */
static void wait_at_barrier(const struct attach_request *q)
{
	struct attach_reply reply;

	if (request_answer(q, &reply, sizeof(reply), 0) == (long)sizeof(reply))
		agent.has_probes |= reply.has_probes;
}

/* Sends READY, unless HELLO has said so already. */
static void ready(void)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_READY,
				    .program = agent.program };
	struct attach_reply reply;

	if (agent.all_said || request_ask(&q, &reply))
		return;
	agent.has_probes |= reply.has_probes;
	if (reply.barrier)
		wait_at_barrier(&q);
}

static void publish(const struct attach_reply *reply)
{
	agent_provider_id = reply->provider_id;
	/* Release: pairs with the dependency of the loads in provider_armed(). */
	if (reply->provider_id && reply->provider_id < LAYOUT_MAX_EVENTS)
		__atomic_store_n(&agent_provider_events,
				 plane_event(&agent.plane, reply->provider_id), __ATOMIC_RELEASE);
}

/*
 * The part of the start that asks the server nothing, if there are no static events and no sites.
 * tasks_start() comes last: before fork() its handler runs first. It may join the session, and the
 * handler of the sites takes a lock that joining takes.
 */
static void start_silently(void)
{
	sites_start();
	tasks_start();
}

static int join_session(struct attach_reply *reply)
{
	int err = map_here();

	agent.program = program_key();
	agent.all_said = !events_any() && sites_none();
	if (!err && agent.all_said && !agent.late && quiet_begins && quiet_begins(reply)) {
		start_silently();
		return 0;
	}
	if (!err)
		err = connect_server(false);
	/*
	 * Not if the agent is late: other threads load and unload then, and it could not be undone.
	 */
	if (!err)
		err = greet(reply, agent.all_said && !agent.late ? start_silently : NULL);
	if (err) {
		sites_stop();
		untraced_count(err);
	}
	if (!err && agent.all_said)
		agent.has_probes |= reply->has_probes;
	if (!err && agent.all_said && reply->barrier)
		wait_at_barrier(&(struct attach_request){ .number = agent.conn.asked });
	return err;
}

static int map_and_join(int *dir, struct attach_reply *reply)
{
	int err = map_config(dir, &agent.plane);

	if (!err)
		err = map_data(dir, &agent.plane);
	if (!err)
		err = join_session(reply);
	if (err)
		request_close();
	return err;
}

/* For a sandbox in which the program cannot join. It may forbid any call but these. */
static __attribute__((cold)) void map_and_count(int *dir)
{
	if (!map_config(dir, &agent.plane) && !map_data(dir, &agent.plane))
		untraced_count(-EPERM);
}

/*
 * Cold, as the other long functions of a start: each program runs them once, and pays more for the
 * pages that they lie on than for what they do.
 */
static __attribute__((cold)) int start(const char *name, const char *runtime_dir)
{
	struct attach_reply reply;
	uint32_t state = AGENT_OFF;
	int dir = sandbox_permits() ? place_open(name, runtime_dir) : -EPERM, err;

	if (dir < 0)
		return dir;
	if (agent_restricted()) {
		map_and_count(&dir);
		err = -EPERM;
	} else {
		guard_start();
		dso_start();
		err = map_and_join(&dir, &reply);
	}
	if (dir >= 0)
		agent_syscall(SYS_close, dir);
	if (err) {
		unmap(&agent.plane);
		guard_stop();
		/* Relaxed: the state was never AGENT_ON. */
		atomic_store_explicit(&agent.state, AGENT_OFF, memory_order_relaxed);
		return err;
	}
	if (!agent.all_said || agent.late) {
		events_start();
		sites_start();
		tasks_start();
	}
	if (!quiet_is())
		sites_tell();
	ready();
	publish(&reply);
	/*
	 * Both pair with the acquires in agent_attached(). Until then no other thread uses the
	 * connection.
	 */
	atomic_store_explicit(&agent.here->attached, !quiet_is(), memory_order_release);
	if (!atomic_compare_exchange_strong_explicit(&agent.state, &state, AGENT_ON,
						     memory_order_release, memory_order_relaxed)) {
		/* The memory was damaged meanwhile: what has just been published is withdrawn. */
		attach_detach();
		return -EPROTO;
	}
	if (!quiet_is())
		events_start();		/* of DSOs that were loaded meanwhile */
	sites_begin();
	section_start();
	if (thread_lock())	/* other threads may have begun */
		thread_unlock();
	if (agent_providers_begin)
		agent_providers_begin(agent.late);
	return 0;
}

__attribute__((cold)) int attach_start(const char *name, const char *runtime_dir)
{
	int err;

	agent.starting = true;
	err = start(name, runtime_dir);
	agent.starting = agent.all_said = false;
	return err;
}

void attach_detach(void)
{
	/* Release, though it needs no partner: never[] has been zeros since load. */
	__atomic_store_n(&agent_provider_events, never, __ATOMIC_RELEASE);
	section_stop();
	/* Relaxed: hits of other threads that have begun find zeros. */
	atomic_store_explicit(&agent.state, AGENT_DETACHED, memory_order_relaxed);
	/*
	 * Pairs with the fence in thread_begin(): either that thread sees the state, or this one
	 * sees its slot.
	 */
	atomic_thread_fence(memory_order_seq_cst);
	if (!agent.here)
		return;
	/* Acquire: pairs with the release in attach_slots(). */
	for (uint32_t i = 0, nr = __atomic_load_n(&agent.here->nr_given, __ATOMIC_ACQUIRE); i < nr;
	     i++)
		if (agent.here->threads[agent.here->given[i]].slot)
			agent.here->threads[agent.here->given[i]].slot = NULL;
}

/* ---- Load ---- */

static const char *env_of(char **envp, const char *name)
{
	size_t len = strlen(name);

	for (; envp && *envp; envp++)
		if (**envp == *name && !strncmp(*envp, name, len) && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}

/*
 * With -z initfirst this runs before libc's own constructor: environ is not set yet, but the
 * arguments are.
 */
static __attribute__((constructor)) void agent_load(int argc, char **argv, char **envp)
{
	const char *name = env_of(envp, "TRACEFUSE_SESSION");
	int err;

	if (agent.first)
		return;
	agent.verbose = env_of(envp, "TRACEFUSE_VERBOSE") != NULL;
	agent.main_stack = (uintptr_t)argv;
	agent.exe = (const char *)libc_getauxval(AT_EXECFN);
	agent.key = thread_key_create();
	/*
	 * If a program has more rights than its user, the user's environment must not decide what
	 * it maps.
	 */
	if (!name || !*name || libc_getauxval(AT_SECURE))
		return;
	err = attach_start(name, env_of(envp, "XDG_RUNTIME_DIR"));
	if (err)
		agent_say("not attached", err);
}

/*
 * A process that is in a session answers the server's knock here (late.c): `tracefuse attach` calls
 * it in a process that was not started with interposers, and so has no other such call.
 */
static __attribute__((cold)) int already_attached(void)
{
	uint64_t old = signals_block();

	/* Relaxed: as in tf_attach(). */
	if (atomic_load_explicit(&agent.state, memory_order_relaxed) == AGENT_ON)
		late_answer();
	signals_restore(old);
	return -EBUSY;
}

/*
 * The process in which a thread is in tf_attach(); else 0. Another one may come: two commands can
 * attach a process at the same time. In a child of fork() the number is not its own.
 */
static atomic_uint joining;

static __attribute__((cold)) void joining_begin(void)
{
	const uint32_t self = (uint32_t)agent_syscall(SYS_getpid);
	uint32_t other = 0;

	/* Acquire: pairs with the release in joining_end(). */
	while (!atomic_compare_exchange_weak_explicit(&joining, &other, self, memory_order_acquire,
						      memory_order_relaxed)) {
		if (other != self)
			continue;
		/* No call with a timeout: the kernel may have one to begin again. */
		agent_syscall(SYS_futex, &joining, FUTEX_WAIT_PRIVATE, self, NULL, NULL, 0);
		other = 0;
	}
}

static __attribute__((cold)) void joining_end(void)
{
	/* Release: pairs with the acquire in joining_begin(). */
	atomic_store_explicit(&joining, 0, memory_order_release);
	agent_syscall(SYS_futex, &joining, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

static __attribute__((cold)) int attach_late(const char *session)
{
	int err;

	/* Relaxed: only this function and the constructor change it to AGENT_ON. */
	if (atomic_load_explicit(&agent.state, memory_order_relaxed) != AGENT_OFF)
		return already_attached();
	/* As at load. */
	if (libc_getauxval(AT_SECURE))
		return -EPERM;
	agent.late = true;
	err = attach_start(session, libc_getenv("XDG_RUNTIME_DIR"));
	return err == -EAGAIN ? -ETIMEDOUT : err;
}

AGENT_API int tf_attach(const char *session)
{
	int err;

	if (agent.first)
		return agent.first(session);
	/* It cannot join then, and may make no system call for it. */
	if (!sandbox_permits())
		return attach_late(session);
	joining_begin();
	err = attach_late(session);
	joining_end();
	return err;
}
