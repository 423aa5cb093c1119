/* SPDX-License-Identifier: MIT */
/*
 * marker.c - makes events of writes to trace_marker and trace_marker_raw; they go through hit()
 * like any event
 *
 * A newline is added to a text. The event's triggers see the text without it.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "model/cmdlines.h"
#include "model/model.h"
#include "model/instance/options.h"
#include "model/symbols.h"
#include "plane/plane.h"
#include "tracefs/marker.h"

enum {
	PRINT_ID	= 5,		/* ftrace:print */
	RAW_ID		= 18,		/* ftrace:raw_data */
	PRINT_TEXT	= 16,		/* offset of print's buf */
	/* offset of raw_data's id: a raw text begins with the id */
	RAW_DATA	= 8,
	/* the largest record of a page; larger sub-buffers do not raise it */
	RECORD_MAX	= 4072,
	/* a record has room for at least so many bytes of text */
	SHORTEST	= 9,
	RAW_HEADER	= 12,		/* the id is counted twice */
};

/* The addresses in print events. A session without a kernel's symbols gets symbols for them. */
static const uint64_t marker_address = 0xffffffffff600000ull,
		      snapshot_address = 0xffffffffff600400ull;

static const char marker_function[] = "tracing_mark_write",
		  snapshot_function[] = "tracing_snapshot_instance_cond";

int marker_names(struct model *m)
{
	uint64_t *snapshot = &session_header(m->session)->snapshot_ip, lo, hi;
	int err = 0;

	if (!symbols_range(m->symbols, marker_function, &lo, &hi))
		err = symbols_add(m->symbols, marker_address, 't', marker_function, NULL);
	if (symbols_range(m->symbols, snapshot_function, snapshot, &hi))
		return err;
	*snapshot = snapshot_address;
	return err ? err : symbols_add(m->symbols, snapshot_address, 't', snapshot_function, NULL);
}

static uint64_t marker_ip(struct model *m)
{
	uint64_t lo, hi;

	return symbols_range(m->symbols, marker_function, &lo, &hi) ? lo : marker_address;
}

static void marker_name_of(int pid, char comm[LAYOUT_COMM_LEN])
{
	char path[32];
	FILE *in;

	memset(comm, 0, LAYOUT_COMM_LEN);
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	in = fopen(path, "r");
	if (!in)
		return;
	if (fgets(comm, LAYOUT_COMM_LEN, in))
		comm[strcspn(comm, "\n")] = '\0';
	fclose(in);
}

/*
 * Sends a record through hit() as a record of the writing task. `seen`: how many bytes triggers
 * see.
 */
static int marker_emit(struct instance *inst, pid_t writer, char *record, size_t size, size_t seen,
		       uint16_t id)
{
	struct model *m = inst->model;
	int cpu = sched_getcpu();
	struct slot *slot = session_slot_get(m->session);
	char comm[LAYOUT_COMM_LEN];
	uint64_t committed;
	struct hit h = {
		.record = record, .size = (uint32_t)size, .comm = comm, .only = inst->index + 1,
		.cpu = cpu < 0 || (uint32_t)cpu >= m->nr_cpus ? 0 : (uint32_t)cpu,
		.seen = record, .seen_size = (uint32_t)seen,
	};

	if (!slot)
		return -ENOMEM;
	marker_name_of(writer, comm);
	memcpy(record, &(struct record_common){ .type = id, .pid = writer },
	       sizeof(struct record_common));
	if (*comm && options_test(m->top->options, OPTION_RECORD_CMD))
		cmdlines_add(m->cmdlines, writer, comm);
	committed = session_hit(m->session, slot, &h);
	session_slot_put(m->session, slot);
	return inst->index >= 64 || committed >> inst->index & 1 ? 0 : -EBADF;
}

/*
 * What is written to the top's file goes to all instances that have the option copy_trace_marker;
 * at first that is the top alone. Returns the first error; -ENODEV: no instance has it.
 */
static int marker_emit_all(struct instance *inst, pid_t writer, char *record, size_t size,
			   size_t seen, uint16_t id)
{
	struct instance *copy;
	int first = -ENODEV, err;
	bool any = false;

	if (inst->name)
		return marker_emit(inst, writer, record, size, seen, id);
	list_each(copy, &inst->model->instances, node) {
		if (!options_test(copy->options, OPTION_COPY_TRACE_MARKER))
			continue;
		err = marker_emit(copy, writer, record, size, seen, id);
		if (!any || !first)
			first = err;
		any = true;
	}
	return first;
}

ssize_t marker_write(struct instance *inst, pid_t writer, const char *buf, size_t size)
{
	const size_t max = RECORD_MAX - PRINT_TEXT - 2;
	uint64_t ip = marker_ip(inst->model);
	size_t room, seen;
	char *record;
	int err;

	if (!options_test(inst->options, OPTION_MARKERS))
		return -EINVAL;
	if (size > max)
		size = max;
	room = PRINT_TEXT + (size < SHORTEST ? SHORTEST : size) + 2;
	record = calloc(1, room);
	if (!record)
		return -ENOMEM;
	memcpy(record + 8, &ip, sizeof(ip));
	memcpy(record + PRINT_TEXT, buf, size);
	seen = PRINT_TEXT + size;
	if (size && buf[size - 1] != '\n')
		record[seen] = '\n';
	err = marker_emit_all(inst, writer, record, room, seen, PRINT_ID);
	free(record);
	return err ? err : (ssize_t)size;
}

ssize_t marker_write_raw(struct instance *inst, pid_t writer, const char *buf, size_t size)
{
	const size_t least = SHORTEST + sizeof(uint32_t),
		     room = RAW_HEADER + (size < least ? least : size);
	char *record;
	int err;

	if (!options_test(inst->options, OPTION_MARKERS) || size < sizeof(uint32_t) ||
	    room > RECORD_MAX)
		return -EINVAL;
	record = calloc(1, room);
	if (!record)
		return -ENOMEM;
	memcpy(record + RAW_DATA, buf, size);
	err = marker_emit_all(inst, writer, record, room, room, RAW_ID);
	free(record);
	return err ? err : (ssize_t)size;
}
