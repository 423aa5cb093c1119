#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""live.py TRACEFUSE DIRECTORY - what it costs to read the running kernel's events

Prints lines NAME<tab>VALUE:
- how many events a second of its own processor time the reader passes through one histogram, and
  through a waking and its switch; its share of a CPU when 100,000 events a second come; how long it
  takes until an event is in the histogram then; and how many are lost when 200,000 come;
- the processor time that the program, the kernel and the reader take for an event together, above
  that of the same load untraced; and the same figure of bpftrace, which counts in the kernel.
Left out where the kernel's events cannot be had; of bpftrace, where it is not installed or does not
run.
"""
import mmap
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time

TRACEFUSE = os.path.abspath(sys.argv[1])
KERNEL = '/sys/kernel/tracing'
SECONDS, RATE, SESSION = 2.0, 100_000, 'bench'
CALLS, ROUNDS, SAMPLES = 800_000, 100_000, 100
HIST = "echo 'hist:keys=id' > events/raw_syscalls/sys_enter/trigger\n"
OWN = "echo 'hist:keys=id if common_pid=={} && id=={}' > events/raw_syscalls/sys_enter/trigger\n"
GETPPID, MOST_WAIT = 110, 5
PAIR = """echo 'wakeup u64 lat; pid_t pid' >> synthetic_events
echo 'hist:keys=pid:ts0=common_timestamp' >> events/sched/sched_waking/trigger
echo 'hist:keys=next_pid:l=common_timestamp-$ts0:onmatch(sched.sched_waking).wakeup($l,next_pid)' \
>> events/sched/sched_switch/trigger
echo 'hist:keys=lat.log2' >> events/synthetic/wakeup/trigger
"""
# The same for bpftrace.
BPF_HIST = 'tracepoint:raw_syscalls:sys_enter { @[args->id] = count(); }'
BPF_PAIR = """tracepoint:sched:sched_waking { @ts[args->pid] = nsecs; }
tracepoint:sched:sched_switch /@ts[args->next_pid]/ {
  @lat = hist(nsecs - @ts[args->next_pid]); delete(@ts[args->next_pid]); }"""


def tell(*words):
    return subprocess.run([TRACEFUSE, *words], capture_output=True, text=True, check=True).stdout


def number(text, key):
    return int(re.search(rf'^running kernel: {key} (\d+)$', text, re.M).group(1))


def time_of(process):
    """ns of processor time of all threads."""
    total = 0
    for task in os.listdir(f'/proc/{process}/task'):
        with open(f'/proc/{process}/task/{task}/schedstat') as f:
            total += int(f.read().split()[0])
    return total


def server():
    return re.search(rf'^{SESSION}: server (\d+)$', tell('sessions'), re.M).group(1)


def system_calls(seconds):
    """As many as there can be."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        subprocess.run(['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', 'count=400000'],
                       stderr=subprocess.DEVNULL, check=True)


def paced_calls(seconds, rate=RATE):
    """Returns how many there were."""
    begin = now = time.monotonic()
    done = 0
    while now < begin + seconds:
        while done < (now - begin) * rate:
            os.getppid()
            done += 1
        now = time.monotonic()
    return done


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


class Live:
    """A session with the kernel's events, as long as it is entered."""

    def __init__(self, work, setup):
        self.path = os.path.join(work, 'setup')
        with open(self.path, 'w') as f:
            f.write(setup)

    def __enter__(self):
        tell('live', '-q', '--session', SESSION, '--setup', self.path)
        self.server = server()
        return self

    def __exit__(self, *_):
        tell('sessions', '--end', SESSION)

    def time(self):
        return time_of(self.server)

    def stats(self, key):
        """The sum of a line of per_cpu/cpuN/stats."""
        name = re.search(r'instance (\S+)', tell('doctor', '-s', SESSION)).group(1)
        total = 0
        for cpu in os.listdir(f'{KERNEL}/instances/{name}/per_cpu'):
            with open(f'{KERNEL}/instances/{name}/per_cpu/{cpu}/stats') as f:
                total += int(re.search(rf'^{key}: (\d+)', f.read(), re.M).group(1))
        return total


