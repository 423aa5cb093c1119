#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""functions.py TRACEFUSE DIRECTORY - what tracing functions costs

A call, 50,000 sites at once, lua and sqlite; beside uftrace. DIRECTORY has functions_plain,
functions_sites, functions_returns, enable_sites and enable_sites_more. Prints lines
NAME<tab>VALUE. Of a call three are measured (leaf, recursion, mix); the leaf's is the row, the
others stand below the table. The same binaries run under both tools; a tool that is not installed
is left out. funtrace is a part of its program: the bench builds one where $FUNTRACE names a
directory with its runtime, else the rows of funtrace are left out.
"""
import os
import select
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROUNDS = 3
GLOBAL = 'echo global > trace_clock\n'
ELSEWHERE = 'echo elsewhere > set_ftrace_filter\n'
SETUPS = {  # row: what is on
    'call, a site that is off, attached': '',
    'function tracer, a call': 'echo function > current_tracer\n',
    'function tracer, a call that its filter has not':
        ELSEWHERE + 'echo function > current_tracer\n',
    'function_graph, entry and exit': 'echo function_graph > current_tracer\n',
    'function tracer, clock global': GLOBAL + 'echo function > current_tracer\n',
    'function_graph, clock global': GLOBAL + 'echo function_graph > current_tracer\n',
    'function_graph, a call that its filter has not':
        ELSEWHERE + 'echo function_graph > current_tracer\n',
    'function_graph, a call outside of set_graph_function':
        'echo elsewhere > set_graph_function\necho function_graph > current_tracer\n',
    'histogram of ip instead of recording':
        "echo 'hist:keys=ip' > events/ftrace/function/trigger\n",
    'histogram of ip and parent_ip':
        "echo 'hist:keys=ip,parent_ip' > events/ftrace/function/trigger\n",
    'function_profile_enabled': 'echo 1 > function_profile_enabled\n',
}
OPTIONAL = ['function_profile_enabled']
LUA = """local function fib(n) return n < 2 and n or fib(n - 1) + fib(n - 2) end
local t, x = {}, 1
for i = 1, 40000 do x = (x * 1103515245 + 12345) % 2147483648
  t[i] = string.format("%d:%x", i, x) end
table.sort(t)
local s = table.concat(t, ","):gsub("%d+", string.upper):reverse()
print(fib(24), #s)"""


def build_judge(name):
    made = subprocess.run([os.path.join(TOP, 'tools', 'build-judges'), '--cached', name],
        capture_output=True, text=True)
    return made.stdout.strip() if made.returncode == 0 else None


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120,
        **more).stdout


def setup_file(work, text):
    """A file of its own for each text: several commands are made before the first one runs."""
    fd, path = tempfile.mkstemp(dir=work, prefix='setup')
    with os.fdopen(fd, 'w') as f:
        f.write(text)
    return path


def traced(work, setup):
    return [TRACEFUSE, 'run', '-q', '--setup', setup_file(work, setup), '--']


def uftrace(work, *options):
    return ['uftrace', 'record', '--no-libcall', '-P', '.', '-d', os.path.join(work, 'uftrace'),
        *options]


# ---- funtrace ----

def build_funtrace(work):
    """The program with funtrace in it; None: there is no $FUNTRACE, or it cannot be built."""
    source = os.environ.get('FUNTRACE')
    if not source:
        return None
    program = os.path.join(work, 'functions_funtrace')
    there = lambda name: os.path.join(source, name)
    here = os.path.join(TOP, 'bench', 'functions_program.c')
    flags = ['-O2', '-g1', '-w', '-pthread']
    steps = [['gcc', *flags, '-pg', '-mfentry', '-minstrument-return=call', '-c', '-o',
        program + '.o', here],
             ['g++', *flags, '-c', '-o', program + '_runtime.o', there('funtrace.cpp')],
             ['g++', *flags, '-o', program, program + '.o', program + '_runtime.o',
                 there('funtrace_pg.S'),
              '-Wl,--dynamic-list=' + there('funtrace.dyn'), '-ldl']]
    for step in steps:
        made = subprocess.run(step, capture_output=True, text=True)
        if made.returncode:
            print(f'functions: funtrace is left out: {made.stderr}', file=sys.stderr)
            return None
    return program


def funtrace(work, graph):
    program = build_funtrace(work)
    if not program:
        return
    # It writes its trace into the current directory, and would ask for the kernel's events.
    times = measure(['env', '-C', work, 'FUNTRACE_FTRACE_EVENTS_IN_BUF=0'], program)
    show('funtrace, entry and exit', times)
    print(f'function_graph, times as fast as funtrace\t{times["leaf"] / graph:.2f}')


# ---- A call ----

def measure(prefix, program):
    """ns of each kind, the best of some runs of the program"""
    best = {}
    for _ in range(ROUNDS):
        for line in run(prefix + [os.path.join(HERE, program)]).splitlines():
            name, tab, value = line.partition('\t')
            if tab:
                best[name] = min(best.get(name, 1e9), float(value))
    return best


def show(name, times):
    print(f'{name}\t{times["leaf"]:.2f}')
    for kind in ('recursion', 'mix'):
        print(f'{name}: {kind}\t{times[kind]:.2f}')


