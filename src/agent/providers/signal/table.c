/* SPDX-License-Identifier: MIT */
/*
 * table.c - the events signal_generate and signal_deliver: fields and print formats of Linux 6.12
 */
#include "agent/providers/signal/signals.h"
#include "agent/providers/table.h"

#define FIELD(record, member, text, sign) { text, offsetof(struct record, member), \
	sizeof(((struct record *)0)->member), sign }

const struct provider_event provider_signal[PROVIDER_SYSCALLS - PROVIDER_SIGNAL_GENERATE] = {
	{ "signal", "signal_generate",
	  "\"sig=%d errno=%d code=%d comm=%s pid=%d grp=%d res=%d\", "
	  "REC->sig, REC->errno, REC->code, REC->comm, REC->pid, REC->group, REC->result",
	  { FIELD(signal_generate_record, sig, "int sig", 1),
	    FIELD(signal_generate_record, error, "int errno", 1),
	    FIELD(signal_generate_record, code, "int code", 1),
	    FIELD(signal_generate_record, comm, "char comm[16]", 0),
	    FIELD(signal_generate_record, pid, "pid_t pid", 1),
	    FIELD(signal_generate_record, group, "int group", 1),
	    FIELD(signal_generate_record, result, "int result", 1) } },
	{ "signal", "signal_deliver",
	  "\"sig=%d errno=%d code=%d sa_handler=%lx sa_flags=%lx\", "
	  "REC->sig, REC->errno, REC->code, REC->sa_handler, REC->sa_flags",
	  { FIELD(signal_deliver_record, sig, "int sig", 1),
	    FIELD(signal_deliver_record, error, "int errno", 1),
	    FIELD(signal_deliver_record, code, "int code", 1),
	    FIELD(signal_deliver_record, handler, "unsigned long sa_handler", 0),
	    FIELD(signal_deliver_record, action_flags, "unsigned long sa_flags", 0) } },
};
