/* SPDX-License-Identifier: MIT */
/*
 * sites_program.c - functions that can be traced and that count their calls themselves; its input
 * has commands:
 *
 *     N           N rounds; prints how often each function of its own and of its library was called
 *                 so far
 *     open PATH   dlopen(), and a call of what is there
 *     close       dlclose()
 *     fork N      N rounds in a child
 *     pid
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define TRACED __attribute__((noinline))

int sites_library(int n);
extern long sites_inner_calls, sites_library_calls;

static long leaf_calls, middle_calls, top_calls;
static void *plugin;

TRACED int leaf(int x)
{
	leaf_calls++;
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

TRACED int middle(int x)
{
	int sum = 0;

	middle_calls++;
	for (int i = 0; i < 3; i++)
		sum += leaf(x + i);
	__asm__ volatile("" ::: "memory");
	return sum;
}

TRACED int top_level(int x)
{
	top_calls++;
	__asm__ volatile("" ::: "memory");
	return middle(x) + leaf(x) + sites_library(2);
}

static void rounds(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += top_level(i);
	__asm__ volatile("" :: "r"(sum));
}

static void tell(void)
{
	printf("leaf %ld middle %ld top_level %ld sites_inner %ld sites_library %ld\n", leaf_calls,
	       middle_calls, top_calls, sites_inner_calls, sites_library_calls);
}

static void open_plugin(const char *path)
{
	int (*f)(int);

	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	f = plugin ? (int (*)(int))dlsym(plugin, "plugin_call") : NULL;
	printf("plugin %d\n", f ? f(3) : -1);
}

static void in_child(int n)
{
	pid_t pid = fork();
	int status = 1;

	if (!pid) {
		rounds(n);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
}

static void obey(char *line);

/* Prints the permissions of a function's page. */
static void tell_text(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	const unsigned long at = (unsigned long)obey;
	unsigned long low, high;
	char line[512], is[5];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %4s", &low, &high, is) == 3 && at - low < high - low)
			printf("text %s\n", is);
	if (f)
		fclose(f);
}

static void obey(char *line)
{
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "open ", 5)) {
		open_plugin(line + 5);
	} else if (!strcmp(line, "close")) {
		printf("closed %d\n", dlclose(plugin));
	} else if (!strcmp(line, "pid")) {
		printf("%d\n", (int)getpid());
	} else if (!strcmp(line, "write")) {
		const size_t size = (size_t)sysconf(_SC_PAGESIZE);

		printf("write %d\n", mprotect((void *)((unsigned long)obey & -size), size,
					      PROT_READ | PROT_WRITE | PROT_EXEC));
	} else if (!strcmp(line, "text")) {
		tell_text();
	} else if (!strncmp(line, "fork ", 5)) {
		in_child(atoi(line + 5));
	} else {
		rounds(atoi(line));
		tell();
	}
	fflush(stdout);
}

int main(void)
{
	char line[4200];

	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}
