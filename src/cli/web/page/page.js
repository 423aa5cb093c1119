/* SPDX-License-Identifier: MIT */
/*
 * page.js - the page of `tracefuse web`
 *
 * The histograms come by themselves, a sample each second (web/histograms.c). The other parts ask
 * when they are shown. Texts of the session become text nodes only, never HTML.
 */
'use strict';

const token = new URLSearchParams(location.search).get('token');
const at = (id) => document.getElementById(id);
const DEPTH = 150;	/* samples of a heat map */

function make(tag, kind, text) {
	const e = document.createElement(tag);
	if (kind)
		e.className = kind;
	if (text !== undefined)
		e.textContent = text;
	return e;
}

async function ask(path, options) {
	const answer = await fetch(path, { ...options,
		headers: { Authorization: 'Bearer ' + token } });
	if (!answer.ok)
		throw new Error((await answer.text()).trim());
	return answer.json();
}

const count = (n) => n.toLocaleString('en-US');
const countOf = (n, what) => count(n) + ' ' + what + (n === 1 ? '' : 's');

/* Microseconds in the unit that has one to three digits before the point. */
function duration(us) {
	const [size, unit] = us < 1000 ? [1, 'us'] : us < 1e6 ? [1000, 'ms'] : [1e6, 's'];
	return (us / size).toFixed(2) + ' ' + unit;
}

function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/* ---- the parts of the page ---- */

const parts = ['histograms', 'functions', 'flame', 'trace', 'command'];
const shown = {};	/* what a part does when it is shown */

function part() {
	const name = location.hash.slice(1);
	return parts.includes(name) ? name : 'histograms';
}

function show() {
	for (const name of parts)
		at(name).hidden = name !== part();
	for (const a of document.querySelectorAll('nav a')) {
		a.classList.toggle('here', a.hash === '#' + part());
		a.ariaCurrent = a.hash === '#' + part() ? 'page' : null;
	}
	shown[part()]?.();
}

/* ---- histograms ---- */

const cards = new Map();
let sample = null;

const keyOf = (hist) => hist.file + ' ' + hist.nr;

/* A short label for an axis. */
function short(hist, row) {
	const powers = /^~ 2\^(\d+)$/.exec(row.label);
	return powers ? '2^' + powers[1] : row.label.replace(/^~ /, '');
}

/* The rows of all groups together, or of one, in the order of the axis. */
function rowsOf(hist, group) {
	const sums = new Map();
	for (const [label, of, low, high, hits] of hist.rows) {
		if (group !== null && of !== group)
			continue;
		const row = sums.get(label);
		if (row)
			row.hits += hits;
		else
			sums.set(label, { label, low, high, hits });
	}
	const rows = [...sums.values()];
	return hist.axis === null ? rows : rows.sort((a, b) => a.low - b.low);
}

/* The row in which a share of the hits is reached, as pct= of a histogram defines it. */
function percentile(rows, percent) {
	const all = rows.reduce((sum, row) => sum + row.hits, 0);
	let below = 0;
	for (const row of rows) {
		below += row.hits;
		if (below >= all * percent / 100)
			return row.label.replace(/^~ /, '');
	}
	return '';
}

function percentilesOf(hist) {
	if (hist.percentiles.length)
		return hist.percentiles;
	/* Of numbers that are names, such as a pid, they would mean nothing. */
	if (hist.axis === null || hist.left_out || !(hist.ns || hist.modifier))
		return [];
	return [...new Set(hist.rows.map((row) => row[1]))].map((group) => {
		const rows = rowsOf(hist, group);
		return { group, values: [50, 90, 99].map((p) => [p, percentile(rows, p)]) };
	});
}

function axisLook(more) {
	return { stroke: colour('--faint'), grid: { show: false },
		ticks: { stroke: colour('--line'), width: 1 }, font: '11px sans-serif', ...more };
}

/* The room that the longest label of an axis takes. */
function labelRoom(u, labels) {
	const most = Math.max(0, ...(labels ?? []).map((label) => String(label ?? '').length));
	return Math.min(150, Math.max(44, 22 + 6.5 * most));
}

/* At most about `most` numbers of rows from 0 to nr - 1. */
function everyRow(nr, most) {
	const step = Math.max(1, Math.ceil(nr / most));
	return Array.from({ length: Math.ceil(nr / step) }, (_, i) => i * step);
}

