/* SPDX-License-Identifier: MIT */
/* hello.c - the smallest program with an event of its own: cc -I... hello.c, then tracefuse run -e app -- ./a.out */
#include <stdio.h>
#include <tracefuse/tracefuse.h>

TF_EVENT(app, greeting, (int, number), (const char *, whom));

int main(void)
{
	static const char *const people[] = { "Ada", "Grace", "Barbara" };

	for (int i = 0; i < 3; i++) {
		trace_greeting(i, people[i]);
		printf("Hello, %s!\n", people[i]);
	}
	tf_printk("greeted %d people", 3);
	tf_marker("that was all");
	return 0;
}
