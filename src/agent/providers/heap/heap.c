/* SPDX-License-Identifier: MIT */
/*
 * heap.c - heap:malloc ..., and kmem:kmalloc, kmem:kfree of the same calls
 *
 * H1  A call that gives memory is recorded after it, one that takes memory before
 *     it: between the two another thread may get the same address, and its record
 *     has to come in between.
 * H2  A call that failed is recorded with ptr and bytes_alloc 0. A release
 *     that cannot succeed (munmap of no page) is not recorded.
 * H3  realloc is one event, recorded after it. For kmem it is a kfree before
 *     and a kmalloc after. If it failed, the old memory is still there, and
 *     that kmalloc has its address.
 * H4  The usable size is asked of an allocator only for its own memory. If
 *     malloc_usable_size() comes from another object than malloc, the requested
 *     size is recorded.
 * H5  operator new and delete, strdup(), getline() and so on call these
 *     functions: their call_site is in the library.
 * H6  libc's reallocarray() calls the first realloc() of the process. If that is
 *     ours, its call is recorded here, with the caller's address.
 */
#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "agent/libc.h"
#include "agent/providers/hooks.h"
#include "agent/providers/records.h"

REAL_FUNCTION(malloc);
REAL_FUNCTION(calloc);
REAL_FUNCTION(realloc);
REAL_FUNCTION(reallocarray);
REAL_FUNCTION(free);
REAL_FUNCTION(posix_memalign);
REAL_FUNCTION(aligned_alloc);
REAL_FUNCTION(memalign);
REAL_FUNCTION(valloc);
REAL_FUNCTION(pvalloc);
REAL_FUNCTION(malloc_usable_size);
REAL_FUNCTION(mmap);
REAL_FUNCTION(munmap);
REAL_FUNCTION(mremap);
REAL_FUNCTION(brk);
REAL_FUNCTION(sbrk);

static inline bool heap_armed(unsigned int nr, unsigned int kernel)
{
	const struct event_entry *e = agent_provider_events;

	/* Relaxed: hit() loads them again with acquire. */
	return __builtin_expect(
		(atomic_load_explicit(&e[nr].plan, memory_order_relaxed) |
		 atomic_load_explicit(&e[KERNEL_FIRST + kernel].plan, memory_order_relaxed)) != 0,
		0);
}

static inline bool realloc_armed(void)
{
	return heap_armed(PROVIDER_REALLOC, KERNEL_KMALLOC) || kernel_armed(KERNEL_KFREE);
}

/* H4 */
static uint64_t usable(void *ptr, uint64_t asked)
{
	if (!ptr)
		return 0;
	return REAL_SAME_OBJECT(malloc, malloc_usable_size) ? REAL(malloc_usable_size)(ptr) : asked;
}

static uint64_t product(size_t a, size_t b)
{
	size_t bytes;

	return __builtin_mul_overflow(a, b, &bytes) ? SIZE_MAX : bytes;
}

/* ---- Records ---- */

static void emit_kmalloc(struct agent_thread *t, uint64_t site, void *ptr, uint64_t req,
			 uint64_t alloc, const void *frame)
{
	struct kernel_kmalloc r;

	if (!kernel_armed(KERNEL_KMALLOC))
		return;
	r = (struct kernel_kmalloc){ .call_site = site, .ptr = (uintptr_t)ptr, .bytes_req = req,
				     .bytes_alloc = alloc, .node = -1 };
	provider_emit(t, KERNEL_FIRST + KERNEL_KMALLOC, &r, sizeof(r), frame);
}

static void emit_kfree(struct agent_thread *t, uint64_t site, void *ptr, const void *frame)
{
	struct kernel_kfree r = { .call_site = site, .ptr = (uintptr_t)ptr };

	if (kernel_armed(KERNEL_KFREE))
		provider_emit(t, KERNEL_FIRST + KERNEL_KFREE, &r, sizeof(r), frame);
}

/*
 * Records that memory was given, or that there was none. alignment: 0 for malloc and calloc, whose
 * record does not have it. Inline, because then the compiler knows the arguments that differ.
 */
static inline __attribute__((always_inline)) void
heap_gave(unsigned int nr, void *ptr, uint64_t req, uint64_t alignment, void *site,
	  const void *frame)
{
	struct agent_thread *t = agent_thread();
	struct heap_aligned r;

	if (!t)
		return;
	r.call_site = agent_address(t, site);
	r.ptr = (uintptr_t)ptr;
	r.bytes_req = req;
	if (provider_armed(nr) && !PROVIDER_COUNT_SOME(t, nr, &r, bytes_alloc)) {
		r.bytes_alloc = usable(ptr, req);
		r.alignment = alignment;
		provider_emit(t, nr, &r, alignment ? sizeof(r) : sizeof(struct heap_alloc), frame);
	}
	if (kernel_armed(KERNEL_KMALLOC))
		emit_kmalloc(t, r.call_site, ptr, req, usable(ptr, req), frame);
}