class Bpftrace:
    def __init__(self, _, script):
        self.script = script

    def __enter__(self):
        self.process = subprocess.Popen(
            ['bpftrace', '-e', 'BEGIN { printf("begin\\n"); } ' + self.script], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for line in self.process.stdout:
            if line == 'begin\n':
                return self
        self.process.wait()
        raise OSError('bpftrace does not run here')

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate()

    def time(self):
        return time_of(self.process.pid)


def measure(work, setup, load):
    """Records, us of the reader's processor time, and the server's in ns, while `load` runs."""
    with Live(work, setup) as live:
        before = tell('doctor', '-s', SESSION)
        spent = live.time()
        load(SECONDS)
        spent = live.time() - spent
        after = tell('doctor', '-s', SESSION)
    return [number(after, key) - number(before, key) for key in ('records', 'busy-us')] + [spent]


def lost_at(work, rate):
    with Live(work, HIST) as live:
        paced_calls(SECONDS, rate)
        return live.stats('overrun') + live.stats('dropped events')


class Count:
    """The hits of one CPU in a histogram, in the session's memory: to look there forces no read."""

    def __init__(self, directory):
        self.fd = os.open(os.path.join(directory, 'data'), os.O_RDONLY)
        self.map = mmap.mmap(self.fd, os.fstat(self.fd).st_size, prot=mmap.PROT_READ)
        self.at = None

    def used(self):
        """The parts of the file that have memory."""
        end = 0
        while True:
            try:
                begin = os.lseek(self.fd, end, os.SEEK_DATA)
            except OSError:
                return
            end = os.lseek(self.fd, begin, os.SEEK_HOLE)
            yield begin, end

    def narrow(self, value):
        """It is one of the words that have this value now."""
        wanted, found = value.to_bytes(8, 'little'), set()
        for begin, end in self.used():
            at = self.map.find(wanted, begin, end)
            while at >= 0:
                if at % 8 == 0:
                    found.add(at)
                at = self.map.find(wanted, at + 1, end)
        self.at = found if self.at is None else self.at & found

    def value(self):
        at, = self.at
        return int.from_bytes(self.map[at:at + 8], 'little')


def wait_ms(count, made):
    """How long the newest event waits until it is in the histogram, while more come."""
    # Not in step with the reader, which has just come.
    made += paced_calls(random.uniform(0.01, 0.02))
    begin, wanted = time.monotonic(), made
    while count.value() < wanted and time.monotonic() < begin + MOST_WAIT:
        made += paced_calls(0.0002)
    return (time.monotonic() - begin) * 1000, made


def late_ms(work):
    """The longest of these times, at 100,000 events a second."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})     # one CPU has one count
    with Live(work, OWN.format(os.getpid(), GETPPID)):
        count, made, longest = Count(os.path.join(work, 'tracefuse', SESSION)), 0, 0
        for _ in range(10):
            made += paced_calls(0.05)
            time.sleep(0.2)
            count.narrow(made)
        for _ in range(SAMPLES):
            waited, made = wait_ms(count, made)
            longest = max(longest, waited)
    os.sched_setaffinity(0, allowed)
    return longest


def calls():
    subprocess.run(['dd', 'if=/dev/zero', 'of=/dev/null', 'bs=1', f'count={CALLS // 2}'],
                   stderr=subprocess.DEVNULL, check=True)


def rounds():
    """Two processes on one CPU that wake each other: 2 wakings, 2 switches a round."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    there, back = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(there[1])
        while os.read(there[0], 1):
            os.write(back[1], b'x')
        os._exit(0)
    os.close(there[0])
    for _ in range(ROUNDS):
        os.write(there[1], b'x')
        os.read(back[0], 1)
    os.close(there[1])
    os.waitpid(child, 0)
    os.close(back[0])
    os.close(back[1])
    os.sched_setaffinity(0, allowed)


def own_time():
    """ns of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used) * 1e9


def timed(load):
    before = own_time()
    load()
    return own_time() - before


def cost(work, peer, setup, load, events):
    """ns of processor time for an event, above the same load untraced."""
    def once():
        with peer(work, setup) as tracer:
            before = tracer.time()
            spent = timed(load)
            time.sleep(0.1)     # what was recorded last is read
            return spent + tracer.time() - before

    plain = min(timed(load) for _ in range(3))
    return (min(once() for _ in range(3)) - plain) / events


def costs(work):
    for peer, name, scripts in ((Live, 'tracefuse', (HIST, PAIR)),
                                (Bpftrace, 'bpftrace', (BPF_HIST, BPF_PAIR))):
        if peer is Bpftrace and not shutil.which('bpftrace'):
            print('live.py: bpftrace is not installed', file=sys.stderr)
            return
        try:
            for what, script, load, events in (
                    ('a system call, one histogram', scripts[0], calls, CALLS),
                    ('a waking and its switch', scripts[1], rounds, 2 * ROUNDS)):
                value = cost(work, peer, script, load, events)
                print(f'live: {what}, {name}, all CPUs, ns\t{value:.0f}')
        except OSError as e:
            print(f'live.py: {e}', file=sys.stderr)


def guest():
    """Beside the kernel's own histograms: the kernel that has some runs in a virtual machine."""
    here = os.path.dirname(os.path.abspath(__file__))
    run = subprocess.run([os.path.join(here, '../tests/guest/boot'),
                          os.path.join(here, 'live_guest'), TRACEFUSE],
                         capture_output=True, text=True)
    took = {}
    for name, jiffies in re.findall(r'^(plain|kernel|tracefuse) (\d+)$', run.stdout, re.M):
        took[name] = min(int(jiffies), took.get(name, 1 << 60))
    if run.returncode or len(took) < 3 or took['kernel'] <= took['plain']:
        print('live.py: nothing measured in a guest:\n' + run.stdout, file=sys.stderr)
        return
    ratio = (took['tracefuse'] - took['plain']) / (took['kernel'] - took['plain'])
    print(f"live: in a guest, over the kernel's own histogram, times as much\t{ratio:.2f}")


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
        late = min(late_ms(work) for _ in range(3))
        print(f'live: an event is in the histogram, at 100,000 events/s, ms\t{late:.1f}')
        print(f'live: events lost at 200,000 events/s\t{lost_at(work, 2 * RATE)}')
        costs(work)
        guest()


main()
