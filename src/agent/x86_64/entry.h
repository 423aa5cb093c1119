/* SPDX-License-Identifier: MIT */
/*
 * entry.h - x86-64: where entry.S saves what patch_hit() may need again, above the stack pointer
 */
#ifndef TRACEFUSE_AGENT_X86_64_ENTRY_H
#define TRACEFUSE_AGENT_X86_64_ENTRY_H

#define AFTER	64	/* 72: %r11, 80: %rbx */
#define DSO	88
#define STUB	96
#define S	104

/* At a return: graph_leave()'s `at` is SAVED - 8 bytes above the stack pointer. */
#define SAVED	96

#endif
