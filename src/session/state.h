/* SPDX-License-Identifier: MIT */
/*
 * state.h - what a server keeps in its own memory about its session
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

/* Something that was unpublished and waits for the hits that may still see it. */
struct limbo_entry {
	struct heap	*heap;
	uint64_t	off, len;
	uint64_t	epoch;		/* hits that saw this epoch cannot see it */
};

struct limbo {
	struct limbo_entry *v;		/* in order of epoch */
	size_t		nr;
};

/* An attached process; the index is that of its struct process_entry. */
struct process {
	pid_t		pid;		/* 0: free */
	int		pidfd;		/* -1: none */
	int		conn;		/* -1: the connection is gone or was the old server's */
	bool		gone;		/* said goodbye: its slots are to be taken back */
	bool		greeted;	/* said HELLO */
	bool		waits;		/* waits for attach_go() */
	uint32_t	waits_for;	/* of the request that waits */
	bool		described;	/* by process_describe() */
	bool		known;		/* it was here before it connected: follow.c */
	/* did not answer a command of sites in time: nobody waits for it */
	bool		slow;
	unsigned int	nr_slots;	/* that it has */
	int64_t		since;		/* milliseconds: when it connected */
	uint64_t	image;		/* of what it runs, as it says; 0: it does not say */
};

/* A buffer that there is, and its book (ring/book.h). */
struct buffer_name {
	data_ref	buffer;
	config_ref	book;
	uint64_t	number;
};

struct buffer_names {
	struct buffer_name *v;
	size_t		nr;
	uint64_t	made;		/* so far */
};

enum { SLOT_FREE = 0, SLOT_SERVER = UINT32_MAX };
enum { FOLLOW_GONE = 64 };

struct session {
	char		name[64];
	char		dir[4096];	/* "": memory without a name (no tmpfs) */
	int		dirfd;
	int		lock_fd;	/* while nobody serves it yet (session_served()); -1 */
	bool		private;	/* destroyed at close */
	bool		membarrier;	/* the system has it and the session uses it */
	struct region	config, data;
	struct heap	config_heap, data_heap;
	struct config_header *header;
	struct plane	plane;
	struct limbo	limbo;
	struct buffer_names buffers;
	uint32_t	nr_slots;
	/* by slot: SLOT_FREE, SLOT_SERVER or 1 + index of the process */
	uint32_t	*slot_process;
	struct process	processes[LAYOUT_MAX_PROCESSES];
	unsigned int	processes_end;	/* no process from here on */
	int		listen_fd;	/* -1: none */
	bool		serving;	/* attach_serve() runs */
	bool		stepping;	/* for attach_step() */
	int64_t		stepped;	/* milliseconds: the last time */
	/* milliseconds: connections are not accepted until then; 0: they are */
	int64_t		paused_until;
	int		poll_fd;	/* epoll over the socket, connections and pidfds */
	struct attach_hooks hooks;
	/* ATTACH_PACKET bytes: what is being read from a connection */
	char		*packet;
	/* follow.c: the last ones that lived on without the session */
	struct process_entry gone[FOLLOW_GONE];
	unsigned int	next_gone;
};

/* place.c: where sessions lie */
int place_base(char *out, size_t size, bool create);	/* -ENOTSUP: no tmpfs */
/*
 * What lies at the path by now may be another: looked at as it was opened. A descriptor, or -errno
 */
int place_open_dir(const char *path);
void place_private_name(char *out, size_t size);
/* W1: until `base` is closed nobody sweeps there. */
void place_hold(int base);
/* What -EACCES and -ENOTDIR of place_base() mean, in words. */
const char *place_taken(void);
/* room.c: bytes that a CPU's ring of a buffer may have by default. */
uint64_t room_of_ring(const struct session *s, uint32_t nr_cpus);

bool place_alive(int dirfd);				/* a server accepts connections there */
/* Of the directory all files that a session has. */
void place_empty(int dirfd);
void place_sweep(int base);				/* private sessions that nobody serves */

/* session.c: notes for the next server how far the heaps are used */
void session_heaps_changed(struct session *s);

/* limbo.c */
void limbo_destroy(struct limbo *l);
int limbo_add(struct session *s, struct heap *heap, uint64_t off, uint64_t len);

/* slot.c */
int slots_create(struct session *s);
void slots_destroy(struct session *s);
struct slot_book *slot_book(struct session *s, uint32_t index);		/* index below nr_slots */
/* No slot from here on has ever been given, so none has memory. */
uint32_t slots_end(const struct session *s);
/* The slot is that process's (1 + index), SLOT_SERVER's or SLOT_FREE now. */
void slot_assign(struct session *s, uint32_t index, uint32_t process);
/* Gives `nr` slots to process index + 1 or SLOT_SERVER; fills out, returns how many there were. */
unsigned int slots_give(struct session *s, uint32_t process, unsigned int nr, uint32_t *out);
void slots_take_back(struct session *s, uint32_t process);
void slot_recycle(struct session *s, uint32_t index);

/* process.c */
int process_add(struct session *s, pid_t pid, int pidfd, int conn);
/* Which image it says it is. */
void process_runs(struct session *s, unsigned int index, uint64_t image);
/* What /proc tells, which takes a while: mostly when it has had its first answer. */
void process_describe(struct session *s, unsigned int index);
void process_remove(struct session *s, unsigned int index);
bool process_alive(const struct process *p);
/* of the old server, after session_open() */
void processes_restore(struct session *s);
uint64_t process_start_time(pid_t pid);			/* 0: no such process */
uint64_t process_began(struct session *s, unsigned int index);	/* when it connected: the same */

pid_t process_parent(pid_t pid);			/* 0: not known */

/* follow.c: new processes and the sets of pids of who made them */
/* it left, or executes another program */
void follow_remember(struct session *s, pid_t pid, uint64_t start_time);
/* it is attached, or was */
bool follow_knows(const struct session *s, pid_t pid, uint64_t start_time);
void follow_child(struct session *s, pid_t pid);	/* it joins */

/* instance_book.c */
/* it joins the sets that follow tasks */
void pids_inherit(struct session *s, pid_t creator, pid_t pid);

/* site_command.c */
/* of who had the index before */
void process_forget_answer(struct session *s, unsigned int index);

/* task.c: threads of processes that may live in another pid name space */
/* The thread that the process itself calls `tid`, as this process sees it; 0: there is none. */
pid_t task_find(pid_t process, uint32_t tid);
/* False only when no thread of that name is left. */
bool task_lives(pid_t process, uint32_t tid);

/* recover.c */
void process_end(struct session *s, unsigned int index);	/* it died, left or called exec */
/* what its thread left half done in maps */
void slot_finish(struct session *s, uint32_t index);
/* Slots of the process whose threads are gone; they stay the process's own. Returns how many. */
unsigned int threads_finish(struct session *s, unsigned int index);

/* attach/server.c */
int attach_listen(struct session *s);
/* Accepts again what was paused, when its time is over. */
void attach_restore(struct session *s);
/*
 * attach_serve() looks when the descriptor is readable; it is that process's (1 + index), 0: the
 * socket.
 */
int attach_watch(struct session *s, unsigned int process, int fd);
/* To a process; never waits. */
void attach_send(int conn, const void *answer, size_t size);
/* Closes it, too. */
void attach_unwatch(struct session *s, int fd);
void attach_stop(struct session *s);

/* attach/answer.c: one packet of a process, `size` bytes in s->packet. */
void attach_answer(struct session *s, unsigned int index, size_t size);

#endif
