// Kinds of fields: their numbers (lanes) and their values. PROTOCOL.md, sections 8, 11 and 16.
import { BitReader, BitWriter, Malformed, text, textBytes } from './bits.js';

export const Model = { implied: 0, raw: 1, largest: 2, rotation: 3, float: 4, linear: 5, turn: 6, number: 7, still: 8, spin: 9 };

const word = new DataView(new ArrayBuffer(8));

/** floatOf returns the f32 with these bits. */
export function floatOf(bits) {
  word.setUint32(0, bits);
  return word.getFloat32(0);
}

/** bitsOf returns the bits of an f32. */
export function bitsOf(v) {
  word.setFloat32(0, v);
  return word.getUint32(0);
}

function doubleOf(low, high) {
  word.setUint32(0, high);
  word.setUint32(4, low);
  return word.getFloat64(0);
}

const len = (n) => (n === 0 ? 0 : n < 2 ** 32 ? 32 - Math.clz32(n) : 32 + (32 - Math.clz32(Math.floor(n / 2 ** 32))));
const len64 = (n) => (n === 0n ? 0 : n.toString(2).length);

// lane describes a number: its width, the largest legal one, its model; quat: k of a rotation.
const lane = (bits, model, max = 2 ** bits - 1) => ({ bits, model: bits === 1 ? Model.implied : model, max });

function clamp(v, low, high) {
  return v < low ? low : v > high ? high : v;
}

// Each maker returns { lanes, get(l, at), put(v, l, at), memory, getMemory } for a kind. get reads a value from lanes l at place `at`; put writes one, rounded.
function integer(signed, width) {
  const offset = signed ? 2 ** (width - 1) : 0;
  return {
    lanes: [lane(width, Model.number)],
    get: (l, at) => l[at] - offset,
    put: (v, l, at) => void (l[at] = clamp(Math.trunc(Number(v)) || 0, -offset, 2 ** width - 1 - offset) + offset),
    memory: width / 8,
  };
}

function integer64(signed) {
  const offset = signed ? 1n << 63n : 0n;
  return {
    lanes: [lane(32, Model.raw), lane(32, Model.number)],
    get: (l, at) => BigInt(l[at]) + (BigInt(l[at + 1]) << 32n) - offset,
    put(v, l, at) {
      const n = BigInt.asUintN(64, BigInt(v) + offset);
      l[at] = Number(n & 0xffffffffn);
      l[at + 1] = Number(n >> 32n);
    },
    memory: 8,
  };
}

// bounded integers of any width: n = v - min.
function boundedInteger(width, minText, maxText) {
  const min = BigInt(minText);
  const size = BigInt(maxText) - min;
  const big = width === 64;
  const value = big ? (n) => n + min : (n) => Number(n + min);
  const number = (v) => {
    const n = BigInt(typeof v === 'number' ? Math.trunc(v) : v) - min;
    return n < 0n ? 0n : n > size ? size : n;
  };
  if (size < 1n << 32n) {
    const low = Number(min);
    return {
      lanes: [lane(len(Number(size)), Model.number, Number(size))],
      get: big ? (l, at) => BigInt(l[at]) + min : (l, at) => l[at] + low,
      put: (v, l, at) => void (l[at] = Number(number(v))),
      memory: width / 8,
    };
  }
  return {
    lanes: [lane(32, Model.raw), lane(len64(size) - 32, Model.number)],
    check: (l, at) => BigInt(l[at]) + (BigInt(l[at + 1]) << 32n) <= size,
    get: (l, at) => value(BigInt(l[at]) + (BigInt(l[at + 1]) << 32n)),
    put(v, l, at) {
      const n = number(v);
      l[at] = Number(n & 0xffffffffn);
      l[at + 1] = Number(n >> 32n);
    },
    memory: 8,
  };
}

const finite32 = (bits) => (bits & 0x7f800000) !== 0x7f800000;

