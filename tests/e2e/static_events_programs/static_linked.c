/* SPDX-License-Identifier: MIT */
/*
 * static_linked.c - linked with libtracefuse: attaches itself, by $TRACEFUSE_SESSION or by
 * tf_attach()
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(linked, hello, (int, nr));

int main(int argc, char **argv)
{
	if (argc > 1)
		printf("%s\n", strerror(-tf_attach(argv[1])));
	printf("%d\n", tf_attached());
	if (argc > 1)
		printf("%s\n", strerror(-tf_attach(argv[1])));
	trace_hello(argc);
	return 0;
}
