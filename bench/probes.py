#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""probes.py TRACEFUSE DIRECTORY - what probes at instructions cost

DIRECTORY has probe_calls and probe_many. Prints lines NAME<tab>VALUE: what a hit adds to
a call, in ns; the same of the kernel's own uprobes, where tracefs lets us make one, and of uftrace,
which patches a function's entry; how long writes take that define and enable 10,000 probes in a
program that runs, in ms.
"""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROGRAM = os.path.join(HERE, 'probe_calls')
MANY = os.path.join(HERE, 'probe_many')
TRACEFS = '/sys/kernel/tracing'
ROUNDS = 3
MANY_NR = 10000
SINGLE_NR = 300
DEFINED = f"echo 'p:probed {PROGRAM}:probed n=%di:s64' > uprobe_events\n"
RETURN = f"echo 'r:probed {PROGRAM}:probed v=$retval:s64' > uprobe_events\n"
ENABLE = 'echo 1 > events/uprobes/probed/enable\n'
SETUPS = {  # row: what is on
    'a probe, off': DEFINED,
    'a probe, into the ring': DEFINED + ENABLE,
    'a probe, a histogram of an integer':
        DEFINED + "echo 'hist:keys=n' > events/uprobes/probed/trigger\n",
    'a probe of a return, into the ring': RETURN + ENABLE,
    'a probe of a return, a histogram of an integer':
        RETURN + "echo 'hist:keys=v' > events/uprobes/probed/trigger\n",
}


def measure(prefix, few=()):
    out = subprocess.run([*prefix, PROGRAM, *few], capture_output=True, text=True,
                         check=True).stdout
    return {name: float(value) for name, value in re.findall(r'^(\w+)\t([0-9.]+)$', out, re.M)}


def traced(work, setup):
    path = os.path.join(work, 'setup')
    with open(path, 'w') as f:
        f.write(setup)
    return [TRACEFUSE, 'run', '-q', '--setup', path, '--']


def offsets(program):
    """Where each function is in the file."""
    names = subprocess.run(['nm', program], capture_output=True, text=True, check=True).stdout
    heads = subprocess.run(['readelf', '-lW', program], capture_output=True, text=True,
                           check=True).stdout
    off, vaddr = next((int(off, 16), int(vaddr, 16)) for off, vaddr in re.findall(
        r'LOAD +0x(\w+) 0x(\w+) 0x\w+ 0x\w+ 0x\w+ R E', heads))
    return {name: int(address, 16) - vaddr + off
            for address, name in re.findall(r'^([0-9a-f]+) [tT] (\w+)$', names, re.M)}


def write(path, text):
    # Not open(path, 'a'): that seeks to the end, which tracefs refuses.
    fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def forget(group):
    """An instance goes only when its events are off, a probe only when nothing uses it."""
    instance = f'{TRACEFS}/instances/{group}'
    for step in (lambda: write(f'{instance}/events/{group}/enable', '0'),
                 lambda: os.rmdir(instance),
                 lambda: write(f'{TRACEFS}/uprobe_events', f'-:{group}/probed\n')):
        with contextlib.suppress(OSError):
            step()


def forget_dead():
    """What runs that were killed have left in the kernel."""
    try:
        with open(f'{TRACEFS}/uprobe_events', encoding='utf-8') as f:
            groups = re.findall(r':(tracefuse_bench_(\d+))/probed ', f.read())
    except OSError:
        return
    for group, pid in groups:
        if not os.path.exists(f'/proc/{pid}'):
            forget(group)


def kernel(plain):
    """The kernel's own probe at the same place, into its ring, in an instance of its own."""
    group = f'tracefuse_bench_{os.getpid()}'
    at = offsets(PROGRAM)['probed']
    instance = f'{TRACEFS}/instances/{group}'
    forget_dead()
    try:
        write(f'{TRACEFS}/uprobe_events', f'p:{group}/probed {PROGRAM}:{at:#x} n=%di:s64\n')
        os.mkdir(instance)
        write(f'{instance}/events/{group}/enable', '1')
        best = min(measure([], ['few'])['call'] for _ in range(ROUNDS))
        print(f"a probe, the kernel's own uprobe, into its ring\t{best - plain:.1f}")
    except OSError:
        pass
    finally:
        forget(group)


