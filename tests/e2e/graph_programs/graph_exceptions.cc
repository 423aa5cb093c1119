/* SPDX-License-Identifier: MIT */
/*
 * graph_exceptions.cc - exceptions through many frames: destructors, rethrow, from handlers and
 * threads, forced unwinding
 */
#include <pthread.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
#include "../../apart.h"

static long sum;

APART static void count(long n)
{
	sum = (sum * 31 + n) % 1000003;
}

struct guard {
	int n;
	APART explicit guard(int n) : n(n) { count(n); }
	APART ~guard() { count(n + 1000); }
};

/* A destructor that throws and catches during another exception. */
struct busy {
	APART ~busy()
	{
		try {
			throw std::string("inside");
		} catch (const std::string &s) {
			count(static_cast<long>(s.size()));
		}
	}
};

APART static long dive(int depth)
{
	guard g(depth);

	if (!depth)
		throw std::runtime_error("bottom");
	if (depth % 10 == 3) {
		busy b;
		return dive(depth - 1) + 1;
	}
	if (depth % 7 == 5) {
		try {
			return dive(depth - 1) + 1;
		} catch (const std::exception &e) {
			count(static_cast<long>(strlen(e.what())));
			throw;
		}
	}
	if (depth % 11 == 6) {
		try {
			return dive(depth - 1) + 1;
		} catch (const std::runtime_error &e) {
			throw std::logic_error(std::string(e.what()) + "+");
		} catch (const std::logic_error &e) {
			throw std::runtime_error(std::string(e.what()) + "-");
		}
	}
	return dive(depth - 1) + 1;
}

static void run_throw()
{
	for (int i = 0; i < 100; i++)
		try {
			dive(50 + i % 3);
		} catch (const std::exception &e) {
			count(static_cast<long>(strlen(e.what())));
		}
	printf("throw %ld\n", sum);
}

/* An exception through frames of C: qsort's comparison throws. */
APART static int compare(const void *a, const void *b)
{
	if (*static_cast<const int *>(a) == 13)
		throw 13;
	return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}

static void run_qsort()
{
	int v[] = { 5, 9, 13, 1, 7 };

	try {
		qsort(v, 5, sizeof(*v), compare);
	} catch (int n) {
		printf("qsort %d\n", n);
	}
}

/* Virtual calls, std::function, constructors that throw half way. */
struct base {
	virtual long value(int n) = 0;
	virtual ~base() { count(5); }
};

struct derived : base {
	guard g{ 7 };
	std::vector<guard> all;
	APART explicit derived(int n)
	{
		for (int i = 0; i < n; i++)
			all.emplace_back(i);
		if (n > 3)
			throw n;
	}
	APART long value(int n) override { return n * 3L + static_cast<long>(all.size()); }
};

static void run_objects()
{
	for (int i = 0; i < 8; i++)
		try {
			std::unique_ptr<base> b = std::make_unique<derived>(i);
			std::function<long(int)> f = [&b](int n) { return n ? b->value(n)
				: throw std::string("lambda"); };
			count(f(i));
		} catch (int n) {
			count(n + 100);
		} catch (const std::string &s) {
			count(static_cast<long>(s.size()));
		}
	printf("objects %ld\n", sum);
}

/* Passes an exception from one thread to another. */
static void run_threads()
{
	std::exception_ptr errors[8];
	long total = 0;

	for (auto &e : errors)
		std::thread([&e] {
			try {
				dive(30);
			} catch (...) {
				e = std::current_exception();
			}
		}).join();
	for (auto &e : errors)
		try {
			std::rethrow_exception(e);
		} catch (const std::exception &x) {
			total += static_cast<long>(strlen(x.what()));
		}
	printf("threads %ld %ld\n", total, sum);
}

/* pthread_exit unwinds: destructors run, catch (...) sees it and passes it on. */
APART static void leave(int depth)
{
	guard g(depth);

	try {
		if (!depth)
			pthread_exit(nullptr);
		leave(depth - 1);
	} catch (...) {
		count(77);
		throw;
	}
}

static void run_forced()
{
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		pthread_create(&t, nullptr, [](void *) -> void * { leave(20); return nullptr; },
			nullptr);
		pthread_join(t, nullptr);
	}
	printf("forced %ld\n", sum);
}

static void run_terminate()
{
	std::set_terminate([] {
		try {
			std::rethrow_exception(std::current_exception());
		} catch (const std::exception &e) {
			printf("terminate %s\n", e.what());
		}
		fflush(stdout);
		_Exit(9);
	});
	dive(25);
}

/*
 * Repeats the same in threads until the input ends, while other processes switch tracers
 * (function_storm).
 */
static thread_local long mine;

APART static long quiet(int depth)
{
	struct counter {
		~counter() { mine++; }
	} c;

	if (!depth)
		throw std::runtime_error("bottom");
	if (depth % 7 == 5) {
		try {
			return quiet(depth - 1) + 1;
		} catch (const std::exception &e) {
			mine += static_cast<long>(strlen(e.what()));
			throw;
		}
	}
	return quiet(depth - 1) + 1;
}

static void run_storm()
{
	std::atomic<bool> stop(false);
	std::atomic<long> wrong(0), rounds(0);
	std::vector<std::thread> threads;

	for (int i = 0; i < 4; i++)
		threads.emplace_back([&] {
			while (!stop) {
				mine = 0;
				try {
					quiet(50);
					wrong++;
				} catch (const std::runtime_error &e) {
					wrong += mine != 51 + 7 * 6;
				}
				rounds++;
			}
		});
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	stop = true;
	for (auto &t : threads)
		t.join();
	printf("%ld wrong\n", wrong + !rounds);
}

int main(int argc, char **argv)
{
	static const struct { const char *name; void (*run)(); } modes[] = {
		{ "throw", run_throw }, { "qsort", run_qsort }, { "objects", run_objects },
			{ "threads", run_threads },
		{ "forced", run_forced }, { "terminate", run_terminate } };

	if (argc > 1 && !strcmp(argv[1], "storm")) {
		run_storm();
		return 0;
	}
	for (const auto &m : modes)
		if (argc < 2 || !strcmp(argv[1], m.name))
			m.run();
	return 0;
}
