/* SPDX-License-Identifier: MIT */
/*
 * code.h - reads the code of a file with probes, in a process of its own
 *
 *     server: probed_file      --fork--> finds the file, code_open(), the compiler's sites
 *             probed_file.code <--pipe-- packed_code.h
 *
 * To read the code takes some 50 ms a megabyte, once for a file. A plan takes microseconds then.
 */
#ifndef TRACEFUSE_SOURCES_PROGRAM_SCAN_CODE_H
#define TRACEFUSE_SOURCES_PROGRAM_SCAN_CODE_H

#include "sources/program/probed.h"
#include "tracefs/printer.h"

/* Prints what code_take() takes. 0, -errno for reading_why() */
int code_print(struct elf_file *file, FILE *out);
/* Takes the bytes of a reading, from there on. 0: f->read; -errno */
int code_take(struct probed_file *f, struct reading *r, size_t from);

/*
 * For a file that is known without its code: it is looked for where a process sees it. 0; -errno:
 * there can be no process.
 */
int probed_code_start(struct programs *p, struct printers *ps, struct probed_file *f);
/* Reads it at once, where there can be no process. 0; -errno for reading_why() */
int probed_code_here(struct programs *p, struct probed_file *f);
/* 1: it is still being read; 0: f->read; -errno for reading_why(): it can be started again. */
int probed_code_take(struct probed_file *f);

#endif
