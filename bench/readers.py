#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""readers.py TRACEFUSE DIRECTORY - what readers of long texts get, and what others notice of them

DIRECTORY has reader_events. Prints lines NAME<tab>VALUE for a session with two full rings of 96 MB
and a histogram of 2^17 entries: how long the first byte of a text takes and all of it, the memory
of the server and its printers, and how long commands and 100 programs take meanwhile, beside
a reader that reads and one that has stopped.
"""
import os
import subprocess
import sys
import tempfile
import threading
import time

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
PROGRAM = os.path.join(HERE, 'reader_events')
SETUP = """echo 98304 > buffer_size_kb
echo 'hist:keys=n:size=131072' > events/readers/tick/trigger
echo 1 > events/readers/tick/enable
"""
PROGRAMS = 100
TURNS = 3


def tracefuse(*args):
    return subprocess.run([TRACEFUSE, *args], capture_output=True, text=True, check=True).stdout


def anonymous(pid):
    """The process's own memory in MB: the session's is shared."""
    try:
        with open(f'/proc/{pid}/smaps_rollup') as f:
            return sum(int(line.split()[1]) for line in f if line.startswith('Anonymous:')) / 1024
    except OSError:
        return 0


def printers(server):
    tasks = f'/proc/{server}/task/{server}/children'
    try:
        with open(tasks) as f:
            return [int(pid) for pid in f.read().split()]
    except OSError:
        return []


class Memory(threading.Thread):
    """The largest sum for the server and its printers, while it runs."""

    def __init__(self, server):
        super().__init__()
        self.server, self.most, self.over = server, 0, threading.Event()

    def run(self):
        while not self.over.wait(0.02):
            now = anonymous(self.server) + sum(anonymous(p) for p in printers(self.server))
            self.most = max(self.most, now)


def slowest_command():
    worst = 0
    for _ in range(30):
        begin = time.monotonic()
        tracefuse('write', '-s', 'bench', 'events/readers/enable', '1')
        worst = max(worst, time.monotonic() - begin)
    return worst * 1e3


def programs():
    command = f'i=0; while [ $i -lt {PROGRAMS} ]; do {PROGRAM} 0 1; i=$((i+1)); done'
    begin = time.monotonic()
    tracefuse('run', '-q', '--session', 'bench', '--', 'sh', '-c', command)
    return time.monotonic() - begin


class Reader:
    def __init__(self, path):
        begin = time.monotonic()
        self.cat = subprocess.Popen([TRACEFUSE, 'cat', '-s', 'bench', path], stdout=subprocess.PIPE)
        self.bytes = len(os.read(self.cat.stdout.fileno(), 1))
        self.first = time.monotonic() - begin
        self.begin = begin

    def finish(self):
        while data := os.read(self.cat.stdout.fileno(), 1 << 20):
            self.bytes += len(data)
        self.cat.wait()
        return self.bytes / 1e6 / (time.monotonic() - self.begin)

    def end(self):
        self.cat.kill()
        self.cat.wait()


def programs_beside():
    """How long they take beside a reader that has stopped, over how long they take alone."""
    alone, beside = [], []
    for _ in range(TURNS):
        alone.append(programs())
        reader = Reader('trace')
        beside.append(programs())
        reader.end()
    return min(beside) / min(alone)


def measure():
    server = int(tracefuse('sessions').split()[2])
    print(f'a command, the slowest of 30, ms\t{slowest_command():.1f}')
    # Not while somebody looks at the server's memory: that takes processor time, too.
    print(f'100 programs beside a reader that has stopped, times as long\t{programs_beside():.2f}')
    memory = Memory(server)
    memory.start()
    reader = Reader('trace')
    print(f'trace of 2 x 96 MB: the first byte, ms\t{reader.first * 1e3:.1f}')
    print(f'trace of 2 x 96 MB, MB/s\t{reader.finish():.0f}')
    reader = Reader('trace')
    print(f'a command beside a reader that has stopped, ms\t{slowest_command():.1f}')
    drain = threading.Thread(target=reader.finish)
    drain.start()
    print(f'a command beside a reader, ms\t{slowest_command():.1f}')
    drain.join()
    begin = Reader('events/readers/tick/hist')
    print(f'a histogram of 2^17 entries: the first byte, ms\t{begin.first * 1e3:.1f}')
    print(f'a command beside the fold of 2^17 entries, ms\t{slowest_command():.1f}')
    begin.finish()
    memory.over.set()
    memory.join()
    print(f'the memory of the server and its printers, MB\t{memory.most:.0f}')


def main():
    with tempfile.TemporaryDirectory(prefix='tracefuse-bench-', dir='/dev/shm') as work:
        os.environ['XDG_RUNTIME_DIR'] = work
        with open(os.path.join(work, 'setup'), 'w') as f:
            f.write(SETUP)
        tracefuse('run', '-q', '--session', 'bench', '--setup', os.path.join(work, 'setup'), '--',
                  PROGRAM, '0', '3600000')
        try:
            measure()
        finally:
            tracefuse('sessions', '--end', 'bench')


if __name__ == '__main__':
    main()
