/* SPDX-License-Identifier: MIT */
/*
 * parameters.h - the parameters and the result of a program's function, for funcgraph-args and
 * funcgraph-retval
 *
 * The source of the programs knows them (sources/program/parameters.c): model->parameters.
 */
#ifndef TRACEFUSE_MODEL_PARAMETERS_H
#define TRACEFUSE_MODEL_PARAMETERS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PARAMETER_REGISTERS	= 6,	/* of integers and pointers */
	PARAMETERS_MAX		= 16,
	PARAMETER_NONE		= 255,
};

enum parameter_base { PARAMETER_HEX, PARAMETER_SIGNED };

struct parameter {
	char		name[32];	/* "": it has none */
	uint8_t		reg;		/* 0 to 5: its place among the six; PARAMETER_NONE */
	uint8_t		size;		/* bytes, at most 8 */
	uint8_t		base;		/* enum parameter_base */
};

struct parameters {
	uint64_t	func;		/* its address in the session */
	bool		known;
	bool		more;		/* there are others, which no register has */
	uint8_t		result_size;	/* bytes of %ax, at most 8; 0: none of them is the result */
	uint8_t		result_base;	/* enum parameter_base */
	uint8_t		nr;
	struct parameter v[];
};

#endif
