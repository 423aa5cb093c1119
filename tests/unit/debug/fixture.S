/* SPDX-License-Identifier: MIT */
/*
 * fixture.S - functions of other languages, for prototypes.c. Nothing runs them.
 *
 * The debug information is written by hand, as gfortran, rustc, gdc and go write it. A function is
 * one byte of code.
 */
#define BASE(name, encoding, size)	.uleb128 5; .string name; .byte encoding, size
#define STRUCT(name, size)		.uleb128 6; .string name; .byte size
#define MEMBER(type, at)		.uleb128 7; .long type - unit; .byte at
#define POINTER(type)			.uleb128 8; .long type - unit; .byte 8
#define ARRAY(type, size)		.uleb128 10; .long type - unit; .byte size
#define TEXT				.uleb128 12; .byte 0
#define VARIANTS			.uleb128 13
#define END				.byte 0

/* A parameter without a location, with one, and with one that is true from an address on. */
#define NOWHERE(name, type)		.uleb128 4; .string name; .long type - unit
#define AT(name, type, ...)		.uleb128 3; .string name; .long type - unit; \
					.byte 12f - 11f; 11: .byte __VA_ARGS__; 12:
#define FROM(name, type, list)		.uleb128 11; .string name; .long type - unit; .long list

#define SLOT		0x91, 0x50		/* DW_OP_fbreg -48 */
#define SLOT_ADDRESS	0x91, 0x50, 0x06	/* DW_OP_deref */
#define DI		0x55
#define SI		0x54
#define DX		0x51
#define BX		0x53
#define CX		0x52
#define XMM0		0x61
#define IN_SI		0x74, 0
#define IN_DX		0x71, 0
#define IN_CX		0x72, 0
#define PIECE(size)	0x93, size

.macro function name, type
	.pushsection .text
	.globl \name
	.type \name, @function
\name:	ret
	.size \name, . - \name
	.popsection
	.ifb \type
	.uleb128 2
	.else
	.uleb128 9
	.long \type - unit
	.endif
	.string "\name"
	.quad \name, 1
	.byte 0, 1		/* the file, the line */
.endm

/* The types that all units have. */
.macro unit_begin language, producer
	.set unit, .
	.long 9f - 8f
8:	.short 5
	.byte 1, 8
	.long abbreviations
	.uleb128 1
	.string "\producer"
	.short \language
	.string "fixture.S"
.endm

.macro unit_end
	END
9:
.endm

	.section .debug_abbrev, "", @progbits
abbreviations:
#define ENTRY(nr, tag, children)	.uleb128 nr, tag; .byte children
#define DONE				.uleb128 0, 0
	ENTRY(1, 0x11, 1); .uleb128 0x25, 0x08, 0x13, 0x05, 0x03, 0x08; DONE
	ENTRY(2, 0x2e, 1); .uleb128 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x3a, 0x0b, 0x3b, 0x0b; DONE
	ENTRY(3, 0x05, 0); .uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x18; DONE
	ENTRY(4, 0x05, 0); .uleb128 0x03, 0x08, 0x49, 0x13; DONE
	ENTRY(5, 0x24, 0); .uleb128 0x03, 0x08, 0x3e, 0x0b, 0x0b, 0x0b; DONE
	ENTRY(6, 0x13, 1); .uleb128 0x03, 0x08, 0x0b, 0x0b; DONE
	ENTRY(7, 0x0d, 0); .uleb128 0x49, 0x13, 0x38, 0x0b; DONE
	ENTRY(8, 0x0f, 0); .uleb128 0x49, 0x13, 0x0b, 0x0b; DONE
	ENTRY(9, 0x2e, 1); .uleb128 0x49, 0x13, 0x03, 0x08, 0x11, 0x01, 0x12, 0x07, 0x3a, 0x0b
	.uleb128 0x3b, 0x0b; DONE
	ENTRY(10, 0x01, 0); .uleb128 0x49, 0x13, 0x0b, 0x0b; DONE
	ENTRY(11, 0x05, 0); .uleb128 0x03, 0x08, 0x49, 0x13, 0x02, 0x17; DONE
	ENTRY(12, 0x12, 0); .uleb128 0x0b, 0x0b; DONE
	ENTRY(13, 0x33, 1); DONE
	.byte 0

	.section .debug_info, "", @progbits
	unit_begin 0x22, "GNU Fortran2008 12.2.0"
f_int:	BASE("integer(kind=4)", 5, 4)
f_real:	BASE("real(kind=8)", 4, 8)
f_array: ARRAY(f_int, 12)
f_text:	TEXT
f_type:	STRUCT("pt", 8); MEMBER(f_int, 0); MEMBER(f_int, 4); END
	function fortran_reference
	AT("k", f_int, SLOT_ADDRESS); AT("x", f_real, SLOT_ADDRESS); AT("t", f_text, SLOT_ADDRESS)
	AT("p", f_type, IN_CX); AT("v", f_int, SLOT); AT("y", f_real, SLOT); END
	function fortran_array
	AT("r", f_array, SLOT); AT("n", f_int, IN_SI); NOWHERE("o", f_int); NOWHERE("t", f_text)
	AT("l", f_int, SLOT_ADDRESS); NOWHERE("x", f_real); AT("m", f_int, SLOT_ADDRESS); END
	function fortran_stack
	AT("a", f_text, SLOT_ADDRESS); AT("b", f_text, SLOT_ADDRESS); AT("c", f_text, SLOT_ADDRESS)
	AT("d", f_text, SLOT_ADDRESS); AT("e", f_text, SLOT_ADDRESS); AT("f", f_text, SLOT_ADDRESS)
	AT("g", f_int, SLOT_ADDRESS); END
	unit_end

	unit_begin 0x1c, "clang LLVM (rustc version 1.95.0)"
