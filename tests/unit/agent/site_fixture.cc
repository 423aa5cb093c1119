/* SPDX-License-Identifier: MIT */
/*
 * site_fixture.cc - the functions of site_fixture.c in C++
 */
#include "site_fixture.c"