def unmodified(work, setup, plain):
    """A program without sites, beside the same one with them: both run by turns."""
    both = {'functions_plain': {}, 'functions_sites': {}}
    for _ in range(ROUNDS):
        for program, best in both.items():
            for kind, time in measure(traced(work, setup), program).items():
                best[kind] = min(best.get(kind, time), time)
    show('function_graph, unmodified binary', both['functions_plain'])
    slower = both['functions_plain']['leaf'] / both['functions_sites']['leaf']
    print(f'function_graph, unmodified binary, times as long as with sites\t{slower:.3f}')
    if shutil.which('uftrace'):
        # Leaves as short as this one have no room for its call.
        patched = measure(uftrace(work), 'functions_plain')
        if patched['recursion'] > 2 * plain['recursion']:
            print(f'uftrace --patch, unmodified binary: recursion\t{patched["recursion"]:.2f}')


def calls(work):
    plain, sites = measure([], 'functions_plain'), measure([], 'functions_sites')
    show('call, not instrumented', plain)
    show('call, a site that is off', sites)
    graph = 0
    for name, setup in SETUPS.items():
        try:
            times = measure(traced(work, setup), 'functions_sites')
        except subprocess.CalledProcessError:
            if name not in OPTIONAL:
                raise
            continue
        show(name, times)
        graph = times['leaf'] if name.startswith('function_graph, entry') else graph
    setup = SETUPS['function_graph, entry and exit']
    show('function_graph, return sites', measure(traced(work, setup), 'functions_returns'))
    unmodified(work, setup, plain)
    funtrace(work, graph)
    if shutil.which('uftrace'):
        times = measure(uftrace(work), 'functions_sites')
        show('uftrace, entry and exit', times)
        print(f'function_graph, times as fast as uftrace\t{times["leaf"] / graph:.2f}')
        show('uftrace, a call that its filter has not', measure(uftrace(work, '-F', 'elsewhere'),
            'functions_sites'))


# ---- Many sites ----

def switched(program):
    """ms from before a write to when the first and the last site have changed; and ms that the
    write takes"""
    work = os.environ['XDG_RUNTIME_DIR']
    files = os.path.join(work, 'files')
    os.makedirs(files, exist_ok=True)
    p = subprocess.Popen([TRACEFUSE, 'run', '-q', '--session', 'bench', '--mount', files, '--',
                          os.path.join(HERE, program)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    times = {'on': [], 'off': []}
    try:
        if p.stdout.readline() != 'ready\n':
            raise RuntimeError('the program did not begin')
        for _ in range(6):
            for what, tracer in (('on', 'function'), ('off', 'nop')):
                with open(os.path.join(files, 'current_tracer'), 'wb', buffering=0) as f:
                    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                    f.write(tracer.encode() + b'\n')
                    wrote = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
                if not select.select([p.stdout], [], [], 20)[0]:
                    raise RuntimeError(f'{program}: not {what} after 20 s')
                word, when = p.stdout.readline().split()
                if word != what:
                    raise RuntimeError(f'{word}, not {what}')
                times[what].append(((int(when) - start) / 1e6, (wrote - start) / 1e6))
                time.sleep(0.05)
    finally:
        p.stdin.close()
        p.wait(timeout=30)
        # A session that is mounted outlives its program.
        subprocess.run([TRACEFUSE, 'sessions', '--end', 'bench'], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
    return times


def many_sites(work):
    for program, number in (('enable_sites', '50,000'), ('enable_sites_more', '500,000')):
        times = switched(program)
        print(f'{number} sites: enabled the first time, ms\t{times["on"][0][0]:.2f}')
        enabled = statistics.median(t[0] for t in times["on"][1:])
        print(f'{number} sites: enabled, ms\t{enabled:.2f}')
        print(f'{number} sites: disabled, ms\t{statistics.median(t[0] for t in times["off"]):.2f}')
        alone = statistics.median(t[1] for t in times["on"][1:])
        print(f'{number} sites: the write(2) alone, ms\t{alone:.2f}')


# ---- Real programs ----

def timed(command):
    start = time.monotonic()
    run(command)
    return time.monotonic() - start


def programs(work):
    lua, sqlite = build_judge('lua'), build_judge('sqlite')
    jobs = [('lua', [f'{lua}/lua', '-e', LUA])] if lua else []
    jobs += [('sqlite', [f'{sqlite}/speedtest1', '--size', '12'])] if sqlite else []
    for title, command in jobs:
        best = {}
        ways = [('untraced', []),
                ('function tracer', traced(work, SETUPS['function tracer, a call'])),
                ('function_graph', traced(work, SETUPS['function_graph, entry and exit'])),
                ('histogram of ip', traced(work, SETUPS['histogram of ip instead of recording']))]
        ways += [('uftrace', uftrace(work))] if shutil.which('uftrace') else []
        for _ in range(ROUNDS):
            for name, prefix in ways:
                best[name] = min(best.get(name, 1e9), timed(prefix + command))
        print(f'{title}: untraced, s\t{best["untraced"]:.3f}')
        for name, _ in ways[1:]:
            print(f'{title}: {name}, times as long\t{best[name] / best["untraced"]:.2f}',
                flush=True)


def main():
    work = tempfile.mkdtemp(dir='/dev/shm', prefix='tracefuse-bench-')
    os.environ['XDG_RUNTIME_DIR'] = work
    parts = {'calls': calls, 'sites': many_sites, 'programs': programs}
    try:
        for part in sys.argv[3:] or parts:
            parts[part](work)
    finally:
        shutil.rmtree(work, ignore_errors=True)


main()
