#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""recordings.py KIND OUT - writes a recording (trace.dat, version 6) that no kernel writes easily.

KIND is the name of a function below.
"""
import struct
import sys

COMMON = '''\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

'''
PAGE = 4096


class Recording:
    """Of one CPU of a little-endian machine, whose long has `word` bytes."""

    def __init__(self, word=8):
        self.word = word
        self.formats = {}
        self.names = {}
        self.records = []
        self.kallsyms = b''
        self.printk = b''

    def event(self, system, name, number, fields, common=COMMON):
        text = f'name: {name}\nID: {number}\nformat:\n{common}'
        for field, at, size, signed in fields:
            text += f'\tfield:{field};\toffset:{at};\tsize:{size};\tsigned:{signed};\n'
        text += '\nprint fmt: "x"\n'
        self.formats.setdefault(system, []).append(text.encode())

    def record(self, time, number, pid, fields):
        self.records.append((time, struct.pack('<HBBi', number, 0, 0, pid) + fields))

    def pages(self):
        pages, page, start, last = b'', b'', None, 0
        for time, record in [*self.records, (None, b'')]:
            full = len(page) + len(record) + 8 > PAGE - 8 - self.word
            if start is not None and (time is None or full or time < last):
                head = struct.pack('<QQ' if self.word == 8 else '<QI', start, len(page))
                pages += (head + page).ljust(PAGE, b'\0')
                page, start = b'', None
            if time is None:
                return pages
            if start is None:
                start = last = time
            assert not len(record) % 4 and len(record) <= 112
            page += struct.pack('<I', (time - last) << 5 | len(record) // 4) + record
            last = time
        return pages

    def write(self, path):
        word = self.word
        page = f'''\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:{word};\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:{8 + word};\tsize:{PAGE - 8 - word};\tsigned:1;
'''.encode()

        def formats(system):
            texts = self.formats.get(system, [])
            return struct.pack('<I', len(texts)) + b''.join(
                struct.pack('<Q', len(text)) + text for text in texts)

        systems = [s for s in self.formats if s != 'ftrace']
        names = b''.join(b'%d %s\n' % pair for pair in self.names.items())
        out = b'\x17\x08\x44tracing6\0' + struct.pack('<BBI', 0, word, PAGE)
        out += b'header_page\0' + struct.pack('<Q', len(page)) + page
        out += b'header_event\0' + struct.pack('<Q', 4) + b'none'
        out += formats('ftrace') + struct.pack('<I', len(systems))
        for system in systems:
            out += system.encode() + b'\0' + formats(system)
        for table in self.kallsyms, self.printk:
            out += struct.pack('<I', len(table)) + table
        out += struct.pack('<Q', len(names)) + names
        out += struct.pack('<I', 1) + b'options  \0' + struct.pack('<H', 0) + b'flyrecord\0'
        pages = self.pages()
        start = (len(out) + 16 + PAGE - 1) // PAGE * PAGE
        out += struct.pack('<QQ', start, len(pages))
        with open(path, 'wb') as file:
            file.write(out.ljust(start, b'\0') + pages)


def texts(r):
    """Names and values that need escapes, and numbers that need 64 bits."""
    r.event('my', 'event', 400, [('char text[16]', 8, 16, 0), ('u64 large', 24, 8, 0),
                                 ('int a"b', 32, 4, 1), ('int c\\d', 36, 4, 1)])
    r.names = {100: b'a;"\\\x01\xff'}
    for i, text in enumerate((b'one;two', b'"\\\n\x7f\xfe\xc3\xa9', b'plain')):
        r.record(1000 + i, 400, 100,
                 text.ljust(16, b'\0') + struct.pack('<Qii', (1 << 63) + i, -i, i))


def control_bytes(r):
    """A system whose name would change a terminal's title."""
    r.event('my\x1b]0;title\x07', 'event', 400, [('int a', 8, 4, 1)])
    r.record(1000, 400, 1, bytes(4))


def shell_words(r):
    """An event whose name is a command."""
    r.event('my', 'x;touch${IFS}planted', 400, [('int a', 8, 4, 1)])
    r.record(1000, 400, 1, bytes(4))


def print_without_fields(r):
    r.event('ftrace', 'print', 5, [], common='')
    r.record(1000, 5, 1, bytes(8))


def clock_back(r):
    """sched_switch, with a time before the one before."""
    r.event('sched', 'sched_switch', 300, [
        ('char prev_comm[16]', 8, 16, 0), ('pid_t prev_pid', 24, 4, 1),
        ('int prev_prio', 28, 4, 1), ('long prev_state', 32, 8, 1),
        ('char next_comm[16]', 40, 16, 0), ('pid_t next_pid', 56, 4, 1),
        ('int next_prio', 60, 4, 1)])
    for time, before, after in ((5000, 1, 2), (9000, 2, 3), (4000, 3, 1), (4500, 1, 2)):
        r.record(time, 300, before, b'from'.ljust(16, b'\0') + struct.pack('<iiq', before, 0, 0) +
                 b'to'.ljust(16, b'\0') + struct.pack('<ii', after, 0))


def stacks_32(r):
    """Pages of a 32-bit kernel that are full of a synthetic event's stacks."""
    r.word = 4
    r.event('synthetic', 'stacks', 500, [('u64 nr', 8, 8, 0),
                                         ('__data_loc unsigned long[] stack', 16, 4, 0)])
    for i in range(300):
        r.record(1000 + i, 500, 7, struct.pack('<QI16I', i, 64 << 16 | 20, *range(
            0xc1000000 + 16 * i, 0xc1000000 + 16 * i + 16)))


def hidden_addresses(r):
    """trace_printk() of a 32-bit kernel before 3.19, which hid its addresses (kptr_restrict)."""
    r.word = 4
    r.event('ftrace', 'bprint', 6, [('unsigned long ip', 8, 4, 0), ('const char * fmt', 12, 4, 0),
                                    ('u32 buf', 16, 0, 0)])
    r.kallsyms = b'00000000 t __vectors_start\n00000000 T update_load\n'
    r.printk = b'0xc0100000 : "load: cpu: %u freq: %u\\n"\n'
    r.record(1000, 6, 7, struct.pack('<IIII', 0xc044504c, 0xc0100000, 3, 800000))


def two_handlers(r):
    """For onmax() of two variables: of some entries only one of them is ever above 0."""
    r.event('my', 'event', 400, [('char text[16]', 8, 16, 0), ('u64 one', 24, 8, 0),
                                 ('u64 two', 32, 8, 0)])
    for i, (text, one, two) in enumerate(((b'a', 7, 0), (b'b', 5, 6), (b'c', 0, 8), (b'd', 0, 0))):
        r.record(1000 + i, 400, 100, text.ljust(16, b'\0') + struct.pack('<QQ', one, two))


made = Recording()
globals()[sys.argv[1]](made)
made.write(sys.argv[2])
