/* SPDX-License-Identifier: MIT */
/* site_texts.c - why a site is left out, in words. Only the server and the commands print it. */
#include "elf/sites.h"

const char *site_skip_text(enum site_skip why)
{
	static const char *const texts[SITE_NR_SKIPS] = {
		[SITE_GOOD] = "can be traced",
		[SITE_SHORT] =
			("fewer than 5 bytes of nops behind the entry "
			 "(-fpatchable-function-entry=5, or 7,2 with 2 before it)"),
		[SITE_UNKNOWN] = "not the bytes of a compiler that is known",
		[SITE_NOT_CODE] = "its memory cannot be written",
		[SITE_SPLIT] = "its first bytes lie in two words, and its code may be running",
		[SITE_CHANGED] = "changed since it was loaded",
		[SITE_COUNTED] = "counted for gprof",
		[SITE_GRAPHLESS] =
			"not in the graph, because they may end in a jump to dlopen() or dlsym()",
		[SITE_MIXED] = "places of clang's XRay beside places of another kind",
		[SITE_UNSEEN] = "places of clang's XRay, which could change them unseen",
		[SITE_UNMOVED] = "with first instructions that cannot be moved safely",
		[SITE_RETURNLESS] =
			"not in the graph, because they return twice or look at their caller",
		[SITE_RELOCATED] = "in code that the dynamic linker relocates",
		[SITE_ENTERED] = "with jumps that may lead into the first five bytes",
		[SITE_PERHAPS_PART] = "only jumped to: perhaps part of another function",
		[SITE_AGAIN] = "with jumps to the own start",
		[SITE_FLAGS] = "beginning with flags of the caller",
		[SITE_NO_FDE] = "without an entry in .eh_frame",
		[SITE_BUSY] = "threads may be inside their first bytes, and could not be led on",
		[SITE_FAR] = "without memory near enough for the moved code",
		[SITE_FIRST] =
			"not called: a program, a thread or the return of a handler begins there",
	};

	return why < SITE_NR_SKIPS ? texts[why] : "";
}

const char *site_left_text(enum site_skip why)
{
	return why == SITE_GOOD ? "in code that cannot be changed" : site_skip_text(why);
}
