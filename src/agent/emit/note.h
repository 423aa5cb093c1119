/* SPDX-License-Identifier: MIT */
/*
 * note.h - what a DSO's note contains (include/tracefuse/base.h)
 */
#ifndef TRACEFUSE_AGENT_EMIT_NOTE_H
#define TRACEFUSE_AGENT_EMIT_NOTE_H

#include "agent/emit/format.h"

/* The parts of a DSO that its note points to. */
struct tf_note {
	struct tf_dso	*dso;
	struct tf_event	**events, **events_end;
	struct enums	enums;
};

/* Looks for the note among the notes of a segment. */
bool note_find(const char *at, size_t size, struct tf_note *out);

#endif
