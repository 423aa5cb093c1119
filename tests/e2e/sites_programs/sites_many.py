#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""sites_many.py COUNT - assembly of so many functions with sites

main() calls the first and the last of them.
"""
import sys

count = int(sys.argv[1])
print('\t.text')
for i in range(count):
    print(f'\t.globl many_{i}\n\t.type many_{i}, @function\n\t.p2align 4\nmany_{i}:\n'
          f'\t.cfi_startproc\n.L{i}:\n\t.rept 5\n\tnop\n\t.endr\n\tleal 1(%rdi), %eax\n\tret\n'
          f'\t.cfi_endproc\n\t.size many_{i}, .-many_{i}')
print('\t.globl main\n\t.type main, @function\nmain:\n\t.cfi_startproc\n\tpushq %rbx\n'
      '\t.cfi_adjust_cfa_offset 8\n\tmovl $10, %ebx\n'
      f'1:\tcall many_0\n\tcall many_{count - 1}\n\tdecl %ebx\n\tjnz 1b\n\txorl %eax, %eax\n'
      '\tpopq %rbx\n\t.cfi_adjust_cfa_offset -8\n\tret\n\t.cfi_endproc\n\t.size main, .-main')
print('\t.section __patchable_function_entries, "awo", @progbits, .text\n\t.p2align 3')
for i in range(count):
    print(f'\t.quad .L{i}')
print('\t.section .note.GNU-stack, "", @progbits')
