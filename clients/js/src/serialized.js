// Messages that a method of their type writes: a codec from the layout in their entry. PROTOCOL.md, section 8, Serialized messages.
import { ByteReader, ByteWriter, Malformed, textBytes } from './bits.js';
import { checkBool, checkList, checkNumber, checkText, checkTree, treeOf } from './check.js';

/** serialized returns a codec { read(bytes), write(value) } of a layout, as `Text:string200;Tags:[..8]u8`. Null if it depends on data in a way without a form. */
export function serialized(layout) {
  const p = new Parser(layout);
  const root = { parts: [] };
  try {
    root.parts = p.entries('', [root]);
  } catch (err) {
    if (err === open) return null;
    throw err;
  }
  return {
    read(bytes) {
      const r = new ByteReader(bytes);
      const out = {};
      readParts(r, root.parts, out, 0);
      if (r.left > 0) throw new Malformed('bytes behind a message', r.pos * 8);
      return out;
    },
    write(value, name) {
      const w = new ByteWriter();
      writeLayout(w, root, value, 0, name);
      return w.done();
    },
  };
}

const open = Symbol('a layout that depends on data');
const deepest = 64; // values within values

class Parser {
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  fail() {
    throw new Error(`netcode: a layout that is not understood at "${this.text.slice(this.at, this.at + 20)}": this client is older than the server's library`);
  }

  peek(s) {
    return this.text.startsWith(s, this.at);
  }

  eat(s) {
    if (!this.peek(s)) return false;
    this.at += s.length;
    return true;
  }

  match(re) {
    re.lastIndex = this.at;
    const m = re.exec(this.text);
    if (m) this.at = re.lastIndex;
    return m;
  }

  // entries reads values up to one of the characters `ends`. `around` has the enclosing values, the innermost last.
  entries(ends, around) {
    const out = [];
    if (this.ended(ends)) return out;
    do {
      if (this.eat('...')) throw open;
      const path = this.match(/[^:;{}|?]*:/y);
      if (!path) this.fail();
      out.push(this.value(path[0].slice(0, -1), around));
    } while (this.eat(';'));
    if (!this.ended(ends)) this.fail();
    return out;
  }

  ended(ends) {
    return this.at >= this.text.length ? true : ends.includes(this.text[this.at]);
  }

  // value reads a kind: { steps, read(r, depth, into), write(w, value, depth, from) }.
  value(path, around) {
    const kind = this.kind(around);
    return { steps: path === '_' ? ['_'] : partsOf(path), ...kind };
  }

  kind(around) {
    let m;
    if (this.peek('{')) return this.nested(around);
    if ((m = this.match(/\[(\d+)\]/y))) return this.array(Number(m[1]), Number(m[1]), around);
    if ((m = this.match(/\[\.\.(\d+)\]/y))) {
      if (this.eat('?')) return this.repeated(Number(m[1]), around);
      return this.array(-1, Number(m[1]), around);
    }
    if ((m = this.match(/\^(\d+)/y))) return again(around[around.length - Number(m[1])] ?? this.fail());
    if (this.eat('whole')) return this.nested(around, true);
    const scalar = this.scalar();
    if (!this.eat('?')) return scalar;
    return this.choice(scalar, around);
  }

  nested(around, whole = false) {
    if (!this.eat('{')) this.fail();
    const inner = { parts: [] };
    inner.parts = this.entries('}', whole ? around : [...around, inner]);
    if (!this.eat('}')) this.fail();
    return again(inner);
  }

  array(exact, most, around) {
    const one = this.kind(around);
    return {
      read(r, depth) {
        const n = exact >= 0 ? exact : r.varint(most);
        const out = [];
        for (let i = 0; i < n; i++) out.push(one.read(r, depth));
        return out;
      },
      write(w, value, depth, path) {
        const list = value ?? [];
        checkList(path, list, exact >= 0 ? exact : Infinity);
        const n = exact >= 0 ? exact : Math.min(list.length, most);
        if (exact < 0) w.varint(n);
        for (let i = 0; i < n; i++) one.write(w, list[i], depth, `${path}[${i}]`);
      },
    };
  }

  repeated(most, around) {
    if (!this.eat('{')) this.fail();
    const inner = { parts: this.entries('}', around) };
    if (!this.eat('}')) this.fail();
    const one = again(inner);
    return {
      read(r, depth) {
        const n = r.varint(most);
        return Array.from({ length: n }, () => one.read(r, depth));
      },
      write(w, value, depth, path) {
        checkList(path, value ?? []);
        const list = (value ?? []).slice(0, most);
        w.varint(list.length);
        list.forEach((v, i) => one.write(w, v, depth, `${path}[${i}]`));
      },
    };
  }

