/* SPDX-License-Identifier: MIT */
/*
 * replayed.h - a recording on a user's whole way: open, import, run, read the files, export
 *
 * Used by the fuzzer of recordings, and by the test that cuts recordings at every place.
 */
#ifndef TRACEFUSE_TESTS_FUZZ_REPLAYED_H
#define TRACEFUSE_TESTS_FUZZ_REPLAYED_H

#include <stdbool.h>
#include <stdint.h>

/* `memory` as --memory. Returns how many bytes the files had, 0 when the recording was refused. */
unsigned long replayed(const char *path, bool partial, uint64_t memory);

#endif
