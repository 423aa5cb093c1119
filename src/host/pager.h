/* SPDX-License-Identifier: MIT */
/*
 * pager.h - shows long answers on a terminal page by page, as git does
 *
 *     pager_allow()      once, in main: nothing has forbidden it
 *     pager_begin()      before an answer is printed that may be long
 *     pager_end()        after it: waits until the user has read it
 *
 * $TRACEFUSE_PAGER, else $PAGER, else less, runs in a shell. "" and "cat" mean none. LESS is FRX
 * unless it is set: an answer that fits on the screen stays there as without a pager. What control
 * characters an answer has is still escaped (terminal.h).
 */
#ifndef TRACEFUSE_HOST_PAGER_H
#define TRACEFUSE_HOST_PAGER_H

#include <stdbool.h>

void pager_allow(void);
/*
 * From now on stdout goes to the pager, and so does stderr if it is a terminal. Without a terminal
 * or a pager nothing changes. The signals of the keyboard are the pager's until its end.
 */
void pager_begin(void);
void pager_end(void);
/* Whether stdout went to a pager. One that ends before all was printed is no error. */
bool pager_was_used(void);
/* After pager_end(): it could not be run or was killed, which was printed. */
bool pager_failed(void);

#endif