/* ---- malloc and its kin ---- */

SLOW static void *malloc_slow(size_t size, void *site)
{
	void *ptr = REAL(malloc)(size);

	heap_gave(PROVIDER_MALLOC, ptr, size, 0, site, FRAME_BELOW(site));
	return ptr;
}

INTERPOSE void *malloc(size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_MALLOC, KERNEL_KMALLOC)))
		return REAL(malloc)(size);
	return malloc_slow(size, CALL_SITE);
}

SLOW static void *calloc_slow(size_t n, size_t size, void *site)
{
	void *ptr = REAL(calloc)(n, size);

	heap_gave(PROVIDER_CALLOC, ptr, product(n, size), 0, site, FRAME_BELOW(site));
	return ptr;
}

INTERPOSE void *calloc(size_t n, size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_CALLOC, KERNEL_KMALLOC)))
		return REAL(calloc)(n, size);
	return calloc_slow(n, size, CALL_SITE);
}

static inline void heap_took(void *ptr, void *site, const void *frame)
{
	struct agent_thread *t = agent_thread();
	struct heap_free r;

	if (!t)
		return;
	r.call_site = agent_address(t, site);
	r.ptr = (uintptr_t)ptr;
	if (provider_armed(PROVIDER_FREE) &&
	    !PROVIDER_COUNT_SOME(t, PROVIDER_FREE, &r, bytes_alloc)) {
		r.bytes_alloc = usable(ptr, 0);
		provider_emit(t, PROVIDER_FREE, &r, sizeof(r), frame);
	}
	emit_kfree(t, r.call_site, ptr, frame);
}

SLOW static void free_slow(void *ptr, void *site)
{
	heap_took(ptr, site, FRAME_BELOW(site));
	REAL(free)(ptr);
}

INTERPOSE void free(void *ptr)
{
	if (LIKELY(!heap_armed(PROVIDER_FREE, KERNEL_KFREE)))
		REAL(free)(ptr);
	else
		free_slow(ptr, CALL_SITE);
}

/* H3. fits: the size did not overflow. If it did, the call fails as reallocarray() does. */
SLOW static void *realloc_slow(void *old, size_t size, bool fits, void *site)
{
	const void *frame = FRAME_BELOW(site);
	struct heap_realloc r = { .old_ptr = (uintptr_t)old, .bytes_req = size };
	struct agent_thread *t;
	void *ptr = NULL;

	t = realloc_armed() ? agent_thread() : NULL;
	if (t) {
		r.call_site = agent_address(t, site);
		r.bytes_old = usable(old, 0);
		if (old && fits)
			emit_kfree(t, r.call_site, old, frame);
	}
	if (fits)
		ptr = REAL(realloc)(old, size);
	else
		errno = ENOMEM;
	/* Again: a signal handler may have forked meanwhile, and this may be the child. */
	t = t ? agent_thread() : NULL;
	if (!t)
		return ptr;
	r.ptr = (uintptr_t)ptr;
	r.bytes_alloc = usable(ptr, size);
	if (provider_armed(PROVIDER_REALLOC))
		provider_emit(t, PROVIDER_REALLOC, &r, sizeof(r), frame);
	if (ptr || !old)
		emit_kmalloc(t, r.call_site, ptr, size, r.bytes_alloc, frame);
	else if (size && fits)
		emit_kmalloc(t, r.call_site, old, r.bytes_old, r.bytes_old, frame);
	return ptr;
}

INTERPOSE void *realloc(void *old, size_t size)
{
	if (LIKELY(!realloc_armed()))
		return REAL(realloc)(old, size);
	return realloc_slow(old, size, true, CALL_SITE);
}

/* H6. known: 0 not yet, 1 no, 2 yes */
static bool realloc_is_elsewhere(void)
{
	static _Atomic int known;
	/* Relaxed: a thread that sees a 0 finds out again. */
	int k = atomic_load_explicit(&known, memory_order_relaxed);

	if (!k) {
		k = 1 + real_shadowed("realloc");
		/* Relaxed: the answer is always the same. */
		atomic_store_explicit(&known, k, memory_order_relaxed);
	}
	return k == 2;
}

INTERPOSE void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;
	bool fits = !__builtin_mul_overflow(n, size, &bytes);

	if (!realloc_armed() || realloc_is_elsewhere())
		return REAL(reallocarray)(old, n, size);
	return realloc_slow(old, fits ? bytes : SIZE_MAX, fits, CALL_SITE);
}

/* ---- With an alignment ---- */

