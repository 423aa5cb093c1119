/* SPDX-License-Identifier: MIT */
/*
 * type.h - names of C types inside a print fmt
 */
#ifndef TRACEFUSE_PRINTFMT_TYPE_H
#define TRACEFUSE_PRINTFMT_TYPE_H

#include "printfmt/node.h"

/*
 * Takes a type name up to the token behind it: "unsigned long", "struct page *". False: there is no
 * type name, and no token is taken. size 0: an unknown name.
 */
bool print_parse_type(struct print_parser *p, struct node_type *out);

#endif
