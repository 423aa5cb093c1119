/* SPDX-License-Identifier: MIT */
/*
 * fetch_compile.h - the arguments of a probe at an instruction as code (plane/fetch.h)
 *
 *     probe_place: steps of each argument ----+--> fetch_builder -> struct fetch_code
 *     notes of USDT (sources/program/usdt.c) -+
 */
#ifndef TRACEFUSE_MODEL_DYNAMIC_FETCH_COMPILE_H
#define TRACEFUSE_MODEL_DYNAMIC_FETCH_COMPILE_H

#include "model/dynamic/place.h"
#include "plane/fetch.h"

struct fetch_builder {
	struct fetch_op	*ops;
	unsigned int	nr;
	char		*pool;		/* constant texts */
	size_t		pool_size;
	uint32_t	flags;		/* enum fetch_flags */
	bool		failed;		/* no memory */
	struct fetch_op	nowhere;	/* where ops go when memory is exhausted */
};

/* Adds an op. It is valid until the next one is added. */
struct fetch_op *fetch_emit(struct fetch_builder *b, enum fetch_op_kind kind);
/* Ends the code and frees what the builder has. The caller frees; NULL: no memory. */
struct fetch_code *fetch_finish(struct fetch_builder *b, unsigned int head, unsigned int size);

/* What the file of the place says. */
struct fetch_file {
	/* The p_vaddr of a byte of the file. False: it is not loaded. */
	bool		(*of_offset)(void *arg, uint64_t offset, uint64_t *at);
	/* The same for an address of the session. False: the address is in another file. */
	bool		(*of_session)(void *arg, uint64_t address, uint64_t *at);
	void		*arg;
};

/*
 * The caller frees *out. 0, -ENOMEM; -EOPNOTSUPP: an argument cannot be fetched: its number is
 * *arg, and *why says why.
 */
int fetch_compile(const struct probe_place *p, const struct fetch_file *file,
		  struct fetch_code **out, unsigned int *arg, const char **why);

#endif
