#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed.py OUTPUT FILE... - makes C of the files that the browser loads (web_files of web.h)

index.html is the page "/", each other file is at "/NAME".
"""
import os
import sys

TYPES = {'.html': 'text/html; charset=utf-8', '.js': 'text/javascript; charset=utf-8',
         '.css': 'text/css; charset=utf-8', '.svg': 'image/svg+xml'}


def main():
    rows = []
    with open(sys.argv[1], 'w', encoding='ascii') as out:
        out.write('/* Made by embed.py. */\n#include "cli/web/web.h"\n')
        for nr, path in enumerate(sys.argv[2:]):
            name = os.path.basename(path)
            with open(path, 'rb') as f:
                data = f.read()
            out.write(f'\nstatic const unsigned char file_{nr}[] = {{\n')
            for at in range(0, len(data), 16):
                out.write(''.join(f'{byte},' for byte in data[at:at + 16]) + '\n')
            out.write('};\n')
            kind = TYPES[os.path.splitext(name)[1]]
            where = '/' if name == 'index.html' else '/' + name
            rows.append(f'\t{{ "{where}", "{kind}", file_{nr}, sizeof(file_{nr}) }},\n')
        out.write('\nconst struct web_file web_files[] = {\n' + ''.join(rows) +
                  '\t{ 0 }\n};\n')


main()
