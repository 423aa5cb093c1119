/* SPDX-License-Identifier: MIT */
/*
 * table.c - the events that every program has: names, fields and print formats
 *
 * Linked into the server. The agent has only the numbers, and the version that
 * make_table_version.c computes at build time.
 */
#include <string.h>
#include "agent/providers/records.h"
#include "agent/providers/table.h"

const char *const provider_names[] = { "heap",	  "lock", "thread", "signal",
				      "syscalls", "kmem", "sched", NULL };

#define FIELD(record, member, text, sign) { text, offsetof(struct record, member), \
	sizeof(((struct record *)0)->member), sign }

#define FIELDS_ALLOC(record)						\
	FIELD(record, call_site, "unsigned long call_site", 0),		\
	FIELD(record, ptr, "const void * ptr", 0),			\
	FIELD(record, bytes_req, "size_t bytes_req", 0),		\
	FIELD(record, bytes_alloc, "size_t bytes_alloc", 0)

#define PRINT_ALLOC "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu\"" \
	", (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc"

#define EVENT_ALLOC(name) { "heap", name, PRINT_ALLOC, { FIELDS_ALLOC(heap_alloc) } }

#define EVENT_ALIGNED(name) { "heap", name,						\
	"\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu alignment=%zu\""		\
	", (void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, REC->alignment", \
	{ FIELDS_ALLOC(heap_aligned), FIELD(heap_aligned, alignment, "size_t alignment", 0) } }

#define LOCK_FLAGS \
	"{ 1, \"SPIN\" }, { 2, \"READ\" }, { 4, \"WRITE\" }, { 8, \"RT\" }, { 16, \"PERCPU\" }, " \
	"{ 32, \"MUTEX\" }"
#define LOCK_KINDS \
	"{ 0, \"mutex\" }, { 1, \"read\" }, { 2, \"write\" }, { 3, \"spin\" }, { 4, \"sem\" }, { " \
	"5, \"cond\" }"
#define WAKE_KINDS "{ 0, \"cond\" }, { 1, \"sem\" }, { 2, \"futex\" }, " \
	"{ 3, \"mutex\" }, { 4, \"rwlock\" }, { 5, \"join\" }"

#define EVENT_HELD(name) { "lock", name,				\
	"\"%p kind=%s call_site=%pS\", REC->lock_addr, "		\
	"__print_symbolic(REC->kind, " LOCK_KINDS "), (void *)REC->call_site",	\
	{ FIELD(lock_held, lock_addr, "void * lock_addr", 0),		\
	  FIELD(lock_held, call_site, "unsigned long call_site", 0),	\
	  FIELD(lock_held, kind, "unsigned int kind", 0) } }