SLOW static int posix_memalign_slow(void **out, size_t alignment, size_t size, void *site)
{
	int err = REAL(posix_memalign)(out, alignment, size);

	heap_gave(PROVIDER_POSIX_MEMALIGN, err ? NULL : *out, size, alignment ? alignment : 1, site,
		  FRAME_BELOW(site));
	return err;
}

INTERPOSE int posix_memalign(void **out, size_t alignment, size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_POSIX_MEMALIGN, KERNEL_KMALLOC)))
		return REAL(posix_memalign)(out, alignment, size);
	return posix_memalign_slow(out, alignment, size, CALL_SITE);
}

SLOW static void *aligned_alloc_slow(size_t alignment, size_t size, void *site)
{
	void *ptr = REAL(aligned_alloc)(alignment, size);

	heap_gave(PROVIDER_ALIGNED_ALLOC, ptr, size, alignment ? alignment : 1, site,
		  FRAME_BELOW(site));
	return ptr;
}

INTERPOSE void *aligned_alloc(size_t alignment, size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_ALIGNED_ALLOC, KERNEL_KMALLOC)))
		return REAL(aligned_alloc)(alignment, size);
	return aligned_alloc_slow(alignment, size, CALL_SITE);
}

SLOW static void *memalign_slow(size_t alignment, size_t size, void *site)
{
	void *ptr = REAL(memalign)(alignment, size);

	heap_gave(PROVIDER_MEMALIGN, ptr, size, alignment ? alignment : 1, site, FRAME_BELOW(site));
	return ptr;
}

INTERPOSE void *memalign(size_t alignment, size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_MEMALIGN, KERNEL_KMALLOC)))
		return REAL(memalign)(alignment, size);
	return memalign_slow(alignment, size, CALL_SITE);
}

/* Both are heap:valloc. */
SLOW static void *valloc_slow(size_t size, bool whole_pages, void *site)
{
	void *ptr = whole_pages ? REAL(pvalloc)(size) : REAL(valloc)(size);

	heap_gave(PROVIDER_VALLOC, ptr, size, libc_getauxval(AT_PAGESZ), site, FRAME_BELOW(site));
	return ptr;
}

INTERPOSE void *valloc(size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_VALLOC, KERNEL_KMALLOC)))
		return REAL(valloc)(size);
	return valloc_slow(size, false, CALL_SITE);
}

INTERPOSE void *pvalloc(size_t size)
{
	if (LIKELY(!heap_armed(PROVIDER_VALLOC, KERNEL_KMALLOC)))
		return REAL(pvalloc)(size);
	return valloc_slow(size, true, CALL_SITE);
}

/* ---- Pages: the system calls' events are recorded here, too ---- */

static uint64_t pages(uint64_t bytes)
{
	uint64_t page = libc_getauxval(AT_PAGESZ);

	return (bytes + page - 1) & ~(page - 1);
}

static long kernel_result(const void *ptr)
{
	return ptr == MAP_FAILED ? -errno : (long)ptr;
}

SLOW static void *mmap_slow(void *addr, size_t len, int prot, int flags, int fd, off_t offset,
			    void *site)
{
	const void *frame = FRAME_BELOW(site);
	const uint64_t args[6] = { (uintptr_t)addr, len,		 (uint32_t)prot,
				  (uint32_t)flags, (uint32_t)fd, (uint64_t)offset };
	struct agent_thread *t;
	void *ptr;

	syscall_enter(SYS_mmap, args, frame);
	ptr = REAL(mmap)(addr, len, prot, flags, fd, offset);
	syscall_exit(SYS_mmap, kernel_result(ptr), frame);
	if (!provider_armed(PROVIDER_MMAP))
		return ptr;
	t = agent_thread();
	if (t) {
		struct heap_mmap r = { .call_site = agent_address(t, site),
				      .bytes_req = len,
				      .prot = prot,
				      .flags = flags,
				      .fd = fd,
				      .offset = offset };

		if (ptr != MAP_FAILED) {
			r.ptr = (uintptr_t)ptr;
			r.bytes_alloc = pages(len);
		}
		provider_emit(t, PROVIDER_MMAP, &r, sizeof(r), frame);
	}
	return ptr;
}

INTERPOSE void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	if (LIKELY(!provider_armed(PROVIDER_MMAP) && !syscall_wanted(SYS_mmap)))
		return REAL(mmap)(addr, len, prot, flags, fd, offset);
	return mmap_slow(addr, len, prot, flags, fd, offset, CALL_SITE);
}

INTERPOSE void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

