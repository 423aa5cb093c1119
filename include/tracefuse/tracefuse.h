/* SPDX-License-Identifier: MIT */
/*
 * tracefuse.h - events and messages of your own program in a tracefuse session
 *
 *     #include <tracefuse/tracefuse.h>
 *
 *     TF_EVENT(app, request, (int, id), (const char *, path), (unsigned long, bytes));
 *
 *     trace_request(id, path, bytes);          // one event: app:request
 *     tf_printk("queue has %d entries\n", n);  // a line in the trace
 *     tf_critical_start(); ... tf_critical_stop();  // for the tracers irqsoff, preemptoff
 *     tf_snapshot("slow.dat");                 // saves what was recorded so far
 *
 * Run the program with `tracefuse run -- PROGRAM`: nothing has to be linked. A
 * program that links libtracefuse attaches by itself when $TRACEFUSE_SESSION
 * names a session, or when it calls tf_attach().
 *
 * C11 and C++17, gcc or clang. With TRACEFUSE_DISABLED defined the program
 * contains nothing of it.
 *
 * Everything here but tf_attach() may be called by any thread, also in signal
 * handlers, and changes no errno. Nothing but tf_attach() and tf_snapshot()
 * waits. A thread's first event makes a few system calls.
 *
 * Definitions in the style of the kernel's TRACE_EVENT are in event.h.
 */
#ifndef TRACEFUSE_TRACEFUSE_H
#define TRACEFUSE_TRACEFUSE_H

#include <errno.h>
#include <tracefuse/base.h>

#ifdef __GNUC__
#pragma GCC system_header
#endif

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Joins the session of this name, or the one in this directory (an absolute
 * path). The program has to be linked with libtracefuse. Waits 1 s at most for an
 * answer, and then until the session's setup script is done. A process joins one
 * session.
 *
 * 0, or -ENOENT: there is none; -EACCES: other users than this one have access to
 * it; -EPERM: the program has more rights than its user; -ECONNREFUSED: its server
 * is dead; -ETIMEDOUT; -EPROTO: it has another version; -EBUSY: the process is in a
 * session already; -EUSERS: too many threads; -ENOMEM. The program runs on, untraced.
 */
int tf_attach(const char *session);

#ifndef TRACEFUSE_DISABLED

/* 1: the process is in a session, 0: it is not. */
static inline TF_NOTRACE_ __attribute__((unused)) int tf_attached(void)
{
	return tf_dso_.ops ? tf_dso_.ops->attached() : 0;
}

/*
 * A line in the trace, as trace_printk() in the kernel: an event ftrace:print
 * that names the calling function. Formats are printf's; 1023 bytes at most. If
 * the text does not end in a newline, one is added. Returns the bytes recorded, 0
 * if nothing is recorded. In a signal handler only %d, %u, %x, %p, %c and %s.
 */
static TF_NOTRACE_ __attribute__((unused, noinline, format(printf, 1, 2))) int
tf_printk(const char *format, ...)
{
	va_list args;
	int n = 0;

	if (__builtin_expect(tf_dso_.ops != NULL, 0)) {
		va_start(args, format);
		n = tf_dso_.ops->vprintk(__builtin_return_address(0), format, args);
		va_end(args);
	}
	return n;
}

/*
 * A text as if it were written to trace_marker; 4,000 bytes at most, the rest
 * is cut off. Returns the bytes recorded, 0 if nothing is recorded.
 */
static TF_NOTRACE_ __attribute__((unused, noinline)) int tf_marker(const char *text)
{
	if (__builtin_expect(tf_dso_.ops == NULL, 1))
		return 0;
	return tf_dso_.ops->marker(__builtin_return_address(0), text, __builtin_strlen(text));
}

static TF_NOTRACE_ __attribute__((unused, noinline)) void
tf_critical_(int on, const void *ip, const void *site, const void *frame)
{
	if (tf_dso_.ops->size >= offsetof(struct tf_ops, critical) + sizeof(tf_dso_.ops->critical))
		tf_dso_.ops->critical(on, ip, site, frame);
}

