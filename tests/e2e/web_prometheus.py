# SPDX-License-Identifier: MIT
"""web_prometheus.py DIRECTORY TRACEFUSE METRIC - histogram_quantile() against pct=

Starts a Prometheus with DIRECTORY/prometheus.yml. All its targets have to be up. The quantile of
METRIC that it finds for each priority of the session `a` lies in the range of the percentile.
Prints what is wrong.
"""
import json
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

WORK, TRACEFUSE, METRIC = sys.argv[1:]
PATIENCE = 90   # seconds: for what comes, and may come late on a busy machine


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


def ask(port, query):
    url = f'http://127.0.0.1:{port}/api/v1/query?' + urllib.parse.urlencode({'query': query})
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as f:
            return json.load(f)['data']['result']
    except OSError:
        return []


def until(port, query, wanted):
    end = time.monotonic() + PATIENCE
    got = []
    while time.monotonic() < end:
        got = ask(port, query)
        if len(got) == wanted:
            return True
        time.sleep(0.3)
    print(f'{query}: {got}')
    return False


def compare(port):
    path = 'events/synthetic/wakeup_latency/hist.json'
    text = subprocess.run([TRACEFUSE, 'cat', '-s', 'a', path], capture_output=True).stdout
    found = 0
    for group in json.loads(text)[0]['percentiles']:
        prio = group['keys'][0]['text']
        for value in group['values']:
            query = (f'histogram_quantile({value["percent"] / 100}, '
                     f'{METRIC}_bucket{{session="a",prio="{prio}"}})')
            result = ask(port, query)
            quantile = float(result[0]['value'][1]) if result else -1
            found += 1
            # A bucket of Prometheus ends where the one before it ends.
            if not value['low'] - 1 <= quantile <= value['high']:
                print(query, quantile, value)
    if found != 9:
        print(found, 'percentiles')


def main():
    port = free_port()
    server = subprocess.Popen(
        ['prometheus', f'--config.file={WORK}/prometheus.yml', f'--storage.tsdb.path={WORK}/tsdb',
         f'--web.listen-address=127.0.0.1:{port}'],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        if until(port, 'up == 1', 3) and until(port, f'{METRIC}_count', 3):
            compare(port)
    finally:
        server.kill()
        server.wait()


main()
