/* SPDX-License-Identifier: MIT */
/* cpu.c - see cpu.h */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/live/cpu.h"

enum { STATS_BYTES = 512 };

int live_cpu_open(struct live_cpu *c, int dir, uint32_t cpu, uint32_t page_size)
{
	*c = (struct live_cpu){ .cpu = cpu, .page_size = page_size, .fd = -1, .stats = -1,
				.lost_before = c->lost, .lost = c->lost, .damaged = c->damaged,
				.records = c->records, .untimed = c->untimed,
				.discarded = c->discarded };
	c->slots = malloc((size_t)LIVE_SLOTS * page_size);
	if (!c->slots)
		return -ENOMEM;
	/* Without it, pages that do not say how much was lost before them count as one. */
	c->stats = openat(dir, "stats", O_RDONLY | O_CLOEXEC);
	c->fd = openat(dir, "trace_pipe_raw", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return c->fd < 0 ? -errno : 0;
}

void live_cpu_close(struct live_cpu *c)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->stats >= 0)
		close(c->stats);
	free(c->slots);
	c->fd = c->stats = -1;
	c->slots = NULL;
	c->page = (struct subbuf){ 0 };
	c->next = c->tail = 0;
	c->has = false;
}

static uint8_t *slot_at(const struct live_cpu *c, unsigned int i)
{
	return c->slots + (size_t)i * c->page_size;
}

static uint32_t slot_used(const uint8_t *page)
{
	return subbuf_u32(page + 8) & SUBBUF_COMMIT_MASK;
}

/* With the number of lost records behind the data. */
static size_t page_bytes(const struct live_cpu *c, unsigned int slot)
{
	const size_t used = SUBBUF_HEADER + slot_used(slot_at(c, slot)) + sizeof(uint64_t);

	return used < c->page_size ? used : c->page_size;
}

/* How many events the kernel has overwritten in this buffer; 0: it does not say. */
static uint64_t overwritten(const struct live_cpu *c)
{
	char text[STATS_BYTES];
	const ssize_t n = c->stats >= 0 ? pread(c->stats, text, sizeof(text) - 1, 0) : -1;
	const char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "\noverrun: ");
	return at ? strtoull(strchr(at, ':') + 1, NULL, 10) : 0;
}

/*
 * A full page may have no place for the number. From the first such page on the kernel's own sum
 * counts, which has what the next pages say, too.
 */
static void count_lost(struct live_cpu *c, const uint8_t *page, uint64_t lost)
{
	uint64_t sum;

	c->lost += lost;
	c->by_stats |= lost && !(subbuf_u32(page + 8) & SUBBUF_STORED);
	sum = lost && c->by_stats ? overwritten(c) : 0;
	if (sum)
		c->lost = c->lost_before + sum;
}

/* A page that cannot be understood has no records. */
static struct subbuf enter_page(struct live_cpu *c, unsigned int slot)
{
	struct subbuf page = c->page;
	uint64_t lost;

	if (subbuf_start_behind(&page, slot_at(c, slot), c->page_size, &lost)) {
		c->damaged++;
		return (struct subbuf){ 0 };
	}
	count_lost(c, slot_at(c, slot), lost);
	return page;
}

/* Its time stays for the next one. */
static void leave_page(struct live_cpu *c)
{
	c->page.at = c->page.end = NULL;
	c->next = c->tail = 0;
	c->has = false;
}

void live_cpu_next(struct live_cpu *c)
{
	const uint64_t before = c->record.time;
	int ret;

	while ((ret = subbuf_next(&c->page, &c->record)) <= 0) {
		c->damaged += ret < 0;
		if (c->next == c->tail) {
			leave_page(c);
			return;
		}
		c->page = enter_page(c, c->next++);
	}
	c->has = true;
	c->records++;
	c->untimed += c->record.time == before;
}

void live_cpu_discard(struct live_cpu *c)
{
	struct live_peek peek = live_cpu_peek_begin(c);
	struct subbuf_record r;

	/* Not by live_cpu_next(): what pages lost is of before, and the kernel's sum of now. */
	for (bool more = c->has; more; more = live_cpu_peek(c, &peek, &r))
		c->discarded++;
	leave_page(c);
	/* The next page has all of its time. */
	c->page = (struct subbuf){ 0 };
	c->lost_before = c->lost;
}

struct live_peek live_cpu_peek_begin(const struct live_cpu *c)
{
	return (struct live_peek){ .page = c->page, .next = c->next };
}

bool live_cpu_peek(const struct live_cpu *c, struct live_peek *peek, struct subbuf_record *out)
{
	uint64_t lost;
	int ret;

	while ((ret = subbuf_next(&peek->page, out)) <= 0)
		if (ret < 0 || peek->next == c->tail ||
		    subbuf_start_behind(&peek->page, slot_at(c, peek->next++), c->page_size,
					&lost))
			return false;
	return true;
}

/* Room behind the last page: those that have passed are overwritten by those that wait. */
static void move_slots(struct live_cpu *c)
{
	/* A record waits, so a page is in use: without one all slots are free. */
	const unsigned int moved = c->next - 1;
	const uint8_t *page = slot_at(c, moved);

	for (unsigned int i = moved; moved && i < c->tail; i++)
		memmove(slot_at(c, i - moved), slot_at(c, i), page_bytes(c, i));
	c->page.at = c->slots + (c->page.at - page);
	c->page.end = c->slots + (c->page.end - page);
	c->record.data = c->slots + (c->record.data - page);
	c->next -= moved;
	c->tail -= moved;
}

/* 1: a page has come, 0: there is none, -errno */
static int read_page(struct live_cpu *c)
{
	ssize_t n;

	do
		n = read(c->fd, slot_at(c, c->tail), c->page_size);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (!n)
		return 0;
	if (n < SUBBUF_HEADER) {
		c->damaged++;
		return 0;
	}
	c->tail++;
	return 1;
}

static uint64_t time_of_page(const uint8_t *page)
{
	uint64_t time;

	memcpy(&time, page, sizeof(time));
	return time;
}

bool live_cpu_read(struct live_cpu *c, uint64_t now)
{
	bool more = true;

	if (c->fd < 0) {
		c->complete = UINT64_MAX;
		return false;
	}
	if (c->tail == LIVE_SLOTS)
		move_slots(c);
	while (more && c->tail < LIVE_SLOTS)
		more = read_page(c) > 0 && time_of_page(slot_at(c, c->tail - 1)) <= now;
	/* Of the last page that was read nothing is known to be whole before the next one. */
	c->complete = more && c->tail ? time_of_page(slot_at(c, c->tail - 1)) : now;
	if (!c->has)
		live_cpu_next(c);
	return more;
}
