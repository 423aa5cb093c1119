// SPDX-License-Identifier: MIT
// moved_throw.cc - throws through functions whose returns are caught; prints what the handlers saw
#include <cstdio>
#include <stdexcept>

static int destroyed;

struct noted {
	~noted() { destroyed++; }
};

__attribute__((noinline)) int fall(int n)
{
	noted each;

	if (!n)
		throw std::runtime_error("bottom");
	return fall(n - 1) + 1;
}

__attribute__((noinline)) int again(int n)
{
	try {
		return fall(n);
	} catch (const std::exception &e) {
		throw;
	}
}

int main()
{
	int caught = 0;

	for (int i = 0; i < 100; i++) {
		try {
			again(i);
		} catch (const std::runtime_error &e) {
			caught++;
		}
	}
	std::printf("%d %d\n", caught, destroyed);
	return caught == 100 ? 6 : 1;
}
