/* SPDX-License-Identifier: MIT */
/*
 * interrupted.c - a handler interrupts a hit after one of its instructions, and hits an event that
 * is remembered in the same place
 *
 * The processor's trap flag causes a SIGTRAP after each instruction of a hit. An interrupted
 * restartable section begins again elsewhere, so this reaches only the instructions before the
 * section: the first ones of a hit.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>
#include <cmocka.h>
#include "hist_session.h"
#include "plane/ring/ring.h"

enum { MINE = 1000, THEIRS = MINE + AGENT_WAYS, TRAP = 0x100, LEARNS = 40, STEPS = 140 };

static struct {
	int left; /* number of remaining instructions */
	bool hit;
} trap;

static uint64_t hits[2];

static void hit_one(uint32_t id)
{
	struct rec r = {.s32 = 5, .u64 = 77, .s64 = 9};

	agent_emit(agent_thread(), id, &r, sizeof(r), NULL);
	hits[id == THEIRS]++;
}

/* Hits so often that the way is remembered. */
static void hit_many(uint32_t id)
{
	for (int i = 0; i < LEARNS; i++)
		hit_one(id);
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	if (trap.left-- > 0)
		return;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
	trap.hit = true;
	hit_many(THEIRS);
}

/* Works below the red zone of a function without a frame. */
static void trap_flag(uint64_t flag)
{
	__asm__ volatile("leaq	-128(%%rsp), %%rsp\n\t"
			 "pushfq\n\t"
			 "andq	%1, (%%rsp)\n\t"
			 "orq	%0, (%%rsp)\n\t"
			 "popfq\n\t"
			 "leaq	128(%%rsp), %%rsp"
			 :
			 : "r"(flag), "r"(~(uint64_t)TRAP)
			 : "memory", "cc");
}

/* Interrupts after instruction number `step`. False: the hit has fewer. */
static bool interrupt_at(int step)
{
	hit_many(MINE);
	trap.left = step;
	trap.hit = false;
	trap_flag(TRAP);
	hit_one(MINE);
	trap_flag(0);
	return trap.hit;
}

static void interrupt_everywhere(void)
{
	struct sigaction sa = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
	int step = 0;

	if (*agent_thread()->cpu < 0 || session_header(session)->fence)
		skip();
	hits[0] = hits[1] = 0;
	sigaction(SIGTRAP, &sa, NULL);
	while (step < STEPS && interrupt_at(step))
		step++;
	signal(SIGTRAP, SIG_DFL);
	assert_true(step > 30);
}

static void command(const char *path, const char *text)
{
	assert_int_equal(put(path, text), 0);
}

/* ---- */

static void counted(const char *mine, const char *theirs)
{
	char text[2][128];

	command("events/app/m/trigger", mine);
	command("events/app/t/trigger", theirs);
	interrupt_everywhere();
	assert_int_equal(number_in(text_of("events/app/m/hist"), "Hits: "), hits[0]);
	assert_int_equal(number_in(text_of("events/app/t/hist"), "Hits: "), hits[1]);
	snprintf(text[0], sizeof(text[0]), "!%s", mine);
	snprintf(text[1], sizeof(text[1]), "!%s", theirs);
	command("events/app/m/trigger", text[0]);
	command("events/app/t/trigger", text[1]);
}

static void histograms_of_a_key(void **state)
{
	counted("hist:keys=s32", "hist:keys=u64");
}

static void histograms_of_two_keys(void **state)
{
	counted("hist:keys=s32,u64", "hist:keys=u64,s64:vals=s64");
}

static void histograms_that_are_called(void **state)
{
	counted("hist:keys=task", "hist:keys=s32");
	counted("hist:keys=s32", "hist:keys=s32,u64,s64");
}

static void records_of(uint64_t out[2])
{
	const struct instance_state *inst = plane_instance(session_plane(session), 0);
	struct ring_iter *it;
	struct ring_record r;

	out[0] = out[1] = 0;
	assert_int_equal(ring_iter_open(session, inst->buffers[inst->live & 1], -1, &it), 0);
	while (ring_iter_next(it, &r) == 1) {
		const struct record_common *c = r.record;

		out[0] += c->type == MINE;
		out[1] += c->type == THEIRS;
	}
	ring_iter_close(it);
}

static void records(void **state)
{
	uint64_t got[2];

	command("buffer_size_kb", "16384");
	command("events/app/m/enable", "1");
	command("events/app/t/enable", "1");
	interrupt_everywhere();
	records_of(got);
	assert_int_equal(got[0], hits[0]);
	assert_int_equal(got[1], hits[1]);
	command("events/app/m/enable", "0");
	command("events/app/t/enable", "0");
}

static int set_up(void **state)
{
	const uint32_t ids[] = {MINE, THEIRS};

	return hist_session_start(ids, "mt") ? -1 : tf_attach(session_dir(session));
}

static int tear_down(void **state)
{
	hist_session_stop();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(histograms_of_a_key),
		cmocka_unit_test(histograms_of_two_keys),
		cmocka_unit_test(histograms_that_are_called),
	};

	return cmocka_run_group_tests_name("interrupted", tests, set_up, tear_down);
}
