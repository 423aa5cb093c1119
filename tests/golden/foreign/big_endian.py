#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""big_endian.py IN OUT - makes a big-endian recording of a little-endian one (version 6).

Each number of the file is turned around at its place: those of the file's own parts, of the ring
buffer's pages, and of the records, where the event formats say which bytes are a number. Nothing
else changes, so OUT has the same records at the same offsets.
"""
import re
import sys

OPTION_BUFFER, OPTION_CPUS, OPTION_TRACE_ID = 3, 8, 11
TEXTS = {2, 4, 5, 6, 7, 9, 10}
FIELD = re.compile(r'\tfield:(.*?);\toffset:(\d+);\tsize:(\d+);')
TYPE_LEN_MAX, PADDING = 28, 29


class File:
    def __init__(self, data):
        self.data = bytearray(data)
        self.at = 0
        self.formats = {}

    def swap(self, at, size):
        """Turns a number around and returns it."""
        old = self.data[at:at + size]
        self.data[at:at + size] = old[::-1]
        return int.from_bytes(old, 'little')

    def number(self, size):
        self.at += size
        return self.swap(self.at - size, size)

    def take(self, size):
        self.at += size
        return bytes(self.data[self.at - size:self.at])

    def string(self):
        return self.take(self.data.index(0, self.at) + 1 - self.at)[:-1].decode()

    def expect(self, text):
        if self.take(len(text)) != text:
            sys.exit(f'{text!r} is not at {self.at - len(text)}')


def number_size(declaration, size, word):
    """The size of the numbers of a field; 1: bytes."""
    kind, array = re.match(r'(.*?)(\[.*)?$', declaration).groups()
    count = re.match(r'\[(\d+)\]', array or '')
    if count and int(count[1]):
        return size // int(count[1])
    if not array:
        return size if size in (2, 4, 8) else 1
    return word if 'long' in kind else 4 if 'int' in kind or 'u32' in kind else 1


def add_format(file, system, text, word):
    number = int(re.search(r'\nID: (\d+)', text)[1])
    fields = [(m[1], int(m[2]), int(m[3])) for m in FIELD.finditer(text)]
    file.formats[number] = (system, [
        (declaration, at, size, number_size(declaration, size, word))
        for declaration, at, size in fields])


def turn_record(file, start, size):
    number = int.from_bytes(file.data[start:start + 2], 'little')
    system, fields = file.formats[number]
    for declaration, at, length, width in fields:
        if declaration.startswith('__data_loc'):
            if 'char[]' not in declaration:
                sys.exit(f'{declaration}: not known')
            file.swap(start + at, 4)
            continue
        if system == 'ftrace' and '[' in declaration:
            length = (size - at) // width * width
        if width > 1:
            for place in range(start + at, min(start + at + length, start + size), width):
                file.swap(place, width)


def turn_page(file, page, word):
    file.swap(page, 8)
    flags = file.swap(page + 8, word)
    at = page + 8 + word
    end = at + (flags & 0x3fffffff)
    if flags & 1 << 30:
        file.swap(end, word)
    while end - at >= 4:
        head = int.from_bytes(file.data[at:at + 4], 'little')
        kind, delta = head & 31, head >> 5
        file.data[at:at + 4] = (kind << 27 | delta).to_bytes(4, 'big')
        if kind == PADDING and not delta:
            return
        if 0 < kind <= TYPE_LEN_MAX:
            turn_record(file, at + 4, kind * 4)
            at += 4 + kind * 4
            continue
        value = file.swap(at + 4, 4)
        if not kind:
            turn_record(file, at + 8, value - 4)
            at += 4 + (value + 3) // 4 * 4
        else:
            at += 4 + value if kind == PADDING else 8


def turn_table(file, cpus, pages):
    file.expect(b'flyrecord\0')
    for _ in range(cpus):
        pages.append((file.number(8), file.number(8)))


def turn_options(file):
    """Returns where the tables of the other buffers are."""
    tables = []
    file.expect(b'options  \0')
    while True:
        kind = file.number(2)
        if not kind:
            return tables
        size = file.number(4)
        end = file.at + size
        if kind == OPTION_BUFFER:
            tables.append(file.number(8))
        elif kind == OPTION_TRACE_ID:
            file.number(8)
        elif kind == OPTION_CPUS:
            file.number(4)
        elif kind not in TEXTS:
            sys.exit(f'option {kind}: not known')
        file.at = end


def turn(file):
    file.expect(b'\x17\x08\x44tracing6\0\0')
    file.data[file.at - 1] = 1
    word = file.take(1)[0]
    page_size = file.number(4)
    file.expect(b'header_page\0')
    file.take(file.number(8))
    file.expect(b'header_event\0')
    file.take(file.number(8))
    for _ in range(file.number(4)):
        add_format(file, 'ftrace', file.take(file.number(8)).decode(), word)
    for _ in range(file.number(4)):
        system = file.string()
        for _ in range(file.number(4)):
            add_format(file, system, file.take(file.number(8)).decode(), word)
    for width in 4, 4, 8:               # kallsyms, printk formats, names of tasks
        file.take(file.number(width))
    cpus, pages = file.number(4), []
    tables = turn_options(file)
    turn_table(file, cpus, pages)
    for table in tables:
        file.at = table
        turn_table(file, cpus, pages)
    for offset, size in pages:
        for page in range(offset, offset + size, page_size):
            turn_page(file, page, word)


def main():
    with open(sys.argv[1], 'rb') as source:
        file = File(source.read())
    turn(file)
    with open(sys.argv[2], 'wb') as out:
        out.write(file.data)


main()
