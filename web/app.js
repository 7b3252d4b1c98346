/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page of a node: reads /api/v1 every two seconds while it is looked at, and only what is in
 * view. Rates are differences of counters. Names come from a configuration that somebody else may
 * have written: all text goes through textContent, and nothing here makes markup of a string.
 */
'use strict';

const POLL_MS = 2000;
const TIMEOUT_MS = 10000;
const BACKOFF_MS = [1000, 2000, 4000, 8000, 15000, 30000];
const HISTORY = 150; /* samples: five minutes */
const PAGE = 25;
const GAP_TURNS = 15;
const EVENTS_KEPT = 500;
const MAPS_KEPT = 50;
const CHART_LINES = 8;

const $ = (id) => document.getElementById(id);

/* --- elements --- */

/* el('td.r', {title: 'x'}, 'text', child ...): classes after the name, attributes, then content. */
function el(spec, attributes, ...children) {
  const [name, ...classes] = spec.split('.');
  const node = document.createElement(name);
  if (classes.length) node.className = classes.join(' ');
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
    else if (value === true) node.setAttribute(key, '');
    else if (value !== false && value != null) node.setAttribute(key, value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

/* Writes only what differs: layout and screen readers are left alone otherwise. */
function put(node, text) {
  const string = text == null ? '' : String(text);
  if (node.textContent !== string) node.textContent = string;
}

function putClass(node, name) {
  if (node.className !== name) node.className = name;
}

/* The children are these, in this order; those that are there already stay, and keep the focus. */
function arrange(parent, children) {
  children.forEach((child, i) => {
    if (parent.childNodes[i] !== child) parent.insertBefore(child, parent.childNodes[i] || null);
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

/* --- words and numbers --- */

const whole = new Intl.NumberFormat('en');
const count = (n) => (n == null ? '\u2013' : whole.format(n));

/* [text, unit]: three digits that matter. */
function scaled(n, unit) {
  if (n == null || !Number.isFinite(n)) return ['\u2013', unit];
  if (n === 0) return ['0', unit];
  const prefixes = ['', 'k', 'M', 'G', 'T', 'P'];
  let at = 0;
  while (n >= 999.5 && at < prefixes.length - 1) {
    n /= 1000;
    at++;
  }
  const digits = n < 1 ? 1 : at ? 3 : 2, isWhole = n >= 100 || (at === 0 && n >= 10);
  return [isWhole ? n.toFixed(0) : n.toPrecision(digits), prefixes[at] + unit];
}

const short = (n, unit = '') => {
  const [text, suffix] = scaled(n, unit);
  return suffix ? `${text}\u202f${suffix}` : text;
};

function ago(seconds) {
  if (seconds == null) return '\u2013';
  const s = Math.max(0, Math.floor(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60 ? `${s % 60} s` : ''}`.trim();
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

/* A sum: to the last one while that can be read. */
const sum = (n) => (n < 100000 ? count(n) : short(n));

/* At the axis: no more digits than there are. */
const axis = (n, unit) => short(n, unit).replace(/\.0+(?=\D|$)/, '');

const plural = (n, one, many) => `${count(n)} ${n === 1 ? one : many || one + 's'}`;
const words = (name) => String(name).replace(/_/g, ' ');
const percent = (n) =>
  (n == null ? '\u2013' : `${n >= 99.95 || n === 0 ? n.toFixed(0) : n.toFixed(1)} %`);

/* A state is a shape, a colour and a word, so that no one of them has to be seen. */
const SHAPES = {
  good: '\u25cf',
  warn: '\u25b2',
  bad: '\u25a0',
  none: '\u25cb'
};
function state(kind, text) {
  return el('span', {},
    el(`span.mark-s.${kind === 'none' ? 'muted' : kind}`, {'aria-hidden': 'true'}, SHAPES[kind]),
    text);
}

function healthKind(backend) {
  if (backend.state !== 'active') return backend.state === 'maint' ? 'none' : 'warn';
  return {healthy: 'good', unhealthy: 'bad'}[backend.health] || 'none';
}

function poolKind(usable, all) {
  return usable === all ? 'good' : usable ? 'warn' : 'bad';
}

/* --- asking --- */

class Lost extends Error {}

async function get(path) {
  let response;
  try {
    response = await fetch(`api/v1/${path}`,
      {signal: AbortSignal.timeout(TIMEOUT_MS), credentials: 'same-origin', cache: 'no-store'});
  } catch (error) {
    throw new Lost(error.name === 'TimeoutError' ? 'no answer in time' : 'no connection');
  }
  if (response.status === 503) throw new Lost('the daemon is busy');
  if (response.status === 404) return null;
  if (!response.ok) throw new Lost(`status ${response.status}`);
  try {
    return await response.json();
  } catch (error) {
    throw new Lost('the answer broke off');
  }
}

const query = (path, values) => {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(values))
    if (value !== '' && value != null) params.set(key, value);
  return String(params) ? `${path}?${params}` : path;
};

/* --- rates and their history --- */

/* A counter's rate, from its two last readings; null where there is none yet or it began anew. */
class Meter {
  constructor() {
    this.history = new Float64Array(HISTORY).fill(NaN);
    this.rate = null;
    this.value = null;
    this.turn = -HISTORY;
  }

  read(value, ms, turn) {
    if (this.turn === turn) return;
    const turns = Math.min(turn - this.turn, HISTORY);
    this.rate = this.value != null && value >= this.value && ms > this.ms
      ? ((value - this.value) * 1000) / (ms - this.ms)
      : null;
    /* Out of view for a moment: it had this rate on the average. For long: nobody knows. */
    this.history.copyWithin(0, turns);
    this.history.fill(this.rate == null || turns > GAP_TURNS ? NaN : this.rate, HISTORY - turns);
    if (this.rate != null) this.history[HISTORY - 1] = this.rate;
    [this.value, this.ms, this.turn] = [value, ms, turn];
  }
}

class Meters {
  constructor() {
    this.all = new Map();
  }

  at(key) {
    let meter = this.all.get(key);
    if (!meter) this.all.set(key, (meter = new Meter()));
    return meter;
  }

  read(key, value) {
    const meter = this.at(key);
    meter.read(value, clock.ms, clock.turn);
    return meter;
  }

  /* Those not seen for as long as a history lasts. */
  prune() {
    for (const [key, meter] of this.all)
      if (clock.turn - meter.turn > HISTORY) this.all.delete(key);
  }
}

const clock = {
  ms: 0,
  turn: 0
};
const node = {
  status: null,
  verdicts: null,
  announce: null,
  version: null,
  events: [],
  eventsAsked: 0,
  eventsNext: null,
  eventsStarted: null,
  hasEvents: null
};
const meters = {
  node: new Meters(),
  services: new Meters(),
  backends: new Meters()
};

/* --- pictures --- */

const ink = {};
function readInk() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ['bg', 'fg', 'muted', 'line', 'accent', 'good', 'warn', 'bad', 'soft'])
    ink[name] = style.getPropertyValue(`--${name}`).trim();
  ink.dark = matchMedia('(prefers-color-scheme: dark)').matches;
}

/* The canvas at the screen's own resolution; null while it is not shown. */
function surface(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
  if (!width || !height) return null;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return {pen, width, height};
}

function highest(lines) {
  let max = 0;
  for (const line of lines)
    for (const value of line)
      if (value > max) max = value;
  return max;
}

/* 1, 2 or 5 of some power of ten, that is no less. */
function roundUp(n) {
  if (n <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(n));
  return [1, 2, 5, 10].find((step) => step * power >= n) * power;
}

function trace(pen, history, x, y) {
  let on = false;
  pen.beginPath();
  for (let i = 0; i < history.length; i++) {
    if (Number.isNaN(history[i])) {
      on = false;
      continue;
    }
    if (on) pen.lineTo(x(i), y(history[i]));
    else pen.moveTo(x(i), y(history[i]));
    /* A single sample is a dot. */
    if (!on && Number.isNaN(history[i + 1] ?? NaN)) pen.lineTo(x(i) + 1, y(history[i]));
    on = true;
  }
}

function spark(canvas, history) {
  const on = surface(canvas);
  if (!on) return;
  const {pen, width, height} = on, max = highest([history]) || 1;
  const x = (i) => (i / (HISTORY - 1)) * (width - 2) + 1,
        y = (value) => height - 2 - (value / max) * (height - 5);
  pen.strokeStyle = ink.line;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(0, height - 1.5);
  pen.lineTo(width, height - 1.5);
  pen.stroke();
  pen.strokeStyle = ink.accent;
  pen.lineWidth = 1.25;
  pen.lineJoin = 'round';
  trace(pen, history, x, y);
  pen.stroke();
}

/* Lines over five minutes. lines: [{name, color(), meter()}]. */
class Chart {
  constructor(lines, unit, what) {
    this.unit = unit;
    this.what = what;
    this.pointer = null;
    this.canvas = el('canvas.chart', {role: 'img'});
    this.canvas.addEventListener('pointermove', (event) => {
      this.pointer = event.offsetX;
      this.draw();
    });
    this.canvas.addEventListener('pointerleave', () => {
      this.pointer = null;
      this.draw();
    });
    watchSize(this.canvas, () => this.draw());
    this.key = el('span.key');
    this.set(lines);
  }

  /* Other lines from now on. */
  set(lines) {
    const names = lines.map((line) => line.name).join('\n');
    if (this.names === names) return;
    this.names = names;
    this.lines = lines;
    for (const line of lines) [line.mark, line.now] = [el('i'), el('span.num')];
    this.key.replaceChildren(
      ...lines.map((line) => el('span', {}, line.mark, line.name, ' ', line.now)));
  }

  draw() {
    const on = surface(this.canvas);
    if (!on) return;
    const {pen, width, height} = on, foot = height - 18, head = 6;
    const max = roundUp(highest(this.lines.map((line) => line.meter().history)));
    const x = (i) => (i / (HISTORY - 1)) * (width - 1),
          y = (value) => foot - (value / max) * (foot - head - 8);
    pen.font = '11px system-ui, sans-serif';
    this.grid(pen, {width, foot, max, y});
    for (const line of [...this.lines].reverse()) {
      const history = line.meter().history, color = line.color();
      line.mark.style.background = color;
      pen.lineWidth = 1.5;
      pen.lineJoin = 'round';
      pen.strokeStyle = color;
      trace(pen, history, x, y);
      pen.stroke();
    }
    this.readout(pen, {width, foot, x, y});
  }

  grid(pen, {width, foot, max, y}) {
    pen.lineWidth = 1;
    for (let i = 0; i <= 4; i++) {
      const at = Math.round(y((max * i) / 4)) + 0.5;
      pen.strokeStyle = ink.line;
      pen.beginPath();
      pen.moveTo(0, at);
      pen.lineTo(width, at);
      pen.stroke();
      pen.fillStyle = ink.muted;
      pen.textAlign = 'left';
      if (i && i % 2 === 0) pen.fillText(axis((max * i) / 4, this.unit), 0, at - 4);
    }
    const minutes = (HISTORY * POLL_MS) / 60000;
    for (let i = 0; i <= minutes; i++) {
      if (width < 420 && i % 2 && i < minutes) continue;
      pen.textAlign = i === 0 ? 'left' : i === minutes ? 'right' : 'center';
      pen.fillText(
        i === minutes ? 'now' : `\u2212${minutes - i} min`, (i / minutes) * width, foot + 14);
    }
  }

  /* Under the pointer, else what is now. */
  readout(pen, {width, foot, x, y}) {
    let at = HISTORY - 1;
    if (this.pointer != null) {
      at = Math.max(0, Math.min(HISTORY - 1, Math.round((this.pointer / width) * (HISTORY - 1))));
      pen.strokeStyle = ink.muted;
      pen.beginPath();
      pen.moveTo(Math.round(x(at)) + 0.5, 0);
      pen.lineTo(Math.round(x(at)) + 0.5, foot);
      pen.stroke();
    }
    for (const line of this.lines) {
      const value = line.meter().history[at];
      put(line.now, short(Number.isNaN(value) ? null : value, this.unit));
    }
    const said = this.lines.map((line) => `${line.name} ${line.now.textContent}`).join(', ');
    this.canvas.setAttribute('aria-label', `${this.what}, the last five minutes: ${said}`);
  }
}

const sizes = new ResizeObserver(
  (entries) => entries.forEach((entry) => entry.target.redraw && entry.target.redraw()));
function watchSize(canvas, redraw) {
  canvas.redraw = redraw;
  sizes.observe(canvas);
}

/* Colours of owners: a dozen that are told apart, then around the circle. */
const OWNERS = {
  light: [
    '#3b6fc4', '#d98032', '#4b9a5f', '#b5485d', '#8467b8', '#5aa5b5', '#b99a2e', '#7d5a45',
    '#cf7fb0', '#6b7f3a', '#345a7a', '#a0a6ad'
  ],
  dark: [
    '#6c9bea', '#dd9350', '#6db783', '#d0697d', '#a089d6', '#74bfce', '#cdb24f', '#a98268',
    '#dc97c3', '#94a95c', '#5d86aa', '#858c94'
  ],
};
function ownerColor(member) {
  if (member < 0) return ink.bg;
  const list = OWNERS[ink.dark ? 'dark' : 'light'];
  if (member < list.length) return list[member];
  return `hsl(${(member * 137.508) % 360} ${ink.dark ? 45 : 42}% ${
    (ink.dark ? 55 : 45) + (member % 3) * 7}%)`;
}

const NO_CHANGE = {
  before: null
};
const gained = (n) => (!n ? '' : n > 0 ? `+${count(n)}` : `\u2212${count(-n)}`);

/*
 * Each cell is a slot, in its owner's colour. After a change what stayed is pale; what moved is in
 * full, cut from corner to corner: above who had it, below who has it.
 */
class SlotMap {
  constructor(pool) {
    this.pool = pool;
    this.data = null;
    this.change = NO_CHANGE;
    this.canvas = el('canvas.map', {role: 'img'});
    this.title = el('h2', {}, 'Slots');
    this.note = el('span.muted.num');
    this.owners = el('tbody');
    this.moves = el('div.moves', {'aria-live': 'polite'});
    this.pale = el('input', {type: 'checkbox', checked: true, onchange: () => this.draw()});
    this.choice = el('label.muted', {hidden: true}, this.pale, 'show what moved');
    this.node = el('section', {}, el('div.head', {}, this.title, this.choice, this.note),
      el('div.slots', {}, el('div', {}, this.canvas),
        el('div', {},
          el('table.owners', {},
            el('thead.sr', {},
              el('tr', {},
                ...['Colour', 'Backend', 'Slots', 'Share', 'Gained'].map(
                  (title) => el('th', {scope: 'col'}, title)))),
            this.owners),
          this.moves)));
    watchSize(this.canvas, () => this.draw());
  }

  path() {
    return query(`slots/${encodeURIComponent(this.pool)}`, {have: this.data && this.data.version});
  }

  update(answer) {
    if (!answer) return;
    this.was = this.turn;
    this.turn = clock.turn;
    if (answer.owner) {
      this.change = this.compare(this.data, answer);
      this.data = answer;
      this.list();
      this.draw();
    } else if (this.data) {
      this.data.in_transition = answer.in_transition;
    }
    const {table_size, stand_ins, in_transition} = this.data;
    put(this.note, [
      plural(table_size, 'slot'), stand_ins ? `${count(stand_ins)} with a stand-in` : null,
      in_transition ? `${count(in_transition)} in transition` : 'none in transition'
    ].filter(Boolean).join(' \u00b7 '));
  }

  /*
   * What went from whom to whom since the picture before, by names, as members may have come and
   * gone; else from what the node still knows. What changed no owner is no change.
   */
  compare(before, now) {
    this.names = [...now.members];
    if (!before || before.table_size !== now.table_size || now.moved < before.moved) {
      return now.changed
        ? this.moved(now.before, now,
            `${plural(now.changed, 'slot')} not with who had them before the last change`)
        : NO_CHANGE;
    }
    const places = before.members.map((name) => {
      const at = this.names.indexOf(name);
      return at >= 0 ? at : this.names.push(name) - 1;
    });
    const owners = before.owner.map((owner) => (owner < 0 ? owner : places[owner]));
    const since =
      clock.turn - this.was <= GAP_TURNS ? 'in the last change' : 'since they were last looked at';
    const change =
      this.moved(owners, now, `${plural(now.moved - before.moved, 'slot')} moved ${since}`);
    if (!change.before && now.moved === before.moved)
      return String(before.members) === String(now.members) ? this.change : NO_CHANGE;
    change.gains = now.slots.map((n, i) => n - (before.slots[places.indexOf(i)] || 0));
    return change;
  }

  moved(from, now, text) {
    const pairs = new Map();
    let cells = 0;
    now.owner.forEach((owner, i) => {
      if (owner === from[i]) return;
      const pair = `${from[i]}>${owner}`;
      pairs.set(pair, (pairs.get(pair) || 0) + 1);
      cells++;
    });
    return {before: cells ? from : null, pairs, text};
  }

  draw() {
    const data = this.data,
          wide = this.canvas.parentElement ? this.canvas.parentElement.clientWidth : 0;
    if (!data || !wide) return;
    const cells = data.owner.length, columns = wide > 560 ? 64 : wide > 420 ? 48 : 32;
    const step = Math.max(4, Math.min(16, wide / columns)), rows = Math.ceil(cells / columns);
    const height = `${Math.ceil(rows * step)}px`;
    if (this.canvas.style.height !== height) this.canvas.style.height = height;
    const on = surface(this.canvas);
    if (!on) return;
    const before = this.pale.checked ? this.change.before : null;
    for (let i = 0; i < cells; i++) {
      const place = {
        x: (i % columns) * step,
        y: Math.floor(i / columns) * step,
        size: step - (step > 7 ? 1.5 : 1)
      };
      this.cell(on.pen, place, data.owner[i], before ? before[i] : data.owner[i], Boolean(before));
    }
    on.pen.globalAlpha = 1;
  }

  cell(pen, {x, y, size}, owner, before, isPale) {
    pen.globalAlpha = isPale && owner === before ? 0.22 : 1;
    pen.fillStyle = ownerColor(owner);
    pen.fillRect(x, y, size, size);
    if (owner < 0 || before < 0) {
      pen.strokeStyle = ink.muted;
      pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    }
    if (owner === before) return;
    pen.fillStyle = ownerColor(before);
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(x + size, y);
    pen.lineTo(x, y + size);
    pen.fill();
  }

  list() {
    const {members, slots, table_size, owner} = this.data;
    const order =
      members.map((name, i) => i).sort((a, b) => slots[b] - slots[a] || a - b).slice(0, 16);
    arrange(this.owners, order.map((i) => {
      const swatch = el('canvas', {'aria-hidden': 'true'});
      swatch.redraw = () => {
        const on = surface(swatch);
        if (on) this.cell(on.pen, {x: 0, y: 0, size: on.width}, i, i, false);
      };
      requestAnimationFrame(swatch.redraw);
      return el('tr', {}, el('td.sw', {}, swatch), el('td', {}, members[i]),
        el('td.r', {}, count(slots[i])),
        el('td.r.muted', {}, percent((100 * slots[i]) / table_size)),
        el('td.r.gain', {}, gained(this.change.gains && this.change.gains[i])));
    }));
    if (members.length > order.length)
      this.owners.append(el('tr', {}, el('td'),
        el('td.muted', {}, `and ${count(members.length - order.length)} more`)));
    this.tell(table_size / owner.length);
  }

  /* In words. Sums are of all slots; from whom to whom is of the cells, so nearly. */
  tell(each) {
    const change = this.change, name = (i) => (i < 0 ? 'nobody' : this.names[i]);
    this.choice.hidden = !change.before;
    if (!change.before) {
      arrange(this.moves, []);
    } else {
      const about = each > 1 ? '\u2248\u202f' : '',
            pairs = [...change.pairs].sort((a, b) => b[1] - a[1]);
      arrange(this.moves, [
        el('p', {}, change.text),
        el('ul', {}, ...pairs.slice(0, 8).map(([pair, n]) => {
          const [from, to] = pair.split('>').map(Number);
          return el('li.muted.num', {},
            `${name(from)} \u2192 ${name(to)}  ${
              pairs.length > 1 ? about + count(Math.round(n * each)) : ''}`
              .trim());
        }),
          pairs.length > 8 ? el('li.muted', {}, `and ${pairs.length - 8} more ways`) : null)
      ]);
    }
    this.canvas.setAttribute('aria-label',
      `${plural(this.data.table_size, 'slot')} of ${this.pool}` +
        (change.before ? `, ${this.moves.textContent}`
                       : ', each in the colour of the backend that has it'));
  }
}

/* --- lists --- */

/* cell(item, td) brings the td up to date; classes as of el(). */
const column = (title, classes, cell) => ({title, class: classes, cell});

/*
 * A table whose rows stay with their keys. columns: a list of column(). A cell is given its td, and
 * changes only what differs.
 */
class Table {
  constructor(columns, label, options = {}) {
    this.columns = columns;
    this.rows = new Map();
    this.body = el('tbody');
    this.empty = el('p.empty', {hidden: true}, options.empty || 'There is nothing here.');
    this.table = el(options.tight ? 'table.tight' : 'table', {'aria-label': label},
      el('thead', {},
        el('tr', {},
          ...columns.map((column) => el(column.class ? `th.${column.class}` : 'th', {scope: 'col'},
                           column.title)))),
      this.body);
    this.node = el('div', {}, this.table, this.empty);
  }

  update(items, key) {
    const seen = new Set(), rows = [];
    for (const item of items) {
      const name = String(key(item));
      if (seen.has(name)) continue;
      seen.add(name);
      let row = this.rows.get(name);
      if (!row) {
        row = el('tr', {},
          ...this.columns.map((column) => el(column.class ? `td.${column.class}` : 'td')));
        this.rows.set(name, row);
      }
      rows.push(row);
    }
    for (const name of this.rows.keys())
      if (!seen.has(name)) this.rows.delete(name);
    arrange(this.body, rows);
    rows.forEach(
      (row, i) => this.columns.forEach((column, c) => column.cell(items[i], row.cells[c])));
    this.table.hidden = rows.length === 0;
    this.empty.hidden = rows.length > 0;
  }
}

const text = (value) => (item, td) => put(td, value(item));
function link(href, value) {
  return (item, td) => {
    if (!td.firstChild) td.append(el('a', {href: href(item)}));
    const to = href(item);
    if (td.firstChild.getAttribute('href') !== to) td.firstChild.setAttribute('href', to);
    put(td.firstChild, value(item));
  };
}
/* The cell is made anew when what it says is another. */
function made(value) {
  return (item, td) => {
    const fresh = value(item);
    if (!td.firstChild || !td.firstChild.isEqualNode(fresh)) td.replaceChildren(fresh);
  };
}
function sparkCell(meter) {
  return (item, td) => {
    if (!td.firstChild) td.append(el('canvas.spark', {'aria-hidden': 'true'}));
    const canvas = td.firstChild;
    canvas.redraw = () => spark(canvas, meter(item).history);
    requestAnimationFrame(canvas.redraw);
  };
}

/* Which part of a list is shown, and how to get to the others. */
class Pager {
  constructor(what) {
    this.what = what;
    this.offset = 0;
    this.total = 0;
    this.label = el('span.muted.num', {role: 'status'});
    this.back = el('button',
      {type: 'button', 'aria-label': 'Previous page', onclick: () => this.go(-1)}, '\u2190');
    this.on = el(
      'button', {type: 'button', 'aria-label': 'Next page', onclick: () => this.go(1)}, '\u2192');
    this.node = el('div.right', {}, this.label, this.back, this.on);
  }

  go(by) {
    const offset = this.offset + by * PAGE;
    if (offset < 0 || offset >= Math.max(1, this.total)) return;
    this.offset = offset;
    poller.now();
  }

  update(total) {
    this.total = total;
    if (this.offset >= total && this.offset) {
      this.offset = Math.max(0, Math.floor((total - 1) / PAGE) * PAGE);
      poller.now();
    }
    const last = Math.min(total, this.offset + PAGE);
    put(this.label,
      total ? `${count(this.offset + 1)}\u2013${count(last)} of ${count(total)}`
            : `no ${this.what}`);
    this.back.disabled = this.offset === 0;
    this.on.disabled = last >= total;
    this.back.hidden = this.on.hidden = total <= PAGE;
  }
}

/* --- columns --- */

const serviceHref = (item) => `#/services/${encodeURIComponent(item.name)}`;
const poolHref = (item) => `#/pools/${encodeURIComponent(item.pool)}`;
const serviceMeter = (item) => meters.services.at(`${item.name} packets`);
const serviceBytes = (item) => meters.services.at(`${item.name} bytes`);
const backendKey = (item) => `${item.pool} ${item.name}`;
const backendMeter = (item) => meters.backends.at(backendKey(item));

const serviceColumns = () => [column('Service', 'name', link(serviceHref, (item) => item.name)),
  column('Address', 'mono.opt', text((item) => listens(item))),
  column('Pool', 'opt', link(poolHref, (item) => item.pool)),
  column('Backends', 'nowrap',
    made((item) => state(poolKind(item.usable, item.backends),
           `${count(item.usable)} of ${count(item.backends)}`))),
  column('Mode', 'opt', text((item) => item.forward)),
  column('Packets/s', 'r', text((item) => short(serviceMeter(item).rate))),
  column('Bit/s', 'r.opt',
    text((item) => short(serviceBytes(item).rate == null ? null : serviceBytes(item).rate * 8))),
  column('Five minutes', 'r', sparkCell(serviceMeter)),
];

function listens(item) {
  const vips = item.vips.slice(0, 3).join(', ') +
    (item.vips.length > 3 ? ` and ${item.vips.length - 3} more` : '');
  return `${vips}  ${item.listen.slice(0, 4).join(' ')}${item.listen.length > 4 ? ' \u2026' : ''}`;
}

function backendWords(item) {
  const left = item.drain_left_s;
  if (item.drain && item.drain.ended) return 'drained';
  if (item.state === 'drain') return left != null ? `drains, ${ago(left)} left` : 'drains';
  if (item.state === 'maint') return 'in maintenance';
  return item.check || item.health !== 'unknown' ? item.health : 'not checked';
}

const why = (item) =>
  (item.next_hop ? (item.check && item.health === 'unhealthy' && item.check.last_error) ||
        (item.drain && item.drain.words) || ''
                 : item.next_hop_why || 'no next hop');

const backendColumns = (withPool) => [column('Backend', 'name', text((item) => item.name)),
  withPool ? column('Pool', '', link(poolHref, (item) => item.pool)) : null,
  column('Address', 'mono.opt',
    text((item) => (item.port ? `${item.address} :${item.port}` : item.address))),
  column('State', 'state-of',
    made((item) => el('span', {}, state(healthKind(item), backendWords(item)),
           why(item) ? el('span.sub', {}, why(item)) : null))),
  column('For', 'r.opt', text((item) => (item.check ? ago(item.check.since_s) : ''))),
  column('Check', 'r.opt',
    text(
      (item) => (item.check ? `${item.check.type} ${item.check.latency_ms.toFixed(1)} ms` : ''))),
  column('Share', 'r.opt', text((item) => percent(item.share))),
  column('Entries', 'r.opt', text((item) => count(item.flows))),
  column('Packets/s', 'r', text((item) => short(backendMeter(item).rate))),
  column('Five minutes', 'r.opt', sparkCell(backendMeter)),
].filter(Boolean);

function readBackends(items, pool) {
  for (const item of items) {
    if (pool) item.pool = pool;
    meters.backends.read(backendKey(item), item.packets);
  }
}

/* --- services by what they carry --- */

/*
 * Counters of all services that match are asked for, two numbers each; what else there is to say of
 * them only for those in view. They go by their place in the configuration, and so only together
 * with its generation.
 */
class Busiest {
  constructor(size) {
    this.size = size;
    this.order = 'busy';
    this.items = [];
    this.rates = new Map();
  }

  async ask(q, offset) {
    const counts = await get(query('counts', {q}));
    if (!counts) return null;
    const places = counts.at || counts.packets.map((n, i) => i);
    if (this.generation !== counts.generation) this.rates.clear();
    this.generation = counts.generation;
    const now = performance.now();
    const rates = places.map((at, i) => {
      const before = this.rates.get(at), value = counts.packets[i];
      if (before && value >= before.value && now - before.ms < POLL_MS / 2)
        return {at, rate: before.rate, value};
      const rate = before && value >= before.value && now > before.ms
        ? (value - before.value) / (now - before.ms)
        : 0;
      this.rates.set(at, {value, ms: now, rate});
      return {at, rate, value};
    });
    if (this.order === 'busy')
      rates.sort((a, b) => b.rate - a.rate || b.value - a.value || a.at - b.at);
    const chosen = rates.slice(offset, offset + this.size);
    const answer = chosen.length ? await get(`services?at=${chosen.map((one) => one.at).join(',')}`)
                                 : {items: [], generation: counts.generation};
    if (!answer || answer.generation !== counts.generation) return null;
    return {total: counts.total, items: answer.items.filter(Boolean)};
  }
}

function readServices(items) {
  for (const item of items) {
    meters.services.read(`${item.name} packets`, item.packets);
    meters.services.read(`${item.name} bytes`, item.bytes);
  }
}

/* --- views --- */

/* Each makes its nodes once; ask() gets what is in view, show() brings the nodes up to date. */

const totals = () => ({
  forwarded: meters.node.at('forwarded'),
  bytes: meters.node.at('bytes'),
  dropped: meters.node.at('dropped'),
  fresh: meters.node.at('new'),
});

function figure(label, href) {
  const value = el('span.num'), unit = el('span.unit'),
        name = el('div.label', {}, href ? el('a', {href}, label) : label), more = el('b');
  name.append(more);
  return {
    node: el('div.figure', {}, el('div.value', {}, value, unit), name),
    set(n, suffix, words_, kind) {
      put(value, n);
      put(unit, suffix.trim());
      put(more, words_ ? ` \u00b7 ${words_}` : '');
      putClass(value, kind ? `num ${kind}` : 'num');
    }
  };
}

class Overview {
  constructor() {
    this.title = 'Overview';
    this.figures = {
      packets: figure('forwarded'),
      bits: figure('of frames that came in'),
      drops: figure('dropped', '#/drops'),
      flows: figure('remembered flows'),
      backends: figure('backends take flows', '#/backends'),
      routers: figure('routers', '#/routing'),
    };
    const t = totals();
    this.chart = new Chart(
      [
        {name: 'forwarded', color: () => ink.accent, meter: () => t.forwarded},
        {name: 'dropped', color: () => ink.bad, meter: () => t.dropped}
      ],
      '/s', 'Packets a second');
    this.busy = new Busiest(8);
    this.services =
      new Table(serviceColumns().filter((column) => !['Address', 'Mode'].includes(column.title)),
        'Busiest services', {tight: true, empty: 'There is no service.'});
    this.out = new Table(
      backendColumns(true).filter((column) => ['Backend', 'Pool', 'State'].includes(column.title)),
      'Backends that take no flows', {tight: true, empty: 'Every backend takes flows.'});
    this.outMore = el('a.muted', {href: '#/backends', hidden: true}, 'all');
    this.drops = new Table(
      [
        column('Reason', '', link((item) => '#/drops', (item) => words(item.name))),
        column(
          'Packets/s', 'r', text((item) => short(meters.node.at(`verdict ${item.name}`).rate))),
        column('All', 'r', text((item) => sum(item.packets))),
      ],
      'Reasons of drops', {tight: true, empty: 'No packet was dropped.'});
    this.events = eventTable(true);
    this.node = el('div', {},
      el('div.figures', {}, ...Object.values(this.figures).map((one) => one.node)),
      el('div.cols', {},
        el('section.w8', {}, el('div.head', {}, el('h2', {}, 'Packets a second'), this.chart.key),
          this.chart.canvas),
        el('section.w4', {}, el('div.head', {}, el('h2', {}, 'Drops by reason')), this.drops.node),
        el('section.w8', {},
          el('div.head', {}, el('h2', {}, 'Busiest services'),
            el('a.muted', {href: '#/services'}, 'all')),
          this.services.node),
        el('section.w4', {}, el('div.head', {}, el('h2', {}, 'Out of service'), this.outMore),
          this.out.node),
        (this.eventSection = el('section', {},
           el('div.head', {}, el('h2', {}, 'Recent events'),
             el('a.muted', {href: '#/events'}, 'all')),
           this.events.node))));
  }

  async ask() {
    const [services, out, announce] = await Promise.all(
      [this.busy.ask('', 0), get('backends?usable=no&limit=8'), get('announce'), readEvents(20)]);
    return {services, out, announce};
  }

  show({services, out, announce}) {
    const bgp = announce && announce.bgp;
    node.announce = announce;
    const t = totals(), {counts, flows} = node.status, figures = this.figures;
    figures.packets.set(...scaled(t.forwarded.rate, ' packets/s'));
    figures.bits.set(...scaled(t.bytes.rate == null ? null : t.bytes.rate * 8, 'bit/s'));
    figures.drops.set(...scaled(t.dropped.rate, ' packets/s'), '', t.dropped.rate ? 'bad' : '');
    figures.flows.set(
      ...scaled(t.fresh.rate, ' new/s'), flows.skipped ? `${sum(flows.skipped)} skipped` : '');
    const all = counts.backends, usable = counts.backends_usable;
    figures.backends.set(count(usable), ` of ${count(all)}`, '',
      usable === all ? ''
        : usable     ? 'warn'
                     : 'bad');
    const peers = bgp ? bgp.peers : [],
          up = peers.filter((peer) => peer.state === 'Established').length;
    figures.routers.set(bgp ? count(up) : '\u2013', bgp ? ` of ${count(peers.length)}` : '',
      bgp ? 'up' : 'no BGP', bgp && up < peers.length ? 'bad' : '');
    this.chart.draw();
    if (services) {
      readServices(services.items);
      this.services.update(services.items, (item) => item.name);
    }
    this.out.update(out.items, backendKey);
    this.outMore.hidden = out.total <= out.items.length;
    put(this.outMore, `all ${count(out.total)}`);
    this.drops.update(dropped().filter((row) => row.packets).slice(0, 7), (row) => row.name);
    this.eventSection.hidden = !node.hasEvents;
    this.events.update(node.events.slice(0, 8), (event) => event.seq);
  }
}

/* Lists with search, pages, and a choice of what is in them. */
class Listing {
  constructor({title, what, table, key, ask, read, choice}) {
    Object.assign(this, {title, table, key, askFor: ask, readItems: read, searches: true});
    this.pager = new Pager(what);
    this.choice = choice &&
      el('select', {
        'aria-label': choice.label,
        onchange: () => {
          this.pager.offset = 0;
          poller.now();
        }
      },
        ...choice.options.map(([value, label]) => el('option', {value}, label)));
    this.node = el('section', {},
      el('div.tools', {}, el('div.left', {}, el('h2', {}, title), this.choice), this.pager.node),
      table.node);
  }

  ask() {
    return this.askFor(
      {q: search(), offset: this.pager.offset, choice: this.choice && this.choice.value});
  }

  show(answer) {
    if (!answer) return;
    if (this.readItems) this.readItems(answer.items);
    this.pager.update(answer.total);
    put(this.table.empty, search() ? 'Nothing matches.' : 'There is nothing here.');
    this.table.update(answer.items, this.key);
  }

  page(by) {
    this.pager.go(by);
  }
}

function servicesView() {
  const busy = new Busiest(PAGE);
  return new Listing({
    title: 'Services',
    what: 'services',
    table: new Table(serviceColumns(), 'Services'),
    key: (item) => item.name,
    read: readServices,
    choice: {label: 'Order', options: [['busy', 'busiest first'], ['file', 'as in the file']]},
    ask({q, offset, choice}) {
      busy.order = choice;
      return busy.ask(q, offset);
    },
  });
}

function poolsView() {
  const columns = [
    column('Pool', 'name',
      link((item) => `#/pools/${encodeURIComponent(item.name)}`, (item) => item.name)),
    column('Usable backends', 'nowrap',
      made((item) => state(item.usable ? 'good' : 'bad', count(item.usable)))),
    column('Slots', 'r', text((item) => count(item.table_size))),
    column('In transition', 'r', text((item) => count(item.in_transition))),
  ];
  return new Listing({
    title: 'Pools',
    what: 'pools',
    table: new Table(columns, 'Pools'),
    key: (item) => item.name,
    ask: ({q, offset}) => get(query('pools', {q, offset, limit: PAGE}))
  });
}

function backendsView() {
  return new Listing({
    title: 'Backends',
    what: 'backends',
    table: new Table(backendColumns(true), 'Backends'),
    key: backendKey,
    read: (items) => readBackends(items),
    choice: {label: 'Which backends', options: [['', 'all'], ['no', 'that take no flows']]},
    ask: ({q, offset, choice}) => get(query('backends', {q, offset, limit: PAGE, usable: choice})),
  });
}

/* The slots of a pool, and its backends. What was seen of a pool is kept, the latest ones last. */
const maps = new Map();
class PoolPart {
  constructor(name) {
    this.name = name;
    this.map = maps.get(name) || new SlotMap(name);
    maps.delete(name);
    maps.set(name, this.map);
    if (maps.size > MAPS_KEPT) maps.delete(maps.keys().next().value);
    this.pager = new Pager('backends');
    this.table = new Table(backendColumns(false), `Backends of ${name}`);
    this.chart = new Chart([], '/s', `Packets a second by backend of ${name}`);
    this.chartNode = el('section', {},
      el('div.head', {}, el('h2', {}, 'Packets a second by backend'), this.chart.key),
      this.chart.canvas);
    this.node = el('div.cols', {}, this.map.node,
      el('section', {}, el('div.tools', {}, el('h2', {}, 'Backends'), this.pager.node),
        this.table.node));
  }

  /* The busiest of those in view, in the colours that their slots have. */
  drawChart(items, offset) {
    const lines = items.map((item, i) => ({
      name: item.name,
      at: offset + i,
      meter: () => backendMeter(item),
      rate: backendMeter(item).rate || 0
    }));
    const chosen = lines.sort((a, b) => b.rate - a.rate || a.at - b.at)
                     .slice(0, CHART_LINES)
                     .sort((a, b) => a.at - b.at);
    this.chart.set(chosen.map((line) => ({...line, color: () => ownerColor(line.at)})));
    this.chart.draw();
  }

  ask() {
    return Promise.all([
      get(this.map.path()),
      get(query(`pools/${encodeURIComponent(this.name)}`, {offset: this.pager.offset, limit: PAGE}))
    ]);
  }

  show([slots, pool]) {
    this.map.update(slots);
    if (!pool) return;
    readBackends(pool.backends.items, this.name);
    this.drawChart(pool.backends.items, pool.backends.offset);
    this.pager.update(pool.backends.total);
    this.table.update(pool.backends.items, backendKey);
  }
}

function facts(list) {
  return el('dl.facts', {},
    ...list.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

const crumb = (href, name) => el('p.crumb', {}, el('a', {href}, name));

class PoolView {
  constructor(name) {
    this.title = name;
    this.up = '#/pools';
    this.part = new PoolPart(name);
    this.lines = el('div');
    this.part.map.node.after(this.part.chartNode);
    this.node =
      el('div', {}, crumb('#/pools', 'Pools'), el('h2.big', {}, name), this.lines, this.part.node);
  }

  ask() {
    return this.part.ask();
  }

  show(answer) {
    const [slots, pool] = answer;
    if (isGone(this, 'pool', pool)) return;
    replaceFacts(this.lines, [
      ['Slots', count(pool.table_size)], ['Backends', count(pool.backends.total)],
      ['Usable', count(pool.usable)],
      ['Slots moved since the start', slots ? count(slots.moved) : '\u2013'],
      ['Of these collateral', slots ? count(slots.collateral) : '\u2013']
    ]);
    this.part.show(answer);
  }

  page(by) {
    this.part.pager.go(by);
  }
}

function replaceFacts(parent, list) {
  const node_ = facts(list);
  if (parent.textContent !== node_.textContent) parent.replaceChildren(node_);
}

/* Says so below the title, in place of all else, for as long as there is no such thing. */
function isGone(view, what, found) {
  view.missing =
    view.missing || el('p.empty', {}, `The configuration that runs has no such ${what}.`);
  [...view.node.children].slice(2).forEach((child) => (child.hidden = !found));
  view.node.append(view.missing);
  view.missing.hidden = Boolean(found);
  return !found;
}

class ServiceView {
  constructor(name) {
    this.title = name;
    this.up = '#/services';
    const item = {name};
    this.chart =
      new Chart([{name: 'packets', color: () => ink.accent, meter: () => serviceMeter(item)}], '/s',
        `Packets a second of ${name}`);
    this.lines = el('div');
    this.below = el('div');
    this.beside = el('div.w6');
    this.node = el('div', {}, crumb('#/services', 'Services'), el('h2.big', {}, name), this.lines,
      el('div.cols', {},
        el('section.w6', {}, el('div.head', {}, el('h2', {}, 'Packets a second'), this.chart.key),
          this.chart.canvas),
        this.beside, this.below));
  }

  async ask() {
    const service = await get(`services/${encodeURIComponent(this.title)}`);
    if (service && (!this.part || this.part.name !== service.pool)) {
      this.part = new PoolPart(service.pool);
      this.below.replaceChildren(this.part.node);
      this.beside.replaceChildren(this.part.chartNode);
    }
    return {service, part: service && (await this.part.ask())};
  }

  show({service, part}) {
    if (isGone(this, 'service', service)) return;
    readServices([service]);
    replaceFacts(this.lines, [
      ['Addresses', service.vips.join(', ')], ['Listens', service.listen.join(' ')],
      ['Pool', el('a', {href: poolHref(service)}, service.pool)], ['Mode', service.forward],
      ['Policy', service.policy], ['Tracking', service.tracking],
      service.rate_limit ? ['Limit', `${count(service.rate_limit)} packets/s`] : null,
      service.allow || service.deny
        ? ['Access list', `${service.allow} allowed, ${service.deny} denied`]
        : null
    ].filter(Boolean));
    this.chart.draw();
    this.part.show(part);
  }

  page(by) {
    if (this.part) this.part.pager.go(by);
  }
}

function bgpState(peer) {
  const isUp = peer.state === 'Established';
  return el('span', {}, state(isUp ? 'good' : 'bad', peer.state),
    !isUp && peer.last_error ? el('span.sub', {}, peer.last_error) : null);
}

function bfdState({bfd}) {
  if (!bfd) return el('span.muted', {}, 'none');
  const isUp = bfd.state === 'up';
  return el('span', {}, state(isUp ? 'good' : 'bad', bfd.state),
    el('span.sub.opt', {}, isUp ? `finds a loss in ${bfd.detect_ms.toFixed(0)} ms` : bfd.why));
}

const families = (peer) => [peer.ipv4 && 'IPv4', peer.ipv6 && 'IPv6'].filter(Boolean).join(' ');
const prefixes = (peer) =>
  count(peer.prefixes) + (peer.pending ? ` (${count(peer.pending)} due)` : '');

class Routing {
  constructor() {
    this.title = 'Routing';
    this.searches = true;
    this.lines = el('div');
    this.peers = new Table(
      [
        column('Router', 'name.mono', text((peer) => peer.address)),
        column('AS', 'r.opt', text((peer) => peer.asn)),
        column('BGP', '', made(bgpState)),
        column('For', 'r.opt', text((peer) => ago(peer.since_s))),
        column('Prefixes', 'r.opt', text(prefixes)),
        column('Families', 'opt', text(families)),
        column('Hold', 'r.opt', text((peer) => ago(peer.hold_s || null))),
        column('Went down', 'r.opt', text((peer) => count(peer.downs))),
        column('BFD', '', made(bfdState)),
      ],
      'Routers', {empty: 'This node speaks BGP with nobody.'});
    this.pager = new Pager('addresses');
    this.vips = new Table(
      [
        column('Address', 'name.mono', text((vip) => vip.vip)),
        column('Announced', '',
          made((vip) => state(vip.announced ? 'good' : 'warn', vip.announced ? 'yes' : 'no'))),
        column('Why', 'muted', text((vip) => vip.error || vip.why)),
        column('For', 'r.opt', text((vip) => ago(vip.since_s))),
        column('Services', 'opt',
          text((vip) => vip.services.slice(0, 6).join(', ') +
              (vip.services.length > 6 ? ` and ${vip.services.length - 6} more` : ''))),
      ],
      'Addresses that are announced');
    this.node = el('div', {}, this.lines,
      el('div.cols', {},
        el('section', {}, el('div.head', {}, el('h2', {}, 'Routers')), this.peers.node),
        el('section', {}, el('div.tools', {}, el('h2', {}, 'Addresses'), this.pager.node),
          this.vips.node)));
  }

  async ask() {
    const [announce, vips] = await Promise.all(
      [get('announce'), get(query('vips', {q: search(), offset: this.pager.offset, limit: PAGE}))]);
    return {announce, vips};
  }

  show({announce, vips}) {
    node.announce = announce;
    const bgp = announce && announce.bgp, drain = announce && announce.drain;
    replaceFacts(this.lines,
      !announce ? [['Announces', 'nothing: the file has neither bgp nor kernel routes']] : [
        [
          'By',
          bgp ? `BGP, AS ${bgp.asn}, id ${bgp.router_id}` : `routes in table ${announce.table}`
        ],
        [
          'Node',
          drain ? `drain: ${drain.phase}, ${short(drain.packets_per_s)} packets/s left`
            : announce.all_withdrawn_since_s != null ? 'all is withdrawn by hand'
                                                     : 'announces'
        ],
        bgp && bgp.listen_error ? ['Listening', bgp.listen_error] : null
      ].filter(Boolean));
    this.peers.update(bgp ? bgp.peers : [], (peer) => peer.address);
    this.pager.update(vips.total);
    this.vips.update(vips.items, (vip) => vip.vip);
  }

  page(by) {
    this.pager.go(by);
  }
}

/* --- what became of packets --- */

const isDrop = (verdict) => (verdict.action === 'drop' || verdict.action === 'aborted') &&
  verdict.verdict !== 'too_big_split';

function verdictRows() {
  const {verdicts} = node.status;
  return (node.verdicts || [])
    .map((about) =>
           ({name: about.verdict, about, ...(verdicts[about.verdict] || {packets: 0, bytes: 0})}));
}

const rateOf = (row) => meters.node.at(`verdict ${row.name}`).rate || 0;
const dropped = () => verdictRows()
                        .filter((row) => isDrop(row.about))
                        .sort((a, b) => rateOf(b) - rateOf(a) || b.packets - a.packets);

class Drops {
  constructor() {
    this.title = 'Drops';
    const t = totals();
    this.chart = new Chart([{name: 'dropped', color: () => ink.bad, meter: () => t.dropped}], '/s',
      'Packets dropped a second');
    this.drops = this.table('Reasons of drops');
    this.others = this.table('What else became of packets');
    this.node = el('div.cols', {},
      el('section', {},
        el('div.head', {}, el('h2', {}, 'Dropped packets a second'), this.chart.key),
        this.chart.canvas),
      el('section', {}, el('div.head', {}, el('h2', {}, 'Drops by reason')), this.drops.node),
      el('section', {}, el('div.head', {}, el('h2', {}, 'All other packets')), this.others.node));
  }

  table(label) {
    return new Table(
      [
        {
          title: 'What became of it',
          cell(row, td) {
            if (td.firstChild) return;
            const {
              about} = row,
             lines = (name, list) => (list.length
                 ? [el('h3', {}, name), el('ul', {}, ...list.map((line) => el('li', {}, line)))]
                 : []);
            td.append(el('details', {},
              el('summary', {}, el('b', {}, words(row.name)),
                el('span.muted', {}, ` \u2013 ${about.help}`)),
              el('p', {}, about.meaning), ...lines('Likely causes', about.causes),
              ...lines('What to do', about.to_do)));
          }
        },
        column('Action', 'opt', text((row) => row.about.action)),
        column('Packets/s', 'r', text((row) => short(meters.node.at(`verdict ${row.name}`).rate))),
        column('Packets', 'r', text((row) => count(row.packets))),
        column('Five minutes', 'r.opt', sparkCell((row) => meters.node.at(`verdict ${row.name}`))),
      ],
      label);
  }

  async ask() {
    return null;
  }

  show() {
    this.chart.draw();
    this.drops.update(dropped(), (row) => row.name);
    this.others.update(
      verdictRows().filter((row) => !isDrop(row.about)).sort((a, b) => b.packets - a.packets),
      (row) => row.name);
  }
}

/* --- events --- */

/* All that came since the last time; a daemon that began anew has other numbers. */
async function readEvents(limit) {
  /* A daemon without them is not asked each time. */
  if (node.hasEvents === false && clock.turn < node.eventsAsked + 30) return;
  node.eventsAsked = clock.turn;
  let answer = await get(
    query('events', node.eventsNext == null ? {limit} : {since: node.eventsNext, limit: 100}));
  node.hasEvents = Boolean(answer && answer.events);
  if (!node.hasEvents) return;
  if (node.eventsStarted != null && node.eventsStarted !== answer.started_ms) {
    node.eventsNext = null;
    answer = await get(query('events', {limit}));
    if (!answer) return;
    for (const event of node.events) event.old = true;
  }
  node.eventsStarted = answer.started_ms;
  node.eventsNext = answer.next;
  const fresh =
    answer.events.map((event) => ({...event, seq: `${answer.started_ms} ${event.seq}`})).reverse();
  node.events = [...fresh, ...node.events].slice(0, EVENTS_KEPT);
}

const clockTime =
  new Intl.DateTimeFormat('en-GB', {hour: '2-digit', minute: '2-digit', second: '2-digit'});
const dayTime = new Intl.DateTimeFormat(
  'en-GB', {day: '2-digit', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit'});
function when(event) {
  const date = new Date(event.time);
  if (Number.isNaN(date.getTime())) return String(event.time || '');
  return (date.toDateString() === new Date().toDateString() ? clockTime : dayTime).format(date);
}

/* But for what is empty, or says whom it is about once more. */
function eventFields(event) {
  const subject = String(event.subject || '').split('/');
  return Object.entries(event.fields || {})
    .filter(([, value]) => value !== '' && !subject.includes(String(value)))
    .map(([key, value]) => `${key}=${value}`)
    .join('  ');
}

/* By its level; a change of state is for better or worse at any level, and says so in its text. */
function eventKind(event) {
  if (event.level === 'error') return 'bad';
  if (event.level === 'warn' || /\b(unhealthy|down|lost|refused|withdrawn)\b/.test(event.text))
    return 'warn';
  return /\b(healthy|up)\b/.test(event.text) ? 'good' : 'none';
}

function eventTable(tight) {
  return new Table(
    [
      column('Time', 'num.muted.nowrap', text(when)),
      column('What', '', made((event) => state(eventKind(event), event.text))),
      column('Of', 'name', text((event) => event.subject || event.kind)),
      column('More', 'mono.muted.opt',
        text((event) => (event.suppressed
                 ? `${eventFields(event)}  (${count(event.suppressed)} alike before)`
                 : eventFields(event)))),
    ],
    'Events', {tight, empty: 'Nothing has happened since the daemon began.'});
}

class Events {
  constructor() {
    this.title = 'Events';
    this.searches = true;
    this.table = eventTable(false);
    this.note = el('span.muted.num', {role: 'status'});
    this.node =
      el('section', {}, el('div.tools', {}, el('h2', {}, 'Events'), this.note), this.table.node);
  }

  async ask() {
    await readEvents(100);
  }

  show() {
    const q = search().toLowerCase();
    const shown = node.events.filter((event) => !q ||
        `${event.text} ${event.subject} ${event.kind} ${eventFields(event)}`.toLowerCase().includes(
          q));
    put(this.note, node.hasEvents ? plural(shown.length, 'event') : '');
    put(this.table.empty,
      node.hasEvents ? (q ? 'Nothing matches.' : 'Nothing has happened since the daemon began.')
                     : 'This node keeps no events.');
    this.table.update(shown.slice(0, 200), (event) => event.seq);
  }
}

/* --- the node --- */

function readStatus(status) {
  /* Another daemon may know other verdicts. */
  if (node.status && node.status.pid !== status.pid) node.verdicts = null;
  const {verdicts} = status, sum = {forwarded: 0, bytes: 0, dropped: 0};
  for (const [name, value] of Object.entries(verdicts))
    meters.node.read(`verdict ${name}`, value.packets);
  for (const name of ['forwarded', 'redirected']) {
    sum.forwarded += verdicts[name] ? verdicts[name].packets : 0;
    sum.bytes += verdicts[name] ? verdicts[name].bytes : 0;
  }
  for (const about of node.verdicts || [])
    if (isDrop(about) && verdicts[about.verdict]) sum.dropped += verdicts[about.verdict].packets;
  meters.node.read('forwarded', sum.forwarded);
  meters.node.read('bytes', sum.bytes);
  if (node.verdicts) meters.node.read('dropped', sum.dropped);
  meters.node.read('new', status.flows.new);
  node.status = status;
}

function notices(status) {
  const list = [], refusal = status.configuration && status.configuration.refusal;
  if (refusal) {
    const first = refusal.errors[0], more = refusal.errors.length - 1 + refusal.more;
    list.push(
      `The file as it is now was refused ${ago(refusal.ago_s)} ago, and an earlier one runs.` +
      (first ? `\n${first.file || status.file}:${first.line}:${first.column}: ${first.text}` : '') +
      (more > 0 ? `\nand ${plural(more, 'error')} more` : ''));
  }
  const {announce} = node;
  const drain = announce && announce.drain;
  if (drain)
    list.push(drain.phase === 'ended'
        ? 'This node is drained: no traffic comes to it.'
        : `This node drains (${drain.phase}): ${short(drain.packets_per_s)} packets/s still come.`);
  if (announce && announce.all_withdrawn_since_s != null)
    list.push('All addresses are withdrawn by hand.');
  node.version = node.version || status.version;
  if (node.version !== status.version)
    list.push(`This node is now version ${status.version}: load the page again.`);
  for (const one of status.interfaces) {
    if (one.xdp === 'none')
      list.push(`Interface ${one.name}: no program is attached, so it balances nothing.`);
    else if (one.fallback)
      list.push(`Interface ${one.name}: generic XDP, which is slow: ${one.why}`);
  }
  return list;
}

function showHead() {
  const {status} = node, {configuration} = status;
  put($('node'), status.node);
  const word = status.ready ? state('good', 'ready') : state('warn', 'not ready');
  if ($('state').textContent !== word.textContent) $('state').replaceChildren(word);
  put($('facts'), [
    configuration && `configuration ${count(configuration.generation)}`,
    `up ${ago(status.uptime_s)}`, status.version
  ].filter(Boolean).join(' \u00b7 '));
  const list = notices(status), rate = totals().forwarded.rate;
  if (!poller.failures) {
    $('notice').hidden = list.length === 0;
    put($('notice'), list.join('\n'));
    putClass($('notice'), '');
  }
  document.title = `${status.node}${rate == null ? '' : ` \u2013 ${short(rate)} packets/s`}`;
}

/* --- asking again and again --- */

const poller = {
  failures: 0,
  timer: 0,
  busy: false,
  again: false,

  now() {
    clearTimeout(this.timer);
    if (this.busy) this.again = true;
    else this.run();
  },

  async run() {
    if (document.hidden) return;
    this.busy = true;
    this.again = false;
    const view = current;
    try {
      if (!node.verdicts) node.verdicts = ((await get('verdicts')) || {verdicts: []}).verdicts;
      const asked = performance.now(), status = await get('status');
      clock.ms = asked;
      clock.turn = Math.round(asked / POLL_MS);
      readStatus(status);
      const answer = await view.ask();
      if (view === current) {
        view.show(answer);
        if ($('main').firstChild !== view.node) $('main').replaceChildren(view.node);
        $('main').dataset.shown = location.hash;
      }
      this.found();
      showHead();
    } catch (error) {
      if (!(error instanceof Lost)) console.error(error);
      this.lose(error instanceof Lost ? error.message : 'an answer was not understood');
    }
    this.busy = false;
    if (this.again) this.run();
    else this.timer = setTimeout(() => this.run(), this.failures ? this.wait() : POLL_MS);
  },

  wait() {
    return BACKOFF_MS[Math.min(this.failures, BACKOFF_MS.length) - 1];
  },

  found() {
    this.failures = 0;
    clearInterval(this.count);
    document.body.classList.remove('lost');
    putClass($('link'), 'link good');
    put($('link'), 'live');
  },

  lose(why_) {
    this.failures++;
    const until = performance.now() + this.wait();
    clearInterval(this.count);
    document.body.classList.add('lost');
    putClass($('link'), 'link bad');
    put($('link'), 'lost');
    $('state').replaceChildren(node.status ? state('none', 'not known') : '');
    $('notice').hidden = false;
    putClass($('notice'), 'bad');
    /* Read out once, and not each second. */
    const left = el('span', {'aria-hidden': 'true'});
    $('notice').replaceChildren(
      `The node does not answer (${why_}). What is shown is of before; `, left);
    const say = () =>
      put(left, `asking again in ${Math.max(0, Math.ceil((until - performance.now()) / 1000))} s.`);
    say();
    this.count = setInterval(say, 1000);
  },
};

/* --- where one is --- */

const VIEWS = [
  ['', 'Overview', () => new Overview()],
  ['services', 'Services', servicesView, (name) => new ServiceView(name)],
  ['pools', 'Pools', poolsView, (name) => new PoolView(name)],
  ['backends', 'Backends', backendsView],
  ['routing', 'Routing', () => new Routing()],
  ['drops', 'Drops', () => new Drops()],
  ['events', 'Events', () => new Events()],
];
const kept = new Map();
let current = null;

const search = () => $('q').value.trim();

function route() {
  const [path, name] = location.hash.replace(/^#\/?/, '').split('/');
  const at = Math.max(0, VIEWS.findIndex((view) => view[0] === path)),
        [key, , list, one] = VIEWS[at];
  let view = null;
  try {
    if (name && one) view = one(decodeURIComponent(name));
  } catch (error) {
    view = null; /* an escape that is none */
  }
  if (!view && !kept.has(key)) kept.set(key, list());
  const before = current;
  current = view || kept.get(key);
  [...$('nav').querySelectorAll('a')].forEach(
    (link_, i) => (i === at ? link_.setAttribute('aria-current', 'page')
                            : link_.removeAttribute('aria-current')));
  const here = $('nav').querySelector('[aria-current]');
  here.parentElement.parentElement.parentElement.scrollLeft = here.offsetLeft - 40;
  $('q').disabled = !current.searches;
  $('q').parentElement.hidden = !current.searches;
  if (before && before !== current) {
    $('q').value = current.q || '';
    scrollTo(0, 0);
    if (current.node && node.status) $('main').replaceChildren(current.node);
    poller.now();
  }
}

/* --- keys --- */

function moveFocus(by) {
  const links =
    [...$('main').querySelectorAll('tbody a, summary')].filter((one) => one.offsetParent);
  if (!links.length) return false;
  const row = document.activeElement.closest && document.activeElement.closest('tr');
  const rows = [...new Set(links.map((one) => one.closest('tr')))], at = rows.indexOf(row);
  const next =
    at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.max(0, Math.min(rows.length - 1, at + by));
  rows[next].querySelector('a, summary').focus();
  return true;
}

function onKey(event) {
  const target = event.target,
        types = /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName) && target.type !== 'checkbox';
  if (event.ctrlKey || event.metaKey || event.altKey || $('keys').open) return;
  if (event.key === 'Escape') {
    if (types) target.blur();
    else if (current.up) location.hash = current.up;
    return;
  }
  if (types) {
    if (target === $('q') && event.key === 'ArrowDown' && moveFocus(1)) event.preventDefault();
    return;
  }
  if (event.key === '/' && current.searches) $('q').focus();
  else if (event.key === '?') $('keys').showModal();
  else if (event.key >= '1' && event.key <= String(VIEWS.length))
    location.hash = `#/${VIEWS[Number(event.key) - 1][0]}`;
  else if (event.key === 'ArrowDown' && moveFocus(1)) /* focus has moved */
    ;
  else if (event.key === 'ArrowUp' && moveFocus(-1)) /* the same */
    ;
  else if (event.key === 'ArrowLeft' && current.page) current.page(-1);
  else if (event.key === 'ArrowRight' && current.page) current.page(1);
  else return;
  event.preventDefault();
}

function redrawAll() {
  readInk();
  for (const canvas of document.querySelectorAll('canvas'))
    if (canvas.redraw) canvas.redraw();
  poller.now();
}

function begin() {
  readInk();
  $('nav').append(...VIEWS.map(([key, title]) => el('li', {}, el('a', {href: `#/${key}`}, title))));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redrawAll);
  addEventListener('hashchange', route);
  addEventListener('keydown', onKey);
  document.addEventListener('visibilitychange', () => !document.hidden && poller.now());
  $('skip').addEventListener('click', (event) => {
    event.preventDefault();
    $('main').focus();
  });
  $('help').addEventListener('click', () => $('keys').showModal());
  let typing = 0;
  $('q').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      current.q = $('q').value;
      if (current.pager) current.pager.offset = 0;
      poller.now();
    }, 150);
  });
  setInterval(() => Object.values(meters).forEach((one) => one.prune()), 60000);
  route();
  poller.run();
}

begin();
