#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""programs.py TRACEFUSE DIRECTORY - what a call, programs that others wrote and short ones pay

DIRECTORY has provider_calls. Prints lines NAME<tab>VALUE: what a pair of calls takes in ns; then of
redis-server and sqlite3 the throughput untraced, and how much of it is left attached with nothing
armed and with histograms of heap and locks by call site on. Rounds of all ways alternate; the best
of each counts. A program that is not installed is left out.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
ROUNDS = 5
SETUP = """echo 'hist:keys=call_site:vals=bytes_req' > events/heap/malloc/trigger
echo 'hist:keys=call_site' > events/heap/free/trigger
echo 'hist:keys=lock_addr' > events/lock/acquired/trigger
echo 'hist:keys=lock_addr' > events/lock/released/trigger
"""
SQL = """create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i+1 from n where i<200000)
  insert into t select i, hex(i*i) from n;
create index x on t(b);
select count(*), sum(length(b)), max(b) from t where b like '%3%' group by length(b);
update t set b = b || 'x' where a % 7 = 0;
select count(*) from t, (select b from t where b > 'A' limit 2000) u where t.b = u.b;
"""


RECORD = """echo 1 > events/heap/malloc/enable
echo 1 > events/heap/free/enable
"""


def traced(work, name, setup):
    path = os.path.join(work, name)
    with open(path, 'w') as f:
        f.write(setup)
    return [TRACEFUSE, 'run', '-q', '--setup', path, '--']


def ways(work):
    return {'untraced': [], 'attached': [TRACEFUSE, 'run', '-q', '--'],
            'heap and lock histograms': traced(work, 'setup', SETUP)}


def calls(work):
    best = {}
    for _ in range(3):
        for way, prefix in {**ways(work), 'recorded': traced(work, 'record', RECORD)}.items():
            out = subprocess.run(prefix + [os.path.join(HERE, 'provider_calls')],
                capture_output=True, text=True,
                                 check=True).stdout
            for line in out.splitlines():
                name, _, value = line.partition('\t')
                best[name, way] = min(best.get((name, way), 1e9), float(value))
    for name in ('malloc and free', 'lock and unlock'):
        for way in ('untraced', 'attached', 'heap and lock histograms'):
            print(f'{name}: {way}\t{best[name, way]:.1f}')
    name = 'malloc and free'
    print(f'a recorded heap event\t{(best[name, "recorded"] - best[name, "untraced"]) / 2:.1f}',
        flush=True)


SYSTEM_CALL = """echo 1 > events/syscalls/sys_enter_getppid/enable
echo 1 > events/syscalls/sys_exit_getppid/enable
"""
COUNTED = """echo 'hist:keys=common_pid' > events/syscalls/sys_enter_getppid/trigger
"""


def system_calls(work):
    """getppid(), the cheapest: both events of it recorded, or one counted."""
    best = {}
    named = {'untraced': [], 'recorded, both events': traced(work, 'calls', SYSTEM_CALL),
             'counted by a histogram': traced(work, 'counted', COUNTED)}
    if shutil.which('strace'):
        named['strace -f -c'] = ['strace', '-f', '-c', '-o', '/dev/null']
    if shutil.which('perf') and not subprocess.run(['perf', 'trace', '-o', '/dev/null', 'true'],
                                                   capture_output=True, check=False).returncode:
        named['perf trace'] = ['perf', 'trace', '-o', '/dev/null', '-e', 'getppid', '--']
    for name, prefix in named.items():
        out = subprocess.run(prefix + [os.path.join(HERE, 'provider_calls'), 'getppid'],
                             capture_output=True, text=True, check=True).stdout
        best[name] = float(next(line.split('\t')[1] for line in out.splitlines()
                                if line.startswith('getppid')))
    print(f'a system call: untraced\t{best["untraced"]:.1f}')
    for name in list(named)[1:]:
        print(f'a system call: {name}\t{best[name] - best["untraced"]:.1f}', flush=True)


STACKS = """echo 'hist:keys=common_stacktrace' > events/heap/malloc/trigger
"""


