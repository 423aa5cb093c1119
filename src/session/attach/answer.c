/* SPDX-License-Identifier: MIT */
/*
 * answer.c - what the server answers to each packet of a process (attach_wire.h)
 *
 * The server trusts a packet only to come from that process: it checks every size and offset before
 * use.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "layout/attach_wire.h"
#include "session/state.h"

/* Most processes have few threads, and a slot's memory is large. */
enum { FIRST_SLOTS = 2 };

/* A reply, and the ids that follow it. */
struct answer {
	struct attach_reply reply;
	int32_t		ids[ATTACH_IDS];
	bool		later;		/* attach_go() answers */
};

static void answer_send(struct session *s, const struct process *p, const struct answer *a)
{
	size_t size = sizeof(a->reply) + a->reply.nr_ids * sizeof(a->ids[0]);

	attach_send(p->conn, a, size);
	/* Relaxed: it only says that the server has answered. */
	atomic_fetch_add_explicit(&s->header->served, 1, memory_order_relaxed);
}

static void give_slots(struct session *s, unsigned int index, unsigned int nr,
		       struct attach_reply *reply)
{
	reply->process = index + 1;
	reply->nr_slots = slots_give(s, index + 1, nr, reply->slots);
	if (!reply->nr_slots)
		reply->err = -EUSERS;
}

/*
 * The connection may still be open in a child that inherited it. Only here does the server see that
 * the program before exec has ended. Its slots are freed before others are given.
 */
static void end_older_images(struct session *s, unsigned int index)
{
	const struct process *p = &s->processes[index];

	for (unsigned int i = 0; i < s->processes_end; i++) {
		const struct process *old = &s->processes[i];

		if (i != index && old->pid == p->pid && old->image && p->image &&
		    old->image != p->image)
			process_end(s, i);
	}
}

static void answer_hello(struct session *s, unsigned int index, const struct attach_request *q,
			 struct attach_reply *reply)
{
	struct process *p = &s->processes[index];
	struct attach_peer peer = { index + 1, p->pid };

	process_runs(s, index, q->image);
	end_older_images(s, index);
	/*
	 * Pairs with the load of fence in hit_enter(), which comes after this answer: L2 in
	 * limbo.c.
	 */
	if (q->no_membarrier)	/* its first hit is still to come: it has no slot yet */
		atomic_store_explicit(&s->header->fence, 1, memory_order_seq_cst);
	if (!q->value && pids_followed(&s->plane)) {
		process_describe(s, index);
		if (!p->known)
			follow_child(s, p->pid);
	}
	if (!p->greeted && s->hooks.joined)
		s->hooks.joined(s->hooks.arg, &peer);
	p->known = p->greeted = true;
	reply->pid = (uint32_t)p->pid;
	if (q->table && s->hooks.table)
		reply->provider_id = s->hooks.table(s->hooks.arg, &peer, q->table);
	give_slots(s, index, FIRST_SLOTS, reply);
}

/*
 * A look for threads that are gone takes as long as the process has threads. It pays if many of its
 * slots are new, or if the last one has freed many.
 */
static unsigned int look_for_gone(struct session *s, unsigned int index)
{
	struct process *p = &s->processes[index];
	const unsigned int freed = threads_finish(s, index);

	p->look_at = freed > p->nr_slots / 8 ? 0 : p->nr_slots + p->nr_slots / 4;
	return freed;
}

/*
 * Also frees the slots of threads that are gone: the process finds them when it looks for a free
 * one.
 */
static void answer_more(struct session *s, unsigned int index, struct attach_reply *reply)
{
	const struct process *p = &s->processes[index];
	const bool looks = p->nr_slots >= p->look_at;
	unsigned int freed = looks ? look_for_gone(s, index) : 0, nr = p->nr_slots / 2;

	nr = nr < FIRST_SLOTS ? FIRST_SLOTS : nr;
	give_slots(s, index, nr < ATTACH_SLOTS ? nr : ATTACH_SLOTS, reply);
	if (reply->err && !looks)
		freed = look_for_gone(s, index);
	if (freed)
		reply->err = 0;
}

/* A text inside the definition that also ends there; otherwise NULL. */
static const char *definition_text(const struct attach_definition *d, uint32_t offset)
{
	const char *text = (const char *)d + offset;

	if (offset < sizeof(*d) || offset >= d->size || !memchr(text, 0, d->size - offset))
		return NULL;
	return text;
}

static int define(struct session *s, const struct attach_peer *peer, uint64_t dso,
		  const struct attach_definition *d)
{
	const char *system = definition_text(d, d->system), *name = definition_text(d, d->name);
	const char *body = definition_text(d, d->body);

	if (!system || !name || !body)
		return -EPROTO;
	return s->hooks.define ? s->hooks.define(s->hooks.arg, peer, dso, system, name, body)
			       : -EOPNOTSUPP;
}

