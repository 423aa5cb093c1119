/* SPDX-License-Identifier: MIT */
/*
 * entry.h - x86-64: where entry.S has what patch_hit() may ask for again, above the stack pointer
 */
#ifndef TRACEFUSE_AGENT_X86_64_ENTRY_H
#define TRACEFUSE_AGENT_X86_64_ENTRY_H

#define AFTER	64	/* 72: %r11, 80: %rbx */
#define DSO	88
#define STUB	96
#define S	104

/* Of a return: graph_leave()'s `at` lies so many bytes, less 8, above the stack pointer. */
#define SAVED	96

#endif
