/* SPDX-License-Identifier: MIT */
/* rpc_server SOCKET - answers requests of one client until it hangs up; see rpc.sh */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "rpc.h"

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t work(uint32_t n)
{
	volatile uint32_t x = n;

	for (uint32_t i = 0; i < n * 1000; i++)
		x = x * 1664525u + 1013904223u;
	return x;
}

static void serve(int fd)
{
	struct rpc_request request;
	struct rpc_reply reply;

	while (read(fd, &request, sizeof(request)) == sizeof(request)) {
		uint64_t start = now();

		work(request.work);
		reply = (struct rpc_reply){ .id = request.id, .service_ns = now() - start };
		trace_done(request.id, 0);
		if (write(fd, &reply, sizeof(reply)) != sizeof(reply))
			return;
	}
}

int main(int argc, char **argv)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM, 0), fd;

	if (argc != 2 || strlen(argv[1]) >= sizeof(addr.sun_path)) {
		fprintf(stderr, "usage: rpc_server SOCKET\n");
		return 2;
	}
	strcpy(addr.sun_path, argv[1]);
	if (bind(listener, (struct sockaddr *)&addr, sizeof(addr)) || listen(listener, 1)) {
		perror(argv[1]);
		return 1;
	}
	fd = accept(listener, NULL, NULL);
	if (fd < 0) {
		perror("accept");
		return 1;
	}
	serve(fd);
	return 0;
}
