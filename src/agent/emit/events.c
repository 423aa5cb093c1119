/* SPDX-License-Identifier: MIT */
/*
 * events.c - static events: finds them by the notes of the DSOs, sends their definitions to the
 * server, and gives each its id
 *
 *     note -> struct tf_event *[] -> definitions of a DSO, as many as a packet takes -> ids
 *     event.plan = &event_entry[id].plan: from then on the server arms it by one store
 *
 * An event that is refused (another one has its name) or does not fit stays off.
 * A DSO may be unloaded; nothing here refers to it later.
 */
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include "agent/emit/emit.h"
#include "agent/emit/note.h"
#include "agent/libc.h"
#include "agent/state.h"
#include "agent/syscall.h"
#include "elf/image.h"

enum { BATCH_EVENTS = 256, REFUSED_ID = -1 };

/* A packet that is being filled, and the events that it defines. */
struct batch {
	struct attach_request q;
	uint32_t	nr;
	uint64_t	dso;		/* of its events: attach_request.program */
	struct tf_event	*events[BATCH_EVENTS];
	size_t		size;		/* bytes of definitions */
	struct {
		struct attach_reply reply;
		int32_t	ids[BATCH_EVENTS];
	} answer;
	_Alignas(8) char bytes[ATTACH_PACKET - sizeof(struct attach_request)];
};

static const struct tf_ops ops;

/* ---- Sending ---- */

static struct batch *batch_make(void)
{
	long at = agent_syscall(SYS_mmap, 0, sizeof(struct batch), PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return (unsigned long)at > -4096ul ? NULL : (struct batch *)at;
}

/*
 * The lowest and the highest id of this process. Relaxed: only agent_events_armed() reads them, and
 * may miss the newest.
 */
static _Atomic uint32_t lowest_id = LAYOUT_MAX_EVENTS, highest_id;

bool agent_events_armed(void)
{
	/* Relaxed: an event that is missed here is missing only in the child of this vfork(). */
	uint32_t high = atomic_load_explicit(&highest_id, memory_order_relaxed);

	for (uint32_t id = atomic_load_explicit(&lowest_id, memory_order_relaxed); id <= high; id++)
		/* Relaxed: hit() loads it again with acquire. */
		if (atomic_load_explicit(&plane_event(&agent.plane, id)->plan,
					 memory_order_relaxed))
			return true;
	return false;
}

/* Under the lock of the thread that sends definitions. */
static void note_id(uint32_t id)
{
	/* Relaxed: only that thread stores them, and agent_events_armed() may miss the newest. */
	if (id < atomic_load_explicit(&lowest_id, memory_order_relaxed))
		atomic_store_explicit(&lowest_id, id, memory_order_relaxed);
	/* Relaxed: as above. */
	if (id > atomic_load_explicit(&highest_id, memory_order_relaxed))
		atomic_store_explicit(&highest_id, id, memory_order_relaxed);
}

static void event_known(struct tf_event *ev, int32_t id)
{
	if (id <= 0 || id >= LAYOUT_MAX_EVENTS) {
		ev->id = (uint32_t)REFUSED_ID;
		agent_say(ev->name, id);
		return;
	}
	ev->id = (uint32_t)id;
	note_id(ev->id);
	/*
	 * Release: a thread that sees the plan armed sees the id. Pairs with the dependent load in
	 * tf_armed_().
	 */
	__atomic_store_n(&ev->plan, (const uint64_t *)&plane_event(&agent.plane, ev->id)->plan,
			 __ATOMIC_RELEASE);
}

/* An event without an answer of the server is refused. */
static void batch_send(struct batch *b)
{
	uint32_t nr = 0;

	b->q = (struct attach_request){
		.version = SESSION_VERSION, .kind = ATTACH_EVENTS, .value = b->nr,
		.program = b->dso };
	memset(&b->answer, 0, sizeof(b->answer.reply));
	if (!b->nr)
		return;
	if (!request_send(&b->q, b->bytes, b->size)) {
		long n = request_answer(&b->q, &b->answer, sizeof(b->answer), AGENT_WAIT_MS);

		if (n > 0 && !b->answer.reply.err && b->answer.reply.nr_ids <= b->nr &&
		    (size_t)n >= sizeof(b->answer.reply) + b->answer.reply.nr_ids * sizeof(int32_t))
			nr = b->answer.reply.nr_ids;
	}
	for (uint32_t i = 0; i < b->nr; i++)
		event_known(b->events[i], i < nr ? b->answer.ids[i] : -EPROTO);
	b->nr = 0;
	b->size = 0;
}

/* Sends what is still in it. NULL: there was no batch. */
static void batch_end(struct batch *b)
{
	if (!b)
		return;
	batch_send(b);
	agent_syscall(SYS_munmap, b, sizeof(*b));
}

/* Adds one definition; false: there is no room for it. */
static bool batch_add(struct batch *b, struct tf_event *ev, const struct enums *e)
{
	struct attach_definition *d = (struct attach_definition *)(b->bytes + b->size);
	struct text t = {
		.at = (char *)d, .len = sizeof(*d), .room = sizeof(b->bytes) - b->size - 8 };

	if (b->nr == BATCH_EVENTS || sizeof(b->bytes) - b->size < 2 * sizeof(*d))
		return false;
	d->system = (uint32_t)t.len;
	text_add(&t, ev->system, strlen(ev->system) + 1);
	d->name = (uint32_t)t.len;
	text_add(&t, ev->name, strlen(ev->name) + 1);
	d->body = (uint32_t)t.len;
	if (!format_body(&t, ev, e))
		return false;
	text_add(&t, "", 1);
	if (t.full)
		return false;
	d->size = (uint32_t)(t.len + 7) & ~7u;
	b->size += d->size;
	b->events[b->nr++] = ev;
	return true;
}

/* False also for an event that the notes list several times: several files may use it. */
static bool is_new(const struct tf_event *ev)
{
	return ev && !ev->id && ev->version == TF_VERSION_;
}

/* *at is made for the first event: most programs have none. Without memory the events stay off. */
static void tell(struct batch **at, const struct tf_note *n)
{
	bool begun = false;

	for (struct tf_event **p = n->events; p < n->events_end; p++) {
		struct tf_event *ev = *p;
		struct batch *b;

		if (!is_new(ev))
			continue;
		b = *at = *at ? *at : batch_make();
		if (!b)
			return;
		if (!begun) {
			batch_send(b);
			b->dso = dso_number((uintptr_t)n->dso);
			begun = true;
		}
		ev->id = (uint32_t)REFUSED_ID;
		if (batch_add(b, ev, &n->enums))
			continue;
		batch_send(b);
		if (!batch_add(b, ev, &n->enums))
			event_known(ev, -E2BIG);
	}
}

/* ---- Notes ---- */

static const void *pointed(const int32_t *word)
{
	return (const char *)word + *word;
}

bool note_find(const char *at, size_t size, struct tf_note *out)
{
	size_t len;
	const int32_t *word = image_note(at, size, 4, "tracefuse", 1, &len);

	if (!word || len < 5 * sizeof(*word))
		return false;
	out->events = (struct tf_event **)pointed(&word[0]);
	out->events_end = (struct tf_event **)pointed(&word[1]);
	out->enums.start = (struct tf_enum **)pointed(&word[2]);
	out->enums.end = (struct tf_enum **)pointed(&word[3]);
	out->dso = (struct tf_dso *)pointed(&word[4]);
	return true;
}

static void dso_told(const struct tf_note *n)
{
	n->dso->told = 1;
	/* Pairs with the dependency of the loads through tf_dso_.ops in the public headers. */
	__atomic_store_n(&n->dso->ops, &ops, __ATOMIC_RELEASE);
}

static bool note_at(const struct dl_phdr_info *info, int i, struct tf_note *out)
{
	const ElfW(Phdr) *p = &info->dlpi_phdr[i];

	/* Ours have an alignment of 4; notes aligned to 8 bytes are others'. */
	return p->p_type == PT_NOTE && p->p_align <= 4 &&
	       note_find((const char *)info->dlpi_addr + p->p_vaddr, p->p_memsz, out);
}

static bool any_new(const struct tf_note *n)
{
	struct tf_event **p = n->events;

	while (p < n->events_end && !is_new(*p))
		p++;
	return p < n->events_end;
}

static int has_new(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tf_note n;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (note_at(info, i, &n) && any_new(&n))
			return 1;
	return 0;
}

bool events_any(void)
{
	return libc_dl_iterate_phdr(has_new, NULL);
}

static int scan_one(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct tf_note n;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		if (!note_at(info, i, &n))
			continue;
		/* First: as soon as an event is defined another thread may find it armed. */
		dso_told(&n);
		tell(arg, &n);
	}
	return 0;
}

