/* SPDX-License-Identifier: MIT */
/*
 * texts.c - sys_enter_X with the texts that arguments point to, as since Linux 6.19
 *
 *     nr, arguments | a __data_loc for each text | texts
 *
 * A hit is in libc, with any lock held, and the memory may not be there: the program may have
 * passed any number. So the kernel copies it. It answers with an error where a load would fault.
 *
 * As the rest of gates.c, all of this uses general registers only, and no function of libc.
 */
#include <sys/uio.h>
#include "agent/providers/syscalls/syscalls.h"
#include "agent/syscall.h"

enum {
	TEXTS_PAGE	= 4096,
	TEXTS_HEAD	= sizeof(struct syscall_enter_record),
	TEXTS_ROOM	= TEXTS_HEAD + CALL_TEXTS * (4 + CALL_TEXT_ROOM),
	/* Bytes of a handler's alternate stack, for the record and the hit */
	TEXTS_STACK	= TEXTS_ROOM + 1536,
};

/*
 * The process's number is known, but a child of vfork() has another one, and may not be allowed to
 * name its parent's.
 */
static long texts_ask(const struct iovec *here, const struct iovec *there, unsigned long nr)
{
	const int32_t known = agent.here->own_pid;
	long n = -ESRCH;

	if (known)
		n = agent_syscall(SYS_process_vm_readv, known, here, 1, there, nr, 0);
	if (n == -ESRCH || n == -EPERM)
		n = agent_syscall(SYS_process_vm_readv, agent_syscall(SYS_getpid), here, 1, there,
				  nr, 0);
	return n;
}

/* Copies up to `size` bytes, to where the memory ends. */
static uint32_t texts_copy(char *to, uint64_t from, uint32_t size)
{
	const uint32_t page = TEXTS_PAGE - (uint32_t)(from % TEXTS_PAGE),
		       first = size < page ? size : page;
	const struct iovec here = { to, size };
	/* The kernel may give up a whole piece: the end of a page is the end of a piece. */
	const struct iovec there[2] = {
		{ (void *)from, first }, { (void *)(from + first), size - first },
	};
	long n;

	if (!from || !size || !agent_may_read())
		return 0;
	n = texts_ask(&here, there, size > first ? 2 : 1);
	return is_error(n) ? 0 : (uint32_t)n;
}

bool call_word(uint64_t from, uint64_t *word)
{
	return texts_copy((char *)word, from, sizeof(*word)) == sizeof(*word);
}

/* As the kernel's isprint(): of Latin 1. So bytes of UTF-8 may be printable. */
static bool is_printable(unsigned char c)
{
	return (c >= ' ' && c < 0x7f) || c >= 0xa0;
}

/* -> bytes, with the 0. 0: it cannot be read */
static uint32_t texts_text(char *to, uint64_t from, uint32_t most)
{
	const uint32_t got = texts_copy(to, from, most + 1);
	uint32_t len = 0;

	for (; len < got && to[len]; len++)
		if (!is_printable((unsigned char)to[len]))
			to[len] = '.';
	if (len == got && got <= most)
		return 0;
	if (len > most) {
		for (uint32_t i = 0; i < 3; i++)
			to[most + i] = '.';
		len = most + 3;
	}
	to[len] = 0;
	return len + 1;
}

static uint32_t texts_bytes(char *to, uint64_t from, uint64_t length, uint32_t most)
{
	const uint32_t wanted = length < most ? (uint32_t)length : most;

	return texts_copy(to, from, wanted) == wanted ? wanted : 0;
}

/*
 * Puts the texts behind the `size` bytes of the record. With most 0 they are all empty. -> bytes of
 * the record
 */
static uint32_t texts_add(const struct call_texts *texts, const uint64_t *args, char *record,
			  uint32_t size, uint32_t most)
{
	uint32_t loc = size, end = size + 4 * (uint32_t)__builtin_popcount(texts->args);

	for (uint32_t bits = texts->args; bits; bits &= bits - 1, loc += 4) {
		const uint64_t from = args[__builtin_ctz(bits)];
		uint32_t len = 0, word;

		if (most)
			len = texts->length ? texts_bytes(record + end, from,
							  args[texts->length], most)
					    : texts_text(record + end, from, most);
		word = len << 16 | end;
		__builtin_memcpy(record + loc, &word, sizeof(word));
		end += len;
	}
	return end;
}

static inline __attribute__((always_inline)) uint32_t texts_head(unsigned int call,
								 const uint64_t *args,
								 unsigned int nr_args,
								 struct syscall_enter_record *r)
{
	r->nr = syscall_numbers[call];
	r->pad = 0;
	for (unsigned int i = 0; i < nr_args; i++)
		r->args[i] = args[i];
	return (uint32_t)offsetof(struct syscall_enter_record, args) + 8 * nr_args;
}

static __attribute__((noinline)) void emit_texts(struct agent_thread *t, unsigned int call,
						 const uint64_t *args, unsigned int nr_args,
						 uint32_t most, const void *frame)
{
	uint64_t record[(TEXTS_ROOM + 7) / 8];
	const uint32_t size = texts_head(call, args, nr_args, (void *)record);

	provider_emit(t, call_enter_event(call), record,
		      texts_add(syscall_texts(call), args, (char *)record, size, most), frame);
}

static __attribute__((noinline)) void emit_empty(struct agent_thread *t, unsigned int call,
						 const uint64_t *args, unsigned int nr_args,
						 const void *frame)
{
	uint64_t record[TEXTS_HEAD / 8 + (CALL_TEXTS * 4 + 7) / 8];
	const uint32_t size = texts_head(call, args, nr_args, (void *)record);

	provider_emit(t, call_enter_event(call), record,
		      texts_add(syscall_texts(call), args, (char *)record, size, 0), frame);
}

void call_texts_emit(struct agent_thread *t, unsigned int call, const uint64_t *args,
		     unsigned int nr_args, uint32_t most, const void *frame)
{
	if (!(t->flags & AGENT_HANDLER) ||
	    stack_has_room((uintptr_t)__builtin_frame_address(0), TEXTS_STACK))
		emit_texts(t, call, args, nr_args, most, frame);
	else
		emit_empty(t, call, args, nr_args, frame);
}
