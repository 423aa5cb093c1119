/* SPDX-License-Identifier: MIT */
/*
 * clock.c - the clocks of trace_clock
 */
#include <string.h>

#include "model/model.h"

const char *const clock_names[CLOCK_ID_COUNT] = {
	"local", "global", "counter", "uptime", "perf",
	"mono", "mono_raw", "boot", "tai", "x86-tsc",
};

uint32_t clock_find(const char *name)
{
	uint32_t id = 0;

	while (id < CLOCK_ID_COUNT && strcmp(name, clock_names[id]))
		id++;
	return id;
}

uint32_t instance_clock(const struct instance *inst)
{
	/* Relaxed: only the server stores it. */
	return atomic_load_explicit(&inst->state->clock, memory_order_relaxed);
}

bool instance_clock_in_ns(const struct instance *inst)
{
	switch (instance_clock(inst)) {
	case CLOCK_ID_COUNTER:
	case CLOCK_ID_UPTIME:
	case CLOCK_ID_X86_TSC:
		return false;
	default:
		return true;
	}
}

/* Another thread passes the running kernel's records: no one passes while they are held. */
static void hold_kernel(const struct instance *inst, bool on)
{
	const struct kernel_hooks *kernel = inst->model->kernel;

	if (kernel)
		kernel->hold(kernel->arg, on);
}

void instance_set_clock(struct instance *inst, uint32_t id)
{
	hold_kernel(inst, true);
	/*
	 * Relaxed: a hit uses the value that it finds; one that is on its way still records the old
	 * clock's time.
	 */
	atomic_store_explicit(&inst->state->clock, id, memory_order_relaxed);
	session_settings_changed(inst->model->session);
	instance_clear(inst);
	hold_kernel(inst, false);
}
