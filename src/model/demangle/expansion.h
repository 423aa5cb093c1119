/* SPDX-License-Identifier: MIT */
/* expansion.h - private to demangle.c: which names of C++ are too long as text */
#ifndef TRACEFUSE_MODEL_EXPANSION_H
#define TRACEFUSE_MODEL_EXPANSION_H

#include <stdbool.h>

/* Whether the text of a C++ name may need more memory than the server has for it: an estimate. */
bool demangle_is_too_long(const char *name);

#endif
