/* SPDX-License-Identifier: MIT */
/*
 * replayed.h - all steps of a replay: open, import, run, read the files, export
 *
 * Used by the fuzzer of recordings, and by the test that cuts recordings at each offset.
 */
#ifndef TRACEFUSE_TESTS_FUZZ_REPLAYED_H
#define TRACEFUSE_TESTS_FUZZ_REPLAYED_H

#include <stdbool.h>
#include <stdint.h>

/* `memory`: as for --memory. Returns the size of all files, or 0 if the recording was refused. */
unsigned long replayed(const char *path, bool partial, uint64_t memory);

#endif
