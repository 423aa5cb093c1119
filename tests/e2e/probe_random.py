# SPDX-License-Identifier: MIT
"""probe_random.py - probes at random places of a program, and how often each has to be hit

    place SEED NUMBER DIR COUNTS FILE...
        chooses that many places in the files, near instructions that are executed. DIR/define has
        lines for uprobe_events, DIR/wanted a line "NAME HITS FILE ADDRESS" for each. callgrind's
        counts are in COUNTS.counts.PID and COUNTS.others.PID; what differs is not judged.
    judge DIR exactly|about
        compares DIR/wanted with DIR/profile, which is uprobe_profile. DIR/doctor says what was
        refused. Prints each difference; the last line is a summary.

In callgrind's file, ob=FILE begins an object, and cob=FILE is the object of the next call.
calls=COUNT ADDRESS is a call to there; the next line is what it cost. Any other line ADDRESS LINE
COUNT is an instruction.
"""
import collections
import glob
import random
import re
import struct
import subprocess
import sys

WINDOW = 1500           # bytes that are disassembled at once
APART = 24              # between two places: probes do not share bytes
ENTRIES = 0.2           # of all places, where functions begin that are called
MOST_REFUSED = 0.1      # of all places
ARGUMENTS = ['a=%ax', 'b=%di', 'c=$stack2', 'd=+0(%sp):u64', 'e=+8(%di):x32', 'f=+0(%si):string',
             'g=+0(+0(%dx)):u8', 'h=+4(%sp):u16[3]', 'i=$comm', 'j=%flags']
# docs/probes.md has more. But what is executed is an instruction, so others would be wrong.
REASONS = ['code without an entry in .eh_frame', 'the instruction works only at its own address',
           'only a trap (INT3) would do',
           "the bytes belong to another probe or a compiler's site",
           'bytes that are no known instruction', 'it may return more than once',
           'it looks at its return address', 'its caller uses the flags', 'a part of another',
           'the start of the program']
# callgrind counts each turn of what is repeated. Padding is no instruction of the function.
UNJUDGED = re.compile(r'(rep|\(bad\)|ud2|nop|data16|cs nop|xchg +%ax,%ax|int3)')


class Counted:
    """What callgrind counted in one file, by address."""
    def __init__(self):
        self.executed = collections.Counter()
        self.called = collections.Counter()


def counts(pattern):
    """By file; of all processes."""
    files = collections.defaultdict(Counted)
    for path in glob.glob(glob.escape(pattern) + '.*'):
        here = there = None
        inclusive = False
        for line in open(path, errors='replace'):
            if line.startswith('ob='):
                here = line[3:].strip()
            elif line.startswith('cob='):
                there = line[4:].strip()
            elif line.startswith('calls='):
                number, address = line[6:].split()[:2]
                files[there or here].called[int(address, 16)] += int(number)
                there, inclusive = None, True
            elif line.startswith('0x'):
                if not inclusive:
                    address, _, number = line.split()
                    files[here].executed[int(address, 16)] += int(number)
                inclusive = False
    return files


def segments(path):
    """(address, offset, size) of what may be executed"""
    data = open(path, 'rb').read()
    start, = struct.unpack_from('<Q', data, 32)
    size, number = struct.unpack_from('<HH', data, 54)
    for i in range(number):
        kind, flags, offset, address, _, length = struct.unpack_from('<IIQQQQ', data,
                                                                     start + i * size)
        if kind == 1 and flags & 1:
            yield address, offset, length


def offset_of(parts, at):
    return next(at - address + offset for address, offset, size in parts
                if address <= at < address + size)


def instructions(path, at):
    """
    Of the bytes from an instruction on: [(address, text)]. Others may follow the function's, but
    not those of another section: callgrind does not count _fini() for the file.
    """
    text = subprocess.run(['objdump', '-d', '--no-show-raw-insn', f'--start-address={at:#x}',
                           f'--stop-address={at + WINDOW:#x}', path],
                          capture_output=True, text=True, check=True).stdout
    section = text.split('Disassembly of section')[1]
    found = re.findall(r'^ *([0-9a-f]+):\t(.*)$', section, re.M)
    return [(int(address, 16), text) for address, text in found[:-1]]


