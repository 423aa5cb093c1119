/* SPDX-License-Identifier: MIT */
/* disk_events.h - events written as in the kernel; disk.c makes them */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM disk

#if !defined(DISK_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define DISK_EVENTS_H

#include <linux/tracepoint.h>

TRACE_DEFINE_ENUM(DISK_READ);
TRACE_DEFINE_ENUM(DISK_WRITE);

DECLARE_EVENT_CLASS(disk_request,

	TP_PROTO(const char *device, enum disk_direction direction, unsigned long sector, unsigned int bytes),

	TP_ARGS(device, direction, sector, bytes),

	TP_STRUCT__entry(
		__string(device, device)
		__field(int, direction)
		__field(unsigned long, sector)
		__field(unsigned int, bytes)
	),

	TP_fast_assign(
		__assign_str(device);
		__entry->direction = direction;
		__entry->sector = sector;
		__entry->bytes = bytes;
	),

	TP_printk("%s %s sector %lu, %u bytes", __get_str(device),
		  __print_symbolic(__entry->direction, { DISK_READ, "read" }, { DISK_WRITE, "write" }),
		  __entry->sector, __entry->bytes)
);

DEFINE_EVENT(disk_request, disk_issue,
	TP_PROTO(const char *device, enum disk_direction direction, unsigned long sector, unsigned int bytes),
	TP_ARGS(device, direction, sector, bytes));

DEFINE_EVENT(disk_request, disk_complete,
	TP_PROTO(const char *device, enum disk_direction direction, unsigned long sector, unsigned int bytes),
	TP_ARGS(device, direction, sector, bytes));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE disk_events
#include <trace/define_trace.h>
