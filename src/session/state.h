/* SPDX-License-Identifier: MIT */
/*
 * state.h - what a server knows of its session, in its own memory
 *
 * Included by src/session only.
 */
#ifndef TRACEFUSE_SESSION_STATE_H
#define TRACEFUSE_SESSION_STATE_H

#include <stdbool.h>
#include <sys/types.h>
#include "plane/plane.h"
#include "session/attach/attach.h"
#include "session/heap.h"
#include "session/region.h"
#include "session/session.h"

/* Memory that was unpublished and waits for the hits that may still see it. */
struct limbo_entry {
	struct heap	*heap;
	uint64_t	off, len;
	uint64_t	epoch;		/* a hit that saw this epoch cannot see it */
};

struct limbo {
	struct limbo_entry *v;		/* in order of epoch */
	size_t		nr;
	int64_t		moved_at;	/* milliseconds: it began, or something was freed */
};

/* An attached process. It has the same index as its struct process_entry. */
struct process {
	pid_t		pid;		/* 0: free */
	int		pidfd;		/* -1: none, or not yet */
	int		conn;		/* -1: the connection is gone or was the old server's */
	/*
	 * Of which the kernel will make the pidfd (S3 of server.c): the connection, though it may
	 * have ended; -1: none, or no longer
	 */
	int		peer;
	bool		gone;		/* it said goodbye: its slots are to be taken back */
	bool		greeted;	/* it said HELLO */
	bool		passed;		/* another process passed its end of a pair: ATTACH_CHILD */
	bool		waits;		/* it waits for attach_go() */
	uint32_t	waits_for;	/* the number of the request that waits */
	bool		found_probes;	/* attach_found_probes() */
	bool		described;	/* process_describe() was called */
	bool		settled;	/* it is described, and epoll reports its end */
	/* Its connection has ended, and nobody has looked yet whether the process has left */
	bool		perhaps_left;
	bool		known;		/* it existed before it connected: follow.c */
	/* It did not answer a command for sites in time: the server no longer waits for it */
	bool		slow;
	unsigned int	nr_slots;	/* how many it has */
	int32_t		apart;		/* task_find() */
	unsigned int	look_at;	/* with so many, ATTACH_MORE looks for dead threads */
	int64_t		since;		/* milliseconds: the time when it connected */
	uint64_t	image;		/* the image that it says it runs; 0: it does not say */
};

/* A buffer that exists, and its book (ring/book.h). */
struct buffer_name {
	data_ref	buffer;
	config_ref	book;
	uint64_t	number;
};

struct buffer_names {
	struct buffer_name *v;
	size_t		nr;
	uint64_t	made;		/* how many so far */
};

enum { SLOT_FREE = 0, SLOT_SERVER = UINT32_MAX };
enum { FOLLOW_GONE = 64 };

struct session {
	char		name[64];
	char		dir[4096];	/* "": memory without a name (no tmpfs) */
	int		dirfd;
	/* While the server does not answer yet (session_served()); otherwise -1 */
	int		lock_fd;
	bool		private;	/* it is destroyed at close */
	bool		membarrier;	/* the system has membarrier, and the session uses it */
	struct region	config, data;
	struct heap	config_heap, data_heap;
	struct config_header *header;
	struct plane	plane;
	struct limbo	limbo;
	struct buffer_names buffers;
	uint32_t	nr_slots;
	/* By slot: SLOT_FREE, SLOT_SERVER or 1 + index of the process */
	uint32_t	*slot_process;
	struct process	processes[LAYOUT_MAX_PROCESSES];
	unsigned int	processes_end;	/* no index from here on has a process */
	int		listen_fd;	/* -1: none */
	unsigned int	holds;		/* session_hold() */
	int64_t		prepared_at;	/* milliseconds: session_data_prepare() was called last */
	bool		serving;	/* attach_serve() is running */
	bool		stepping;	/* it is attach_step() that runs it */
	int64_t		stepped;	/* milliseconds: when attach_step() last did its work */
	/* Milliseconds: no connection is accepted until then; 0: all are */
	int64_t		paused_until;
	/* Milliseconds: when attach_settle() has work to do; 0: it has none */
	int64_t		settle_at;
	unsigned int	nr_perhaps_left;	/* processes of which that is true */
	unsigned int	nr_peers;	/* processes that have `peer` */
	enum peers { PEERS_UNKNOWN, PEERS_TELL, PEERS_SILENT } peers;	/* S3 of server.c */
	int		poll_fd;	/* an epoll with the socket, connections and pidfds */
	struct attach_hooks hooks;
	/* ATTACH_PACKET bytes: the packet that is being read */
	char		*packet;
	/* follow.c: the last processes that left and may live without the session */
	struct process_entry gone[FOLLOW_GONE];
	unsigned int	next_gone;
	bool		may_have_orphans;	/* follow.c: a process has ended since it looked */
};

/* place.c: where sessions lie */
int place_base(char *out, size_t size, bool create);	/* -ENOTSUP: no tmpfs */
/*
 * Opens the directory and checks the open one: the path may lead to another by now. Returns a
 * descriptor, or -errno.
 */
int place_open_dir(const char *path);
void place_private_name(char *out, size_t size);
/* W1: until `base` is closed no session there is removed. */
void place_hold(int base);
/* The words for -EACCES and -ENOTDIR of place_base(). */
const char *place_taken(void);
/* room.c: the default size in bytes of a CPU's ring in a buffer. */
uint64_t room_of_ring(const struct session *s, uint32_t nr_cpus);

