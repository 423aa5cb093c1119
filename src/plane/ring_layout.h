/* SPDX-License-Identifier: MIT */
/*
 * ring_layout.h - struct buffer, struct ring and their pages in the data region
 */
#ifndef TRACEFUSE_PLANE_RING_LAYOUT_H
#define TRACEFUSE_PLANE_RING_LAYOUT_H

#include "session/layout.h"

#endif
