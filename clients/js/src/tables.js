// Prefix codes and tables of PROTOCOL.md, section 10.
import { fnv32, fnv64, textBytes } from './bits.js';

const fast = 9; // bits that one look-up decodes

/** Code decodes one canonical prefix code. Its lengths are checked when it is made. */
export class Code {
  /** @param {Uint8Array|number[]} lengths one for each symbol */
  constructor(lengths) {
    this.size = lengths.length;
    this.lengths = lengths;
    this.table = null;
    let sum = 0;
    for (const n of lengths) sum += 2 ** (15 - n);
    if (lengths.length > 1 && (sum !== 2 ** 15 || lengths.some((n) => n < 1 || n > 15))) throw new Error('netcode: a code is over-full or under-full');
    if (lengths.length === 1 && lengths[0] !== 0) throw new Error('netcode: a code of one symbol has no bits');
  }

  // build makes the look-up table at the first use: a client meets few of the codes of a set.
  build() {
    const { lengths } = this;
    const order = [];
    for (let s = 0; s < lengths.length; s++) order.push(s);
    order.sort((a, b) => lengths[a] - lengths[b] || a - b);
    this.table = new Uint16Array(1 << fast);
    this.first = new Int32Array(17); // by length: the first code
    this.start = new Int32Array(17); // by length: its place in the order
    this.count = new Int32Array(17);
    this.order = Uint16Array.from(order);
    for (const n of lengths) this.count[n]++;
    let code = 0;
    let place = 0;
    for (let n = 1; n <= 15; n++) {
      code <<= 1;
      this.first[n] = code;
      this.start[n] = place;
      for (let i = 0; i < this.count[n] && n <= fast; i++) {
        const entry = (order[place + i] << 4) | n;
        let reversed = 0;
        for (let b = 0; b < n; b++) reversed |= ((code + i) >> (n - 1 - b) & 1) << b;
        for (let at = reversed; at < 1 << fast; at += 1 << n) this.table[at] = entry;
      }
      code += this.count[n];
      place += this.count[n];
    }
  }

  /** write encodes a symbol. @param {import('./bits.js').BitWriter} w */
  write(w, symbol) {
    if (this.size === 1) return;
    if (this.table === null) this.build();
    const n = this.lengths[symbol];
    let i = this.start[n];
    while (this.order[i] !== symbol) i++;
    const code = this.first[n] + i - this.start[n];
    for (let b = n - 1; b >= 0; b--) w.bits((code >> b) & 1, 1);
  }

  /** read decodes the next symbol. @param {import('./bits.js').BitReader} r */
  read(r) {
    if (this.size === 1) return 0;
    if (this.table === null) this.build();
    const entry = this.table[r.peek(fast)];
    if (entry !== 0) {
      const n = entry & 15;
      if (r.pos + n > r.end) r.fail('the stream ends early');
      r.pos += n;
      return entry >>> 4;
    }
    let code = 0;
    for (let n = 1; n <= 15; n++) {
      code = (code << 1) | r.bit();
      const i = code - this.first[n];
      if (i >= 0 && i < this.count[n]) return this.order[this.start[n] + i];
    }
    return r.fail('a code without a symbol');
  }
}

/** flatLengths returns the lengths of a code in which all symbols are about equally long. */
export function flatLengths(n) {
  if (n === 1) return [0];
  const k = 32 - Math.clz32(n - 1);
  const short = 2 ** k - n;
  const lengths = new Uint8Array(n).fill(k);
  return lengths.fill(k - 1, 0, short);
}

/** parseTables reads a set of tables from its text. */
export function parseTables(source) {
  const lines = source.replaceAll('\r\n', '\n').split('\n');
  if (lines[0] !== 'wire.tables 1') throw new Error('netcode: no tables of version 1');
  const tables = new Map();
  for (let i = 1; i < lines.length; i++) {
    const head = /^table (\S+) symbols=(\d+) contexts=(\d+)$/.exec(lines[i]);
    if (head) {
      const codes = [];
      for (let c = 0; c < Number(head[3]); c++) codes.push(lines[++i]);
      tables.set(head[1], { symbols: Number(head[2]), lines: codes, codes: new Array(codes.length) });
      continue;
    }
    const sum = /^sum ([0-9a-f]{16})$/.exec(lines[i]);
    if (!sum) throw new Error(`netcode: line ${i + 1} of the tables is neither a table nor the sum`);
    const before = textBytes(lines.slice(0, i).join('\n') + '\n');
    if (fnv64(before).toString(16).padStart(16, '0') !== sum[1]) throw new Error('netcode: the sum of the tables does not match');
    return { tables, sum: sum[1] };
  }
  throw new Error('netcode: the tables have no sum');
}

const digits = '0123456789abcdef';

// Table is a table as its user sees it: a code for each context, made at its first use. Tables share equal codes.
class Table {
  constructor(symbols, contexts, lines, made) {
    this.symbols = symbols;
    this.codes = new Array(contexts).fill(null);
    this.lines = lines;
    this.made = made;
  }

  read(r, context) {
    const code = this.codes[context];
    return (code === null ? this.make(context) : code).read(r);
  }

  write(w, context, symbol) {
    const code = this.codes[context];
    (code === null ? this.make(context) : code).write(w, symbol);
  }

  make(context) {
    const line = this.lines ? this.lines[context] : `flat ${this.symbols}`;
    let code = this.made.get(line);
    if (!code) {
      code = new Code(this.lines ? Uint8Array.from(line, (d) => digits.indexOf(d)) : flatLengths(this.symbols));
      this.made.set(line, code);
    }
    this.codes[context] = code;
    return code;
  }
}

/** tableName returns the NAME of a component in the names of its tables. */
export function tableName(wireName) {
  const name = wireName.replace(/[^a-zA-Z0-9._-]/g, '-');
  if (name === wireName && name.length <= 40 && !['class', 'rows', 'list'].includes(name)) return name;
  return `${name.slice(0, 40)}-${fnv32(textBytes(wireName)).toString(16).padStart(8, '0')}`;
}

/** TableSet finds tables in a chosen set, then in the shipped one. Without both all codes are flat. */
export class TableSet {
  constructor(shipped, chosen = null) {
    this.sets = [chosen, shipped].filter(Boolean);
    this.found = new Map();
    this.made = new Map();
  }

  /** find returns the table of the first name that a set has, with `symbols` and `contexts`. */
  find(names, symbols, contexts) {
    const key = names.join(' ');
    let table = this.found.get(key);
    if (table) return table;
    let lines = null;
    search: for (const set of this.sets) {
      for (const name of names) {
        const t = set.tables.get(name);
        if (!t) continue;
        if (t.symbols !== symbols || t.lines.length !== contexts) throw new Error(`netcode: table ${name} has another number of symbols or contexts`);
        lines = t.lines;
        break search;
      }
    }
    table = new Table(symbols, contexts, lines, this.made);
    this.found.set(key, table);
    return table;
  }
}
