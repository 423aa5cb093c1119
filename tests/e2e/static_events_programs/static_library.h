/* SPDX-License-Identifier: MIT */
#ifndef STATIC_LIBRARY_H
#define STATIC_LIBRARY_H

void library_go(int nr);

#endif
