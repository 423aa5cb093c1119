#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""files.py TRACEFUSE DIRECTORY - what it costs to read many small files of a mount

Prints lines NAME<tab>VALUE for the enable files of all events of a recording, read by cat: the
time for one at the top, and how much longer those of an instance take. Left out where nothing can
be mounted.
"""
import glob
import os
import subprocess
import sys
import tempfile
import time

TRACEFUSE = os.path.abspath(sys.argv[1])
TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORDING = os.path.join(TOP, 'tests', 'golden', 'boot', 'empty.dat')
TURNS = 25


def cat(files):
    begin = time.monotonic()
    subprocess.run(['cat', *files], stdout=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def measure(mount):
    os.mkdir(os.path.join(mount, 'instances', 'bench'))
    top, instance = (sorted(glob.glob(os.path.join(mount, at, 'events', '*', '*', 'enable')))
                     for at in ('', 'instances/bench'))
    # One after the other: both meet the same load.
    times = [(cat(top), cat(instance)) for _ in range(TURNS)]
    at_top, in_instance = (min(t[i] for t in times) for i in (0, 1))
    print(f'an enable file, read by cat, us\t{at_top / len(top) * 1e6:.1f}')
    print('enable files of an instance, times as long as those of the top\t'
          f'{in_instance / at_top:.2f}')


def main():
    with tempfile.TemporaryDirectory(prefix='tracefuse-bench-', dir='/dev/shm') as work:
        os.environ['XDG_RUNTIME_DIR'] = work
        mount = os.path.join(work, 'mount')
        made = subprocess.run([TRACEFUSE, 'replay', '--session', 'bench', '--mount', mount,
                               RECORDING], capture_output=True, text=True)
        if made.returncode:
            print(made.stderr, file=sys.stderr)
            return
        try:
            measure(mount)
        finally:
            subprocess.run([TRACEFUSE, 'sessions', '--end', 'bench'], check=True)


if __name__ == '__main__':
    main()