const kinds = {
  bool: () => ({ lanes: [lane(1, Model.implied)], get: (l, at) => l[at] === 1, put: (v, l, at) => void (l[at] = v ? 1 : 0), memory: 1 }),
  f32: () => ({
    lanes: [lane(32, Model.float)],
    check: (l, at) => finite32(l[at]),
    get: (l, at) => floatOf(l[at]),
    put: (v, l, at) => void (Number.isFinite(Math.fround(v)) && (l[at] = bitsOf(v))),
    memory: 4,
  }),
  f64: () => ({
    lanes: [lane(32, Model.raw), lane(32, Model.number)],
    check: (l, at) => (l[at + 1] & 0x7ff00000) !== 0x7ff00000,
    get: (l, at) => doubleOf(l[at], l[at + 1]),
    put(v, l, at) {
      if (!Number.isFinite(v)) return;
      word.setFloat64(0, v);
      l[at + 1] = word.getUint32(0);
      l[at] = word.getUint32(4);
    },
    memory: 8,
  }),
};

function boundedFloat(single, minText, maxText, stepText) {
  const round = single ? Math.fround : (v) => v;
  const min = round(Number(minText));
  const max = round(Number(maxText));
  const steps = Math.ceil((max - min) / Number(stepText) - 1e-6);
  const step = (max - min) / steps;
  return {
    lanes: [lane(len(steps), Model.linear, steps)],
    get: (l, at) => round(Math.min(min + l[at] * step, max)),
    put: (v, l, at) => void (Number.isFinite(v) && (l[at] = clamp(Math.round((v - min) / step), 0, steps))),
    memory: single ? 4 : 8,
  };
}

function angle(single, k) {
  const round = single ? Math.fround : (v) => v;
  const unit = (2 * Math.PI) / 2 ** k;
  const half = 2 ** (k - 1);
  return {
    lanes: [lane(k, Model.turn)],
    get: (l, at) => round((l[at] >= half ? l[at] - 2 ** k : l[at]) * unit),
    put(v, l, at) {
      if (!Number.isFinite(v)) return;
      const n = Math.round((v % (2 * Math.PI)) / unit) % 2 ** k;
      l[at] = n < 0 ? n + 2 ** k : n;
    },
    memory: single ? 4 : 8,
  };
}

function halfOf(n) {
  const h = n >= 31744 ? n - 31744 : 31743 - n + 0x8000;
  const e = (h >> 10) & 31;
  const m = h & 1023;
  const v = e === 0 ? m * 2 ** -24 : (1024 + m) * 2 ** (e - 25);
  return h & 0x8000 ? -v : v;
}

const half = (single) => ({
  lanes: [lane(16, Model.number, 63487)],
  get: (l, at) => halfOf(l[at]),
  put(v, l, at) {
    if (!Number.isFinite(v)) return;
    let low = 0;
    let high = 63487; // halves are numbered in the order of their values
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (halfOf(mid) <= v) low = mid;
      else high = mid - 1;
    }
    l[at] = low < 63487 && halfOf(low + 1) - v < v - halfOf(low) ? low + 1 : low;
    if (v === 0) l[at] = Object.is(v, -0) ? 31743 : 31744;
  },
  memory: single ? 4 : 8,
});

const axis = (single) => ({
  lanes: [lane(8, Model.linear, 254)],
  get: (l, at) => (single ? Math.fround((l[at] - 127) / 127) : (l[at] - 127) / 127),
  put: (v, l, at) => void (Number.isFinite(v) && (l[at] = clamp(Math.round(v * 127), -127, 127) + 127)),
  memory: single ? 4 : 8,
});

const scratch = new Float64Array(4);

// steps has the step of the numbers of a rotation, by k.
const steps = Float64Array.from({ length: 17 }, (_, k) => Math.SQRT2 / (2 ** k - 1));