static const struct provider_event own[PROVIDER_SIGNAL_GENERATE] = {
	[PROVIDER_MALLOC] = EVENT_ALLOC("malloc"),
	[PROVIDER_CALLOC] = EVENT_ALLOC("calloc"),
	[PROVIDER_REALLOC] =
		{ "heap",
		 "realloc",
		 "\"call_site=%pS old_ptr=%p ptr=%p bytes_req=%zu bytes_alloc=%zu bytes_old=%zu\", "
		 "(void *)REC->call_site, REC->old_ptr, REC->ptr, REC->bytes_req, "
		 "REC->bytes_alloc, REC->bytes_old",
		 { FIELD(heap_realloc, call_site, "unsigned long call_site", 0),
		  FIELD(heap_realloc, old_ptr, "const void * old_ptr", 0),
		  FIELD(heap_realloc, ptr, "const void * ptr", 0),
		  FIELD(heap_realloc, bytes_req, "size_t bytes_req", 0),
		  FIELD(heap_realloc, bytes_alloc, "size_t bytes_alloc", 0),
		  FIELD(heap_realloc, bytes_old, "size_t bytes_old", 0) } },
	[PROVIDER_FREE] = { "heap",
			   "free",
			   "\"call_site=%pS ptr=%p bytes_alloc=%zu\", (void *)REC->call_site, "
			   "REC->ptr, REC->bytes_alloc",
			   { FIELD(heap_free, call_site, "unsigned long call_site", 0),
			    FIELD(heap_free, ptr, "const void * ptr", 0),
			    FIELD(heap_free, bytes_alloc, "size_t bytes_alloc", 0) } },
	[PROVIDER_POSIX_MEMALIGN] = EVENT_ALIGNED("posix_memalign"),
	[PROVIDER_ALIGNED_ALLOC] = EVENT_ALIGNED("aligned_alloc"),
	[PROVIDER_MEMALIGN] = EVENT_ALIGNED("memalign"),
	[PROVIDER_VALLOC] = EVENT_ALIGNED("valloc"),
	[PROVIDER_MMAP] = { "heap",
			   "mmap",
			   "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu prot=%s "
			   "flags=0x%x fd=%d offset=0x%lx\", "
			   "(void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, "
			   "(REC->prot) ? __print_flags(REC->prot, \"|\", { 1, \"READ\" }, { 2, "
			   "\"WRITE\" }, { 4, \"EXEC\" }) : \"NONE\", "
			   "REC->flags, REC->fd, REC->offset",
			   { FIELDS_ALLOC(heap_mmap), FIELD(heap_mmap, prot, "int prot", 1),
			    FIELD(heap_mmap, flags, "int flags", 1),
			    FIELD(heap_mmap, fd, "int fd", 1),
			    FIELD(heap_mmap, offset, "off_t offset", 1) } },
	[PROVIDER_MUNMAP] = { "heap", "munmap", PRINT_ALLOC, { FIELDS_ALLOC(heap_munmap) } },
	[PROVIDER_MREMAP] = { "heap",
			     "mremap",
			     "\"call_site=%pS old_ptr=%p ptr=%p bytes_old=%zu bytes_req=%zu "
			     "bytes_alloc=%zu flags=0x%x\", "
			     "(void *)REC->call_site, REC->old_ptr, REC->ptr, REC->bytes_old, "
			     "REC->bytes_req, REC->bytes_alloc, REC->flags",
			     { FIELD(heap_mremap, call_site, "unsigned long call_site", 0),
			      FIELD(heap_mremap, old_ptr, "const void * old_ptr", 0),
			      FIELD(heap_mremap, ptr, "const void * ptr", 0),
			      FIELD(heap_mremap, bytes_old, "size_t bytes_old", 0),
			      FIELD(heap_mremap, bytes_req, "size_t bytes_req", 0),
			      FIELD(heap_mremap, bytes_alloc, "size_t bytes_alloc", 0),
			      FIELD(heap_mremap, flags, "int flags", 1) } },
	[PROVIDER_BRK] = { "heap",
			  "brk",
			  "\"call_site=%pS ptr=%p increment=%ld\", (void *)REC->call_site, "
			  "REC->ptr, REC->increment",
			  { FIELD(heap_brk, call_site, "unsigned long call_site", 0),
			   FIELD(heap_brk, ptr, "const void * ptr", 0),
			   FIELD(heap_brk, increment, "long increment", 1) } },

	[PROVIDER_CONTENTION_BEGIN] =
		{ "lock",
		 "contention_begin",
		 "\"%p (flags=%s)\", REC->lock_addr, __print_flags(REC->flags, \"|\", " LOCK_FLAGS
		 ")",
		 { FIELD(lock_begin, lock_addr, "void * lock_addr", 0),
		  FIELD(lock_begin, flags, "unsigned int flags", 0) } },
	[PROVIDER_CONTENTION_END] = { "lock",
				     "contention_end",
				     "\"%p (ret=%d)\", REC->lock_addr, REC->ret",
				     { FIELD(lock_end, lock_addr, "void * lock_addr", 0),
				      FIELD(lock_end, ret, "int ret", 1) } },
	[PROVIDER_ACQUIRED] = EVENT_HELD("acquired"),
	[PROVIDER_RELEASED] = EVENT_HELD("released"),

	[PROVIDER_CREATE] = { "thread",
			     "create",
			     "\"call_site=%pS start_routine=%pS child_pid=%d ret=%d\", "
			     "(void *)REC->call_site, REC->start_routine, REC->child_pid, REC->ret",
			     { FIELD(thread_create, call_site, "unsigned long call_site", 0),
			      FIELD(thread_create, start_routine, "void * start_routine", 0),
			      FIELD(thread_create, child_pid, "pid_t child_pid", 1),
			      FIELD(thread_create, ret, "int ret", 1) } },
	[PROVIDER_EXIT] =
		{ "thread",
		 "exit",
		 "\"comm=%s pid=%d start_routine=%pS\", REC->comm, REC->pid, REC->start_routine",
		 { FIELD(thread_exit, start_routine, "void * start_routine", 0),
		  FIELD(thread_exit, pid, "pid_t pid", 1),
		  FIELD(thread_exit, comm, "char comm[16]", 0) } },
	[PROVIDER_NAME] = { "thread",
			   "name",
			   "\"pid=%d oldcomm=%s newcomm=%s\", REC->pid, REC->oldcomm, REC->newcomm",
			   { FIELD(thread_name, pid, "pid_t pid", 1),
			    FIELD(thread_name, oldcomm, "char oldcomm[16]", 0),
			    FIELD(thread_name, newcomm, "char newcomm[16]", 0) } },
	[PROVIDER_WAKE] = { "thread",
			   "wake",
			   "\"addr=%p kind=%s count=%d call_site=%pS\", REC->addr, "
			   "__print_symbolic(REC->kind, " WAKE_KINDS
			   "), REC->count, (void *)REC->call_site",
			   { FIELD(thread_wake, call_site, "unsigned long call_site", 0),
			    FIELD(thread_wake, addr, "void * addr", 0),
			    FIELD(thread_wake, kind, "unsigned int kind", 0),
			    FIELD(thread_wake, count, "int count", 1) } },
	[PROVIDER_WAKEUP] = { "thread",
			     "wakeup",
			     "\"addr=%p kind=%s ret=%d call_site=%pS\", REC->addr, "
			     "__print_symbolic(REC->kind, " WAKE_KINDS
			     "), REC->ret, (void *)REC->call_site",
			     { FIELD(thread_wakeup, call_site, "unsigned long call_site", 0),
			      FIELD(thread_wakeup, addr, "void * addr", 0),
			      FIELD(thread_wakeup, kind, "unsigned int kind", 0),
			      FIELD(thread_wakeup, ret, "int ret", 1) } },
};