/*
 * A section of the calling thread that should be short, like one with signals
 * blocked or with a lock held: the tracers irqsoff, preemptoff and
 * preemptirqsoff record the longest of them all. Each start needs its stop;
 * sections inside another one do not count. While no such tracer is on, nothing
 * happens.
 */
static TF_NOTRACE_ __attribute__((unused, noinline)) void tf_critical_start(void)
{
	if (__builtin_expect(tf_dso_.ops != NULL, 0))
		tf_critical_(1, (const void *)tf_critical_start, __builtin_return_address(0),
			     __builtin_frame_address(0));
}

static TF_NOTRACE_ __attribute__((unused, noinline)) void tf_critical_stop(void)
{
	if (__builtin_expect(tf_dso_.ops != NULL, 0))
		tf_critical_(0, (const void *)tf_critical_stop, __builtin_return_address(0),
			     __builtin_frame_address(0));
}

/*
 * Saves what the session has recorded so far, of all its programs, as a trace.dat
 * for trace-cmd, KernelShark and `tracefuse replay`: the buffers of the top
 * instance, with the calling thread's newest event. Nothing is consumed, and the
 * recording goes on. Where the file appears, it is whole: the records are written
 * into a new file .tracefuse-PID-N in its directory, which then takes its name. If
 * the program is killed meanwhile, the new file stays. A link, or what is no regular
 * file, is written in place.
 *
 * The program opens the file, with its own rights, and a process of the session
 * writes it. The thread waits for that: milliseconds for a small buffer, 1 s at
 * most for a server that answers nobody, 30 s at most for the writing. Its signal
 * handlers run meanwhile, and other threads go on. Three descriptors are open for
 * that time. errno stays as it was.
 *
 * Any thread may call it, also several at the same time, a child of fork(), and a
 * signal handler. A handler that runs on a small alternate stack (less than 2.5 KiB
 * left), or that a fault has called inside another function of tracefuse, gets
 * -EAGAIN.
 *
 * 0, or -ENOTCONN: the program is in no session, or could not join it; nothing is
 * done. -EAGAIN: see above. -EBUSY: eight snapshots are being written. -ETIMEDOUT:
 * the server does not answer, or the writing takes too long. -ECONNREFUSED: the
 * session ends, or what wrote the file has died. -EPERM: the program is in a sandbox
 * that may forbid the calls. -ENOSYS: the session's agent is older. -ESPIPE: the
 * file cannot seek. Besides what opening the file (-ENOENT, -EACCES, -EISDIR,
 * -EMFILE ...) and writing it (-ENOSPC, -EDQUOT, -EIO ...) has failed with. Then
 * an older file of that name is as it was, unless it was written in place.
 */
static TF_NOTRACE_ __attribute__((unused, noinline)) int tf_snapshot(const char *file)
{
	if (__builtin_expect(tf_dso_.ops == NULL, 1))
		return -ENOTCONN;
	if (tf_dso_.ops->size < offsetof(struct tf_ops, snapshot) + sizeof(tf_dso_.ops->snapshot))
		return -ENOSYS;
	return tf_dso_.ops->snapshot(file);
}

#else

static inline __attribute__((unused)) int tf_snapshot(const char *file)
{
	(void)file;
	return -ENOTCONN;
}

static inline __attribute__((unused)) int tf_attached(void)
{
	return 0;
}

static inline __attribute__((unused, format(printf, 1, 2))) int tf_printk(const char *format, ...)
{
	(void)format;
	return 0;
}

static inline __attribute__((unused)) int tf_marker(const char *text)
{
	(void)text;
	return 0;
}

static inline __attribute__((unused)) void tf_critical_start(void)
{
}

static inline __attribute__((unused)) void tf_critical_stop(void)
{
}

#endif

#ifdef __cplusplus
}
#endif

#include <tracefuse/one_line.h>

#endif
