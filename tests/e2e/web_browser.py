# SPDX-License-Identifier: MIT
"""web_browser.py URL DIRECTORY TRACEFUSE - looks at each part of the page, as a user does

Prints "ok NAME" or "not ok NAME" for each. The screenshots go to DIRECTORY.
"""
import subprocess
import sys

from chromium import Chromium

URL, SHOTS, TRACEFUSE = sys.argv[1:]
WATCHED = '''window.colours = (x, y, w, h, canvas) => new Set(Array.from(
    new Uint32Array(canvas.getContext('2d').getImageData(x, y, w, h).data.buffer))).size'''


def report(passed, name):
    print(f'{"ok" if passed else "not ok"} {name}', flush=True)


def card(nr, rest):
    return f"document.querySelectorAll('.card')[{nr}]{rest}"


def histograms(b):
    report(b.until("document.querySelectorAll('.card').length == 3"), 'a card for each histogram')
    report(b.value("document.getElementById('session').textContent") == 'w',
           'the name of the session')
    hits = 'Number(' + card(0, "?.querySelector('b').textContent.replaceAll(',', '')") + ')'
    first = b.value(hits)
    report(b.until(f'{hits} > {first}'), 'they refresh by themselves')
    report(b.until(card(0, "?.querySelector('.bars canvas') != null")), 'bars')
    report(b.until(card(0, "?.querySelector('.heat canvas') != null")), 'a heat map')
    b.value(WATCHED)
    canvas = card(0, "?.querySelector('.heat canvas')")
    report(b.until(f'colours({canvas}.width / 2, 0, {canvas}.width / 2, {canvas}.height, '
                   f'{canvas}) > 3'), 'the heat map has cells')
    report(b.until(card(0, "?.querySelector('.percentiles').textContent.includes('50% 2^')")),
           'percentiles')
    report('web_small' in (b.value(card(1, '?.textContent')) or ''), 'stacks are names')
    b.screenshot(f'{SHOTS}/light.png')
    light = b.value('getComputedStyle(document.body).backgroundColor')
    b.colours('dark')
    report(b.until(f"getComputedStyle(document.body).backgroundColor != '{light}'"),
           'a dark form')
    b.until(card(0, "?.querySelector('.bars canvas') != null"))
    b.screenshot(f'{SHOTS}/dark.png')


def narrow(b):
    b.ask('Emulation.setDeviceMetricsOverride', width=400, height=900, deviceScaleFactor=1,
          mobile=False)
    for part in ('histograms', 'functions', 'flame', 'trace', 'command'):
        b.value(f"location.hash = '#{part}'")
        report(b.until(f"!document.getElementById('{part}').hidden && "
                       'document.documentElement.scrollWidth <= 400'),
               f'{part}: no part is beside a window of 400 pixels')
    b.screenshot(f'{SHOTS}/narrow.png')
    b.ask('Emulation.clearDeviceMetricsOverride')


def functions(b):
    b.value("location.hash = '#functions'")
    report(b.until("document.querySelectorAll('#functions-rows tr').length >= 3"),
           'the table of functions')
    b.screenshot(f'{SHOTS}/functions.png')


def flame(b):
    b.value("location.hash = '#flame'")
    report(b.until("[...document.querySelectorAll('#flame-graph .d3-flame-graph-label')]"
                   ".some((e) => e.textContent == 'web_large')"), 'a flame graph')
    b.value("document.getElementById('flame-value').selectedIndex = 1;"
            "document.getElementById('flame-value').onchange()")
    report(b.until("document.querySelectorAll('#flame-graph rect').length > 4"),
           'by another value')
    b.screenshot(f'{SHOTS}/flame.png')


def trace(b):
    subprocess.run([TRACEFUSE, 'write', 'events/heap/enable', '1'], check=True)
    b.value("location.hash = '#trace'")
    report(b.until("document.getElementById('trace-again').click(),"
                   "document.getElementById('trace-after').disabled === false"),
           'the trace has pages')
    b.value("document.getElementById('trace-after').click()")
    report(b.until("document.getElementById('trace-note').textContent.startsWith('lines 201')"
                   " && document.getElementById('trace-lines').textContent"
                   ".includes('web_work <-main')"),
           'the next page')
    b.screenshot(f'{SHOTS}/trace.png')
    subprocess.run([TRACEFUSE, 'write', 'events/heap/enable', '0'], check=True)


def command(b, text, wanted, name):
    b.value("document.getElementById('command-text').value = " + repr(text) +
            "; document.getElementById('command-run').click()")
    report(b.until(f"document.getElementById('command').textContent.includes({wanted!r})"), name)


def commands(b):
    b.value("location.hash = '#command'")
    command(b, "echo 'hist:keys=foo' >> events/heap/malloc/trigger",
            "error: Couldn't find field", 'an error')
    b.screenshot(f'{SHOTS}/command.png')
    command(b, "echo 'hist:keys=<b>' >> events/heap/malloc/trigger", 'hist:keys=<b>',
            'what looks like HTML is text')
    command(b, "echo 'hist:keys=bytes_alloc.log2' >> events/heap/malloc/trigger\ncat tracing_on",
            'done', 'a command')
    b.value("location.hash = '#histograms'")
    report(b.until("document.querySelectorAll('.card').length == 4"), 'its histogram appears')


with Chromium() as browser:
    browser.open(URL)
    histograms(browser)
    functions(browser)
    flame(browser)
    trace(browser)
    commands(browser)
    narrow(browser)
    if browser.errors:
        print(browser.errors)
    report(not browser.errors, 'nothing is refused by the policy, and no script fails')
    subprocess.run([TRACEFUSE, 'reset', 'w'], check=False, stdout=subprocess.DEVNULL)
    report(browser.until("document.querySelectorAll('.card').length == 0 && "
                         "!document.getElementById('no-hists').hidden"), 'histograms that go')
