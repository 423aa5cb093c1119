# SPDX-License-Identifier: MIT
"""system_calls.py STRACE TRACE - the calls of a program and its children: strace -f against a trace

Left out, because they come before the agent: of each program the calls up to the end of the
dynamic linker, which are prlimit64(RLIMIT_STACK) and the munmap() of its cache, and the first exec.
A call that the kernel starts again after a signal is two calls for strace, and one here. Calls that
depend on how long something takes are named by $ANY.
"""
import collections
import os
import re
import sys

NAMES = {'stat': 'newstat', 'fstat': 'newfstat', 'lstat': 'newlstat', 'uname': 'newuname',
         'sendfile': 'sendfile64', 'umount2': 'umount'}
LINKER, LINKER_ENDS = 1, 2


def of_strace(path):
    calls, state = collections.Counter(), {}
    for line in open(path, errors='replace'):
        m = re.match(r'(\d+) +(.*)', line)
        if not m:
            continue
        pid, text = m[1], m[2]
        if re.match(r'<\.\.\. execve resumed>.* = 0$', text):
            state[pid] = LINKER
        m = re.match(r'(\w+)\(', text)
        if not m:
            continue
        if not state.get(pid):
            calls[NAMES.get(m[1], m[1])] += 1
        elif m[1] == 'prlimit64' and 'RLIMIT_STACK' in text:
            state[pid] = LINKER_ENDS
        elif state[pid] == LINKER_ENDS:
            state[pid] = 0
        if 'ERESTART' in text:
            calls[NAMES.get(m[1], m[1])] -= 1
        if m[1] == 'execve' and re.search(r' = 0$', text):
            state[pid] = LINKER
    calls['execve'] -= 1
    calls['restart_syscall'] = 0
    return calls


def of_trace(path):
    calls = collections.Counter()
    for line in open(path, errors='replace'):
        m = re.search(r': sys_(\w+)\(', line)
        if m:
            calls[m[1]] += 1
        assert 'LOST' not in line, line
    return calls


wanted, got = of_strace(sys.argv[1]), of_trace(sys.argv[2])
differences = [f'{name}: strace has {wanted[name]}, the trace {got[name]}'
               for name in sorted(set(wanted) | set(got))
               if wanted[name] != got[name] and name not in os.environ.get('ANY', '').split()]
print(sum(wanted.values()), sum(got.values()))
sys.exit('\n'.join(differences) if differences else 0)