class Card {
	constructor(hist) {
		this.history = [];	/* { at, hits of each label since the sample before, all hits } */
		this.before = null;	/* hits of each label in the last sample */
		this.total = 0;		/* all hits in the last sample */
		this.element = make('article', 'card');
		this.element.dataset.hist = hist.event;
		this.element.append(make('h2', '', hist.event),
				    this.trigger = make('p', 'trigger'),
				    this.counts = make('p', 'counts'),
				    this.bars = make('div', 'bars'), this.heat = make('div', 'heat'),
				    this.table = make('table', 'percentiles'));
		at('histograms').append(this.element);
	}

	/* Keeps how much each row has grown, for the heat map. */
	note(hist, when) {
		const hits = new Map(), grown = new Map();
		for (const row of rowsOf(hist, null)) {
			/* Where rows are left out, a new one may have had its hits for long. */
			const unknown = hist.left_out ? row.hits : 0;
			const before = this.before ? this.before.get(row.label) ?? unknown : row.hits;
			hits.set(row.label, row.hits);
			/* A histogram that was cleared begins again. */
			grown.set(row.label, row.hits >= before ? row.hits - before : row.hits);
		}
		if (this.before)
			this.history.push({ at: when / 1000, grown, hits: hist.hits >= this.total ?
				hist.hits - this.total : hist.hits });
		if (this.history.length > DEPTH)
			this.history.shift();
		this.rate = this.history.length < 2 ? null :
			this.history.slice(-10).reduce((sum, h) => sum + h.hits, 0) /
			Math.min(10, this.history.length);
		this.before = hits;
		this.total = hist.hits;
		this.hist = hist;
	}

	draw() {
		const hist = this.hist;
		this.trigger.textContent = hist.trigger;
		this.bars.role = this.heat.role = 'group';
		this.bars.ariaLabel = 'hits by ' + (hist.axis ?? 'key');
		this.heat.ariaLabel = 'hits of the last ' + DEPTH + ' seconds';
		this.counts.replaceChildren(make('b', '', count(hist.hits)),
			hist.hits === 1 ? ' hit' : ' hits',
			this.rate === null ? '' : ', ' + count(Math.round(this.rate)) + ' a second');
		if (hist.paused)
			this.counts.append(', paused');
		if (hist.dropped)
			this.counts.append(make('span', 'bad', ', ' + count(hist.dropped) +
				' found no room (size= makes more)'));
		if (hist.left_out)
			this.counts.append(make('span', 'bad', ', ' + count(hist.left_out) +
				' rows with ' + count(hist.left_out_hits) + ' hits are not shown'));
		this.rows = rowsOf(hist, null);
		if (hist.axis === null || this.rows.length < 2)
			this.drawNames();
		else
			this.drawBars();
		if (this.history.length > 1 && hist.axis !== null && this.rows.length > 1)
			this.drawHeat();
		this.drawPercentiles();
	}

	drawNames() {
		const most = Math.max(1, ...this.rows.map((row) => row.hits));
		const table = make('table', 'names');
		for (const row of this.rows) {
			const tr = table.insertRow(), bar = make('progress');
			bar.max = most;
			bar.value = row.hits;
			tr.append(make('td', 'name', row.label || '(empty)'),
				  make('td', 'number', count(row.hits)), make('td'));
			tr.lastChild.append(bar);
		}
		const box = make('div', 'names');
		box.tabIndex = 0;	/* so that the keyboard can scroll it */
		box.append(table);
		this.drop();
		this.bars.replaceChildren(box);
	}

	drop() {
		this.barsPlot?.destroy();
		this.heatPlot?.destroy();
		this.barsPlot = this.heatPlot = null;
		this.bars.replaceChildren();
		this.heat.replaceChildren();
	}

	width() {
		return Math.max(200, this.element.clientWidth - 30);
	}

	drawBars() {
		const data = [this.rows.map((_, i) => i), this.rows.map((row) => row.hits)];
		if (!this.barsPlot) {
			this.bars.replaceChildren();
			this.barsPlot = new uPlot(this.barsLook(), data, this.bars);
			return;
		}
		this.barsPlot.setData(data);
	}