// quatDoubles writes the four components of a row into `scratch`, as doubles.
function quatDoubles(l, at, k) {
  const step = steps[k];
  const edge = Math.SQRT2 / 2;
  const left = l[at];
  let sum = 0;
  for (let i = 0, j = 1; i < 4; i++) {
    if (i === left) continue;
    const g = l[at + j++] * step - edge;
    scratch[i] = g;
    sum += g * g; // in this order: a first addition to 0 changes nothing
  }
  scratch[left] = Math.sqrt(Math.max(0, 1 - sum));
}

// quatLargest returns the component that a writer leaves out: the first within half a step of the largest magnitude.
function quatLargest(k) {
  let most = 0;
  for (let i = 0; i < 4; i++) most = Math.max(most, Math.abs(scratch[i]));
  most -= steps[k] / 2;
  for (let i = 0; i < 4; i++) if (Math.abs(scratch[i]) >= most) return i;
  return 0;
}

function quaternion(k) {
  const size = 2 ** k - 1;
  return {
    lanes: [lane(2, Model.largest, 3), lane(k, Model.rotation), lane(k, Model.rotation), lane(k, Model.rotation)],
    quat: k,
    check(l, at) {
      // Rounded to single first: the value is what a writer would round again.
      quatDoubles(l, at, k);
      for (let i = 0; i < 4; i++) scratch[i] = Math.fround(scratch[i]);
      return quatLargest(k) === l[at];
    },
    get(l, at) {
      quatDoubles(l, at, k);
      return [Math.fround(scratch[0]), Math.fround(scratch[1]), Math.fround(scratch[2]), Math.fround(scratch[3])];
    },
    put(v, l, at) {
      const length = Math.hypot(v[0], v[1], v[2], v[3]);
      if (!Number.isFinite(length) || length === 0) return;
      for (let i = 0; i < 4; i++) scratch[i] = v[i] / length;
      const left = quatLargest(k);
      const sign = scratch[left] < 0 ? -1 : 1;
      const step = Math.SQRT2 / size;
      l[at] = left;
      for (let i = 0, j = 1; i < 4; i++) {
        if (i !== left) l[at + j++] = clamp(Math.floor((scratch[i] * sign + Math.SQRT2 / 2) / step + 0.5), 0, size);
      }
      // A value on the edge may name another component: its number goes towards the middle until it does not.
      for (;;) {
        quatDoubles(l, at, k);
        for (let i = 0; i < 4; i++) scratch[i] = Math.fround(scratch[i]);
        const other = quatLargest(k);
        if (other === left) return;
        const j = at + 1 + (other > left ? other - 1 : other);
        l[j] += l[j] * 2 > size ? -1 : 1;
      }
    },
    memory: 16,
  };
}

const entity = () => ({
  lanes: [lane(32, Model.raw), lane(32, Model.raw)],
  entity: true,
  check: (l, at) => (l[at + 1] === 0 ? l[at] === 0 : true),
  get: (l, at) => (l[at + 1] === 0 ? null : { index: l[at], generation: l[at + 1] }),
  put(v, l, at) {
    l[at] = v ? v.index : 0;
    l[at + 1] = v ? v.generation : 0;
  },
  memory: 8,
});

function kindOf(kind) {
  if (kinds[kind]) return kinds[kind]();
  let m;
  if ((m = /^([iu])(8|16|32)$/.exec(kind))) return integer(m[1] === 'i', Number(m[2]));
  if ((m = /^u(8|16|32)short$/.exec(kind))) return { ...integer(false, Number(m[1])), short: true };
  if ((m = /^([iu])64$/.exec(kind))) return integer64(m[1] === 'i');
  if ((m = /^[iu](8|16|32|64)\[(-?\d+),(-?\d+)\]$/.exec(kind))) return boundedInteger(Number(m[1]), m[2], m[3]);
  if ((m = /^f(32|64)\[([^,\]]+),([^,\]]+),([^,\]]+)\]$/.exec(kind))) return boundedFloat(m[1] === '32', m[2], m[3], m[4]);
  if ((m = /^f(32|64)angle(\d+)$/.exec(kind))) return angle(m[1] === '32', Number(m[2]));
  if ((m = /^f(32|64)half$/.exec(kind))) return half(m[1] === '32');
  if ((m = /^f(32|64)axis$/.exec(kind))) return axis(m[1] === '32');
  if ((m = /^quat(\d+)$/.exec(kind))) return quaternion(Number(m[1]));
  if (kind === 'entity') return entity();
  throw new Error(`netcode: a field of kind ${kind}: this client is older than the server's library`);
}