  // choice reads what follows a question mark: an optional value, or branches by the value.
  choice(scalar, around) {
    if (this.at >= this.text.length || ';}|'.includes(this.text[this.at])) throw open;
    if (!this.peek('{')) return optional(this.kind(around));
    this.eat('{');
    const branches = [];
    do {
      const when = scalar.isBool ? null : this.match(/(\*|[-\d.,]+):/y);
      if (!scalar.isBool && !when) this.fail();
      branches.push({ holds: scalar.isBool ? null : holds(when[1]), parts: this.entries('|}', around) });
    } while (this.eat('|'));
    if (!this.eat('}')) this.fail();
    if (scalar.isBool && branches.length === 1) return optional(again(branches[0]));
    return { ...scalar, branches, isBool: scalar.isBool };
  }

  scalar() {
    const m = this.match(/(bool|rune|string|[iuf]\d+)(packed|half|axis|any)?(\d+)?(?:\[([^\]]*)\])?/y);
    if (!m) this.fail();
    const [, base, how, most, bounds] = m;
    if (base === 'bool') return checked({ isBool: true, read: (r) => r.bool(), write: (w, v) => void w.u8(v ? 1 : 0) }, checkBool);
    if (base === 'string') return checked(stringOf(Number(most)), checkText);
    if (base === 'rune') return checked(runeOf(), checkText);
    if (base[0] === 'f') return checked(floatOf(base, how, bounds), (path, v) => checkNumber(path, v, { finite: how !== 'any' }));
    return checked(integerOf(base, how, bounds), (path, v) => checkNumber(path, v, { big: true, whole: how === 'packed' || base.endsWith('64') }));
  }
}

// checked checks what the game gives before it is written; undefined is zero.
const checked = (one, check) => ({
  ...one,
  write(w, v, depth, path) {
    if (v !== undefined) check(path, v);
    one.write(w, v);
  },
});

const partsOf = (path) => path.split('.').flatMap((p) => p.split(/(?=\[)/).map((s) => (/^\[\d+\]$/.test(s) ? Number(s.slice(1, -1)) : s))).filter((s) => s !== '' && s !== '[]');

function optional(one) {
  return {
    read: (r, depth) => (r.bool() ? one.read(r, depth) : null),
    write(w, v, depth, path) {
      w.u8(v === null || v === undefined ? 0 : 1);
      if (v !== null && v !== undefined) one.write(w, v, depth, path);
    },
  };
}

// again is a value of a layout that may still be read, such as that of the message itself.
function again(layout) {
  return {
    read(r, depth) {
      const out = {};
      readParts(r, layout.parts, out, depth + 1);
      return out;
    },
    write: (w, v, depth, path) => writeLayout(w, layout, v ?? {}, depth + 1, path),
  };
}

function holds(text) {
  if (text === '*') return () => true;
  const ranges = text.split(',').map((part) => {
    const m = /^(-?\d+)(?:\.\.(-?\d+))?$/.exec(part);
    return [BigInt(m[1]), BigInt(m[2] ?? m[1])];
  });
  return (v) => ranges.some(([low, high]) => BigInt(v) >= low && BigInt(v) <= high);
}

function stringOf(most) {
  return {
    read: (r) => r.string(most),
    write(w, v) {
      const bytes = textBytes(v ?? '');
      if (bytes.length > most) throw new Error(`netcode: a text of ${bytes.length} bytes; at most ${most} are sent`);
      w.blob(bytes);
    },
  };
}

const runeOf = () => ({
  read(r) {
    const v = r.i32();
    if (v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000)) throw new Malformed('a rune that is none');
    return String.fromCodePoint(v);
  },
  write: (w, v) => void w.i32((v ?? '\0').codePointAt(0)),
});

function integerOf(base, how, bounds) {
  const signed = base[0] === 'i';
  const width = Number(base.slice(1));
  const [low, high] = bounds ? bounds.split(',').map(BigInt) : signed ? [-(1n << BigInt(width - 1)), (1n << BigInt(width - 1)) - 1n] : [0n, (1n << BigInt(width)) - 1n];
  const out = width === 64 ? (v) => v : Number;
  const legal = (v) => {
    if (v < low || v > high) throw new Malformed(`a number outside of ${low} to ${high}`);
    return out(v);
  };
  if (how === 'packed') {
    return {
      read(r) {
        const v = r.varint64();
        return legal(signed ? (v >> 1n) ^ -(v & 1n) : v);
      },
      write(w, v) {
        const n = clamp(BigInt(v ?? 0), low, high);
        w.varint(signed ? BigInt.asUintN(64, (n << 1n) ^ (n >> 63n)) : n);
      },
    };
  }
  return {
    read(r) {
      let v = 0n;
      const bytes = r.slice(width / 8);
      for (let i = width / 8 - 1; i >= 0; i--) v = (v << 8n) | BigInt(bytes[i]);
      return legal(signed ? BigInt.asIntN(width, v) : v);
    },
    write(w, v) {
      let n = BigInt.asUintN(width, clamp(BigInt(typeof v === 'number' ? Math.trunc(v) : v ?? 0), low, high));
      for (let i = 0; i < width / 8; i++, n >>= 8n) w.u8(Number(n & 255n));
    },
  };
}