/* Fields as in Linux 6.12. Allocation flags, nodes and run queues do not exist here. */
static const struct provider_event kernel[KERNEL_EVENTS] = {
	[KERNEL_KMALLOC] = { "kmem",
			    "kmalloc",
			    "\"call_site=%pS ptr=%p bytes_req=%zu bytes_alloc=%zu gfp_flags=%s "
			    "node=%d accounted=%s\", "
			    "(void *)REC->call_site, REC->ptr, REC->bytes_req, REC->bytes_alloc, "
			    "(REC->gfp_flags) ? \"?\" : \"none\", REC->node, (REC->gfp_flags) ? "
			    "\"true\" : \"false\"",
			    { FIELDS_ALLOC(kernel_kmalloc),
			     FIELD(kernel_kmalloc, gfp_flags, "unsigned long gfp_flags", 0),
			     FIELD(kernel_kmalloc, node, "int node", 1) } },
	[KERNEL_KFREE] = { "kmem",
			  "kfree",
			  "\"call_site=%pS ptr=%p\", (void *)REC->call_site, REC->ptr",
			  { FIELD(kernel_kfree, call_site, "unsigned long call_site", 0),
			   FIELD(kernel_kfree, ptr, "const void * ptr", 0) } },
	[KERNEL_SCHED_WAKING] = { "sched",
				 "sched_waking",
				 "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, "
				 "REC->prio, REC->target_cpu",
				 { FIELD(kernel_sched_waking, comm, "char comm[16]", 0),
				  FIELD(kernel_sched_waking, pid, "pid_t pid", 1),
				  FIELD(kernel_sched_waking, prio, "int prio", 1),
				  FIELD(kernel_sched_waking, target_cpu, "int target_cpu", 1) } },
	[KERNEL_SCHED_SWITCH] =
		{ "sched",
		 "sched_switch",
		 "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s "
		 "next_pid=%d next_prio=%d\", "
		 "REC->prev_comm, REC->prev_pid, REC->prev_prio, "
		 "(REC->prev_state) ? __print_flags(REC->prev_state, \"|\", { 1, \"S\" }) : \"R\", "
		 "REC->next_comm, REC->next_pid, REC->next_prio",
		 { FIELD(kernel_sched_switch, prev_comm, "char prev_comm[16]", 0),
		  FIELD(kernel_sched_switch, prev_pid, "pid_t prev_pid", 1),
		  FIELD(kernel_sched_switch, prev_prio, "int prev_prio", 1),
		  FIELD(kernel_sched_switch, prev_state, "long prev_state", 1),
		  FIELD(kernel_sched_switch, next_comm, "char next_comm[16]", 0),
		  FIELD(kernel_sched_switch, next_pid, "pid_t next_pid", 1),
		  FIELD(kernel_sched_switch, next_prio, "int next_prio", 1) } },
};

