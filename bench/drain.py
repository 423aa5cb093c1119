#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drain.py TRACEFUSE DIRECTORY - how many events can be drained to a file while they are made

DIRECTORY has reader_events and, where LTTng is installed, reader_events_lttng. On each of two CPUs
a thread makes events of two integers at a rate, for three seconds, into 64 MB for each CPU.
trace-cmd record drains them by splice from a session's trace_pipe_raw, and LTTng's own consumer
drains its buffers. Prints lines NAME<tab>VALUE: the highest rate without a loss, both threads
together, and the share that is lost at 5 M events/s of each. What is not installed is left out.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
SECONDS, ROUNDS = 3, 2
RATES = [200, 400, 800, 1300, 2000, 3000, 4000, 5000]   # k/s
PAIRS = 'tracefuse_bench:ring'


def quiet(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **more)


def program(name, rate):
    return [os.path.join(HERE, name), str(rate), str(rate * SECONDS)]


class TraceCmd:
    name = 'trace-cmd record'

    def __init__(self, work):
        self.out = os.path.join(work, 'out.dat')
        quiet(TRACEFUSE, 'run', '-q', '--session', 'bench', '--', *program('reader_events', 1),
              check=True)
        self.works = shutil.which('trace-cmd') and \
            not quiet(TRACEFUSE, 'shell', 'bench', '--', 'true').returncode

    def lost(self, rate):
        done = quiet(TRACEFUSE, 'shell', 'bench', '--', 'trace-cmd', 'record', '-b', '65536', '-e',
                     'readers', '-o', self.out, TRACEFUSE, 'run', '-q', '--session', 'bench',
                     '--', *program('reader_events', rate))
        return sum(int(n) for n in re.findall(r'(\d+) events lost', done.stdout + done.stderr))

    def end(self):
        quiet(TRACEFUSE, 'sessions', '--end', 'bench')


class Lttng:
    name = 'LTTng'

    def __init__(self, work):
        self.work, self.works, self.own = work, False, False
        if shutil.which('lttng') and shutil.which('lttng-sessiond') and \
                os.path.exists(os.path.join(HERE, 'reader_events_lttng')):
            os.environ['LTTNG_HOME'] = work
            os.environ['LTTNG_UST_REGISTER_TIMEOUT'] = '3000'
            self.pid = os.path.join(work, 'pid')
            self.own = not subprocess.call(['lttng-sessiond', '-b', '--no-kernel',
                                            f'--pidfile={self.pid}'], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
            self.works = True

    def lost(self, rate):
        out = os.path.join(self.work, 'out')
        for command in (['create', 'drain', f'--output={out}'],
                        ['enable-channel', '-u', '--discard', '--subbuf-size=8M',
                         '--num-subbuf=8', 'c'],
                        ['enable-event', '-u', '-c', 'c', PAIRS], ['start']):
            quiet('lttng', '-n', *command, check=True)
        quiet(*program('reader_events_lttng', rate))
        quiet('lttng', '-n', 'stop')
        found = re.findall(r'Discarded events: (\d+)', quiet('lttng', '-n', 'list', 'drain').stdout)
        quiet('lttng', '-n', 'destroy', 'drain')
        shutil.rmtree(out, ignore_errors=True)
        return sum(int(n) for n in found)

    def end(self):
        if self.own:
            with open(self.pid) as f:
                os.kill(int(f.read()), 15)


def sustained(peer):
    """In M events/s of both threads."""
    best = 0
    for rate in RATES:
        if all(peer.lost(rate * 1000) for _ in range(ROUNDS)):
            break
        best = rate
    return best * 2 / 1000


def main():
    best = {}
    with tempfile.TemporaryDirectory(prefix='tracefuse-bench-', dir='/dev/shm') as work:
        os.environ['XDG_RUNTIME_DIR'] = work
        peers = [TraceCmd(work), Lttng(work)]
        try:
            for peer in peers:
                if not peer.works:
                    continue
                best[peer.name] = sustained(peer)
                print(f'drained by {peer.name} without a loss, M events/s\t{best[peer.name]:.1f}')
                share = min(peer.lost(5000000) for _ in range(ROUNDS)) / (SECONDS * 1e7)
                print(f'lost of 10 M events/s: {peer.name}, %\t{100 * share:.1f}', flush=True)
        finally:
            for peer in peers:
                peer.end()
    if len(best) == 2 and best['LTTng']:
        ratio = best['trace-cmd record'] / best['LTTng']
        print(f"drained by trace-cmd record, times LTTng's\t{ratio:.2f}")


if __name__ == '__main__':
    main()
