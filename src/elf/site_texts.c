/* SPDX-License-Identifier: MIT */
/* site_texts.c - why a site is left out, in words. Only the server and the commands print it. */
#include "elf/sites.h"

const char *site_skip_text(enum site_skip why)
{
	static const char *const texts[SITE_NR_SKIPS] = {
		[SITE_GOOD] = "can be traced",
		[SITE_SHORT] = "fewer than 5 bytes of nops",
		[SITE_UNKNOWN] = "not the bytes of a compiler that is known",
		[SITE_NOT_CODE] = "its memory cannot be written",
		[SITE_SPLIT] = "its first bytes lie in two words, and its code may be running",
		[SITE_CHANGED] = "changed since it was loaded",
		[SITE_COUNTED] = "counted for gprof",
		[SITE_GRAPHLESS] =
			"not in the graph, because they may end in a jump to dlopen() or dlsym()",
		[SITE_MIXED] = "places of clang's XRay beside places of another kind",
		[SITE_UNSEEN] = "places of clang's XRay, which could change them unseen",
		[SITE_UNMOVED] = "their first instructions cannot be moved safely",
		[SITE_RETURNLESS] =
			"not in the graph, because they return twice or look at their caller",
		[SITE_RELOCATED] = "in code that the dynamic linker relocates",
		[SITE_ENTERED] = "jumps may lead to the inside of their first five bytes",
		[SITE_PERHAPS_PART] = "only jumped to: perhaps parts of other functions",
		[SITE_AGAIN] = "they jump to their own start",
		[SITE_FLAGS] = "they begin with flags of their callers",
		[SITE_NO_FDE] = "without an entry in .eh_frame",
		[SITE_BUSY] = "threads may be inside their first bytes, and could not be led on",
		[SITE_FAR] = "no memory is near enough for their moved code",
	};

	return why < SITE_NR_SKIPS ? texts[why] : "";
}
