/* SPDX-License-Identifier: MIT */
/* http.c - connections: who may ask, and which function answers; see web.h */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/web/metrics.h"
#include "cli/web/web.h"
#include "host/message.h"
#include "model/text_memory.h"

enum {
	CONNECTIONS	= 128,
	SECONDS		= 15,		/* that a client may be silent */
	HEADERS		= 32 * 1024,	/* of memory for a request, without its body */
	BODY		= 64 * 1024,
};

/*
 * A connection. Until it has sent a request with the token it has an end: those that send a byte
 * now and then would keep all others out.
 */
struct web_guest {
	struct web_guest *next, **link;
	int		fd;
	time_t		end;		/* 0: it may stay, or was shut down */
};

/* The body of a request, which comes in parts. */
struct request {
	char	body[BODY];
	size_t	len;
	bool	too_long;
};

/* ---- answers ---- */

#define TEXT "text/plain; charset=utf-8"
#define JSON "application/json"

void web_headers(struct MHD_Response *r, const char *type)
{
	MHD_add_response_header(r, "Content-Type", type);
	MHD_add_response_header(r, "Content-Security-Policy",
				"default-src 'none'; script-src 'self'; style-src 'self'; "
				"connect-src 'self'; img-src 'self'; base-uri 'none'; "
				"form-action 'none'; frame-ancestors 'none'");
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(r, "Cache-Control", "no-store");
}

/* Takes the text over. */
static enum MHD_Result send_text(struct MHD_Connection *c, unsigned int status, const char *type,
				 char *text, size_t len)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result ret;

	if (!r) {
		free(text);
		return MHD_NO;
	}
	web_headers(r, type);
	if (status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD, POST");
	ret = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result http_refuse(struct MHD_Connection *c, unsigned int status,
				   const char *sentence)
{
	char *text = NULL;
	const int len = asprintf(&text, "%s\n", sentence);

	return len < 0 ? MHD_NO : send_text(c, status, TEXT, text, (size_t)len);
}

/* ---- who may ask ---- */

/* Takes as long for each text of a length. */
static bool is_token(const struct web *w, const char *given)
{
	unsigned char differs = 0;

	if (!given || strlen(given) != WEB_TOKEN)
		return false;
	for (size_t i = 0; i < WEB_TOKEN; i++)
		differs |= (unsigned char)(given[i] ^ w->token[i]);
	return !differs;
}

static bool has_token(const struct web *w, struct MHD_Connection *c)
{
	static const char bearer[] = "Bearer ";
	const char *given = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Authorization");

	if (given && !strncasecmp(given, bearer, sizeof(bearer) - 1))
		return is_token(w, given + sizeof(bearer) - 1);
	return is_token(w, MHD_lookup_connection_value(c, MHD_GET_ARGUMENT_KIND, "token"));
}

/*
 * A name other than localhost may be one that a foreign page has made lead here. So only addresses
 * are hosts. Any port: there may be a tunnel between.
 */
static bool is_host(const char *host)
{
	char name[64];
	struct in6_addr address;
	const char *end;

	if (!host || !*host)
		return false;
	end = *host == '[' ? strchr(host, ']') : strchrnul(host, ':');
	if (!end || (size_t)(end - host) >= sizeof(name))
		return false;
	memcpy(name, host, (size_t)(end - host));
	name[end - host] = '\0';
	end += *host == '[';
	if (*end && (*end != ':' || end[1 + strspn(end + 1, "0123456789")]))
		return false;
	if (*name == '[')
		return inet_pton(AF_INET6, name + 1, &address) == 1;
	return !strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &address) == 1;
}

/* A page of another place sends its own. */
static bool is_origin(const char *origin, const char *host)
{
	static const char http[] = "http://";

	return !origin || (!strncmp(origin, http, sizeof(http) - 1) &&
			   !strcasecmp(origin + sizeof(http) - 1, host));
}

/* NULL: the request may pass. */
static const char *why_not(const struct web *w, struct MHD_Connection *c, unsigned int *status)
{
	const char *host = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host");
	const char *origin = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Origin");

	*status = MHD_HTTP_FORBIDDEN;
	if (!is_host(host))
		return "The Host of the request is no address and not localhost.";
	if (!is_origin(origin, host))
		return "The request comes from a page of another place.";
	*status = MHD_HTTP_UNAUTHORIZED;
	if (!has_token(w, c))
		return "The token is missing or wrong: `tracefuse web` has printed the address "
		       "with it.";
	return NULL;
}

/* ---- guests ---- */

static time_t now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec;
}

static void remove_guest(struct web_guest *g)
{
	if (!g)
		return;
	*g->link = g->next;
	if (g->next)
		g->next->link = g->link;
	free(g);
}

