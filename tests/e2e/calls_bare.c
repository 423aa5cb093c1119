/* SPDX-License-Identifier: MIT */
/* calls_bare.c - makes a system call by an instruction of its own: it prints its parent's number */
#include <stdio.h>
#include <sys/syscall.h>

int main(void)
{
	long parent;

	__asm__ volatile("syscall" : "=a"(parent) : "a"(SYS_getppid) : "rcx", "r11", "memory");
	printf("parent %s\n", parent > 0 ? "known" : "unknown");
	return 0;
}
