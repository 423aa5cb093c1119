/* SPDX-License-Identifier: MIT */
/* readme.h - the text of the file README; tools search it for features */
#ifndef TRACEFUSE_TRACEFS_README_H
#define TRACEFUSE_TRACEFS_README_H

extern const char readme_text[];

#endif
