#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py TRACEFUSE DIRECTORY - what it costs to read the running kernel's events

Prints lines NAME<tab>VALUE: how many events a second of its own processor time the reader passes
through one histogram, and through a waking and its switch; and its share of a CPU when 100,000
events a second come. Left out where the kernel's events cannot be had.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

TRACEFUSE = os.path.abspath(sys.argv[1])
KERNEL = '/sys/kernel/tracing'
SECONDS, RATE, SESSION = 2.0, 100_000, 'bench'
HIST = "echo 'hist:keys=id' > events/raw_syscalls/sys_enter/trigger\n"
PAIR = """echo 'wakeup u64 lat; pid_t pid' >> synthetic_events
echo 'hist:keys=pid:ts0=common_timestamp' >> events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:l=common_timestamp-$ts0:onmatch(sched.sched_waking).wakeup($l,next_pid)' \
>> events/sched/sched_switch/trigger
echo 'hist:keys=lat.log2' >> events/synthetic/wakeup/trigger
"""


def tell(*words):
    return subprocess.run([TRACEFUSE, *words], capture_output=True, text=True, check=True).stdout


def number(text, key):
    return int(re.search(rf'^running kernel: {key} (\d+)$', text, re.M).group(1))


def server_time():
    """ns of processor time of the server, all threads."""
    server = re.search(rf'^{SESSION}: server (\d+)$', tell('sessions'), re.M).group(1)
    total = 0
    for task in os.listdir(f'/proc/{server}/task'):
        with open(f'/proc/{server}/task/{task}/schedstat') as f:
            total += int(f.read().split()[0])
    return total


def system_calls(seconds):
    """As many as there can be."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        subprocess.run(['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=400000'],
                       stderr=subprocess.DEVNULL, check=True)


def paced_calls(seconds):
    begin = now = time.monotonic()
    done = 0
    while now < begin + seconds:
        while done < (now - begin) * RATE:
            os.getppid()
            done += 1
        now = time.monotonic()


def ping_pong(seconds):
    """Two processes that wake each other."""
    there, back = os.pipe(), os.pipe()
    if not os.fork():
        os.close(there[1])
        while os.read(there[0], 1):
            os.write(back[1], b'x')
        os._exit(0)
    os.close(there[0])
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        os.write(there[1], b'x')
        os.read(back[0], 1)
    os.close(there[1])
    os.wait()


def measure(work, setup, load):
    """Records, us of the reader's processor time, and the server's in ns, while `load` runs."""
    path = os.path.join(work, 'setup')
    with open(path, 'w') as f:
        f.write(setup)
    tell('live', '-q', '--session', SESSION, '--setup', path)
    try:
        before = tell('doctor', '-s', SESSION)
        spent = server_time()
        load(SECONDS)
        spent = server_time() - spent
        after = tell('doctor', '-s', SESSION)
    finally:
        tell('sessions', '--end', SESSION)
    return [number(after, key) - number(before, key) for key in ('records', 'busy-us')] + [spent]


def main():
    if not os.access(KERNEL + '/instances', os.W_OK):
        print('live.py: no right to write ' + KERNEL, file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(dir='/dev/shm') as work:
        os.environ['XDG_RUNTIME_DIR'] = work
        for name, setup, load in (('one histogram', HIST, system_calls),
                                  ('waking to switch, onmatch', PAIR, ping_pong)):
            records, busy, _ = max((measure(work, setup, load) for _ in range(3)),
                                key=lambda both: both[0] / both[1])
            print(f'live: {name}, M events/s\t{records / busy:.2f}')
        share = min(measure(work, HIST, paced_calls)[2] for _ in range(3)) / SECONDS / 1e7
        print(f'live: the server at 100,000 events/s, % of a CPU\t{share:.2f}')


main()
