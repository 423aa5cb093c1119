// SPDX-License-Identifier: MIT
// sites_cpp.cc - functions of a name space and of a class
#include <cstdio>

namespace ns {

struct Counter {
	int value;

	__attribute__((noinline)) int get(int more) const
	{
		__asm__ volatile("" ::: "memory");
		return value + more;
	}
};

__attribute__((noinline)) int twice(const Counter &c, const char *text)
{
	__asm__ volatile("" ::: "memory");
	return c.get(1) * 2 + text[0];
}

}

int main()
{
	ns::Counter c{4};
	int sum = 0;

	for (int i = 0; i < 3; i++)
		sum += ns::twice(c, "x");
	printf("%d\n", sum);
	return 0;
}