/* Answers `left` bytes of definitions behind the request, a multiple of 8 in the packet. */
static void answer_events(struct session *s, unsigned int index, const struct attach_request *q,
			  size_t left, struct answer *out)
{
	const char *at = (const char *)(q + 1);
	const uint32_t nr = q->value;
	struct attach_peer peer = { index + 1, s->processes[index].pid };

	if (nr > ATTACH_IDS) {
		out->reply.err = -E2BIG;
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		const struct attach_definition *d = (const struct attach_definition *)at;

		if (left < sizeof(*d) || d->size < sizeof(*d) || d->size > left || d->size % 8) {
			out->reply.err = -EPROTO;
			return;
		}
		out->ids[out->reply.nr_ids++] = define(s, &peer, q->program, d);
		at += d->size;
		left -= d->size;
	}
}

/* The process waits for attach_go(), which answers the same request a second time. */
static void answer_barrier(struct session *s, unsigned int index, const struct attach_request *q,
			bool waits, struct attach_reply *reply)
{
	struct process *p = &s->processes[index];

	p->waits = waits;
	p->waits_for = q->number;
	reply->process = index + 1;
	reply->barrier = waits;
}

static void answer_ready(struct session *s, unsigned int index, const struct attach_request *q,
			 struct attach_reply *reply)
{
	const struct attach_peer peer = { index + 1, s->processes[index].pid };

	s->processes[index].found_probes = false;
	reply->has_probes = s->hooks.has_probes &&
			    s->hooks.has_probes(s->hooks.arg, &peer, q->program);
	reply->has_probes |= s->processes[index].found_probes;
	answer_barrier(s, index, q, s->hooks.ready && s->hooks.ready(s->hooks.arg, &peer), reply);
}

/* The process waits for the answer itself, so there is no first one. */
static void answer_places(struct session *s, unsigned int index, const struct attach_request *q,
			  struct answer *out)
{
	struct process *p = &s->processes[index];
	const struct attach_peer peer = { index + 1, p->pid };

	out->later = s->hooks.places && q->value < LAYOUT_MAX_DSOS &&
		     s->hooks.places(s->hooks.arg, &peer, q->value);
	p->waits = out->later;
	p->waits_for = q->number;
}

static bool dso_waits(struct session *s, const struct attach_peer *peer, uint32_t number)
{
	return s->hooks.dso && number < LAYOUT_MAX_DSOS && s->hooks.dso(s->hooks.arg, peer, number);
}

static void answer_pid(struct session *s, unsigned int index, uint32_t tid,
		       struct attach_reply *reply)
{
	struct process *p = &s->processes[index];

	reply->pid = (uint32_t)task_find(p->pid, tid, &p->apart);
	if (!reply->pid)
		reply->err = -ESRCH;
}

static void answer_kind(struct session *s, unsigned int index, const struct attach_request *q,
			size_t size, struct answer *out)
{
	const struct attach_peer peer = { index + 1, s->processes[index].pid };

	switch (q->kind) {
	case ATTACH_HELLO:
		answer_hello(s, index, q, &out->reply);
		if (q->ready && !out->reply.err)
			answer_ready(s, index, q, &out->reply);
		break;
	case ATTACH_MORE:
		answer_more(s, index, &out->reply);
		break;
	case ATTACH_EVENTS:
		answer_events(s, index, q, size - sizeof(*q), out);
		break;
	case ATTACH_READY:
		answer_ready(s, index, q, &out->reply);
		break;
	case ATTACH_DSO:
		answer_barrier(s, index, q, dso_waits(s, &peer, q->value), &out->reply);
		break;
	case ATTACH_PLACES:
		answer_places(s, index, q, out);
		break;
	case ATTACH_PID:
		answer_pid(s, index, q->value, &out->reply);
		break;
	default:
		out->reply.err = -EPROTO;
	}
}

/*
 * Both ends of a pair may have been passed, by mistake or to do harm. Each answer then is nonsense
 * to the other end, which would answer it, for ever. An agent's child begins with HELLO.
 */
static void end_nonsense(struct process *p)
{
	if (p->passed && !p->greeted)
		shutdown(p->conn, SHUT_RDWR);
}

void attach_answer(struct session *s, unsigned int index, size_t size)
{
	const struct attach_request *q = (const struct attach_request *)s->packet;
	struct process *p = &s->processes[index];
	struct answer a = { .reply = { 0 } };

	if (size >= sizeof(*q))
		a.reply.number = q->number;
	if (size < sizeof(*q) || size > ATTACH_PACKET) {
		a.reply.err = -EPROTO;
	} else if (q->kind == ATTACH_BYE) {
		p->gone = true;
		return;
	} else if (q->version != SESSION_VERSION || (q->kind != ATTACH_HELLO && !p->greeted)) {
		a.reply.err = -EPROTO;
	} else {
		answer_kind(s, index, q, size, &a);
	}
	if (!a.later)
		answer_send(s, p, &a);
	if (a.reply.err == -EPROTO)
		end_nonsense(p);
}
