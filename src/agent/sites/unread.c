/* SPDX-License-Identifier: MIT */
/*
 * unread.c - the functions of a DSO without a compiler's sites
 *
 *     at a start       asked for -> known_ask(): the server reads the file -> known_read()
 *     in a process     late_find(): which objects are asked for -> entered into the session's table
 *     that runs        -> the server reads the files, raises `command` -> late_ready() in the task
 *
 * U1  Only a thread of the program can open a file. So late_find(), which the server's knock begins
 *     (late.c), maps the files, and the task compares them with what is in memory.
 */
#include <string.h>
#include <sys/mman.h>
#include "agent/probes/probes.h"
#include "agent/sites/state.h"
#include "agent/syscall.h"
#include "elf/image.h"
#include "elf/moved.h"

enum {
	/* bytes that a place displaces */
	MOVED_LEAST = 5, MOVED_MOST = 30,
};

/* Our own probes do not count: they are there if the functions are asked for later. */
static bool is_as_in_file(uintptr_t at, const void *bytes, size_t len)
{
	uint8_t now[MOVED_MOST];

	if (len > sizeof(now))
		return !memcmp((const void *)at, bytes, len);
	places_bytes(at, now, len);
	return !memcmp(now, bytes, len);
}

/* A debugger may have set a breakpoint there. */
static void moved_compare(struct known *k, const struct image *im)
{
	for (size_t i = 0; i < k->dso.nr; i++) {
		struct site *s = &k->dso.sites[i];
		size_t size = s->len;
		uint32_t flags;
		const unsigned char *b = image_address(im, s->at, &size, &flags);

		if (!s->skip &&
		    (!b || size < s->len || !is_as_in_file(k->dso.bias + s->at, b, s->len)))
			s->skip = SITE_CHANGED;
	}
}

static void moved_list(struct known *k, struct code_file *code)
{
	k->room = code->nr_functions;
	k->dso.sites = k->room ? known_site_memory(k->room) : NULL;
	k->dso.nr = k->dso.sites ? moved_sites(code, k->dso.sites) : 0;
}