def uftrace(work, plain):
    """It records the function's entry and exit into a file: there are no other probes."""
    if not shutil.which('uftrace'):
        return
    prefix = ['uftrace', 'record', '--no-libcall', '-P', 'probed', '-d',
              os.path.join(work, 'uftrace')]
    try:
        best = min(measure(prefix)['call'] for _ in range(ROUNDS))
    except subprocess.CalledProcessError:
        return
    # It goes on without a word where it has no room.
    if best > 2 * plain:
        print(f'a probe, uftrace --patch: entry and exit\t{best - plain:.1f}')


def server_time(pid):
    """How long it has run, in ms."""
    with open(f'/proc/{pid}/schedstat') as f:
        return int(f.read().split()[0]) / 1e6


def many_in(mount):
    """Until 10,000 probes are on: defined and enabled; enabled again. In ms. And what one write
    costs the server that enables one probe beside the others."""
    lines = ''.join(f'p:many/p{i} {MANY}:many_{i}\n' for i in range(MANY_NR))
    again = []
    write(f'{mount}/uprobe_events', f'p:one/p {MANY}:many_0\n')
    # It is probed because a probe was defined before.
    run = subprocess.Popen([TRACEFUSE, 'run', '-q', '--session', 'many', '--', MANY])
    program = None
    try:
        while not program:
            text = subprocess.run([TRACEFUSE, 'sessions'], capture_output=True, text=True,
                                  check=True).stdout
            program = re.search(r'process (\d+) \(probe_many\)', text)
            time.sleep(0.01)
        server = re.search(r'^many: server (\d+)', text, re.M)[1]
        begin = time.monotonic()
        write(f'{mount}/uprobe_events', lines)
        write(f'{mount}/events/many/enable', '1')
        first = time.monotonic() - begin
        # The last of so many: one write for each probe.
        for i in range(SINGLE_NR):
            write(f'{mount}/events/many/p{i}/enable', '0')
        begin = server_time(server)
        for i in range(SINGLE_NR):
            write(f'{mount}/events/many/p{i}/enable', '1')
        single = (server_time(server) - begin) / SINGLE_NR
        for _ in range(2 * ROUNDS):
            write(f'{mount}/events/many/enable', '0')
            begin = time.monotonic()
            write(f'{mount}/events/many/enable', '1')
            again.append(time.monotonic() - begin)
    finally:
        if program:
            os.kill(int(program[1]), signal.SIGKILL)
        else:
            run.kill()
        run.wait()
    return first * 1e3, min(again) * 1e3, single


def many():
    made = subprocess.run([TRACEFUSE, 'mount', 'many'], capture_output=True, text=True)
    if made.returncode:
        return
    try:
        first, again, single = many_in(made.stdout.split()[-1])
        print(f'10,000 probes: on the first time, ms\t{first:.1f}')
        print(f'10,000 probes: on again, ms\t{again:.1f}')
        print(f'10,000 probes: one write for each, server time, ms\t{single:.3f}')
    finally:
        subprocess.run([TRACEFUSE, 'sessions', '--end', 'many'], capture_output=True)


def main():
    work = tempfile.mkdtemp(dir='/dev/shm', prefix='tracefuse-bench-')
    os.environ['XDG_RUNTIME_DIR'] = work
    best = {}
    try:
        for _ in range(ROUNDS):
            for row, setup in [('plain', None), *SETUPS.items()]:
                cost = measure(traced(work, setup) if setup else [])['call']
                best[row] = min(best.get(row, cost), cost)
        for row in SETUPS:
            print(f'{row}\t{best[row] - best["plain"]:.1f}')
        kernel(best['plain'])
        uftrace(work, best['plain'])
        many()
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
