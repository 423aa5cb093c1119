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

/* Where general_save leaves the registers of arguments. */
#define SAVED_CX	8
#define SAVED_DX	16
#define SAVED_SI	24
#define SAVED_DI	32
#define SAVED_R8	40
#define SAVED_R9	48

/* Bytes that extended_call saves: up to the upper half of 32 zmm registers. */
#define EXTENDED	2816

/* At a return: graph_leave()'s `at` is SAVED - 8 bytes above the stack pointer. */
#define SAVED	96

#endif
