/* SPDX-License-Identifier: MIT */
/*
 * site_kinds_refusing.c PROGRAM ARGUMENT... - runs a program under a rule that written memory
 * cannot be made executable
 */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { SET_MDWE = 65, REFUSE_EXEC_GAIN = 1 };

int main(int argc, char **argv)
{
	if (argc < 2)
		return 2;
	if (prctl(SET_MDWE, REFUSE_EXEC_GAIN, 0, 0, 0)) {
		perror("PR_SET_MDWE");
		return 77;
	}
	execvp(argv[1], argv + 1);
	return 127;
}
