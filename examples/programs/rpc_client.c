/* SPDX-License-Identifier: MIT */
/*
 * rpc_client SOCKET N - makes N requests and prints, of all together, how many
 * nanoseconds the server worked and how many passed from before each request
 * was sent until after its answer came: what lies between the two events lies
 * between these two sums. See rpc.sh.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
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

static int call(int fd, uint32_t id, uint64_t *service, uint64_t *total)
{
	struct rpc_request request = { .id = id, .work = id % 50 };
	struct rpc_reply reply;
	uint64_t start = now();

	trace_send(id, sizeof(request));
	if (write(fd, &request, sizeof(request)) != sizeof(request) ||
	    read(fd, &reply, sizeof(reply)) != sizeof(reply) || reply.id != id)
		return -1;
	*total += now() - start;
	*service += reply.service_ns;
	return 0;
}

static int server_connect(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timespec pause = { .tv_nsec = 20000000 };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strncpy(addr.sun_path, path, sizeof(addr.sun_path) - 1);
	for (int i = 0; i < 500; i++) {
		if (!connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
			return fd;
		nanosleep(&pause, NULL);
	}
	return -1;
}

int main(int argc, char **argv)
{
	uint64_t service = 0, total = 0;
	uint32_t nr;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: rpc_client SOCKET N\n");
		return 2;
	}
	nr = (uint32_t)strtoul(argv[2], NULL, 10);
	fd = server_connect(argv[1]);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	for (uint32_t i = 1; i <= nr; i++)
		if (call(fd, i, &service, &total)) {
			fprintf(stderr, "rpc_client: no answer to request %u\n", i);
			return 1;
		}
	printf("requests %" PRIu32 " service %" PRIu64 " total %" PRIu64 "\n", nr, service, total);
	return 0;
}
