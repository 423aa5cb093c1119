#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""drain.py TRACEFUSE DIRECTORY [quick] - how many events go to a file while they are made

DIRECTORY has reader_events and, where LTTng is installed, reader_events_lttng. On each of two CPUs
a thread makes events of two integers at a rate, for two seconds, into 64 MB for each CPU. They
are drained by `run --drain`, by trace-cmd record (splice from trace_pipe_raw), and by LTTng's
consumer. Prints lines NAME<tab>VALUE: the highest rate without a loss, both threads together, the
share that is lost at 5 M events/s of each, and the processor time of all but the program for an
event that was drained. A rate is what the threads made, because a slow tracer keeps them from what
they were asked for. What is not installed is left out. `quick` is for the test of this script.
"""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

TRACEFUSE, HERE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
QUICK = sys.argv[3:] == ['quick']
SECONDS, ROUNDS = (0.1, 1) if QUICK else (2, 2)
# Of one rate: a machine that gets new memory from its host slowly disturbs some of them.
TRIES = 1 if QUICK else 6
# k/s
RATES = [10, 20] if QUICK else [1000, 2000, 4000, 7000, 10000, 12000, 14000, 17000, 20000, 25000,
                              30000, 32500, 35000, 37500, 40000]
FULL, SMALL = (40000, 20000) if QUICK else (5000000, 1000000)
PAIRS = 'tracefuse_bench:ring'
EVENT_BYTES = 20        # of a record of reader_events with its header


def quiet(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=240, **more)


def program(name, rate):
    return [os.path.join(HERE, name), str(rate), str(int(rate * SECONDS))]


def printed(text):
    """What the program prints: its events, its time and its processor time in us."""
    found = re.search(r'^(\d+) (\d+) (\d+)$', text, re.M)
    return map(int, found.groups()) if found else (0, 1, 0)


def own_seconds(text):
    """The processor time of the program itself."""
    _, _, used = printed(text)
    return used / 1e6


def rate_of(text):
    """In M events/s of both threads: what a slow tracer leaves of the rate that was asked for."""
    events, us, _ = printed(text)
    return events / us


def used_by(pid):
    """The processor time of a process so far, in seconds."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            fields = f.read().rpartition(')')[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')
    except OSError:
        return 0


def used_by_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Peer:
    """One way to drain. `lost` sets `text`, what its commands have printed."""

    works, text = False, ''

    def daemons(self):
        """Processes besides the commands that take part."""
        return []

    def used(self, rate):
        """The processor time without the program's, and the events that were drained."""
        before = sum(map(used_by, self.daemons())) + used_by_children()
        lost = self.lost(rate)
        after = sum(map(used_by, self.daemons())) + used_by_children()
        return after - before - own_seconds(self.text), 2 * int(rate * SECONDS) - lost

    def nanoseconds(self):
        """The processor time for one event more."""
        (some, nr), (more, nr_more) = self.used(SMALL), self.used(FULL)
        return (more - some) * 1e9 / max(nr_more - nr, 1)

    def end(self):
        pass


class Session(Peer):
    """What both ways to drain a session have in common."""

    def __init__(self, work):
        self.out = os.path.join(work, 'out.dat')
        quiet(TRACEFUSE, 'run', '-q', '--buffer-size', '64M', '--session', self.session, '--',
              *program('reader_events', 1), check=True)
        for line in quiet(TRACEFUSE, 'sessions').stdout.splitlines():
            if line.startswith(f'{self.session}:'):
                self.server = int(line.split()[2])
        self.works = True

    def daemons(self):
        return [self.server]

    def end(self):
        quiet(TRACEFUSE, 'sessions', '--end', self.session)


class Drain(Session):
    name, session = 'run --drain', 'bench-drain'

    def lost(self, rate):
        quiet(TRACEFUSE, 'write', '-s', self.session, 'trace', '')
        done = quiet(TRACEFUSE, 'run', '--drain', '-o', self.out, '-e', 'readers', '--session',
                     self.session, '--', *program('reader_events', rate), check=True)
        self.text = done.stdout + done.stderr
        return sum(int(n) for n in re.findall(r'(\d+) (?:dropped|overwritten)', self.text))