def stacks(work):
    """What a stack takes at malloc(): with 10 functions of the program, and each function more."""
    best = {}
    for _ in range(3):
        for way, prefix in {'': [], 'traced ': traced(work, 'stacks', STACKS)}.items():
            out = subprocess.run(prefix + [os.path.join(HERE, 'provider_calls'), 'stacks'],
                                 capture_output=True, text=True, check=True).stdout
            for line in out.splitlines():
                name, _, value = line.partition('\t')
                best[way + name] = min(best.get(way + name, 1e9), float(value))
    cost = {n: best[f'traced below {n}'] - best[f'below {n}'] for n in (10, 50)}
    print(f'a stack of 16 functions\t{cost[10]:.1f}')
    print(f'a stack: each function more\t{(cost[50] - cost[10]) / 40:.2f}', flush=True)


CHILDREN = 'date +%s%N; for i in $(seq 400); do /bin/true; done; date +%s%N'


def children():
    """A shell that starts 400 programs; what begins and ends the trace itself is not in it."""
    best = {}
    named = {'untraced': [], 'attached': [TRACEFUSE, 'run', '-q', '--']}
    if shutil.which('strace'):
        named['strace -f -c'] = ['strace', '-f', '-c', '-o', '/dev/null']
    for _ in range(ROUNDS):
        for name, prefix in named.items():
            out = subprocess.run(prefix + ['sh', '-c', CHILDREN], capture_output=True, text=True,
                                 check=True).stdout.split()
            best[name] = min(best.get(name, 1e99), int(out[-1]) - int(out[0]))
    print(f'400 programs of a shell: untraced, us each\t{best["untraced"] / 4e5:.0f}')
    for name in list(named)[1:]:
        longer = best[name] / best['untraced']
        print(f'400 programs of a shell: {name}, times as long\t{longer:.2f}', flush=True)


def sqlite(prefix, work):
    script = os.path.join(work, 'sql')
    with open(script, 'w') as f:
        f.write(SQL)
    start = time.monotonic()
    with open(script) as f:
        subprocess.run(prefix + ['sqlite3', ':memory:'], stdin=f, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, check=True)
    return 1 / (time.monotonic() - start)


def redis(prefix, work):
    socket = os.path.join(work, 'redis.sock')
    options = ['--port', '0', '--unixsocket', socket, '--save', '', '--appendonly', 'no']
    server = subprocess.Popen(prefix + ['redis-server', *options], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    try:
        for _ in range(200):
            if os.path.exists(socket):
                break
            time.sleep(0.05)
        out = subprocess.run(['redis-benchmark', '-s', socket, '-n', '100000', '-c', '20', '-P',
            '16', '-t', 'set,lpush',
                              '--csv'], capture_output=True, text=True, check=True).stdout
        rates = [float(r) for r in re.findall(r'^"(?:SET|LPUSH)[^"]*","([0-9.]+)"', out, re.M)]
        return sum(rates) / len(rates)
    finally:
        subprocess.run(['redis-cli', '-s', socket, 'shutdown', 'nosave'], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        server.wait(timeout=20)
        if os.path.exists(socket):
            os.unlink(socket)


def main():
    jobs = [('redis-server, SET and LPUSH', 'redis-server', redis, 1e-6, 'M requests/s'),
            ('sqlite3, a script', 'sqlite3', sqlite, 1, 'runs/s')]
    work = tempfile.mkdtemp(dir='/dev/shm', prefix='tracefuse-bench-')
    os.environ['XDG_RUNTIME_DIR'] = work
    try:
        calls(work)
        system_calls(work)
        stacks(work)
        children()
        for title, program, run, scale, unit in jobs:
            if not shutil.which(program):
                continue
            best = {}
            for _ in range(ROUNDS):
                for name, prefix in ways(work).items():
                    best[name] = max(best.get(name, 0), run(prefix, work))
            print(f'{title}: untraced, {unit}\t{best["untraced"] * scale:.3f}')
            for name in ('attached', 'heap and lock histograms'):
                part = best[name] / best['untraced']
                print(f'{title}: {name}, of the untraced speed\t{part:.3f}')
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
