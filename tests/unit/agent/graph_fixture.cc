/* SPDX-License-Identifier: MIT */
/*
 * graph_fixture.cc - exceptions through functions that are hooked
 */
#include <stdexcept>
#include "graph_fixture.h"

#define APART __attribute__((noinline))
#define HERE() __asm__ volatile("" : : : "memory")

namespace {

long ended;

struct counted {
	long n;

	~counted()
	{
		ended += n;
	}
};

APART long throws(long n)
{
	counted c{ n };

	if (!n)
		throw std::runtime_error("bottom");
	long below = throws(n - 1);
	HERE();
	return below + 1;
}

APART long passes_on(long n)
{
	try {
		counted c{ 1000 };

		return throws(n) + 1;
	} catch (const std::logic_error &) {
		return 1;
	} catch (...) {
		counted c{ 2000 };

		throw;
	}
}

APART long catches(long n, long (*fn)(long))
{
	try {
		return fn(n);
	} catch (const std::exception &e) {
		return e.what()[0];
	}
}

APART long fine(long n)
{
	long below = n > 0 ? fine(n - 1) : 0;

	HERE();
	return below + 1;
}

long run(long (*fn)(long))
{
	long n = 0;

	for (int i = 0; i < 20; i++)
		n += catches(50, fn) + fine(40);
	n += ended;
	ended = 0;
	return n;
}

}

long run_throw(void)
{
	return run(throws);
}

long run_rethrow(void)
{
	return run(passes_on);
}
