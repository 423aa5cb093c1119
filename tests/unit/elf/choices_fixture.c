/* SPDX-License-Identifier: MIT */
/* choices_fixture.c - a program with indirect functions, for choices.c */
typedef int (*function_type)(int);

static __attribute__((noinline)) int choice_one(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

static __attribute__((noinline)) int choice_two(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 2;
}

static __attribute__((noinline)) int choice_three(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 3;
}

/* An address of data is no choice. */
static volatile int wanted;

static function_type choice_resolve(void)
{
	switch (wanted) {
	case 1:
		return choice_two;
	case 2:
		return choice_three;
	default:
		return choice_one;
	}
}

int chosen(int x) __attribute__((ifunc("choice_resolve")));

int main(int argc, char **argv)
{
	(void)argv;
	return chosen(argc) - 2;
}