SLOW static int munmap_slow(void *addr, size_t len, void *site)
{
	const void *frame = FRAME_BELOW(site);
	const uint64_t args[6] = { (uintptr_t)addr, len };
	struct agent_thread *t = NULL;
	int ret;

	if (provider_armed(PROVIDER_MUNMAP) && len && (uintptr_t)addr == pages((uintptr_t)addr))
		t = agent_thread();
	if (t) {
		struct heap_munmap r = { .call_site = agent_address(t, site),
					.ptr = (uintptr_t)addr,
					.bytes_req = len,
					.bytes_alloc = pages(len) };

		provider_emit(t, PROVIDER_MUNMAP, &r, sizeof(r), frame);
	}
	syscall_enter(SYS_munmap, args, frame);
	ret = REAL(munmap)(addr, len);
	syscall_exit(SYS_munmap, ret < 0 ? -errno : ret, frame);
	return ret;
}

INTERPOSE int munmap(void *addr, size_t len)
{
	if (LIKELY(!provider_armed(PROVIDER_MUNMAP) && !syscall_wanted(SYS_munmap)))
		return REAL(munmap)(addr, len);
	return munmap_slow(addr, len, CALL_SITE);
}

SLOW static void *mremap_slow(void *old, size_t old_len, size_t len, int flags, void *where,
			      void *site)
{
	const void *frame = FRAME_BELOW(site);
	const uint64_t args[6] = { (uintptr_t)old, old_len, len, (uint32_t)flags,
				   (uintptr_t)where };
	struct agent_thread *t;
	void *ptr;

	syscall_enter(SYS_mremap, args, frame);
	ptr = REAL(mremap)(old, old_len, len, flags, where);
	syscall_exit(SYS_mremap, kernel_result(ptr), frame);
	if (!provider_armed(PROVIDER_MREMAP))
		return ptr;
	t = agent_thread();
	if (t) {
		struct heap_mremap r = { .call_site = agent_address(t, site),
					.old_ptr = (uintptr_t)old,
					.bytes_old = old_len,
					.bytes_req = len,
					.flags = flags };

		if (ptr != MAP_FAILED) {
			r.ptr = (uintptr_t)ptr;
			r.bytes_alloc = pages(len);
		}
		provider_emit(t, PROVIDER_MREMAP, &r, sizeof(r), frame);
	}
	return ptr;
}

INTERPOSE void *mremap(void *old, size_t old_len, size_t len, int flags, ...)
{
	va_list ap;
	void *where;

	/*
	 * Read in any case: the kernel uses it only if the flags say that it is an address.
	 */
	va_start(ap, flags);
	where = va_arg(ap, void *);
	va_end(ap);
	if (LIKELY(!provider_armed(PROVIDER_MREMAP) && !syscall_wanted(SYS_mremap)))
		return REAL(mremap)(old, old_len, len, flags, where);
	return mremap_slow(old, old_len, len, flags, where, CALL_SITE);
}

static void emit_brk(void *end, long increment, void *site, const void *frame)
{
	struct agent_thread *t = provider_armed(PROVIDER_BRK) ? agent_thread() : NULL;

	if (t) {
		struct heap_brk r = { .call_site = agent_address(t, site),
				     .ptr = (uintptr_t)end,
				     .increment = increment };

		provider_emit(t, PROVIDER_BRK, &r, sizeof(r), frame);
	}
}

static inline bool brk_armed(void)
{
	return provider_armed(PROVIDER_BRK) || syscall_wanted(SYS_brk);
}

SLOW static int brk_slow(void *end, void *site)
{
	const void *frame = FRAME_BELOW(site);
	const uint64_t args[6] = { (uintptr_t)end };
	char *old = REAL(sbrk)(0);
	int ret;

	syscall_enter(SYS_brk, args, frame);
	ret = REAL(brk)(end);
	/* The kernel returns the end that is valid then. */
	syscall_exit(SYS_brk, (long)(ret ? old : end), frame);
	emit_brk(ret ? NULL : end, (char *)end - old, site, frame);
	return ret;
}

INTERPOSE int brk(void *end)
{
	if (LIKELY(!brk_armed()))
		return REAL(brk)(end);
	return brk_slow(end, CALL_SITE);
}

/* sbrk(0) makes no system call. */
SLOW static void *sbrk_slow(intptr_t increment, void *site)
{
	const void *frame = FRAME_BELOW(site);
	char *old = REAL(sbrk)(0), *ptr;
	const uint64_t args[6] = { (uintptr_t)old + (uintptr_t)increment };

	if (!increment)
		return old;
	syscall_enter(SYS_brk, args, frame);
	ptr = REAL(sbrk)(increment);
	syscall_exit(SYS_brk, (long)(ptr == (void *)-1 ? old : ptr + increment), frame);
	emit_brk(ptr == (void *)-1 ? NULL : ptr + increment, increment, site, frame);
	return ptr;
}

INTERPOSE void *sbrk(intptr_t increment)
{
	if (LIKELY(!brk_armed()))
		return REAL(sbrk)(increment);
	return sbrk_slow(increment, CALL_SITE);
}