const clamp = (v, low, high) => (v < low ? low : v > high ? high : v);

function floatOf(base, how, bounds) {
  const wide = base === 'f64';
  const finite = (v) => {
    if (!Number.isFinite(v)) throw new Malformed('a float that is not finite');
    return v;
  };
  if (how === 'half') return halfOf(finite);
  if (how === 'axis') {
    return {
      read(r) {
        const v = (r.u8() << 24) >> 24;
        if (v === -128) throw new Malformed('an axis that is none');
        return Math.fround(v / 127);
      },
      write: (w, v) => void w.u8(Math.round(clamp(v || 0, -1, 1) * 127) & 255),
    };
  }
  if (how === 'packed') return packedFloat(Number(bounds));
  if (bounds) return steppedFloat(...bounds.split(',').map(Number));
  const check = how === 'any' ? (v) => v : finite;
  return {
    read: (r) => check(wide ? r.f64() : r.f32()),
    write: (w, v) => void (wide ? w.f64(v ?? 0) : w.f32(v ?? 0)),
  };
}

function packedFloat(step) {
  const whole = integerOf('i32', 'packed');
  return { read: (r) => Math.fround(whole.read(r) * step), write: (w, v) => whole.write(w, Math.round((v ?? 0) / step)) };
}

function steppedFloat(min, max, step) {
  [min, max] = [Math.fround(min), Math.fround(max)];
  const steps = Math.ceil((max - min) / step - 1e-6);
  const real = (max - min) / steps;
  const bytes = Math.ceil((32 - Math.clz32(steps)) / 8);
  return {
    read(r) {
      let n = 0;
      const b = r.slice(bytes);
      for (let i = bytes - 1; i >= 0; i--) n = n * 256 + b[i];
      if (n > steps) throw new Malformed('a number above its largest');
      return Math.fround(Math.min(min + n * real, max));
    },
    write(w, v) {
      let n = clamp(Math.round(((v ?? 0) - min) / real), 0, steps);
      for (let i = 0; i < bytes; i++, n = Math.floor(n / 256)) w.u8(n % 256);
    },
  };
}

function halfOf(finite) {
  const valueOf = (h) => {
    const e = (h >> 10) & 31;
    const m = h & 1023;
    const v = e === 31 ? (m ? NaN : Infinity) : e === 0 ? m * 2 ** -24 : (1024 + m) * 2 ** (e - 25);
    return h & 0x8000 ? -v : v;
  };
  return {
    read: (r) => finite(valueOf(r.u16())),
    write(w, v) {
      const size = Math.min(Math.abs(v ?? 0), 65504);
      let low = 0;
      let high = 0x7bff;
      while (low < high) {
        const mid = (low + high + 1) >> 1;
        if (valueOf(mid) <= size) low = mid;
        else high = mid - 1;
      }
      if (low < 0x7bff && valueOf(low + 1) - size < size - valueOf(low)) low++;
      w.u16(low | ((v ?? 0) < 0 || Object.is(v, -0) ? 0x8000 : 0));
    },
  };
}

const forbidden = new Set(['__proto__', 'constructor', 'prototype']);

function readParts(r, parts, out, depth) {
  if (depth > deepest) throw new Malformed('values within values without end', r.pos * 8);
  for (const part of parts) {
    const v = part.read(r, depth);
    put(out, part.steps, v);
    if (!part.branches) continue;
    readParts(r, branchOf(part, v).parts, out, depth);
  }
}

const allParts = (parts) => parts.flatMap((p) => [p, ...(p.branches ?? []).flatMap((b) => allParts(b.parts))]);

// writeLayout writes the parts of a layout. A field that it lacks is an error; those of other branches are not.
function writeLayout(w, layout, value, depth, path) {
  layout.names ??= treeOf(allParts(layout.parts));
  if (value !== undefined) checkTree(layout.names, path, value, () => {});
  writeParts(w, layout.parts, value, depth, path);
}

function writeParts(w, parts, value, depth, path) {
  if (depth > deepest) throw new Error('netcode: values within values without end');
  for (const part of parts) {
    const v = pick(value, part.steps);
    part.write(w, v, depth, [path, ...part.steps].join('.'));
    if (part.branches) writeParts(w, branchOf(part, v ?? (part.isBool ? false : 0)).parts, value, depth, path);
  }
}

function branchOf(part, v) {
  const b = part.isBool ? part.branches[v ? 0 : 1] : part.branches.find((x) => x.holds(v));
  if (!b) throw new Malformed('a value that has no branch');
  return b;
}

function pick(value, steps) {
  for (const s of steps) value = value?.[s];
  return value;
}

function put(out, steps, v) {
  for (let i = 0; i < steps.length - 1; i++) {
    if (forbidden.has(steps[i])) return;
    out[steps[i]] ??= typeof steps[i + 1] === 'number' ? [] : {};
    out = out[steps[i]];
  }
  if (steps.length > 0 && !forbidden.has(steps[steps.length - 1])) out[steps[steps.length - 1]] = v;
}