r_u8:	BASE("u8", 7, 1)
r_u32:	BASE("u32", 7, 4)
r_u64:	BASE("u64", 7, 8)
r_f32:	BASE("f32", 4, 4)
r_u128:	BASE("u128", 7, 16)
r_unit:	BASE("()", 7, 0)
r_ref:	POINTER(r_u32)
r_str:	STRUCT("&str", 16); MEMBER(r_ref, 0); MEMBER(r_u64, 8); END
r_new:	STRUCT("New", 4); MEMBER(r_u32, 0); END
r_empty: STRUCT("Empty", 0); END
r_three: STRUCT("Three", 3); MEMBER(r_u8, 0); MEMBER(r_u8, 1); MEMBER(r_u8, 2); END
r_two:	STRUCT("Two", 8); MEMBER(r_u32, 0); MEMBER(r_u32, 4); END
r_12:	STRUCT("Twelve", 12); MEMBER(r_u32, 0); MEMBER(r_u32, 4); MEMBER(r_u32, 8); END
r_big:	STRUCT("String", 24); MEMBER(r_str, 0); MEMBER(r_u64, 16); END
r_array: ARRAY(r_u8, 4)
r_floats: ARRAY(r_f32, 8)
r_option: STRUCT("Option<&u32>", 8); VARIANTS; MEMBER(r_u64, 0); END; END
r_pair:	STRUCT("Option<u32>", 8); VARIANTS; MEMBER(r_u32, 0); END; END
	function rust_certain
	NOWHERE("a", r_ref); NOWHERE("u", r_unit); NOWHERE("s", r_str); NOWHERE("e", r_empty)
	NOWHERE("x", r_f32); NOWHERE("n", r_new); NOWHERE("o", r_option); NOWHERE("v", r_array); END
	function rust_words
	NOWHERE("w", r_u128); NOWHERE("t", r_three); NOWHERE("b", r_u8); NOWHERE("c", r_u8)
	NOWHERE("s", r_str); NOWHERE("n", r_u32); END
	function rust_string
	NOWHERE("a", r_u32); AT("s", r_big, SLOT); NOWHERE("n", r_u32); NOWHERE("x", r_f32); END
	function rust_address
	NOWHERE("a", r_u32); AT("s", r_big, SLOT_ADDRESS); AT("t", r_12, IN_DX)
	NOWHERE("n", r_u32); END
	function rust_pair
	AT("s", r_two, SLOT); AT("n", r_u32, DX); NOWHERE("m", r_u32); NOWHERE("x", r_f32); END
	function rust_option
	NOWHERE("s", r_pair); NOWHERE("n", r_u32); END
	function rust_floats
	NOWHERE("s", r_floats); NOWHERE("n", r_u32); END
	function rust_parts
	AT("s", r_pair, DI, PIECE(4), SI, PIECE(4)); NOWHERE("n", r_u32); END
	function rust_list
	FROM("s", r_two, loc_later); FROM("n", r_u32, loc_entry); NOWHERE("m", r_u32); END
	function rust_promoted
	NOWHERE("s", r_ref); AT("n", r_u32, DX); NOWHERE("m", r_u32); END
	function rust_large r_big
	NOWHERE("n", r_u32); END
	function rust_result r_12
	NOWHERE("n", r_u32); END
	function rust_parts_result r_two
	NOWHERE("n", r_u32); END
	unit_end

	unit_begin 0x13, "GNU D 12.2.0"
d_int:	BASE("int", 5, 4)
d_real:	BASE("real", 4, 16)
d_small: STRUCT("Small", 8); MEMBER(d_int, 0); MEMBER(d_int, 4); END
	function d_structs
	AT("r", d_real, SLOT); AT("s", d_small, SLOT); AT("t", d_small, SLOT_ADDRESS)
	NOWHERE("n", d_int); NOWHERE("u", d_small); NOWHERE("m", d_int); END
	unit_end

	unit_begin 0x13, "LDC 1.30"
l_int:	BASE("int", 5, 4)
	function d_other
	NOWHERE("n", l_int); END
	unit_end

	unit_begin 0x16, "Go cmd/compile go1.19"
g_int:	BASE("int", 5, 8)
	function go_registers
	AT("a", g_int, BX); AT("b", g_int, DI); NOWHERE("c", g_int); AT("d", g_int, SLOT_ADDRESS)
	AT("e", g_int, CX, PIECE(8), XMM0, PIECE(8)); END
	unit_end

	unit_begin 0x0c, "zig 0.11.0"
z_int:	BASE("u32", 7, 4)
	function zig_own
	AT("a", z_int, SLOT); END
	unit_end

	.section .debug_loclists, "", @progbits
	.long 3f - 2f
2:	.short 5
	.byte 8, 0
	.long 0
loc_later:		/* DW_LLE_start_length */
	.byte 8; .quad rust_list + 1; .uleb128 1, 1; .byte DI
	.byte 0
loc_entry:
	.byte 8; .quad rust_list; .uleb128 1, 1; .byte SI
	.byte 0
3:
	.section .note.GNU-stack, "", @progbits