class TraceCmd(Session):
    name, session = 'trace-cmd record', 'bench'

    def __init__(self, work):
        super().__init__(work)
        self.works = shutil.which('trace-cmd') and \
            not quiet(TRACEFUSE, 'shell', self.session, '--', 'true').returncode

    def lost(self, rate):
        done = quiet(TRACEFUSE, 'shell', self.session, '--', 'trace-cmd', 'record', '-b', '65536',
                     '-e', 'readers', '-o', self.out, TRACEFUSE, 'run', '-q', '--session',
                     self.session, '--', *program('reader_events', rate))
        self.text = done.stdout + done.stderr
        return sum(int(n) for n in re.findall(r'(\d+) events lost', self.text))


class Lttng(Peer):
    name = 'LTTng'

    def __init__(self, work):
        self.work, self.own, self.session = work, False, f'tracefuse-{os.getpid()}'
        if shutil.which('lttng') and shutil.which('lttng-sessiond') and \
                os.path.exists(os.path.join(HERE, 'reader_events_lttng')):
            os.environ['LTTNG_HOME'] = work
            os.environ['LTTNG_UST_REGISTER_TIMEOUT'] = '3000'
            self.pid = os.path.join(work, 'pid')
            self.own = not subprocess.call(['lttng-sessiond', '-b', '--no-kernel',
                                            f'--pidfile={self.pid}'], stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL)
            self.works = True

    def daemons(self):
        found = []
        for pid in filter(str.isdigit, os.listdir('/proc')):
            try:
                with open(f'/proc/{pid}/comm') as f:
                    name = f.read()
            except OSError:
                continue
            if name.startswith(('lttng-consumerd', 'lttng-sessiond')):
                found.append(int(pid))
        return found

    def lost(self, rate):
        out = os.path.join(self.work, 'out')
        for command in (['create', self.session, f'--output={out}'],
                        ['enable-channel', '-u', '--discard', '--subbuf-size=8M',
                         '--num-subbuf=8', 'c'],
                        ['enable-event', '-u', '-c', 'c', PAIRS], ['start']):
            quiet('lttng', '-n', *command, check=True)
        self.text = quiet(*program('reader_events_lttng', rate)).stdout
        quiet('lttng', '-n', 'stop')
        listed = quiet('lttng', '-n', 'list', self.session).stdout
        found = re.findall(r'Discarded events: (\d+)', listed)
        quiet('lttng', '-n', 'destroy', self.session)
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
        for _ in range(TRIES):
            if not peer.lost(rate * 1000):
                break
        else:
            break
        made = rate_of(peer.text)
        best = max(best, min(made, rate * 2 / 1000))
        if made < rate * 1.5 / 1000:    # the program makes no more
            break
    return best


def floor(work):
    """To write the bytes of an event to a file there, in ns: the least of several."""
    block, best = b'x' * (1 << 20), float('inf')
    for _ in range(ROUNDS * 3):
        with open(os.path.join(work, 'floor'), 'wb', buffering=0) as f:
            begin = time.process_time()
            for _ in range(100):
                f.write(block)
            best = min(best, time.process_time() - begin)
    os.unlink(os.path.join(work, 'floor'))
    return best * 1e9 * EVENT_BYTES / (100 << 20)


def measure(peer):
    """Prints the peer's rows. Returns the rate that it sustains."""
    best = sustained(peer)
    print(f'drained by {peer.name} without a loss, M events/s\t{best:.1f}')
    share = min(peer.lost(FULL) for _ in range(ROUNDS)) / (SECONDS * 2 * FULL)
    print(f'lost of 10 M events/s: {peer.name}, %\t{100 * share:.1f}')
    cost = min(peer.nanoseconds() for _ in range(ROUNDS))
    print(f'processor time to drain an event: {peer.name}, ns\t{cost:.1f}', flush=True)
    return best


def main():
    best = {}
    with tempfile.TemporaryDirectory(prefix='tracefuse-bench-', dir='/dev/shm') as work:
        os.environ['XDG_RUNTIME_DIR'] = work
        peers = [Drain(work), TraceCmd(work), Lttng(work)]
        try:
            print(f'processor time to write the bytes of an event, ns\t{floor(work):.1f}')
            for peer in peers:
                if peer.works:
                    best[peer.name] = measure(peer)
        finally:
            for peer in peers:
                peer.end()
    if best.get('LTTng'):
        for name in ('run --drain', 'trace-cmd record'):
            if name in best:
                print(f"drained by {name}, times LTTng's\t{best[name] / best['LTTng']:.2f}")


if __name__ == '__main__':
    main()
