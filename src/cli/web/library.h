/* SPDX-License-Identifier: MIT */
/*
 * library.h - libmicrohttpd, which is loaded when the command web needs it
 *
 * It brings GnuTLS and ten more libraries. If the program were linked with it, every command of
 * tracefuse would spend more than half of its time before main() on them.
 */
#ifndef TRACEFUSE_CLI_WEB_LIBRARY_H
#define TRACEFUSE_CLI_WEB_LIBRARY_H

#include <microhttpd.h>

/* All functions of it that are called, without MHD_. */
#define WEB_LIBRARY(F)					\
	F(add_response_header)				\
	F(create_response_from_buffer)			\
	F(create_response_from_callback)		\
	F(destroy_response)				\
	F(get_connection_info)				\
	F(get_daemon_info)				\
	F(get_timeout)					\
	F(lookup_connection_value)			\
	F(queue_response)				\
	F(resume_connection)				\
	F(run)						\
	F(start_daemon)					\
	F(stop_daemon)					\
	F(suspend_connection)

struct web_library {
#define WEB_LIBRARY_MEMBER(f) __typeof__(MHD_##f) *f;
	WEB_LIBRARY(WEB_LIBRARY_MEMBER)
#undef WEB_LIBRARY_MEMBER
};

/* Its functions, after web_library_load(). */
extern struct web_library web_library;

/* Before anything else of the library is called. NULL, or the reason why it cannot be loaded. */
const char *web_library_load(void);

#define MHD_add_response_header		web_library.add_response_header
#define MHD_create_response_from_buffer	web_library.create_response_from_buffer
#define MHD_create_response_from_callback web_library.create_response_from_callback
#define MHD_destroy_response		web_library.destroy_response
#define MHD_get_connection_info		web_library.get_connection_info
#define MHD_get_daemon_info		web_library.get_daemon_info
#define MHD_get_timeout			web_library.get_timeout
#define MHD_lookup_connection_value	web_library.lookup_connection_value
#define MHD_queue_response		web_library.queue_response
#define MHD_resume_connection		web_library.resume_connection
#define MHD_run				web_library.run
#define MHD_start_daemon		web_library.start_daemon
#define MHD_stop_daemon			web_library.stop_daemon
#define MHD_suspend_connection		web_library.suspend_connection

#endif
