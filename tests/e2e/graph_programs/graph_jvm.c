/* SPDX-License-Identifier: MIT */
/* graph_jvm.c - libjvm.so: a library with the name of a Java virtual machine */
int jvm_version(void);

int jvm_version(void)
{
	return 1;
}
