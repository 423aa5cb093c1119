// SPDX-License-Identifier: MIT
// report_names.cc - functions with C++ names
namespace shape {
struct Square {
	int side;

	int area(int scale) const;
	int turn(int by);
	int turn(const char *by);
};

__attribute__((noinline)) int Square::area(int scale) const
{
	return side * side * scale;
}

int Square::turn(int by)
{
	return side + by;
}

int Square::turn(const char *by)
{
	return side + *by;
}
}

template<class T> struct Bag {
	T sum;

	template<class U> T put(U more);
};

template<class T> template<class U> __attribute__((noinline)) T Bag<T>::put(U more)
{
	return sum += static_cast<T>(more);
}

// As the part of area() that compilers split off.
int rare(int n) asm("_ZNK5shape6Square4areaEi.cold");

__attribute__((noinline, used)) int rare(int n)
{
	return n + 1;
}

int twice(int n);

static volatile int seen;

__attribute__((noinline)) int twice(int n)
{
	seen = seen + n;
	return seen + n;
}

int main(int argc, char **)
{
	const shape::Square square{ argc };
	Bag<long> bag{ -2 };

	return square.area(argc) - 1 + static_cast<int>(bag.put(twice(argc)));
}
