/* SPDX-License-Identifier: MIT */
/*
 * probe_type.c - the types of the arguments of probes
 */
#include <string.h>

#include "model/dynamic/probe.h"
#include "model/text.h"

static const struct probe_type types[] = {
	{ "string", "__data_loc char[]", "\\\"%s\\\"", 4, true, PROBE_STRING },
	{ "ustring", "__data_loc char[]", "\\\"%s\\\"", 4, true, PROBE_STRING },
	{ "symstr", "__data_loc char[]", "\\\"%s\\\"", 4, true, PROBE_STRING },
	{ "u8", "u8", "%u", 1, false, PROBE_UNSIGNED },
	{ "u16", "u16", "%u", 2, false, PROBE_UNSIGNED },
	{ "u32", "u32", "%u", 4, false, PROBE_UNSIGNED },
	{ "u64", "u64", "%Lu", 8, false, PROBE_UNSIGNED },
	{ "s8", "s8", "%d", 1, true, PROBE_SIGNED },
	{ "s16", "s16", "%d", 2, true, PROBE_SIGNED },
	{ "s32", "s32", "%d", 4, true, PROBE_SIGNED },
	{ "s64", "s64", "%Ld", 8, true, PROBE_SIGNED },
	{ "x8", "u8", "0x%x", 1, false, PROBE_HEX },
	{ "x16", "u16", "0x%x", 2, false, PROBE_HEX },
	{ "x32", "u32", "0x%x", 4, false, PROBE_HEX },
	{ "x64", "u64", "0x%Lx", 8, false, PROBE_HEX },
	{ "char", "u8", "'%c'", 1, false, PROBE_CHAR },
	{ "symbol", "u64", "%pS", 8, false, PROBE_SYMBOL },
};

static const struct probe_type *probe_type_by_name(const char *name)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].name, name))
			return &types[i];
	return NULL;
}

static const struct probe_type *find_bit_field(const char *type)
{
	const char *slash = strchr(type, '/');
	uint64_t bits;

	if (!slash || text_to_u64(slash + 1, 0, &bits))
		return NULL;
	switch (bits) {
	case 8:
		return probe_type_by_name("u8");
	case 16:
		return probe_type_by_name("u16");
	case 32:
		return probe_type_by_name("u32");
	case 64:
		return probe_type_by_name("u64");
	default:
		return NULL;
	}
}

static bool is_of_symbols(const char *type)
{
	return !strcmp(type, "symbol") || !strcmp(type, "symstr");
}

const struct probe_type *probe_type_find(const char *type, unsigned int flags)
{
	if (!type)
		return probe_type_by_name("x64");
	if (flags & PROBE_OF_FILE) {
		if (is_of_symbols(type))
			return NULL;
		type += *type == 'u' && is_of_symbols(type + 1);
	}
	return *type == 'b' ? find_bit_field(type) : probe_type_by_name(type);
}
