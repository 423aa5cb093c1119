/* SPDX-License-Identifier: MIT */
/*
 * steps.c - steps MODES PER SETUP SUM PROGRAM HIT: disturbs a hit after its instructions
 *
 *     kill:N      the program is killed; each time another one
 *     random:N    the program is killed while it hits all the time, N times at any moment
 *     signal:N    a signal, whose handler hits the same event and another one
 *     jump:N      the same, and the handler leaves by siglongjmp
 *     crowd:N     the same, and the handler hits so many others that nothing is remembered any more
 *     preempt:N   the thread has lost its CPU for a moment
 *
 * MODES is a list with commas. In each mode the hit is stopped at N instructions, which differ from
 * run to run; 0: at all of them. First the functions of the hit are printed.
 *
 * PER: the number that a hit adds to the sum. SETUP: a command that arms the event. SUM: a command
 * that prints two numbers: the sum of the event, and the sum of way:other. An interrupted hit may
 * count or not; all others count exactly. A neighbour hits the same event meanwhile.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "elf/image.h"
#include "step.h"

enum { STEPS_MAX = 20000, HITS_FIRST = 10 };
enum mode { KILL, RANDOM, SIGNAL, JUMP, CROWD, PREEMPT, MODES };

static const char *const modes[MODES] = {"kill", "random", "signal", "jump",
					 "crowd", "preempt"};

static struct {
	enum mode mode;
	unsigned int wanted; /* stops, 0: at each instruction */
	uint64_t per;
	const char *setup, *sum;
	char **program;
} job;

static struct stepped program, neighbour;
static uint32_t cpus[2]; /* the program's and the neighbour's */
/* The addresses behind each instruction of an undisturbed hit. */
static uint64_t way[STEPS_MAX];
static unsigned int nr_way, elsewhere, stops, failures;

struct sums {
	uint64_t same, other;
};

static void fail(const char *what, unsigned int step, uint64_t got, uint64_t least, uint64_t most)
{
	if (++failures > 20)
		return;
	if (step)
		printf("# killed behind instruction %u (%#" PRIx64 "): ", step, way[step - 1]);
	else
		printf("# %s: ", modes[job.mode]);
	printf("%s: %" PRIu64 ", wanted %" PRIu64 " to %" PRIu64 "\n", what, got, least, most);
}

static void check(const char *what, unsigned int step, uint64_t got, uint64_t least, uint64_t most)
{
	if (got < least || got > most)
		fail(what, step, got, least, most);
}

static _Noreturn void die(const char *what)
{
	printf("# %s: %s\n", what, strerror(errno));
	exit(1);
}

static void wait_for(const volatile uint32_t *word, uint32_t value, const char *what)
{
	for (int i = 0; i < 20000 && *word != value; i++)
		usleep(500);
	if (*word != value)
		die(what);
}

/* The sums without the neighbour's hits. */
static struct sums sums_now(void)
{
	struct journal *j = neighbour.journal;
	struct sums s = {0};
	FILE *f;

	j->pause = 1;
	wait_for(&j->paused, 1, "the neighbour does not pause");
	f = popen(job.sum, "r");
	if (!f || fscanf(f, "%" SCNu64 " %" SCNu64, &s.same, &s.other) != 2)
		die("the sums cannot be read");
	pclose(f);
	s.same -= job.per * j->done;
	j->pause = cpus[0] == cpus[1];
	return s;
}

/* ---- names ---- */

/* The first address of a file's mapping in the program; 0: not mapped. */
static uint64_t mapped_at(uint64_t addr, char *path, size_t size)
{
	char name[64], line[4600], file[4096];
	uint64_t from, to, off, base = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/maps", program.pid);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f)) {
		file[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %4095s", &from,
			   &to, &off, file) < 3 ||
		    addr < from || addr >= to || file[0] != '/')
			continue;
		base = from - off;
		snprintf(path, size, "%s", file);
	}
	if (f)
		fclose(f);
	return base;
}

struct nearest {
	uint64_t at;
	char name[128];
};

static void look_at(const struct image_symbols *symbols, uint64_t offset, struct nearest *out)
{
	for (size_t i = 0; i < symbols->nr; i++) {
		Elf64_Sym sym = image_symbol(symbols, i);
		const char *name = image_symbol_name(symbols, &sym);
		unsigned int type = ELF64_ST_TYPE(sym.st_info);

		if (sym.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE) &&
		    name[0] && sym.st_value <= offset && sym.st_value >= out->at) {
			out->at = sym.st_value;
			snprintf(out->name, sizeof(out->name), "%s", name);
		}
	}
}

static void *map_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *at = MAP_FAILED;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (fd >= 0)
		close(fd);
	*size = at == MAP_FAILED ? 0 : (size_t)st.st_size;
	return at;
}

