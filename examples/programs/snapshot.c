/* SPDX-License-Identifier: MIT */
/* snapshot.c - a request fails: saves what led to it, and goes on. See docs/views.md. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(app, request, (int, id), (int, result));

/* Each 40th request fails. */
static int work(int id)
{
	return id % 40 ? 0 : -1;
}

int main(int argc, char **argv)
{
	const int requests = argc > 1 ? atoi(argv[1]) : 100;
	int saved = 0;

	for (int id = 1; id <= requests; id++) {
		int result = work(id), err;

		trace_request(id, result);
		if (!result || saved++)
			continue;
		err = tf_snapshot("failed.dat");
		if (err)
			printf("request %d failed; failed.dat: %s\n", id, strerror(-err));
		else
			printf("request %d failed: failed.dat has what led to it\n", id);
	}
	return 0;
}
