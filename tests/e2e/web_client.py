# SPDX-License-Identifier: MIT
"""web_client.py CASE URL... - a client of `tracefuse web`, for the tests named web*

Prints what is wrong, and fails. CASE is a function below; what it prints else, the test compares.
"""
import http.client
import json
import socket
import subprocess
import sys
import time
import urllib.parse

PATIENCE = 60   # seconds: for what comes, and may come late on a busy machine


class Page:
    def __init__(self, url):
        self.url = url
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port
        self.token = urllib.parse.parse_qs(parts.query)['token'][0]

    def ask(self, path, method='GET', body=None, token=True, **headers):
        """-> status, text, headers"""
        c = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)
        if token:
            headers.setdefault('Authorization', 'Bearer ' + self.token)
        c.request(method, path, body, headers)
        answer = c.getresponse()
        text = answer.read().decode()
        c.close()
        return answer.status, text, answer.headers

    def json(self, path):
        status, text, _ = self.ask(path)
        assert status == 200, (status, text)
        return json.loads(text)

    def command(self, text):
        status, answer, _ = self.ask('/api/command', 'POST', text + '\n')
        assert status == 200, (status, answer)
        return json.loads(answer)

    def connect(self):
        s = socket.create_connection((self.host, self.port), timeout=PATIENCE)
        return s

    def stream(self):
        s = self.connect()
        s.sendall(f'GET /api/events?token={self.token} HTTP/1.1\r\nHost: localhost\r\n\r\n'
                  .encode())
        return s.makefile('rb')


def access(url):
    """Who may ask."""
    p = Page(url)
    other = p.token[:-1] + ('1' if p.token[-1] == '0' else '0')
    q = '?token='
    wanted = [
        ('the printed address', 200, '/' + q + p.token, {'token': False}),
        ('a bearer', 200, '/', {}),
        ('no token', 401, '/', {'token': False}),
        ('no token for data', 401, '/metrics', {'token': False}),
        ('no token for what is not there', 401, '/x', {'token': False}),
        ('an empty token', 401, '/' + q, {'token': False}),
        ('a wrong token', 401, '/' + q + other, {'token': False}),
        ('a part of it', 401, '/' + q + p.token[:-1], {'token': False}),
        ('a longer one', 401, '/' + q + p.token + '0', {'token': False}),
        ('a wrong bearer', 401, '/' + q + p.token, {'Authorization': 'Bearer ' + other}),
        ('its own Origin', 200, '/', {'Origin': f'http://{p.host}:{p.port}'}),
        ('another Origin', 403, '/', {'Origin': 'http://example.org'}),
        ('another port\'s Origin', 403, '/', {'Origin': f'http://{p.host}:1'}),
        ('no place as Origin', 403, '/', {'Origin': 'null'}),
        ('localhost', 200, '/', {'Host': 'localhost:1234'}),
        ('an address of IPv6', 200, '/', {'Host': '[::1]:80'}),
        ('a name as Host', 403, '/', {'Host': 'example.org'}),
        ('a name that begins so', 403, '/', {'Host': 'localhost.example.org'}),
        ('an address and more', 403, '/', {'Host': '127.0.0.1.example.org'}),
        ('no number as port', 403, '/', {'Host': '127.0.0.1:x'}),
    ]
    return [f'{name}: {got} instead of {status}' for name, status, path, more in wanted
            for got in [p.ask(path, **more)[0]] if got != status]