void events_start(void)
{
	struct batch *b = NULL;

	libc_dl_iterate_phdr(scan_one, &b);
	batch_end(b);
}

/* ---- DSOs that come and go; called in their constructors and destructors ---- */

AGENT_API void tf_dso_opened_(struct tf_dso *dso, struct tf_event **events,
			      struct tf_event **events_end, struct tf_enum **enums,
			      struct tf_enum **enums_end)
{
	const struct tf_note n = { dso, events, events_end, { enums, enums_end } };
	struct batch *b = NULL;

	/*
	 * Acquire: pairs with the release in attach_start(). Before that there is nothing to do:
	 * attach looks for the events of all DSOs.
	 */
	if (atomic_load_explicit(&agent.state, memory_order_acquire) != AGENT_ON)
		return;
	/* First, as in scan_one(). */
	dso_told(&n);
	if (any_new(&n) && thread_lock()) {
		if (!attach_again() && (request_usable() || !attach_more())) {
			tell(&b, &n);
			batch_end(b);
		}
		thread_unlock();
	}
}

AGENT_API void tf_dso_closed_(struct tf_dso *dso)
{
	agent_dso_closed();
}

/* ---- What the macros of the public headers call ---- */

static int event_attached(void)
{
	return agent_present();
}

static const struct tf_ops ops = {
	.size = sizeof(ops),
	.version = TF_VERSION_,
	.emit = event_emit,
	.reserve = event_reserve,
	.emit_large = event_emit_large,
	.vprintk = print_formatted,
	.marker = print_text,
	.attached = event_attached,
	.critical = section_own,
	.snapshot = event_snapshot,
};
