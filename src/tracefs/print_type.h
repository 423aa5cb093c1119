/* SPDX-License-Identifier: MIT */
/*
 * print_type.h - names of C types inside a print fmt
 */
#ifndef TRACEFUSE_TRACEFS_PRINT_TYPE_H
#define TRACEFUSE_TRACEFS_PRINT_TYPE_H

#include "tracefs/print_node.h"

/*
 * Takes a type name up to the token behind it: "unsigned long", "struct page *".
 * false and nothing taken where none stands. size 0: an unknown name.
 */
bool print_parse_type(struct print_parser *p, struct node_type *out);

#endif
