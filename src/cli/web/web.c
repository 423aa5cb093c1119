/* SPDX-License-Identifier: MIT */
/*
 * web.c - `tracefuse web`: a session in a browser, and for Prometheus
 *
 * One thread waits for connections and makes a sample each second while a page is open. The first
 * Ctrl-C ends it in order, a second one at once.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "cli/client.h"
#include "cli/options.h"
#include "cli/web/web.h"
#include "model/demangle/demangle.h"

enum { SAMPLE_MS = 1000, WAIT_MS = 1000 };

struct web_asked {
	const char	*session, *address;
	uint16_t	port;
	bool		write;
};

enum { OPT_PORT = 256, OPT_LISTEN, OPT_WRITE };

static const struct option long_options[] = {
	{ "session", required_argument, NULL, 's' },
	{ "port", required_argument, NULL, OPT_PORT },
	{ "listen", required_argument, NULL, OPT_LISTEN },
	{ "write", no_argument, NULL, OPT_WRITE },
	{ NULL, 0, NULL, 0 },
};

static int read_port(const char *text, uint16_t *port)
{
	char *end;
	const unsigned long v = strtoul(text, &end, 10);

	if (!*text || text[strspn(text, "0123456789")] || v > UINT16_MAX)
		return command_usage(&command_web, "--port %s: a number from 0 to 65535", text);
	*port = (uint16_t)v;
	return COMMAND_DONE;
}

static int web_option(struct web_asked *a, int opt, char **argv)
{
	switch (opt) {
	case 's':
		a->session = optarg;
		return COMMAND_DONE;
	case OPT_PORT:
		return read_port(optarg, &a->port);
	case OPT_LISTEN:
		a->address = optarg;
		return COMMAND_DONE;
	case OPT_WRITE:
		a->write = true;
		return COMMAND_DONE;
	case ':':
		return command_usage(&command_web, "%s needs an argument", argv[optind - 1]);
	default:
		return command_unknown_option(&command_web, argv[optind - 1]);
	}
}

static int web_arguments(struct web_asked *a, int argc, char **argv)
{
	int opt, status = COMMAND_DONE;

	optind = 0;
	while (!status && (opt = getopt_long(argc, argv, ":s:", long_options, NULL)) != -1)
		status = web_option(a, opt, argv);
	if (status)
		return status;
	if (argc - optind > 1)
		return command_usage(&command_web, "too many arguments");
	if (optind < argc)
		a->session = argv[optind];
	return COMMAND_DONE;
}

/* ---- the loop ---- */

static volatile sig_atomic_t ended;

static void note_end(int signal)
{
	ended = 1;
}

/*
 * Each of them ends the process at its second time: a session may not answer. One that is ignored,
 * as nohup does, stays so.
 */
static void catch_ends(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = note_end, .sa_flags = SA_RESETHAND | SA_RESTART };
	struct sigaction given;

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (!sigaction(signals[i], NULL, &given) && given.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

static long long web_now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int web_wait_ms(const struct web *w, long long next)
{
	const long long left = next - web_now_ms();
	MHD_UNSIGNED_LONG_LONG own;
	int ms = w->nr_streams ? left > 0 ? (int)left : 0 : WAIT_MS;

	if (MHD_get_timeout(w->daemon, &own) == MHD_YES && own < (unsigned int)ms)
		ms = (int)own;
	return ms;
}

/* A signal that comes right before a wait is seen after it. */
static void web_serve(struct web *w)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(w->daemon,
							       MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd p = { .fd = info->epoll_fd, .events = POLLIN };
	long long next = web_now_ms() + SAMPLE_MS;

	while (!ended) {
		poll(&p, 1, web_wait_ms(w, next));
		if (web_now_ms() >= next) {
			web_streams_tell(w);
			next = web_now_ms() + SAMPLE_MS;
		}
		MHD_run(w->daemon);
		/* What they have sent by now is read. */
		web_guests_end(w);
	}
	web_streams_end(w);
	MHD_run(w->daemon);
}

static int make_token(struct web *w)
{
	unsigned char bytes[WEB_TOKEN / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return message_error("web: no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(w->token + 2 * i, 3, "%02x", bytes[i]);
	return COMMAND_DONE;
}

static int web_print_address(const struct web *w, const char *address)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(w->daemon,
							       MHD_DAEMON_INFO_BIND_PORT);
	const bool v6 = strchr(address, ':');

	printf("http://%s%s%s:%u/?token=%s\n", v6 ? "[" : "", address, v6 ? "]" : "", info->port,
	       w->token);
	return message_flush();
}

static int web_start(struct web *w, const struct web_asked *a)
{
	int status = make_token(w);

	if (status)
		return status;
	w->daemon = web_listen(w, a->address, a->port);
	if (!w->daemon)
		return COMMAND_FAILED;
	catch_ends();
	status = web_print_address(w, a->address);
	if (!status)
		web_serve(w);
	MHD_stop_daemon(w->daemon);
	return status;
}

struct demangler *web_names(struct web *w)
{
	if (!w->names)
		w->names = demangler_create();
	return w->names;
}

static int web_run(int argc, char **argv)
{
	struct web_asked asked = { .address = "127.0.0.1" };
	struct web w = { 0 };
	int status = web_arguments(&asked, argc, argv);
	char *session;

	if (status)
		return status;
	session = client_session(&command_web, asked.session);
	w.access = session ? client_connect(&command_web, session) : NULL;
	w.session = session;
	w.write = asked.write;
	status = w.access ? web_start(&w, &asked) : COMMAND_FAILED;
	web_streams_free(&w);
	if (w.access)
		access_close(w.access);
	demangler_destroy(w.names);
	free(session);
	return status;
}

const struct command command_web = {
	.name = "web",
	.summary = "show the session in a browser, and to Prometheus",
	.run = web_run,
	.help =
"usage: tracefuse web [options] [SESSION]\n"
"\n"
"Serves a page that shows a session while it runs: its histograms as bars, with\n"
"percentiles and how they change, the functions that are profiled, stacks as a flame\n"
"graph, the trace, and a box for commands. Prints the page's address, which has a\n"
"token: who has it may read the session. Ends at Ctrl-C.\n"
"\n"
"/metrics has the same numbers for Prometheus. A scraper sends the token as\n"
"Authorization: Bearer.\n"
"\n"
"  -s, --session NAME  the session; without it $TRACEFUSE_SESSION, else the only\n"
"                      one there is\n"
"      --port N        the port; without it, any that is free\n"
"      --listen ADDR   the address, of IPv4 or IPv6, instead of 127.0.0.1. What is\n"
"                      sent is not encrypted: over a network take a tunnel\n"
"      --write         the box for commands may change the session\n",
};
