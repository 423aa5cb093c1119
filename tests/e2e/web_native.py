# SPDX-License-Identifier: MIT
"""web_native.py CASE ARGUMENT... - /metrics in the protobuf form, and what Prometheus makes of it

    decode URL PROTO       the answer's type, and the answer as `protoc --decode` prints it
    type URL ACCEPT        the type of the answer to a request with that header
    prometheus DIR METRIC  a Prometheus with DIR/prometheus.yml finds the percentiles of DIR/json, a
                           file hist.json, in METRIC of two sessions; prints what is wrong
"""
import json
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

PATIENCE = 90   # seconds: for what comes, and may come late on a busy machine
PROTOBUF = ('application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;'
            'encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1')


def fetch(url, accept):
    """-> type, bytes"""
    parts = urllib.parse.urlsplit(url)
    token = urllib.parse.parse_qs(parts.query)['token'][0]
    headers = {'Authorization': 'Bearer ' + token}
    if accept:
        headers['Accept'] = accept
    request = urllib.request.Request(f'http://{parts.netloc}/metrics', headers=headers)
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.headers['Content-Type'], answer.read()


def varint(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 0x7f) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return v, at


def decode(url, proto):
    kind, data = fetch(url, PROTOBUF)
    print(kind, flush=True)
    families, at = b'', 0
    while at < len(data):
        length, begin = varint(data, at)
        families += b'\x0a' + data[at:begin + length]
        at = begin + length
    directory, name = proto.rsplit('/', 1)
    subprocess.run(['protoc', '-I', directory, '--decode=Families', name], input=families,
                   check=True)


def show_type(url, accept):
    print(fetch(url, accept)[0])


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def ask(port, query):
    """-> the values"""
    url = f'http://127.0.0.1:{port}/api/v1/query?' + urllib.parse.urlencode({'query': query})
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as f:
            return [float(r['value'][1]) for r in json.load(f)['data']['result']]
    except (OSError, KeyError):
        return []


def compare(port, hist, metric):
    both = f'sum({metric})'
    sums = [v['value'] for e in hist['entries'] for v in e['values'] if v['field'] != 'hitcount']
    for query, wanted in ((f'histogram_count({both})', hist['totals']['hits']),
                          (f'histogram_sum({both})', sum(sums))):
        got = ask(port, query)
        if got != [wanted]:
            print(query, got, wanted)
    values = hist['percentiles'][0]['values']
    for value in values:
        got = ask(port, f'histogram_quantile({value["percent"] / 100}, {both})')
        # The range has the whole numbers of the bucket, whose bounds are between such.
        if len(got) != 1 or not value['low'] - 1 < got[0] < value['high'] + 1:
            print(got, value)
    if len(values) != 3:
        print(len(values), 'percentiles')


def prometheus(directory, metric):
    port = free_port()
    with open(f'{directory}/json') as f:
        hist = json.load(f)[0]
    server = subprocess.Popen(
        ['prometheus', '--enable-feature=native-histograms',
         f'--config.file={directory}/prometheus.yml', f'--storage.tsdb.path={directory}/tsdb',
         f'--web.listen-address=127.0.0.1:{port}'],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        query, got = f'histogram_count({metric})', []
        end = time.monotonic() + PATIENCE
        while len(got) < 2 and time.monotonic() < end:
            got = ask(port, query)
            time.sleep(0.3)
        if len(got) < 2:
            print(query, got)
        else:
            compare(port, hist, metric)
    finally:
        server.kill()
        server.wait()


{'decode': decode, 'type': show_type, 'prometheus': prometheus}[sys.argv[1]](*sys.argv[2:])
