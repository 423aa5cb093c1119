/* SPDX-License-Identifier: MIT */
/*
 * readme.h - the text of the file README; tools look in it for what is supported
 */
#ifndef TRACEFUSE_TRACEFS_README_H
#define TRACEFUSE_TRACEFS_README_H

extern const char readme_text[];

#endif