	barsLook() {
		const rows = () => this.rows;
		return {
			width: this.width(), height: 210, legend: { show: false },
			cursor: { drag: { x: false, y: false }, points: { show: false } },
			scales: { x: { time: false, range: () => [-0.6, rows().length - 0.4] },
				  y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
			series: [{}, { fill: colour('--bar'), stroke: colour('--bar'), width: 0,
				       paths: uPlot.paths.bars({ size: [0.86, 60] }),
				       points: { show: false } }],
			axes: [axisLook({
				splits: () => everyRow(rows().length, this.width() / 75),
				values: (u, splits) => splits.map((i) => rows()[i] ?
					short(this.hist, rows()[i]) : ''),
				label: this.hist.axis, labelSize: 18, size: 34, labelFont: '11px sans-serif',
			}), axisLook({ size: labelRoom, grid: { stroke: colour('--line'), width: 1 } })],
			hooks: { setCursor: [(u) => {
				const row = rows()[u.cursor.idx];
				this.bars.title = row ? short(this.hist, row) + ': ' +
					countOf(row.hits, 'hit') : '';
			}] },
		};
	}

	drawHeat() {
		const data = [this.history.map((h) => h.at), this.history.map(() => null)];
		if (!this.heatPlot)
			this.heatPlot = new uPlot(this.heatLook(), data, this.heat);
		else
			this.heatPlot.setData(data);
	}

	heatLook() {
		const rows = () => this.rows;
		return {
			width: this.width(), height: 160, legend: { show: false },
			cursor: { show: false },
			scales: { x: { range: () => {
					const last = this.history[this.history.length - 1].at;
					return [last - DEPTH, last + 0.5];
				} },
				y: { range: () => [-0.5, rows().length - 0.5] } },
			series: [{}, { paths: () => null, points: { show: false } }],
			axes: [axisLook({ size: 26, space: 80, values: (u, splits) =>
				splits.map((s) => new Date(s * 1000).toLocaleTimeString('en-GB')),
			}), axisLook({
				size: labelRoom, splits: () => everyRow(rows().length, 7),
				values: (u, splits) => splits.map((i) => rows()[i] ?
					short(this.hist, rows()[i]) : ''),
			})],
			hooks: { draw: [(u) => this.drawCells(u)] },
		};
	}

	/* A column for each sample, a cell for each row: the more hits, the stronger. */
	drawCells(u) {
		const c = u.ctx;
		const most = Math.max(1, ...this.history.map((h) => Math.max(0, ...h.grown.values())));
		const place = new Map(this.rows.map((row, i) => [row.label, i]));
		c.save();
		c.beginPath();
		c.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
		c.clip();
		c.fillStyle = colour('--bar');
		for (const [i, h] of this.history.entries()) {
			const from = i ? this.history[i - 1].at : h.at - 1;
			const left = Math.round(u.valToPos(Math.max(from, h.at - 2), 'x', true));
			const right = Math.round(u.valToPos(h.at, 'x', true));
			for (const [label, hits] of h.grown) {
				const row = place.get(label);
				if (!hits || row === undefined)
					continue;
				const top = Math.round(u.valToPos(row + 0.5, 'y', true));
				const bottom = Math.round(u.valToPos(row - 0.5, 'y', true));
				c.globalAlpha = 0.15 + 0.85 * Math.log1p(hits) / Math.log1p(most);
				c.fillRect(left, top, right - left, bottom - top);
			}
		}
		c.restore();
	}

	drawPercentiles() {
		const body = make('tbody');
		for (const { group, values } of percentilesOf(this.hist).slice(0, 50)) {
			const tr = body.insertRow();
			tr.append(make('td', 'name', group || 'all'));
			for (const [percent, text] of values) {
				const td = make('td', '', percent + '% ');
				td.append(make('b', '', text.replace(/^~ /, '')));
				tr.append(td);
			}
		}
		this.table.replaceChildren(body);
	}
}

function drawHistograms() {
	if (!sample || part() !== 'histograms')
		return;
	for (const card of cards.values())
		card.draw();
}

function take(json) {
	sample = json;
	const there = new Set(json.hists.map(keyOf));
	for (const [key, card] of cards)
		if (!there.has(key)) {
			card.drop();
			card.element.remove();
			cards.delete(key);
		}
	for (const hist of json.hists) {
		if (!cards.has(keyOf(hist)))
			cards.set(keyOf(hist), new Card(hist));
		cards.get(keyOf(hist)).note(hist, json.at);
	}
	at('session').textContent = json.session;
	at('no-hists').hidden = json.hists.length > 0;
	state(new Date(json.at).toLocaleTimeString('en-GB') + (json.left_out ?
		', ' + json.left_out + ' histograms are not shown' : ''), false);
	at('command-note').textContent = json.write ?
		'Lines as for a shell in the tracing directory: echo, cat, ls, mkdir, rmdir.' :
		'Lines as for a shell in the tracing directory: cat, ls. This page may only read; ' +
		'`tracefuse web --write` may change the session.';
	drawHistograms();
	listStacks();
}

function state(text, lost) {
	at('state').textContent = text;
	at('state').classList.toggle('lost', lost);
}

function follow() {
	const events = new EventSource('/api/events?token=' + token);
	events.onmessage = (event) => take(JSON.parse(event.data));
	events.addEventListener('lost', (event) => state(event.data, true));
	events.onerror = () => {
		state('tracefuse web does not answer', true);
		/* A browser gives up after an answer that is no stream. */
		if (events.readyState === EventSource.CLOSED)
			setTimeout(follow, 5000);
	};
}

shown.histograms = drawHistograms;

function drawAgain() {
	for (const card of cards.values())
		card.drop();
	drawHistograms();
}

/* ---- functions ---- */

function drawFunctions(json) {
	at('functions-note').textContent = !json.there ?
		'The session has no functions: it is of a recording, or no program has joined.' :
		(json.on ? '' : 'The profile is off: echo 1 > function_profile_enabled switches it on. ') +
		(json.left_out ? json.left_out + ' functions are not shown.' : '');
	const all = json.functions.reduce((most, row) => Math.max(most, row[2]), 0);
	at('functions-rows').replaceChildren(...json.functions.map(([name, hits, us]) => {
		const tr = make('tr'), bar = make('progress');
		bar.max = all || 1;
		bar.value = us;
		tr.append(make('td', 'name', name), make('td', 'number', count(hits)),
			  make('td', 'number', duration(us)),
			  make('td', 'number', duration(hits ? us / hits : 0)), make('td'));
		tr.lastChild.append(bar);
		return tr;
	}));
}

let asking = false;

async function readFunctions() {
	if (asking || part() !== 'functions')
		return;
	asking = true;
	try {
		drawFunctions(await ask('/api/functions'));
	} catch (error) {
		at('functions-note').textContent = error.message;
	}
	asking = false;
}

shown.functions = readFunctions;

/* ---- the flame graph ---- */

let stacks = null, flame = null;

function listStacks() {
	const select = at('flame-hist');
	const hists = sample.hists.filter((hist) => hist.stack);
	const keys = hists.map(keyOf);
	if (keys.join() === [...select.options].map((o) => o.value).join())
		return;
	select.replaceChildren(...hists.map((hist) => {
		const option = make('option', '', hist.event + ' ' + hist.trigger);
		option.value = keyOf(hist);
		return option;
	}));
	if (part() === 'flame')
		readStacks();
}

/* The outermost function is at the root. */
function tree(which) {
	const root = { name: 'all', value: 0, children: new Map() };
	for (const stack of stacks.stacks) {
		const value = stack.values[which] ?? 0;
		let node = root;
		root.value += value;
		for (const frame of stack.frames.slice().reverse()) {
			const name = frame.replace(/\+0x[0-9a-f]+\/0x[0-9a-f]+/, '');
			if (!node.children.has(name))
				node.children.set(name, { name, value: 0, children: new Map() });
			node = node.children.get(name);
			node.value += value;
		}
	}
	const plain = (node) => ({ name: node.name, value: node.value,
				   children: [...node.children.values()].map(plain) });
	return plain(root);
}

function hue(name) {
	let sum = 0;
	for (const c of name)
		sum = (sum * 31 + c.charCodeAt(0)) % 360;
	return 20 + sum % 40;
}

function drawFlame() {
	at('flame-graph').replaceChildren();
	at('flame-details').textContent = '';
	if (!stacks || !stacks.stacks.length)
		return;
	const root = tree(at('flame-value').selectedIndex);
	flame = flamegraph().width(Math.max(300, at('flame-graph').clientWidth)).cellHeight(19)
		.minFrameSize(1).transitionDuration(0).sort(true).inverted(false)
		.setColorMapper((node) => `hsl(${hue(node.data.name)} 85% 66%)`)
		.label((node) => node.data.name + ': ' + count(node.data.value) + ', ' +
			(100 * node.data.value / (root.value || 1)).toFixed(1) + '%')
		.setDetailsElement(at('flame-details'));
	d3.select('#flame-graph').datum(root).call(flame);
}

async function readStacks() {
	const hist = sample?.hists.find((h) => keyOf(h) === at('flame-hist').value);
	if (!hist) {
		at('flame-note').textContent = 'No histogram has a stack as its key: ' +
			"echo 'hist:keys=common_stacktrace.depth=63' > events/heap/malloc/trigger makes one.";
		at('flame-graph').replaceChildren();
		return;
	}
	try {
		stacks = await ask('/api/stacks?nr=' + hist.nr + '&file=' +
				   encodeURIComponent(hist.file));
	} catch (error) {
		at('flame-note').textContent = error.message;
		return;
	}
	const before = at('flame-value').value;
	at('flame-value').replaceChildren(...stacks.values.map((name) => make('option', '', name)));
	if (stacks.values.includes(before))
		at('flame-value').value = before;
	at('flame-note').textContent = countOf(stacks.stacks.length, 'stack') +
		(stacks.left_out ? ', ' + count(stacks.left_out) + ' are not shown' : '') +
		(stacks.cut ? '. ' + countOf(stacks.cut, 'hit') + ' with more functions than the ' +
			'key keeps: common_stacktrace.depth=63 keeps more.' : '');
	drawFlame();
}

at('flame-hist').onchange = readStacks;
at('flame-again').onclick = readStacks;
at('flame-value').onchange = drawFlame;
at('flame-reset').onclick = () => flame?.resetZoom();
shown.flame = readStacks;

/* ---- the trace ---- */

const LINES = 200;
let from = 0, asked = 0;

/* Only the last question's answer is shown. */
async function readTrace() {
	const first = from, nr = ++asked;
	try {
		const page = await ask('/api/trace?from=' + first + '&lines=' + LINES + '&instance=' +
				       encodeURIComponent(at('trace-instance').value));
		if (nr !== asked)
			return;
		at('trace-lines').textContent = page.lines.join('\n');
		at('trace-note').textContent = page.lines.length ?
			'lines ' + count(first + 1) + ' to ' + count(first + page.lines.length) +
			(page.more ? '' : ', the end') : 'no lines';
		at('trace-before').disabled = at('trace-first').disabled = !first;
		at('trace-after').disabled = !page.more;
	} catch (error) {
		at('trace-note').textContent = error.message;
		at('trace-lines').textContent = '';
	}
}

function turn(to) {
	from = Math.max(0, to);
	readTrace();
}

at('trace-first').onclick = () => turn(0);
at('trace-before').onclick = () => turn(from - LINES);
at('trace-after').onclick = () => turn(from + LINES);
at('trace-again').onclick = readTrace;
at('trace-instance').onchange = () => turn(0);
shown.trace = readTrace;

/* ---- commands ---- */

async function runCommand() {
	at('command-run').disabled = true;
	at('command-state').textContent = 'running';
	try {
		const answer = await ask('/api/command', { method: 'POST',
							   body: at('command-text').value + '\n' });
		at('command-err').textContent = answer.err;
		at('command-out').textContent = answer.out;
		at('command-state').textContent = (answer.failed ? 'failed' : 'done') +
			(answer.cut ? '; the output is cut after 1 MiB' : '');
	} catch (error) {
		at('command-err').textContent = error.message;
		at('command-out').textContent = '';
		at('command-state').textContent = 'failed';
	}
	at('command-run').disabled = false;
}

at('command-run').onclick = runCommand;
at('command-text').onkeydown = (event) => {
	if (event.key === 'Enter' && event.ctrlKey)
		runCommand();
};

/* ---- the beginning ---- */

window.onhashchange = show;
let resized = 0;
window.onresize = () => {
	clearTimeout(resized);
	resized = setTimeout(() => {
		drawAgain();
		if (part() === 'flame')
			drawFlame();
	}, 200);
};
matchMedia('(prefers-color-scheme: dark)').onchange = drawAgain;
setInterval(readFunctions, 2000);
show();
follow();