const events = /~(event|count)$/;

/** parseField makes the plan of one field, `path:kind`. */
export function parseField(path, kind) {
  let m;
  if ((m = /^text(\d+)$/.exec(kind))) return { path, kind, tail: 'text', most: Number(m[1]), lanes: [] };
  if ((m = /^list(\d+)\((.*)\)$/.exec(kind))) return { path, kind, tail: 'list', most: Number(m[1]), element: parseFields(m[2].split(' ')), lanes: [] };
  const event = events.exec(kind);
  let bare = event ? kind.slice(0, event.index) : kind;
  const how = /~(none|previous|linear)$/.exec(bare);
  if (how) bare = bare.slice(0, how.index);
  const f = { path, kind, event: event ? event[1] : null, ...kindOf(bare) };
  for (const l of f.lanes) {
    if (!how || l.model === Model.implied || l.model === Model.raw) continue;
    if (how[1] === 'none') l.model = Model.raw;
    else if (how[1] === 'linear') l.model = Model.linear;
    else {
      l.still = true;
      if (l.model === Model.linear || l.model === Model.turn) l.model = Model.number;
    }
  }
  return f;
}

// partsOf returns the names and indexes of a path.
function partsOf(path) {
  const out = [];
  for (const part of path.split('.')) {
    const m = /^([^[]*)((?:\[\d+\])*)$/.exec(part);
    if (!m) throw new Error(`netcode: a path that is none: ${path}`);
    if (m[1]) out.push(m[1]);
    for (const i of m[2].matchAll(/\[(\d+)\]/g)) out.push(Number(i[1]));
  }
  return out;
}

/** parseFields makes the plan of a row from its fields, each `path:kind`. */
export function parseFields(list) {
  const fields = list.map((part) => {
    const colon = part.indexOf(':');
    if (colon < 0) throw new Error(`netcode: a field without a kind: ${part}`);
    return parseField(part.slice(0, colon), part.slice(colon + 1));
  });
  return new Plan(fields);
}

// A key that would reach an object's prototype is refused: descriptions can come from a server.
const forbidden = new Set(['__proto__', 'constructor', 'prototype']);

/** Plan is the layout of a row: its lanes, its fields, its tail. */
export class Plan {
  constructor(fields) {
    this.fields = fields.filter((f) => !f.tail);
    this.tail = fields.filter((f) => f.tail);
    this.scalar = fields.length === 1 && fields[0].path === 'value';
    this.lanes = [];
    this.hasEntities = false;
    this.varies = false; // in a whole row: it has entities or short numbers
    for (const f of this.fields) {
      f.at = this.lanes.length;
      this.lanes.push(...f.lanes);
      this.hasEntities ||= Boolean(f.entity);
      this.varies ||= Boolean(f.entity || f.short);
    }
    for (const f of fields) {
      f.steps = partsOf(f.path);
      for (const step of f.steps) if (forbidden.has(step)) throw new Error(`netcode: a field named ${step}`);
    }
    if (this.lanes.length > 2048) throw new Error('netcode: a row of more than 2048 numbers');
    this.size = this.lanes.length;
    const rotations = this.findRotations();
    this.bits = Uint8Array.from(this.lanes, (l) => l.bits);
    this.max = Float64Array.from(this.lanes, (l) => l.max);
    this.model = Uint8Array.from(this.lanes, (l) => l.model);
    this.still = Uint8Array.from(this.lanes, (l) => (l.still ? 1 : 0));
    this.start = new Uint16Array(this.size); // of each lane: the first lane of its field
    for (const f of this.fields) this.start.fill(f.at, f.at, f.at + f.lanes.length);
    for (const at of rotations) this.start.fill(at, at, at + 4); // of floats
    this.checked = this.fields.filter((f) => f.check);
  }

  // findRotations gives four f32 that follow one another and are a rotation by their paths the model spin. It returns their first lanes.
  findRotations() {
    const found = [];
    for (let i = 0; i + 4 <= this.fields.length; i++) {
      for (const names of [['[0]', '[1]', '[2]', '[3]'], ['X', 'Y', 'Z', 'W']]) {
        const { path } = this.fields[i];
        if (!path.endsWith(names[0])) continue;
        const inside = path.slice(0, -names[0].length);
        if (names[0] === 'X' && inside !== '' && !inside.endsWith('.')) continue;
        const four = this.fields.slice(i, i + 4);
        if (!four.every((f, k) => f.kind === 'f32' && f.path === inside + names[k]) || this.fields[i + 4]?.path === `${inside}[4]`) continue;
        for (const f of four) this.lanes[f.at] = { ...this.lanes[f.at], model: Model.spin };
        found.push(four[0].at);
      }
    }
    return found;
  }

  /** empty returns the tail of a row in which each text and list is empty, or null. */
  emptyTail() {
    return this.tail.length === 0 ? null : this.tail.map((f) => (f.tail === 'text' ? new Uint8Array(0) : []));
  }

  /** legal throws Malformed if a number of the row is illegal. */
  legal(l, at) {
    const { max, checked } = this;
    for (let i = 0; i < max.length; i++) if (l[at + i] > max[i]) throw new Malformed(`a number above its largest, in lane ${i}`);
    for (const f of checked) if (!f.check(l, at + f.at)) throw new Malformed(`an illegal value of ${f.path}`);
  }

  /** value makes the value of a row: an object of its fields, or the field itself for a scalar. */
  value(l, at, tail) {
    if (this.scalar) return this.tail.length ? tailValue(this.tail[0], tail[0]) : this.fields[0].get(l, at);
    const out = {};
    for (const f of this.fields) place(out, f.steps, f.get(l, at + f.at));
    for (let i = 0; i < this.tail.length; i++) place(out, this.tail[i].steps, tailValue(this.tail[i], tail[i]));
    return out;
  }

  /** write puts a value into lanes and returns its tail. Numbers out of their bounds are clamped; one that is not finite keeps what is there. */
  write(value, l, at) {
    for (const f of this.fields) {
      const v = this.scalar ? value : pick(value, f.steps);
      if (v !== undefined) f.put(v, l, at + f.at);
    }
    if (this.tail.length === 0) return null;
    return this.tail.map((f) => tailOf(f, this.scalar ? value : pick(value, f.steps)));
  }

  /** absolute reads a whole row: its numbers in their widths, entities short, then the tail. */
  absolute(r, l, at) {
    if (this.varies) {
      for (const f of this.fields) {
        if (f.entity) readEntity(r, l, at + f.at);
        else if (f.short) l[at + f.at] = shortNumber(r, f);
        else for (let i = 0; i < f.lanes.length; i++) l[at + f.at + i] = r.bits(f.lanes[i].bits);
      }
    } else {
      for (let i = 0; i < this.size; i++) l[at + i] = r.bits(this.bits[i]);
    }
    this.legal(l, at);
    return this.tail.length === 0 ? null : this.tail.map((f) => readTail(r, f));
  }

  /** writeAbsolute writes what absolute reads. */
  writeAbsolute(w, l, at, tail) {
    for (const f of this.fields) {
      if (f.entity) writeEntity(w, l, at + f.at);
      else if (f.short) w.var(l[at + f.at]);
      else for (let i = 0; i < f.lanes.length; i++) w.bits(l[at + f.at + i], f.lanes[i].bits);
    }
    for (let i = 0; i < this.tail.length; i++) writeTail(w, this.tail[i], tail[i]);
  }

  /** unpacked reads a row of a protocol with packing off: each field in the width it has in memory. */
  unpacked(r, l, at) {
    if (this.size === 0 && this.tail.length === 0) return null;
    while (r.pos & 7) if (r.bit()) r.fail('padding that is not zero');
    for (const f of this.fields) this.unpackedField(r, f, l, at + f.at);
    this.legal(l, at);
    return this.tail.length === 0 ? null : this.tail.map((f) => readTail(r, f, true));
  }

  unpackedField(r, f, l, at) {
    const words = [];
    for (let left = f.memory; left > 0; left -= 4) words.push(r.bits(Math.min(left, 4) * 8));
    if (f.entity) {
      [l[at], l[at + 1]] = words;
      return;
    }
    const integers = /^[iu](8|16|32|64)/.exec(f.kind);
    let v;
    if (f.kind === 'bool') v = words[0];
    else if (f.quat) v = words.map(floatOf);
    else if (integers) {
      const n = Number(integers[1]);
      const raw = n === 64 ? BigInt(words[0]) | (BigInt(words[1]) << 32n) : BigInt(words[0]);
      v = f.kind[0] === 'i' ? BigInt.asIntN(n, raw) : raw;
      if (n < 64) v = Number(v);
    } else v = f.memory === 8 ? doubleOf(words[0], words[1]) : floatOf(words[0]);
    f.put(v, l, at);
    const back = f.get(l, at);
    const same = Array.isArray(v) ? v.every((x, i) => Object.is(x, back[i])) : f.kind === 'bool' ? words[0] === Number(back) : Object.is(v, back) || (typeof v === 'bigint' && v === back);
    if (!same) r.fail(`a value of ${f.path} that no row has`);
  }

  /** writeUnpacked writes what unpacked reads. */
  writeUnpacked(w, l, at, tail) {
    if (this.size === 0 && this.tail.length === 0) return;
    w.bits(0, (8 - (w.pos & 7)) & 7);
    for (const f of this.fields) for (const [v, n] of memoryOf(f, l, at + f.at)) w.bits(v, n);
    for (let i = 0; i < this.tail.length; i++) writeTail(w, this.tail[i], tail[i], true);
  }

  /** series reads `count` rows of a series behind the row in l (zeros and `first` for none) and calls each(l, tail) for every one. */
  series(r, count, l, each) {
    let tail = null;
    for (let i = 0; i < count; i++) {
      if (i === 0) tail = this.absolute(r, l, 0);
      else if (r.bit()) tail = this.seriesRow(r, l, 0, tail);
      each(l, tail);
    }
  }

  /** seriesRow reads a row that differs from the one in l, behind its first bit, and returns its tail. */
  seriesRow(r, l, at, tail) {
    let differs = false;
    for (const f of this.fields) {
      const single = this.fields.length === 1 && this.tail.length === 0;
      if (!r.bit()) {
        if (single) r.fail('a row that differs in nothing');
        continue;
      }
      differs = true;
      this.seriesField(r, f, l, at + f.at);
    }
    if (this.tail.length > 0) {
      const [next, changed] = readTailChanges(r, this, tail);
      tail = next;
      differs ||= changed;
    }
    if (!differs) r.fail('a row that differs in nothing');
    this.legal(l, at);
    return tail;
  }

  seriesField(r, f, l, at) {
    let differs = false;
    for (let i = 0; i < f.lanes.length; i++) {
      if (f.lanes.length > 1 && !r.bit()) continue;
      differs = true;
      l[at + i] = seriesLane(r, f.lanes[i].bits, l[at + i]);
    }
    if (!differs) r.fail(`a field that differs in nothing: ${f.path}`);
  }
}

// memoryOf returns the words of a field as it lies in memory, each with its bits.
function memoryOf(f, l, at) {
  if (f.entity) return [[l[at], 32], [l[at + 1], 32]];
  const v = f.get(l, at);
  if (f.quat) return v.map((x) => [bitsOf(x), 32]);
  if (/^[iu]64/.test(f.kind)) {
    const n = BigInt.asUintN(64, v);
    return [[Number(n & 0xffffffffn), 32], [Number(n >> 32n), 32]];
  }
  if (f.memory === 8) {
    word.setFloat64(0, v);
    return [[word.getUint32(4), 32], [word.getUint32(0), 32]];
  }
  if (/^f32/.test(f.kind)) return [[bitsOf(v), 32]];
  const n = f.memory * 8;
  return [[n === 32 ? Number(v) >>> 0 : Number(v) & (2 ** n - 1), n]];
}

function seriesLane(r, b, old) {
  if (b === 1) return 1 - old;
  if (b <= 3) {
    const v = r.bits(b);
    if (v === old) r.fail('a number that does not differ');
    return v;
  }
  const span = 2 ** b;
  if (r.bit()) {
    const v = r.bits(b);
    if (v === old) r.fail('a number that does not differ');
    if (varBits(zigzag(around(v - old, span)) - 1) < b) r.fail('the longer of two forms');
    return v;
  }
  const start = r.pos;
  const z = r.var() + 1;
  if (r.pos - start >= b) r.fail('the longer of two forms');
  const d = z % 2 === 0 ? z / 2 : -(z + 1) / 2;
  const v = old + d;
  return v < 0 ? v + span : v >= span ? v - span : v;
}

const zigzag = (d) => (d >= 0 ? 2 * d : -2 * d - 1);

/** around takes v modulo span within -span/2 .. span/2 - 1. */
export function around(v, span) {
  v %= span;
  if (v < -span / 2) return v + span;
  return v >= span / 2 ? v - span : v;
}

function varBits(v) {
  let b = 0;
  while (v >= 4 * (2 ** (b + 1) - 1)) b++;
  return 2 * b + 3;
}

function shortNumber(r, f) {
  const v = r.var();
  if (v > f.lanes[0].max) r.fail(`a number of ${f.path} outside of its width`);
  return v;
}

/** readEntity reads an entity in its short form. */
export function readEntity(r, l, at) {
  if (!r.bit()) {
    l[at] = 0;
    l[at + 1] = 0;
    return;
  }
  const n = r.bits(5);
  const low = r.bits(Math.max(n, 1));
  l[at] = n === 0 ? low : 2 ** n + low;
  const generation = r.var() + 1;
  if (generation > 0xffffffff) r.fail('a generation of 2^32 or more');
  l[at + 1] = generation;
}

function writeEntity(w, l, at) {
  const [index, generation] = [l[at], l[at + 1]];
  if (generation === 0) return w.bits(0, 1);
  w.bits(1, 1);
  const n = index < 2 ? 0 : 31 - Math.clz32(index);
  w.bits(n, 5).bits(n === 0 ? index : index - 2 ** n, Math.max(n, 1));
  return w.var(generation - 1);
}

function readTail(r, f, unpacked = false) {
  const n = unpacked ? r.bits(16) : r.var();
  if (n > f.most) r.fail(`more than ${f.most} in ${f.path}`);
  if (f.tail === 'text') {
    const bytes = new Uint8Array(n);
    for (let i = 0; i < n; i++) bytes[i] = r.bits(8);
    text(bytes);
    return bytes;
  }
  const out = [];
  for (let i = 0; i < n; i++) out.push(readElement(r, f.element, unpacked));
  return out;
}

function readElement(r, plan, unpacked = false) {
  const l = new Uint32Array(plan.size);
  return { l, tail: unpacked ? plan.unpacked(r, l, 0) : plan.absolute(r, l, 0) };
}

function writeTail(w, f, v, unpacked = false) {
  if (unpacked) w.bits(v.length, 16);
  else w.var(v.length);
  for (const e of v) {
    if (f.tail === 'text') w.bits(e, 8);
    else if (unpacked) f.element.writeUnpacked(w, e.l, 0, e.tail);
    else f.element.writeAbsolute(w, e.l, 0, e.tail);
  }
}

/** readTailChanges reads the texts and lists of a row that differ and returns the new tail, and whether anything differs. */
export function readTailChanges(r, plan, old) {
  const next = old.slice();
  const alone = plan.size === 0 && plan.tail.length === 1;
  let changed = false;
  for (let i = 0; i < plan.tail.length; i++) {
    if (!alone && !r.bit()) continue;
    changed = true;
    const f = plan.tail[i];
    next[i] = f.tail === 'text' ? changedText(r, f, old[i]) : changedList(r, f, old[i]);
  }
  return [next, changed];
}

function changedText(r, f, old) {
  const keep = r.var();
  const more = r.var();
  if (keep > old.length || keep + more > f.most) r.fail(`a change beyond the bounds of ${f.path}`);
  if (more === 0 && keep === old.length) r.fail(`a text that does not differ: ${f.path}`);
  const bytes = new Uint8Array(keep + more);
  bytes.set(old.subarray(0, keep));
  for (let i = 0; i < more; i++) bytes[keep + i] = r.bits(8);
  if (more > 0 && keep < old.length && bytes[keep] === old[keep]) r.fail('a first new byte that equals the old one');
  text(bytes);
  return bytes;
}

function changedList(r, f, old) {
  const z = r.var();
  const length = old.length + (z % 2 === 0 ? z / 2 : -(z + 1) / 2);
  if (length < 0 || length > f.most) r.fail(`a change beyond the bounds of ${f.path}`);
  const both = Math.min(length, old.length);
  const out = old.slice(0, both);
  let differs = z !== 0;
  for (let i = 0; i < both; ) {
    const same = r.var();
    if (same > both - i) r.fail(`a change beyond the bounds of ${f.path}`);
    i += same;
    if (i === both) break;
    if (!r.bit()) r.fail('an element that does not differ');
    const l = old[i].l.slice();
    const tail = f.element.seriesRow(r, l, 0, old[i].tail);
    out[i++] = { l, tail };
    differs = true;
  }
  for (let i = old.length; i < length; i++) out.push(readElement(r, f.element));
  if (!differs) r.fail(`a list that does not differ: ${f.path}`);
  return out;
}

function tailValue(f, v) {
  return f.tail === 'text' ? text(v) : v.map((e) => f.element.value(e.l, 0, e.tail));
}

function tailOf(f, value) {
  if (f.tail === 'text') {
    let bytes = textBytes(value ?? '');
    if (bytes.length > f.most) {
      let end = f.most;
      while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--; // cut at a character
      bytes = bytes.slice(0, end);
    }
    return bytes;
  }
  return (value ?? []).slice(0, f.most).map((v) => {
    const l = new Uint32Array(f.element.size);
    const tail = f.element.write(v, l, 0);
    return { l, tail };
  });
}

function pick(value, path) {
  for (const step of path) {
    if (value === undefined || value === null) return undefined;
    value = value[step];
  }
  return value;
}

function place(out, path, v) {
  for (let i = 0; i < path.length - 1; i++) {
    out[path[i]] ??= typeof path[i + 1] === 'number' ? [] : {};
    out = out[path[i]];
  }
  out[path[path.length - 1]] = v;
}

/** bytesOfRow writes one row by itself: a message, an element. */
export function bytesOfRow(plan, value, packed = true) {
  const l = new Uint32Array(plan.size);
  const tail = plan.write(value, l, 0);
  const w = new BitWriter();
  if (packed) plan.writeAbsolute(w, l, 0, tail);
  else plan.writeUnpacked(w, l, 0, tail);
  return w.done();
}

/** rowOfBytes reads one row by itself, with nothing behind it but padding. */
export function rowOfBytes(plan, bytes, packed = true) {
  const r = new BitReader().load(bytes);
  const l = new Uint32Array(plan.size);
  const tail = packed ? plan.absolute(r, l, 0) : plan.unpacked(r, l, 0);
  r.padding(true);
  return plan.value(l, 0, tail);
}
