/* SPDX-License-Identifier: MIT */
/* fixture.cc - functions and methods of C++, for prototypes.c. Nothing runs it. */
#define KEEP __attribute__((noinline, used))

struct Copied { long a; Copied(const Copied &); };
struct Plain { long a; Plain() = default; long get() const { return a; } };
struct Virtual { int x; virtual ~Virtual(); };
struct Holds { Virtual v; };
struct Base { Copied c; };
struct Derived : Base { int more; };
struct Empty { };

static volatile long sink;

Virtual::~Virtual()
{
	sink = 1;
}

class Counter {
	int n;

public:
	explicit Counter(int from) : n(from) {}
	KEEP int add(int k, const int &by);
	KEEP static int make(Empty e, int k);
	template <class T> KEEP long put(T t) { return n + (long)t; }
};

KEEP int Counter::add(int k, const int &by)
{
	return n += k * by;
}

KEEP int Counter::make(Empty, int k)
{
	return Counter(k).n;
}

namespace here {

KEEP long f_objects(Copied a, Plain b, Virtual c, Holds d, Derived e, int &&f)
{
	return a.a + b.get() + c.x + d.v.x + e.more + f;
}

}

extern "C" KEEP Plain f_plain(Plain a, long Plain::*member)
{
	sink = a.*member;
	return a;
}

extern "C" KEEP long f_method(long (Plain::*method)() const, Plain a)
{
	return (a.*method)();
}

extern "C" KEEP Virtual *f_calls(Counter &c)
{
	sink = c.put(2L) + c.put('x');
	return nullptr;
}
