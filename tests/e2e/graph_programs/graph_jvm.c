/* SPDX-License-Identifier: MIT */
/* graph_jvm.c - libjvm.so: a library with the symbol of a Java virtual machine */
int JNI_CreateJavaVM(void);

int JNI_CreateJavaVM(void)
{
	return 1;
}