def requests(url):
    """Wrong and hostile requests."""
    p = Page(url)
    wanted = [
        ('another method', 405, '/', {'method': 'PUT'}),
        ('POST to data', 405, '/metrics', {'method': 'POST', 'body': 'x'}),
        ('GET of a command', 405, '/api/command', {}),
        ('DELETE', 405, '/api/trace', {'method': 'DELETE'}),
        ('a method of its own', 405, '/', {'method': 'FROB'}),
        ('HEAD', 200, '/', {'method': 'HEAD'}),
        ('no such page', 404, '/x', {}),
        ('out of the page', 404, '/../../etc/passwd', {}),
        ('out of it, in disguise', 404, '/%2e%2e/%2e%2e/etc/passwd', {}),
        ('a file behind a file', 404, '/page.js/../index.html', {}),
        ('no number', 400, '/api/trace?from=x', {}),
        ('too many lines', 400, '/api/trace?lines=100000', {}),
        ('no lines', 400, '/api/trace?lines=0', {}),
        ('a number that is too large', 400, '/api/trace?from=99999999999999999999', {}),
        ('an instance that leads out', 400, '/api/trace?instance=../..', {}),
        ('no such instance', 404, '/api/trace?instance=none', {}),
        ('a file that is no histogram', 400, '/api/stacks?file=trace', {}),
        ('a file that leads out', 404, '/api/stacks?file=../../hist.json', {}),
        ('no such histogram', 404, '/api/stacks?file=events/none/none/hist.json', {}),
        ('commands that are too long', 413, '/api/command',
         {'method': 'POST', 'body': 'x' * 70000}),
        ('a 0 byte in a command', 400, '/api/command', {'method': 'POST', 'body': 'a\0b'}),
    ]
    bad = [f'{name}: {got} instead of {status}' for name, status, path, more in wanted
           for got in [p.ask(path, **more)[0]] if got != status]
    # Some of these are answered, others cut off. None does harm.
    for raw in (b'\r\n\r\n', b'GET\r\n\r\n', b'\0' * 100, b'GET / HTTP/9.9\r\n\r\n',
                b'GET / HTTP/1.1\r\n\r\n', b'GET /' + b'a' * 100000 + b' HTTP/1.1\r\n\r\n',
                b'GET / HTTP/1.1\r\nHost: localhost\r\nX: ' + b'b' * 100000 + b'\r\n\r\n',
                b'POST /api/command HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n',
                b'POST /api/command HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer '
                + p.token.encode() + b'\r\nTransfer-Encoding: chunked\r\n\r\nfffffff0\r\nx'):
        s = p.connect()
        s.settimeout(1)
        try:
            s.sendall(raw)
            s.shutdown(socket.SHUT_WR)
            while s.recv(65536):
                pass
        except OSError:
            pass
        s.close()
        if p.ask('/')[0] != 200:
            bad.append(f'no answer after {raw[:40]}')
    return bad


def headers(url):
    p = Page(url)
    _, text, all_headers = p.ask('/')
    bad = [name for name in ('Content-Security-Policy', 'X-Content-Type-Options',
                             'Referrer-Policy', 'Cache-Control') if name not in all_headers]
    if "default-src 'none'" not in all_headers['Content-Security-Policy']:
        bad.append('the policy lets something be loaded')
    if 'http://' in text or 'https://' in text:
        bad.append('the page names another place')
    for path in [w for w in text.split('"') if w.startswith('/')]:
        status, _, _ = p.ask(path, token=False)
        if status != 200:
            bad.append(f'{path}: {status}')
    return bad


def busy(url):
    """Many connections, and slow ones."""
    p = Page(url)
    bad = []
    slow = [p.connect() for _ in range(60)]
    for s in slow:
        s.sendall(b'GET / HTTP/1.1\r\nHost: loc')
    if p.ask('/')[0] != 200:
        bad.append('no answer beside slow clients')
    for s in slow:
        s.close()
    streams = []
    while len(streams) < 40:
        s = p.stream()
        if b' 200 ' not in s.readline():
            break
        streams.append(s)
    if len(streams) != 32:
        bad.append(f'{len(streams)} streams')
    if p.ask('/api/events')[:2] != (503, 'Too many pages are open.\n'):
        bad.append('one more is not refused')
    if p.ask('/metrics')[0] != 200:
        bad.append('no answer beside streams')
    for s in streams:
        s.close()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with p.stream() as s:
            if b' 200 ' in s.readline():
                return bad
        time.sleep(0.2)
    return bad + ['closed streams are not given free']


def more(url):
    """More connections than are served: those that wait come in when others go."""
    p = Page(url)
    idle = []
    for _ in range(200):
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((p.host, p.port))
        idle.append(s)
    for s in idle:
        s.close()
    return [] if p.ask('/')[0] == 200 else ['no answer']