unsigned int provider_count(void)
{
	return provider_kernel() + KERNEL_EVENTS;
}

void provider_event(unsigned int nr, bool texts, struct provider_event *e)
{
	if (nr < PROVIDER_SIGNAL_GENERATE)
		*e = own[nr];
	else if (nr < PROVIDER_SYSCALLS)
		*e = provider_signal[nr - PROVIDER_SIGNAL_GENERATE];
	else if (nr < provider_kernel())
		syscall_provider_event(nr - PROVIDER_SYSCALLS, texts, e);
	else
		*e = kernel[nr - provider_kernel()];
}

/* ---- The text of a format ---- */

/* Like snprintf: `len` counts also what does not fit. */
struct text {
	char		*out;
	unsigned int	size, len;
};

static void text_add(struct text *t, const char *s)
{
	for (; *s; s++, t->len++)
		if (t->len + 1 < t->size)
			t->out[t->len] = *s;
}

static void text_number(struct text *t, unsigned int v)
{
	char s[12], *p = s + sizeof(s) - 1;

	*p = 0;
	do {
		*--p = '0' + v % 10;
		v /= 10;
	} while (v);
	text_add(t, p);
}

static void text_field(struct text *t, const struct provider_field *f)
{
	text_add(t, "\tfield:");
	text_add(t, f->decl);
	text_add(t, ";\toffset:");
	text_number(t, f->offset);
	text_add(t, ";\tsize:");
	text_number(t, f->size);
	text_add(t, ";\tsigned:");
	text_number(t, f->is_signed);
	text_add(t, ";\n");
}

unsigned int provider_body(unsigned int nr, bool texts, char *out, unsigned int size)
{
	static const struct provider_field common[] = {
		FIELD(record_common, type, "unsigned short common_type", 0),
		FIELD(record_common, flags, "unsigned char common_flags", 0),
		FIELD(record_common, preempt_count, "unsigned char common_preempt_count", 0),
		FIELD(record_common, pid, "int common_pid", 1),
	};
	struct text t = { out, size, 0 };
	struct provider_event e;

	provider_event(nr, texts, &e);
	for (unsigned int i = 0; i < 4; i++)
		text_field(&t, &common[i]);
	text_add(&t, "\n");
	for (unsigned int i = 0; i < PROVIDER_FIELDS && e.fields[i].decl; i++)
		text_field(&t, &e.fields[i]);
	text_add(&t, "\nprint fmt: ");
	text_add(&t, e.print);
	text_add(&t, "\n");
	if (size)
		out[t.len < size ? t.len : size - 1] = 0;
	return t.len;
}

/* ---- Version: FNV-1a over all parts ---- */

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ull;
	return h;
}

static uint64_t hash_text(uint64_t h, const char *s)
{
	return hash_bytes(h, s, strlen(s) + 1);
}

static uint64_t hash_event(uint64_t h, unsigned int nr, bool texts)
{
	struct provider_event e;

	provider_event(nr, texts, &e);
	h = hash_text(h, e.system);
	h = hash_text(h, e.name);
	h = hash_text(h, e.print);
	for (unsigned int i = 0; i < PROVIDER_FIELDS && e.fields[i].decl; i++) {
		h = hash_text(h, e.fields[i].decl);
		h = hash_bytes(h, &e.fields[i].offset, 3);
	}
	return h;
}

uint64_t provider_table_version(void)
{
	uint64_t h = 0xcbf29ce484222325ull;

	for (unsigned int nr = 0; nr < provider_count(); nr++)
		h = hash_event(hash_event(h, nr, false), nr, true);
	return h ? h : 1;	/* 0 means "no providers" */
}
