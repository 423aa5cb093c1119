// SPDX-License-Identifier: MIT
// report_names.cc - a function with a C++ name
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

int main(int argc, char **)
{
	const shape::Square square{ argc };

	return square.area(argc) - 1;
}
