/* SPDX-License-Identifier: MIT */
/* code_switch.c - a function with a jump table, for tests/unit/elf/code.c */

extern int other(int, int);
int chosen(int what, int x);

int chosen(int what, int x)
{
	switch (what) {
	case 0: return other(x, 3);
	case 1: x = other(x, 17) * 2; break;
	case 2: x ^= other(2, x); break;
	case 3: return other(x + 3, 77) - x;
	case 4: x = x * 5 - other(1, 1); break;
	case 5: return 123456;
	case 6: x = other(other(x, 1), 2); break;
	case 7: x -= other(x, 99); break;
	case 8: return -x;
	}
	return x + other(what, x);
}

int other(int a, int b)
{
	return a * b;
}
