// Reads the golden vectors of primitives, codes, rows and deltas that all implementations share.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { BitReader, BitWriter, ByteReader, ByteWriter, Malformed, crc32 } from '../src/bits.js';
import { RowReader, token } from '../src/delta.js';
import { bytesOfRow, parseFields, rowOfBytes } from '../src/fields.js';
import { readHeader, readMessages, seedOf } from '../src/packets.js';
import { Code, flatLengths, parseTables } from '../src/tables.js';

const root = new URL('../../../', import.meta.url);
const lines = (file) => readFileSync(new URL(file, root), 'utf8').split('\n').filter((l) => l !== '' && l[0] !== '#');
const unhex = (s) => (s === '-' ? new Uint8Array(0) : Uint8Array.from(s.match(/../g), (x) => parseInt(x, 16)));
const hex = (b) => (b.length === 0 ? '-' : Buffer.from(b).toString('hex'));

const golden = lines('quantize/testdata/golden.txt').map((l) => l.split(' '));
const of = (kind) => golden.filter((p) => p[0] === kind);

test('varints', () => {
  for (const [, v, bytes] of of('varint')) {
    assert.equal(hex(new ByteWriter().varint(BigInt(v)).done()), bytes);
    assert.equal(new ByteReader(unhex(bytes)).varint64(), BigInt(v));
  }
});

test('Golomb numbers below 2^48', () => {
  for (const [, v, bits, bytes] of of('var')) {
    if (BigInt(v) >= 1n << 48n) {
      assert.throws(() => new BitReader().load(unhex(bytes)).var(), Malformed);
      continue;
    }
    const w = new BitWriter().var(Number(v));
    assert.equal(w.pos, Number(bits));
    assert.equal(hex(w.done()), bytes);
    assert.equal(new BitReader().load(unhex(bytes)).var(), Number(v));
  }
});

test('checksums', () => {
  for (const [, epoch, hash, packet, sum] of of('checksum')) assert.equal(crc32(~(~seedOf(Number(epoch), BigInt(hash))) >>> 0, unhex(packet)), Number(sum), packet);
});

test('packet headers', () => {
  for (const [, sequence, ack, received, bytes] of of('packet')) {
    const h = readHeader(new ByteReader(unhex(bytes)));
    assert.equal(h.sequence, Number(sequence));
    assert.equal(h.ack, ack === '-' ? -1 : Number(ack));
    if (ack === '-') continue;
    const acked = [];
    for (let i = 0; i < 32; i++) if ((h.bits >>> i) & 1) acked.push((h.ack - 1 - i) & 0xffff);
    assert.deepEqual(new Set(acked), new Set(received === '-' ? [] : received.split(',').map(Number)), bytes);
  }
});

test('what is refused', () => {
  for (const [, what, bytes] of of('refuse')) {
    const b = unhex(bytes);
    if (what === 'varint') assert.throws(() => new ByteReader(b).varint64(), Malformed, bytes);
    if (what === 'packet') assert.throws(() => readHeader(new ByteReader(b)), Malformed, bytes);
    if (what === 'var') assert.throws(() => new BitReader().load(b).var(), Malformed, bytes);
    if (what === 'message') {
      const whole = new ByteWriter().u16(b.length + 2).raw(b).u32(0).done();
      assert.throws(() => readMessages(new ByteReader(whole)), Malformed, bytes);
    }
  }
});

test('rows', () => {
  const describe = of('describe')[0][1];
  const plan = parseFields(describe.slice(describe.indexOf('{') + 1, -1).split(';'));
  for (const [, , , laneText, , bytes] of of('row')) {
    const r = new BitReader().load(unhex(bytes));
    const l = new Uint32Array(plan.size);
    plan.absolute(r, l, 0);
    assert.deepEqual([...l], laneText.split(',').map(Number));
    const value = plan.value(l, 0, null);
    assert.equal(hex(bytesOfRow(plan, value)), bytes, 'written as read');
    assert.deepEqual(rowOfBytes(plan, unhex(bytes)), value);
  }
});

// The codes of golden_differ.txt: its head tells them.
function differLengths(n, context) {
  if (n <= 2) return flatLengths(n);
  const u = Math.min(4, n - 2);
  const base = [1, 2, 3, 4].slice(0, u);
  for (const f of flatLengths(n - u)) base.push(u + f);
  return Array.from({ length: n }, (_, s) => base[(s + context) % n]);
}

function component(description, lengths) {
  const open = description.indexOf('{');
  const plan = parseFields(description.slice(open + 1, -1).split(';'));
  const table = (n) => ({ read: (r, context) => new Code(Uint8Array.from(lengths(n, context))).read(r) });
  const c = { name: description.slice(0, open), plan, tables: [], which: [], extrapolation: null };
  for (let i = 0; i < plan.size; i++) c.tables.push(plan.model[i] < 2 ? null : table(plan.model[i] === 2 ? 4 : 131));
  for (let i = 0; i < plan.size; i += 4) c.which.push(table(2 ** Math.min(4, plan.size - i)));
  return c;
}

const numbers = (s) => (s === '-' ? null : Uint32Array.from(s.split(','), Number));

function readDelta(c, age, span, miss, prev, base, bytes) {
  const rows = new RowReader();
  rows.begin(age, prev ? span : 0);
  rows.miss = miss;
  const now = new Uint32Array(base.length);
  const r = new BitReader().load(bytes);
  rows.row(r, c, now, 0, base, 0, prev, null);
  r.padding(true);
  return [...now];
}

test('rows as what differs', () => {
  let read = 0;
  for (const line of lines('delta/testdata/golden_differ.txt')) {
    const p = line.split(' ');
    if (/text|list/.test(p[1])) continue;
    const c = component(p[1], differLengths);
    const args = [Number(p[2]), Number(p[3]), 0, numbers(p[4]), numbers(p[5])];
    if (p[0] === 'refuse') assert.throws(() => readDelta(c, ...args, unhex(p[6])), Malformed, line);
    else assert.equal(String(readDelta(c, ...args, unhex(p[7]))), p[6], line);
    read++;
  }
  assert.ok(read > 60);
});

test('rows with their symbols', () => {
  for (const line of lines('delta/testdata/golden_coded.txt')) {
    const end = line.indexOf('}') + 1;
    const name = line.slice(6, end).replaceAll(' ', '');
    const p = line.slice(end + 1).split(' ');
    const c = component(name, (n) => flatLengths(n));
    assert.equal(String(readDelta(c, Number(p[2]), Number(p[3]), Number(p[4]), numbers(p[1]), numbers(p[0]), unhex(p[7]))), p[5], line);
  }
});

test('codes, tokens and tables', () => {
  for (const line of lines('delta/testdata/golden_tables.txt')) {
    const [kind, lengths, values, bytes] = line.split(' ');
    if (kind === 'tables') {
      parseTables(lengths.replaceAll('|', '\n').replaceAll('_', ' '));
      continue;
    }
    if (kind !== 'code' && kind !== 'token') continue;
    const code = new Code(Uint8Array.from(lengths, (d) => parseInt(d, 16)));
    const r = new BitReader().load(unhex(bytes));
    const table = { read: (from) => code.read(from) };
    for (const v of values.split(',')) assert.equal(kind === 'code' ? code.read(r) : token(r, table, 0), Number(v), line);
    if (kind !== 'code') continue;
    const w = new BitWriter();
    for (const v of values.split(',')) code.write(w, Number(v));
    assert.equal(hex(w.done()), bytes, line);
  }
});