/* The last symbol before the address, also a label of assembly; "": not known. */
static void name_of(uint64_t addr, char *out, size_t size)
{
	struct nearest best = {0};
	struct image im = {0};
	struct image_symbols symbols;
	char path[4096];
	uint64_t base = mapped_at(addr, path, sizeof(path));

	if (base)
		im.file = map_file(path, &im.size);
	if (im.size)
		image_headers(&im);
	for (unsigned int i = 0; i < im.nr_shdrs; i++)
		if (im.shdrs[i].sh_type == SHT_SYMTAB &&
		    image_symbols(&im, &im.shdrs[i], &symbols))
			look_at(&symbols, addr - base, &best);
	if (im.size)
		munmap((void *)im.file, im.size);
	snprintf(out, size, "%s", best.name);
}

static void print_way(void)
{
	char name[128], before[128] = "";

	printf("# %u instructions:", nr_way);
	for (unsigned int i = 0; i < nr_way; i++) {
		name_of(way[i], name, sizeof(name));
		if (name[0] && strcmp(name, before))
			printf(" %s", name);
		snprintf(before, sizeof(before), "%s", name);
	}
	printf("\n");
}

/* ---- stepping ---- */

static void start(void)
{
	struct journal *j = program.journal;

	*j = (struct journal){.cpu = cpus[0], .handler = HANDLER_HITS};
	if (job.mode == JUMP)
		j->handler = HANDLER_JUMPS;
	if (job.mode == CROWD)
		j->handler = HANDLER_CROWDS;
	if (!step_start(&program, job.program))
		die("the program does not start");
}

static void step_through(void)
{
	uint64_t ip;

	nr_way = 0;
	while ((ip = step_once(&program)) && nr_way < STEPS_MAX)
		way[nr_way++] = ip;
}

/*
 * The shortest way counts. Earlier hits may still learn, one may change the page, and one that
 * loses its CPU inside a restartable sequence goes the long way.
 */
static void find_way(void)
{
	static uint64_t best[STEPS_MAX];
	unsigned int nr_best = STEPS_MAX;

	for (int i = 0; i < HITS_FIRST; i++) {
		if (i && (!step_go_on(&program, 0) || !step_next(&program)))
			die("the program ended");
		step_through();
		if (nr_way >= nr_best)
			continue;
		nr_best = nr_way;
		memcpy(best, way, nr_way * sizeof(way[0]));
	}
	if (nr_best < 10 || nr_best == STEPS_MAX)
		die("the hit was not stepped through");
	nr_way = nr_best;
	memcpy(way, best, nr_way * sizeof(way[0]));
}

/* Runs to behind instruction number `step`. False: the hit is over and took another way. */
static bool go_behind(unsigned int step)
{
	uint64_t ip = way[step - 1];

	/* In a loop, runs to the right round. */
	for (unsigned int i = 0; i < step - 1; i++)
		if (way[i] == ip && (!step_to(&program, ip) || !step_once(&program)))
			return false;
	return step_to(&program, ip);
}

/* ---- disturbing a hit ---- */

static void kill_at(unsigned int step, struct sums *before)
{
	const struct journal *j = program.journal;
	struct sums now;

	start();
	if (!go_behind(step))
		elsewhere++;
	step_kill(&program);
	now = sums_now();
	check("sum", step, now.same - before->same, job.per * j->done, job.per * j->begun);
	check("sum of the other event", step, now.other - before->other, j->other, j->other);
	*before = now;
	stops++;
}

/* Kills the program at random moments. It sometimes shares a CPU with the neighbour. */
static void kill_at_random(struct sums *before)
{
	char *argv[] = {job.program[0], job.program[1], "free", NULL};
	struct journal *j = program.journal;
	struct sums now;

	*j = (struct journal){0};
	program.pid = step_fork(&program, argv, false);
	for (int i = 0; i < 20000 && !j->done; i++)
		usleep(500);
	usleep((unsigned int)random() % 2000);
	step_kill(&program);
	now = sums_now();
	check("sum", 0, now.same - before->same, job.per * j->done, job.per * j->begun);
	check("hits", 0, j->done, 1, UINT64_MAX);
	*before = now;
	stops++;
}

/* The next instruction to stop at. */
static unsigned int step_after(unsigned int step)
{
	unsigned int stride = job.wanted && job.wanted < nr_way ? nr_way / job.wanted : 1;

	return step ? step + stride : 1 + (unsigned int)getpid() % stride;
}

static void run_kills(struct sums before)
{
	for (unsigned int step = step_after(0); step <= nr_way; step = step_after(step))
		kill_at(step, &before);
}

