/* SPDX-License-Identifier: MIT */
/*
 * sites_jumps.c - functions that end in a jump to one that looks at who called it
 *
 * Where libc's dlopen(), dlsym() and so on are as they were (callers.c), these are not hooked: libc would see
 * our return address. Direct jumps are looked for, and those by way of the GOT; then jumps to what was found.
 * Any load of such a GOT entry counts, because a jump may follow. Bytes are looked at, not instructions, and stubs are
 * not told from functions: what is found wrongly is a function less in the graph.
 */
#include "agent/sites.h"
#include "agent/sites_image.h"

enum { MAX_JUMPING = 1024 };

/* Functions that end so, by their starts: open addressing, half empty. */
struct jumping {
	uint64_t	start[2 * MAX_JUMPING];
	unsigned int	nr;
	bool		more;
};

/* Its place, or a free one. */
static uint64_t *jumping_place(struct jumping *j, uint64_t start)
{
	uint64_t i = start * 0x9e3779b97f4a7c15ull >> 32;

	while (j->start[i % (2 * MAX_JUMPING)] && j->start[i % (2 * MAX_JUMPING)] != start)
		i++;
	return &j->start[i % (2 * MAX_JUMPING)];
}

static bool is_jumping(struct jumping *j, uint64_t start)
{
	return *jumping_place(j, start) == start;
}

/* By its name, or because it jumps itself. */
static bool is_asking(void *jumping, const char *name, uint64_t value)
{
	return (value && is_jumping(jumping, value)) || !strcmp(name, "dlsym") || !strcmp(name, "dlvsym") ||
	       !strcmp(name, "dlopen") || !strcmp(name, "dlmopen") || !strcmp(name, "dl_iterate_phdr");
}

static void jumping_add(struct jumping *j, uint64_t start)
{
	uint64_t *place = jumping_place(j, start);

	if (!start || *place)
		return;
	if (j->nr == MAX_JUMPING) {
		j->more = true;
		return;
	}
	*place = start;
	j->nr++;
}

/* Where a jump at b[i] leads to, with a condition or without; 0: it is none. */
static uint64_t jump_target(const unsigned char *b, size_t i, size_t size, uint64_t base)
{
	if (i + 6 > size)
		return 0;
	if (b[i] == 0xe9)
		return relative(b + i + 1, base + i + 5);
	if (b[i] == 0x0f && (b[i + 1] & 0xf0) == 0x80)
		return relative(b + i + 2, base + i + 6);
	return b[i] == 0xeb || (b[i] & 0xf0) == 0x70 ? base + i + 2 + (uint64_t)(int64_t)(int8_t)b[i + 1] : 0;
}

/* An instruction with a GOT entry that is no call: a jump, or it is loaded, for a jump maybe. */
static bool takes_got(const struct targets *t, const unsigned char *b, size_t i, size_t size, uint64_t base)
{
	return i && i + 5 <= size && (b[i] & 0xc7) == 0x05 && (b[i - 1] != 0xff || b[i] != 0x15) &&
	       is_got(t, relative(b + i + 1, base + i + 5));
}

/* -> whether there are more than before */
static bool jumps_of(const struct image *im, const struct targets *t, struct jumping *j)
{
	const unsigned int before = j->nr;
	size_t size;

	for (unsigned int i = 0; i < im->nr_phdrs; i++) {
		const unsigned char *b = image_code(im, i, &size);
		const uint64_t base = im->phdrs[i].p_vaddr;

		for (size_t k = 0; b && k < size; k++) {
			uint64_t to = jump_target(b, k, size, base);

			if (takes_got(t, b, k, size, base) || (to && (is_stub(t, to) || is_jumping(j, to))))
				jumping_add(j, image_start(im, base + k));
		}
	}
	return j->nr > before;
}

void sites_jumping(const void *file, size_t size, struct site *sites, size_t nr)
{
	static struct jumping j;	/* callers have a lock */
	struct targets t;
	struct image im;

	memset(&j, 0, sizeof(j));
	if (!image_open(&im, file, size))
		return;
	do {
		image_targets(&im, is_asking, &j, &t);
		/* Where functions begin is not known: any may. */
		j.more |= t.more || (t.nr_got && !im.nr_starts);
	} while (t.nr_got && !j.more && jumps_of(&im, &t, &j));
	for (size_t i = 0; i < nr; i++)
		sites[i].jumps = j.more || (j.nr && image_start(&im, sites[i].at) &&
					    is_jumping(&j, image_start(&im, sites[i].at)));
}
