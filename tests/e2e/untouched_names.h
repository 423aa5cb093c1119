/* SPDX-License-Identifier: MIT */
/*
 * untouched_names.h - functions of a program's library, with names that the agent uses itself
 */
#ifndef UNTOUCHED_NAMES_H
#define UNTOUCHED_NAMES_H

int agent_mapped(void);
int agent_enter(void);
int agent_process(void);

#endif
