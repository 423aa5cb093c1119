/* SPDX-License-Identifier: MIT */
/* sending.c - see sending.h */
#include <errno.h>

#include "session/sending.h"

enum { TRIES = 100 };

bool sending_again(unsigned int *tries)
{
	if (errno == EINTR)
		return true;
	return (errno == ENOBUFS || errno == ENOMEM) && ++*tries < TRIES;
}