static void disturb_at(unsigned int step)
{
	bool there = go_behind(step);

	/* If it took another way, it is behind the hit already. */
	if ((there && !step_go_on(&program, job.mode == PREEMPT ? 0 : SIGUSR1)) ||
	    !step_next(&program))
		die("the program ended");
	stops++;
	elsewhere += !there;
}

static void run_disturbed(struct sums before)
{
	const struct journal *j = program.journal;
	struct sums now;
	uint64_t least;

	start();
	for (unsigned int step = step_after(0); step <= nr_way; step = step_after(step))
		disturb_at(step);
	check("exit status", 0, (uint64_t)step_finish(&program), 0, 0);
	now = sums_now();
	least = job.per * (j->done + j->handled);
	check("sum", 0, now.same - before.same, least, least + job.per * j->left);
	check("sum of the other event", 0, now.other - before.other, j->other, j->other);
	if (job.mode != PREEMPT)
		check("signals", 0, j->handled, stops - elsewhere, stops - elsewhere);
}

/* ---- */

static void journals_make(void)
{
	int fd = memfd_create("journal", 0);
	struct journal *j;

	if (fd < 0 || ftruncate(fd, JOURNALS * sizeof(*j)))
		die("memfd");
	j = mmap(NULL, JOURNALS * sizeof(*j), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (j == MAP_FAILED)
		die("mmap");
	program = (struct stepped){.journal = &j[JOURNAL_STEPPED], .journal_fd = fd};
	neighbour = (struct stepped){.journal = &j[JOURNAL_NEIGHBOUR], .journal_fd = fd};
}

/* The neighbour makes no hit before everything is armed. */
static void neighbour_start(void)
{
	char *argv[] = {job.program[0], job.program[1], "neighbour", NULL};

	neighbour.journal->cpu = cpus[1];
	neighbour.journal->pause = 1;
	neighbour.pid = step_fork(&neighbour, argv, false);
	wait_for(&neighbour.journal->ready, 1, "the neighbour does not start");
	if (system(job.setup))
		die("the setup fails");
	neighbour.journal->pause = cpus[0] == cpus[1];
}

/* Chooses CPUs. With only one CPU the neighbour only attaches. */
static void choose_cpus(void)
{
	cpu_set_t may;
	int nr = 0;

	sched_getaffinity(0, sizeof(may), &may);
	for (int i = 0; i < CPU_SETSIZE && nr < 2; i++)
		if (CPU_ISSET(i, &may))
			cpus[nr++] = (uint32_t)i;
	if (nr < 2)
		cpus[1] = cpus[0];
	/* The stepper uses the program's CPU; the two take turns. */
	CPU_ZERO(&may);
	CPU_SET(cpus[0], &may);
	sched_setaffinity(0, sizeof(may), &may);
}

static void run_mode(void)
{
	struct sums before = sums_now(), after;

	stops = elsewhere = 0;
	if (job.mode == KILL)
		run_kills(before);
	else if (job.mode != RANDOM)
		run_disturbed(before);
	for (unsigned int i = 0; job.mode == RANDOM && i < job.wanted; i++)
		kill_at_random(&before);
	after = sums_now();
	before = sums_now();
	check("sum of the neighbour", 0, before.same, after.same, after.same);
	printf("# %s: %u stops, %u of them elsewhere\n", modes[job.mode], stops, elsewhere);
	/* With few stops, all of them may be at rarely used instructions. */
	if (stops >= 20 && elsewhere * 2 > stops) {
		printf("# most hits went another way\n");
		failures++;
	}
}

/* "kill:10,jump:0" */
static bool run_modes(char *list)
{
	for (char *next = strtok(list, ","); next; next = strtok(NULL, ",")) {
		size_t len = strcspn(next, ":");

		job.mode = 0;
		while (job.mode < MODES &&
		       (strlen(modes[job.mode]) != len || strncmp(modes[job.mode], next, len)))
			job.mode++;
		if (job.mode == MODES)
			return false;
		job.wanted = next[len] ? (unsigned int)strtoul(next + len + 1, NULL, 10) : 0;
		run_mode();
	}
	return true;
}

int main(int argc, char **argv)
{
	if (argc != 7) {
		fprintf(stderr, "usage: steps MODES PER SETUP SUM PROGRAM HIT\n");
		return 2;
	}
	job.per = strtoull(argv[2], NULL, 0);
	job.setup = argv[3];
	job.sum = argv[4];
	job.program = &argv[5];
	journals_make();
	choose_cpus();
	neighbour_start();
	start();
	find_way();
	print_way();
	check("exit status", 0, (uint64_t)step_finish(&program), 0, 0);
	if (!run_modes(argv[1]))
		die("no such mode");
	neighbour.journal->stop = 1;
	waitpid(neighbour.pid, NULL, 0);
	return failures != 0;
}