def drip(url):
    """Connections without the token that send a byte now and then do not stay for ever."""
    p = Page(url)
    slow = []
    for _ in range(128):
        s = socket.create_connection((p.host, p.port), timeout=PATIENCE)
        s.sendall(b'GET / HTTP/1.1\r\nHost: loc')
        slow.append(s)
    end = time.monotonic() + PATIENCE
    while slow and time.monotonic() < end:
        for s in list(slow):
            try:
                s.sendall(b'a')
            except OSError:
                slow.remove(s)
        time.sleep(1)
    for s in slow:
        s.close()
    if slow:
        return [f'{len(slow)} are still served']
    return [] if p.ask('/')[0] == 200 else ['no answer']


def event(stream):
    """The next event of a stream: its kind and data."""
    kind = 'message'
    while True:
        line = stream.readline()
        assert line, 'the stream has ended'
        if line.startswith(b'event: '):
            kind = line[7:].strip().decode()
        if line.startswith(b'data: '):
            return kind, line[6:].decode()


def samples(url):
    """Events come by themselves, and grow with what is counted."""
    p = Page(url)
    hits = []
    with p.stream() as s:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            hits.append(sum(h['hits'] for h in json.loads(event(s)[1])['hists']))
            if len(hits) > 2 and hits[-1] > hits[0]:
                return [] if hits == sorted(hits) else [hits]
    return [hits]


def histograms(url, tracefuse):
    """The rows have what `cat --json` has."""
    p = Page(url)
    bad = []
    hists = p.json('/api/histograms')['hists']
    for h in hists:
        text = subprocess.run([tracefuse, 'cat', h['file']], capture_output=True).stdout
        one = json.loads(text)[h['nr']]
        wanted = sorted(e['values'][0]['value'] for e in one['entries'])
        if sorted(r[4] for r in h['rows']) != wanted or h['hits'] != sum(wanted):
            bad.append(h)
        if one['event'] != h['event'] or one['trigger'] != h['trigger']:
            bad.append(h['event'])
    print(len(hists))
    return bad


def trace(url, tracefuse):
    """All pages together are the file."""
    p = Page(url)
    lines, more_lines = [], True
    while more_lines:
        page = p.json(f'/api/trace?from={len(lines)}&lines=97')
        lines += page['lines']
        more_lines = page['more']
    text = subprocess.run([tracefuse, 'cat', 'trace'], capture_output=True, text=True).stdout
    return [] if lines == text.splitlines() and len(lines) > 300 else [len(lines)]


def command(url, text):
    answer = Page(url).command(text)
    print(answer['failed'], 'cut' if answer['cut'] else 'whole')
    print(answer['out'] + answer['err'], end='')
    return []


def show(url, path, *accept):
    p = Page(url)
    _, text, got = p.ask(path, **({'Accept': accept[0]} if accept else {}))
    if accept:
        print(got['Content-Type'])
    print(text, end='')
    return []


def status(url, path):
    print(*Page(url).ask(path)[:2], end='')
    return []


def ends(url, *end):
    """`end` ends the session: the stream says it, requests get a status."""
    p = Page(url)
    with p.stream() as s:
        kind, _ = event(s)
        subprocess.run(end, check=True, stdout=subprocess.DEVNULL)
        while kind == 'message':
            kind, data = event(s)
    print(kind, data, end='')
    print(*p.ask('/metrics')[:2], end='')
    return []


def waits(url, key):
    """Waits until the functions, or the stacks, of a running program are there."""
    p = Page(url)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if key == 'functions':
            got = p.json('/api/functions')
            names = {f[0] for f in got['functions'] if f[1] and f[2]}
            if got['on'] and {'web_work', 'web_small', 'web_large'} <= names:
                return []
        else:
            got = p.json('/api/stacks?nr=1&file=events/heap/malloc/hist.json')
            flat = ' '.join(' '.join(s['frames']) for s in got['stacks'])
            if 'web_small' in flat and 'web_large' in flat and \
                    got['values'] == ['hitcount', 'bytes_req']:
                return []
        time.sleep(0.2)
    return [got]


def main():
    wrong = globals()[sys.argv[1]](*sys.argv[2:])
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main()
