#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""options.py IN OUT OPTION... - adds options to a recording of version 7.

    date=NUMBER offset=NUMBER          texts
    cycles=MULT,SHIFT,OFFSET           TSC2NSEC
    shift=FLAGS/CPU/CPU...             TIME_SHIFT; CPU is TIME,OFFSET,SCALING,FRACTION+... or empty

They come before the others: in a section at the file's end, to which the head points.
"""
import struct
import sys

IDS = {'date': 1, 'offset': 7, 'shift': 12, 'cycles': 14}


def shift_data(order, text):
    flags, *cpus = text.split('/')
    data = struct.pack(order + 'QII', 1, int(flags), len(cpus))
    fractions = b''
    for cpu in cpus:
        samples = [[int(n, 0) for n in s.split(',')] for s in cpu.split('+') if s]
        data += struct.pack(order + 'I', len(samples))
        for i, form in enumerate('QqQ'):
            data += b''.join(struct.pack(order + form, s[i]) for s in samples)
        fractions += b''.join(struct.pack(order + 'Q', s[3]) for s in samples)
    return data + fractions


def option(order, text):
    name, value = text.split('=')
    if name == 'shift':
        data = shift_data(order, value)
    elif name == 'cycles':
        data = struct.pack(order + 'IIQ', *[int(n, 0) for n in value.split(',')])
    else:
        data = value.encode() + b'\0'
    return struct.pack(order + 'HI', IDS[name], len(data)) + data


def main():
    with open(sys.argv[1], 'rb') as f:
        data = bytearray(f.read())
    assert data[10:12] == b'7\0'
    order = '>' if data[12] else '<'
    at = data.index(0, data.index(0, 18) + 1) + 1
    first, = struct.unpack_from(order + 'Q', data, at)
    struct.pack_into(order + 'Q', data, at, len(data))
    options = b''.join(option(order, o) for o in sys.argv[3:])
    options += struct.pack(order + 'HIQ', 0, 8, first)
    data += struct.pack(order + 'HHIQ', 0, 0, 0, len(options)) + options
    with open(sys.argv[2], 'wb') as f:
        f.write(data)


main()