static void add_guest(struct web *w, struct MHD_Connection *c, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct web_guest *g = info ? calloc(1, sizeof(*g)) : NULL;

	*context = g;
	if (!g)
		return;
	*g = (struct web_guest){ .next = w->guests, .link = &w->guests, .fd = info->connect_fd,
				 .end = now_seconds() + SECONDS };
	if (g->next)
		g->next->link = &g->next;
	w->guests = g;
}

static void connected(void *arg, struct MHD_Connection *c, void **context,
		      enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		add_guest(arg, c, context);
		return;
	}
	remove_guest(*context);
	*context = NULL;
}

/* The connection has the token. */
static void let_stay(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct web_guest *g = info ? info->socket_context : NULL;

	if (g)
		g->end = 0;
}

void web_guests_end(struct web *w)
{
	const time_t now = now_seconds();

	for (struct web_guest *g = w->guests; g; g = g->next)
		if (g->end && now >= g->end) {
			shutdown(g->fd, SHUT_RDWR);
			g->end = 0;
		}
}

/* ---- what is asked ---- */

struct question {
	struct web	*web;
	struct MHD_Connection *connection;
	const struct request *request;
	FILE		*out;
};

static const char *http_argument(const struct question *q, const char *name, const char *otherwise)
{
	const char *value = MHD_lookup_connection_value(q->connection, MHD_GET_ARGUMENT_KIND, name);

	return value ? value : otherwise;
}

/* A number of decimal digits. -EINVAL: it is none. */
static int http_number(const struct question *q, const char *name, const char *otherwise,
		       size_t *out)
{
	const char *text = http_argument(q, name, otherwise);
	const size_t n = strlen(text);

	if (!n || n > 12 || strspn(text, "0123456789") != n)
		return -EINVAL;
	*out = strtoull(text, NULL, 10);
	return 0;
}

static int ask_histograms(const struct question *q)
{
	return web_histograms_print(q->web, q->out);
}

static int ask_functions(const struct question *q)
{
	return web_functions_print(q->web, q->out);
}

static int ask_stacks(const struct question *q)
{
	size_t nr;
	int err = http_number(q, "nr", "0", &nr);

	return err ? err : web_stacks_print(q->web, http_argument(q, "file", ""), nr, q->out);
}

static int ask_trace(const struct question *q)
{
	size_t from, lines;
	int err = http_number(q, "from", "0", &from);

	err = err ? err : http_number(q, "lines", "200", &lines);
	return err ? err : web_trace_print(q->web, http_argument(q, "instance", ""), from, lines,
					   q->out);
}

static int ask_command(const struct question *q)
{
	return web_command_print(q->web, q->request->body, q->request->len, q->out);
}

static const struct metrics_form *metrics_form(struct MHD_Connection *c)
{
	return web_metrics_form(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept"));
}

static int ask_metrics(const struct question *q)
{
	return web_metrics_print(q->web, metrics_form(q->connection), q->out);
}

struct route {
	const char	*path, *method, *type;
	int		(*ask)(const struct question *q);
};

static const struct route routes[] = {
	{ "/api/histograms", "GET", JSON, ask_histograms },
	{ "/api/functions", "GET", JSON, ask_functions },
	{ "/api/stacks", "GET", JSON, ask_stacks },
	{ "/api/trace", "GET", JSON, ask_trace },
	{ "/api/command", "POST", JSON, ask_command },
	{ "/metrics", "GET", NULL, ask_metrics },
	{ "/api/events", "GET", NULL, NULL },	/* stream.c */
};

static const struct route *find_route(const char *path)
{
	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++)
		if (!strcmp(routes[i].path, path))
			return &routes[i];
	return NULL;
}

static enum MHD_Result refuse_error(const struct web *w, struct MHD_Connection *c, int err)
{
	if (err == -EINVAL)
		return http_refuse(c, MHD_HTTP_BAD_REQUEST, "An argument of the request is wrong.");
	if (w->access && err == -ENOENT)
		return http_refuse(c, MHD_HTTP_NOT_FOUND, "The session has no such file.");
	if (err == -ENOENT || err == -EPIPE)
		return http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "The session has ended.");
	if (err == -EAGAIN)
		return http_refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "Too many pages are open.");
	return http_refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, strerror(-err));
}

static enum MHD_Result answer_route(struct web *w, struct MHD_Connection *c,
				    const struct route *r, const struct request *request)
{
	struct question q = { .web = w, .connection = c, .request = request };
	char *text = NULL;
	size_t len = 0;
	int err;

	if (!r->ask) {
		err = web_stream_begin(w, c);
		return err ? refuse_error(w, c, err) : MHD_YES;
	}
	err = web_reach(w);
	if (err)
		return refuse_error(w, c, err);
	q.out = text_memory_open(&text, &len);
	if (!q.out)
		return refuse_error(w, c, -ENOMEM);
	err = r->ask(&q);
	if (fclose(q.out))
		err = -ENOMEM;
	if (!err)
		return send_text(c, MHD_HTTP_OK, r->type ? r->type : metrics_form(c)->type,
				 text, len);
	free(text);
	return refuse_error(w, c, err);
}