def around(path, counted, at):
    return {address: ('p', counted.executed[address]) for address, text in instructions(path, at)
            if not UNJUDGED.match(text)}


def entry(path, counted, at, rng):
    """The entry of a function, or its return: if each call of it comes to one of its returns."""
    returns = 0
    for address, text in instructions(path, at):
        if address > at and counted.called[address]:
            break
        if re.match(r'(repz |bnd )*ret', text):
            returns += counted.executed[address]
    if returns == counted.called[at] == counted.executed[at] and rng.random() < 0.7:
        return 'r', returns
    return 'p', counted.executed[at]


def choose(rng, places, number):
    """So many of them, but not two that are near each other."""
    chosen = []
    for at in rng.sample(sorted(places), len(places)):
        if len(chosen) < number and all(abs(at - other) >= APART for other in chosen):
            chosen.append(at)
    return chosen


def places_of(rng, path, counted, number):
    """{address: ('p' or 'r', hits)}"""
    executed, called = sorted(counted.executed), sorted(counted.called)
    entries = choose(rng, called, int(number * ENTRIES))
    found = {at: entry(path, counted, at, rng) for at in entries if counted.executed[at]}
    near = {}
    for at in rng.sample(executed, min(len(executed), max(4, number // 25))):
        near.update(around(path, counted, at))
    near = {at: near[at] for at in near if all(abs(at - e) >= APART for e in found)}
    return {**found, **{at: near[at] for at in choose(rng, near, number - len(found))}}


def place(seed, number, folder, counted, *paths):
    rng, number = random.Random(int(seed)), int(number) // len(paths)
    files, others = counts(counted + '.counts'), counts(counted + '.others')
    with open(folder + '/define', 'w') as define, open(folder + '/wanted', 'w') as wanted:
        for i, path in enumerate(paths):
            parts = list(segments(path))
            found = places_of(rng, path, files[path], number)
            for at in sorted(found):
                kind, hits = found[at]
                name = f'{kind}{i}_{at:x}'
                arguments = rng.sample(ARGUMENTS, rng.randrange(4)) if kind == 'p' else []
                define.write(' '.join([f'{kind}:random/{name}', f'{path}:{offset_of(parts, at):#x}',
                                       *arguments]) + '\n')
                if others[path].executed[at] != files[path].executed[at]:
                    hits = 'unknown'
                wanted.write(f'{name} {hits} {path} {at:#x}\n')


def differences(folder, got, refused):
    for line in open(folder + '/wanted'):
        name, hits, path, at = line.split()
        if name in refused:
            if hits != '0' and not refused[name].startswith(tuple(REASONS)):
                yield f'{name}: {path} {at} is refused: {refused[name]}'
        elif hits != 'unknown' and got[name] != int(hits):
            yield f'{name}: {path} {at} is executed {hits} times, and hit {got[name]} times'


def judge(folder, how):
    got = {line.split()[1]: int(line.split()[2]) for line in open(folder + '/profile')}
    refused = dict(re.findall(r'random:(\S+) cannot be probed: (.*)\.$',
                              open(folder + '/doctor').read(), re.M))
    wrong = list(differences(folder, got, refused)) if how == 'exactly' else []
    unknown = open(folder + '/wanted').read().count(' unknown ')
    print('\n'.join(wrong[:30]))
    print(f'{len(got)} probes, {len(refused)} refused, {unknown} unknown')
    print(f'{sum(got.values())} hits, {len(wrong)} wrong')
    return bool(wrong) or not any(got.values()) or len(refused) > MOST_REFUSED * len(got)


if __name__ == '__main__':
    sys.exit({'place': place, 'judge': judge}[sys.argv[1]](*sys.argv[2:]))
