/* SPDX-License-Identifier: MIT */
/* library.c - loads libmicrohttpd; see library.h */
#include <dlfcn.h>
#include <stddef.h>

#include "cli/web/library.h"

struct web_library web_library;

/* The name is that of its interface, so a library found by it has all that the header describes. */
const char *web_library_load(void)
{
	static const struct {
		const char *name;
		size_t	offset;
	} functions[] = {
#define FUNCTION(f) { "MHD_" #f, offsetof(struct web_library, f) },
		WEB_LIBRARY(FUNCTION)
#undef FUNCTION
	};
	void *const library = dlopen("libmicrohttpd.so.12", RTLD_NOW);

	if (!library)
		return dlerror();
	for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		void *const function = dlsym(library, functions[i].name);

		if (!function)
			return dlerror();
		*(void **)((char *)&web_library + functions[i].offset) = function;
	}
	return NULL;
}