/* ---- the page ---- */

/* The page's own addresses have the token, too: TOKEN stands for it in the file. */
static void http_print_file(const struct web *w, const struct web_file *f, FILE *out)
{
	static const char mark[] = "TOKEN";
	const unsigned char *at = f->data, *end = f->data + f->size, *found;

	while ((found = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1))) {
		fwrite(at, 1, (size_t)(found - at), out);
		fputs(w->token, out);
		at = found + sizeof(mark) - 1;
	}
	fwrite(at, 1, (size_t)(end - at), out);
}

static enum MHD_Result answer_file(const struct web *w, struct MHD_Connection *c,
				   const struct web_file *f)
{
	char *text = NULL;
	size_t len;
	FILE *out = text_memory_open(&text, &len);

	if (out && !strcmp(f->path, "/"))
		http_print_file(w, f, out);
	else if (out)
		fwrite(f->data, 1, f->size, out);
	if (!out || fclose(out))
		return refuse_error(w, c, -ENOMEM);
	return send_text(c, MHD_HTTP_OK, f->type, text, len);
}

static const struct web_file *http_find_file(const char *path)
{
	for (const struct web_file *f = web_files; f->path; f++)
		if (!strcmp(f->path, path))
			return f;
	return NULL;
}

/* ---- requests ---- */

static enum MHD_Result http_answer(struct web *w, struct MHD_Connection *c, const char *url,
				   const char *method, const struct request *request)
{
	const struct route *route = find_route(url);
	const struct web_file *file = route ? NULL : http_find_file(url);
	const char *wanted = route ? route->method : "GET";

	if (!route && !file)
		return http_refuse(c, MHD_HTTP_NOT_FOUND, "There is no such page.");
	if (strcmp(method, wanted) && (strcmp(wanted, "GET") || strcmp(method, "HEAD")))
		return http_refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED,
			      "This page has another method: /api/command has POST, the others "
			      "have GET.");
	if (request->too_long)
		return http_refuse(c, MHD_HTTP_CONTENT_TOO_LARGE,
			      "The commands are longer than 64 KiB.");
	return route ? answer_route(w, c, route, request) : answer_file(w, c, file);
}

static void http_take_body(struct request *r, const char *data, size_t len)
{
	if (len > sizeof(r->body) - r->len) {
		r->too_long = true;
		return;
	}
	memcpy(r->body + r->len, data, len);
	r->len += len;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct web *w = arg;
	struct request *r = *state;
	unsigned int status;
	const char *why;

	if (!r) {
		why = why_not(w, c, &status);
		if (why)
			return http_refuse(c, status, why);
		let_stay(c);
		*state = r = calloc(1, sizeof(*r));
		return r ? MHD_YES : MHD_NO;
	}
	if (*upload_size) {
		http_take_body(r, upload, *upload_size);
		*upload_size = 0;
		return MHD_YES;
	}
	return http_answer(w, c, url, method, r);
}

static void completed(void *arg, struct MHD_Connection *c, void **state,
		      enum MHD_RequestTerminationCode how)
{
	free(*state);
	*state = NULL;
}

/* ---- listening ---- */

/* The socket's address. 0: it is none. */
static socklen_t read_address(const char *text, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return sizeof(*v4);
	}
	if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
		return sizeof(*v6);
	}
	return 0;
}

static int open_socket(const char *address, uint16_t port)
{
	struct sockaddr_storage to;
	const socklen_t size = read_address(address, port, &to);
	const int one = 1;
	int fd, err;

	if (!size)
		return -EINVAL;
	fd = socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (!bind(fd, (struct sockaddr *)&to, size) && !listen(fd, CONNECTIONS))
		return fd;
	err = -errno;
	close(fd);
	return err;
}

struct MHD_Daemon *web_listen(struct web *w, const char *address, uint16_t port)
{
	const char *const missing = web_library_load();
	struct MHD_Daemon *d;
	int fd;

	if (missing) {
		message_error("web: libmicrohttpd cannot be loaded: %s", missing);
		return NULL;
	}
	fd = open_socket(address, port);
	if (fd == -EINVAL)
		message_error("web: --listen %s: no address of IPv4 or IPv6", address);
	else if (fd < 0)
		message_error("web: cannot listen at %s, port %u: %s", address, port,
			      strerror(-fd));
	if (fd < 0)
		return NULL;
	d = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, w,
			     MHD_OPTION_LISTEN_SOCKET, fd,
			     MHD_OPTION_NOTIFY_COMPLETED, completed, NULL,
			     MHD_OPTION_NOTIFY_CONNECTION, connected, w,
			     MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CONNECTIONS,
			     MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)SECONDS,
			     MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS,
			     MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
	if (!d) {
		close(fd);
		message_error("web: cannot serve: %s", strerror(errno));
	}
	return d;
}
