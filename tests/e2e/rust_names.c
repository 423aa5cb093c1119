/* SPDX-License-Identifier: MIT */
/* rust_names.c - functions with symbols of rustc, in the new and in the old form */
__attribute__((noinline)) int area(int side)
	__asm__("_RNvXCs6xxl1lAjzDf_5shapeINtB2_6SquareKj7_ENtB2_5Shape4areaB2_");
__attribute__((noinline)) int open_shape(int side)
	__asm__("_RNCNvCs6xxl1lAjzDf_5shape4opens_0B3_");
__attribute__((noinline)) int old_area(int side)
	__asm__("_ZN55_$LT$shape..Square$LT$T$GT$$u20$"
		"as$u20$shape..Shape$GT$4area17h0123456789abcdefE");

/* Long enough for a probe. */
int area(int side)
{
	volatile int area = side;

	return area * side;
}

int open_shape(int side)
{
	volatile int open = side + 1;

	return open - 1;
}

int old_area(int side)
{
	volatile int area = side * 2;

	return area;
}

int main(int argc, char **argv)
{
	(void)argv;
	return area(argc) + open_shape(argc) + old_area(argc) - 4;
}