/* Takes time: reads all of the file's code. */
static void moved_find(struct known *k, const struct image *im)
{
	const size_t size = code_room(im);
	struct code_file code;
	long memory;

	memory = size ? agent_syscall(SYS_mmap, 0, size, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		      : -ENOEXEC;
	if (is_error(memory))
		return;
	if (code_open(&code, im, (void *)memory, size))
		moved_list(k, &code);
	agent_syscall(SYS_munmap, memory, size);
}

/* NULL: the server has not read the file. *nr: how many there are */
static const struct site_place *places_of(const struct known *k, uint32_t *nr)
{
	const struct site_set *set = &sites_control()->sets[k->number % LAYOUT_MAX_DSOS];
	/* Acquire: the list is there. Pairs with the release in program_places_publish(). */
	const config_ref ref = atomic_load_explicit(&set->places, memory_order_acquire);

	/* Relaxed: stored before. */
	*nr = atomic_load_explicit(&set->nr_places, memory_order_relaxed);
	if (!ref || ref >= agent.plane.config_size ||
	    *nr * sizeof(struct site_place) > agent.plane.config_size - ref)
		return NULL;
	return plane_config(&agent.plane, ref);
}

/* Whether the place can be one: in code, behind the one in front of it. */
static bool place_fits(const struct known *k, const struct site_place *p, uint64_t behind)
{
	const uintptr_t at = k->dso.bias + p->at;

	if (p->at < behind || p->skip >= SITE_NR_SKIPS || p->len > MOVED_MOST ||
	    (!p->skip && p->len < MOVED_LEAST))
		return false;
	for (unsigned int i = 0; i < k->dso.nr_texts; i++)
		if (at >= k->dso.texts[i].low && at + p->len <= k->dso.texts[i].high)
			return true;
	return false;
}

/* False: the file is to be read. */
static bool places_take(struct known *k)
{
	uint32_t nr;
	const struct site_place *p = places_of(k, &nr);
	uint64_t behind = 0;

	if (!p)
		return false;
	k->room = nr;
	k->dso.sites = nr ? known_site_memory(nr) : NULL;
	for (uint32_t i = 0; k->dso.sites && i < nr; i++) {
		if (!place_fits(k, &p[i], behind)) {
			agent_syscall(SYS_munmap, k->dso.sites, nr * sizeof(struct site));
			k->dso.sites = NULL;
			return false;
		}
		behind = p[i].at + (p[i].len ? p[i].len : 1);
		k->dso.sites[i] = (struct site){
			.at = p[i].at, .kind = SITE_MOVED, .len = p[i].len, .skip = p[i].skip,
			.unreturned = p[i].unreturned, .number = i,
		};
	}
	k->dso.nr = k->dso.sites ? nr : 0;
	return true;
}

/* Finds the functions of a DSO that is `unread`. -> whether there are some */
bool known_read(struct known *k)
{
	struct known now = { .dso.bias = k->dso.bias };
	struct image im;
	struct known_file f;

	if (!known_file_map(k->path, &f))
		return false;
	sites_ask_memory();
	if (known_is_loaded(&now, &f) && image_open(&im, f.bytes, f.size)) {
		if (!places_take(k))
			moved_find(k, &im);
		moved_compare(k, &im);
	}
	agent_syscall(SYS_munmap, f.bytes, f.size);
	if (k->dso.sites && !k->dso.nr)
		agent_syscall(SYS_munmap, k->dso.sites, k->room * sizeof(struct site));
	return k->dso.nr;
}

void known_ask(struct known *k)
{
	struct attach_request q = { .version = SESSION_VERSION, .kind = ATTACH_PLACES };
	struct attach_reply reply;
	struct dso_place place;
	uint32_t nr;

	if (!known_number(k, &place) || places_of(k, &nr))
		return;
	q.value = k->number;
	/* If it fails, this process reads the file. */
	request_ask(&q, &reply);
}

/* ---- In a process that runs already ---- */

/* Whether it is an ELF file without a compiler's sites. */
static bool file_is_siteless(const struct known_file *f)
{
	return !sites_find(f->bytes, f->size, NULL, 0);
}

static __attribute__((cold)) bool late_fill(struct known *k, struct known_file *f)
{
	struct dso_place place;

	if (!known_is_loaded(k, f) || !file_is_siteless(f) || !known_number(k, &place))
		return false;
	k->dso.table = known_table_publish(&place, &k->dso);
	k->file = *f;
	return k->dso.table;
}

/* U1 */
static __attribute__((cold)) void late_see(const struct watched *w)
{
	struct known_file f;
	struct known *k;

	/* T5 of probes/table.c. Relaxed: written under the lock. */
	if (*w->path && (!strchr(w->path, '/') ||
			 atomic_load_explicit(&sites.moving, memory_order_relaxed)))
		return;
	if (!known_is_asked(w->path) || known_of(w->ld))
		return;
	k = known_free();
	if (!k || !known_file_map(w->path, &f))
		return;
	*k = (struct known){
		.dso.bias = w->bias, .path = w->path, .number = UINT32_MAX, .program = !*w->path,
		.tried = true, .unread = true, .late = true, .told = true,
	};
	if (late_fill(k, &f))
		/* Release: as in known_find(). */
		__atomic_store_n(&k->ld, w->ld, __ATOMIC_RELEASE);
	else
		agent_syscall(SYS_munmap, f.bytes, f.size);
}

bool late_find(void)
{
	bool any = false;

	/* Relaxed: what is asked for a moment later is another number. */
	sites.asked = atomic_load_explicit(&sites_control()->asked, memory_order_relaxed);
	watch_objects(late_see);
	for (unsigned int i = 0; i < sites.nr_known; i++)
		any |= sites.known[i].ld && sites.known[i].late;
	return any;
}

static void late_prepare(struct known *k)
{
	struct image im;

	if (!image_open(&im, k->file.bytes, k->file.size) || !places_take(k) || !k->dso.nr)
		return;
	moved_compare(k, &im);
	known_look_through(k);
	moved_late_make(&k->dso);
}

void late_ready(struct known *k)
{
	uint32_t nr;

	if (!k->file.bytes || !places_of(k, &nr))
		return;
	late_prepare(k);
	agent_syscall(SYS_munmap, k->file.bytes, k->file.size);
	k->file.bytes = NULL;
}
