# SPDX-License-Identifier: MIT
"""chromium.py - a headless Chromium that tests drive: its protocol, through a pair of pipes

    with Chromium() as b:
        b.open('http://127.0.0.1:8000/')
        b.until("document.title == 'x'")
        b.value('1 + 1')
        b.screenshot('page.png')
"""
import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

FLAGS = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
         '--disable-background-networking', '--disable-component-update', '--disable-sync',
         '--disable-dev-shm-usage', '--remote-debugging-pipe', '--window-size=1280,1000']
PATIENCE = 90   # seconds: for what comes, and may come late on a busy machine


class Chromium:
    def __init__(self):
        self.errors = []    # what the page's console has as errors
        self.nr = 0
        self.text = b''

    def __enter__(self):
        self.data = tempfile.mkdtemp(prefix='chromium-')
        theirs_in, self.to = os.pipe()
        self.come, theirs_out = os.pipe()
        # Numbers behind those that are to be 3 and 4 in the child.
        high = [os.dup2(fd, 60 + i) for i, fd in enumerate((theirs_in, theirs_out))]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ['chromium', *FLAGS, f'--user-data-dir={self.data}', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            close_fds=False, preexec_fn=place, start_new_session=True)
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.session = None
        targets = self.ask('Target.getTargets')['targetInfos']
        page = next(t['targetId'] for t in targets if t['type'] == 'page')
        self.session = self.ask('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        self.ask('Page.enable')
        self.ask('Runtime.enable')
        self.ask('Log.enable')
        return self

    def __exit__(self, *_):
        os.close(self.to)
        os.close(self.come)
        # The browser's processes are a group of their own.
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        for _ in range(50):
            shutil.rmtree(self.data, ignore_errors=True)
            if not os.path.exists(self.data):
                break
            time.sleep(0.1)

    def message(self, end):
        while b'\0' not in self.text:
            if not select.select([self.come], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError('Chromium does not answer')
            part = os.read(self.come, 65536)
            if not part:
                raise EOFError('Chromium has ended')
            self.text += part
        one, self.text = self.text.split(b'\0', 1)
        return json.loads(one)

    def note(self, message):
        if message.get('method') == 'Runtime.exceptionThrown':
            self.errors.append(message['params']['exceptionDetails']['text'])
        if message.get('method') == 'Log.entryAdded':
            entry = message['params']['entry']
            if entry['level'] == 'error':
                self.errors.append(entry['text'] + ' ' + entry.get('url', ''))

    def ask(self, method, **params):
        self.nr += 1
        request = {'id': self.nr, 'method': method, 'params': params}
        if self.session:
            request['sessionId'] = self.session
        os.write(self.to, json.dumps(request).encode() + b'\0')
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.message(end)
            if answer.get('id') == self.nr:
                return answer.get('result', {})
            self.note(answer)

    def open(self, url):
        self.ask('Page.navigate', url=url)

    def value(self, expression):
        answer = self.ask('Runtime.evaluate', expression=expression, returnByValue=True)
        return answer.get('result', {}).get('value')

    def until(self, expression):
        """Waits until it is true. Returns whether it became so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if self.value(expression):
                return True
            time.sleep(0.1)
        return False

    def colours(self, scheme):
        self.ask('Emulation.setEmulatedMedia',
                 features=[{'name': 'prefers-color-scheme', 'value': scheme}])

    def screenshot(self, path):
        with open(path, 'wb') as f:
            f.write(base64.b64decode(self.ask('Page.captureScreenshot', format='png')['data']))