/* Whether a server accepts connections there */
bool place_alive(int dirfd);
/* Removes all files that a session has from the directory. */
void place_empty(int dirfd);
/* Removes private sessions without a server */
void place_sweep(int base);

/* session.c: notes for the next server how much of the heaps was used */
void session_heaps_changed(struct session *s);

/* limbo.c */
void limbo_destroy(struct limbo *l);
int limbo_add(struct session *s, struct heap *heap, uint64_t off, uint64_t len);

/* slot.c */
int slots_create(struct session *s);
void slots_destroy(struct session *s);
struct slot_book *slot_book(struct session *s, uint32_t index);		/* index below nr_slots */
/* No slot from here on was ever given, so none has memory. */
uint32_t slots_end(const struct session *s);
/* Notes that the slot belongs to a process (1 + index), SLOT_SERVER or SLOT_FREE. */
void slot_assign(struct session *s, uint32_t index, uint32_t process);
/*
 * Gives up to `nr` slots to a process (1 + index) or SLOT_SERVER. Fills `out` and returns their
 * number.
 */
unsigned int slots_give(struct session *s, uint32_t process, unsigned int nr, uint32_t *out);
void slots_take_back(struct session *s, uint32_t process);
void slot_recycle(struct session *s, uint32_t index);

/* process.c */
/* pidfd -1: process_alive() makes it. */
int process_add(struct session *s, pid_t pid, int pidfd, int conn);
/* Notes which image the process says it runs. */
void process_runs(struct session *s, unsigned int index, uint64_t image);
/* Reads about it in /proc, which takes a while: mostly some time after its first answer. */
void process_describe(struct session *s, unsigned int index);
void process_remove(struct session *s, unsigned int index);
bool process_alive(struct session *s, struct process *p);
/* Closes `peer`, if it is still there and is not the connection. */
void process_drop_peer(struct session *s, struct process *p);
/* Takes over those of the old server, after session_open() */
void processes_restore(struct session *s);
/* Its start time; describes it if that was not done yet */
uint64_t process_began(struct session *s, unsigned int index);

/* follow.c: new processes join the sets of pids of their creators */
/* Now, as /proc/PID/stat has the start of a process */
uint64_t follow_now(void);
/* The process left, or executes another program */
void follow_remember(struct session *s, pid_t pid, uint64_t start_time);
/* Whether the process is attached, or was */
bool follow_knows(struct session *s, pid_t pid, uint64_t start_time);
void follow_child(struct session *s, pid_t pid);	/* the process joins */

/* instance_book.c */
/* The process joins the sets that follow tasks */
void pids_inherit(struct session *s, pid_t creator, pid_t pid);

/* site_command.c */
/* Forgets the answer of the process that had the index before */
void process_forget_answer(struct session *s, unsigned int index);
/* What the process has answered. False: nothing so far. */
bool process_answer(struct session *s, unsigned int index, struct attach_answer *out);

/* task.c: threads of processes that may live in another pid name space */
/*
 * The thread that the process itself calls `tid`, as this process numbers it; 0: there is none.
 * *apart: by how much the two numbers of the last one differed; 0 at first.
 */
pid_t task_find(pid_t process, uint32_t tid, int32_t *apart);
enum tasks_known { TASKS_UNKNOWN, TASKS_GONE, TASKS_OUTER, TASKS_LISTED };
/* The threads that a process has. A look takes long, so there is one for many questions. */
struct tasks {
	pid_t			process;
	enum tasks_known	known;
	uint32_t		*inner;	/* TASKS_LISTED: sorted */
	size_t			nr;
};
void tasks_look(pid_t process, struct tasks *t);
/*
 * False only if the process has no thread of that number any more. It must have been there before
 * the look.
 */
bool tasks_have(const struct tasks *t, uint32_t tid);
void tasks_forget(struct tasks *t);

/* recover.c */
/* The process died, left or called exec */
void process_end(struct session *s, unsigned int index);
/* Finishes what the slot's dead thread left half done in maps */
void slot_finish(struct session *s, uint32_t index);
/* Takes back slots of dead threads. They stay with the process. Returns how many. */
unsigned int threads_finish(struct session *s, unsigned int index);

/* attach/server.c */
int attach_listen(struct session *s);
/*
 * Notes which connections have ended by now, but for that of a process (1 + index) that is being
 * answered.
 */
void attach_see_ends(struct session *s, uint32_t but);
/* Accepts connections again when the pause is over. */
void attach_restore(struct session *s);
/* What a process needs only if it lives longer than a few milliseconds (server.c). */
void attach_settle(struct session *s);
/*
 * epoll reports the descriptor to attach_serve(). It belongs to a process (1 + index), 0: it is the
 * socket.
 */
int attach_watch(struct session *s, unsigned int process, int fd);
/* Sends an answer to a process. Never waits. */
void attach_send(int conn, const void *answer, size_t size);
/* Also closes the descriptor. */
void attach_unwatch(struct session *s, int fd);
/*
 * A pidfd of the process at the other end, or -errno. Only from the kernel: never one of another
 * process that has got the number since. Where the kernel can tell and the process is dead, an
 * error.
 */
int attach_told_pidfd(int conn);
/* Whether the process still has the data file mapped. True if that is unknown. */
bool process_maps(const struct session *s, pid_t pid);
/* The same. False if that is unknown. */
bool process_maps_known(const struct session *s, pid_t pid);
void attach_stop(struct session *s);

/* attach/answer.c: answers one packet of a process, `size` bytes in s->packet. */
void attach_answer(struct session *s, unsigned int index, size_t size);

#endif
