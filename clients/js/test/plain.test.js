// Reads the golden session of the plain profile (docs/plain.md): each datagram, and after each frame the world as the file has it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { BitReader, ByteReader, Malformed, crc32, nearest, text } from '../src/bits.js';
import { Kind, Type, checksum, readHeader, readMessages } from '../src/packets.js';

const [head, ...lines] = readFileSync(new URL('../../../testdata/plain.golden', import.meta.url), 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const unhex = (hex) => Uint8Array.from(hex.match(/../g), (x) => parseInt(x, 16));

const shapes = { component: [], input: [], message: [] };
let hash = [];
for (const [word, name, form, bits, most, low, high] of head.plain.trim().split('\n').map((line) => line.split(' '))) {
  if (word === 'hash') hash = Uint8Array.from(head.plain.split('\n')[0].split(' ').slice(1), Number);
  if (word in shapes) shapes[word].push({ name, fields: [] });
  const last = Object.values(shapes).findLast((list) => list.length > 0)?.at(-1);
  const f = { path: name, form, bits: Number(bits), most: Number(most), low: Number(low), first: low, high: Number(high), elements: [] };
  if (word === 'field') last.fields.push(f);
  if (word === 'element') last.fields.at(-1).elements.push(f);
}

const must = (holds) => {
  if (!holds) throw new Malformed('illegal', 0);
};
const readRow = (fields, r) => Object.fromEntries(fields.map((f) => [f.path, read(f, r)]));
const wide = (r, bits) => (bits <= 32 ? BigInt(r.bits(bits)) : BigInt(r.bits(32)) | (BigInt(r.bits(bits - 32)) << 32n));
const portable = (n) => (n > 2n ** 53n || n < -(2n ** 53n) ? String(n) : Number(n)); // as the file has it

function read(f, r) {
  if (f.form === 'entity') {
    if (r.bit() === 0) return null;
    const m = r.bits(5);
    const index = m > 0 ? r.bits(m) + 2 ** m : r.bit();
    return { index, generation: r.var() + 1 };
  }
  if (f.form === 'quat') {
    const largest = r.bits(2);
    const q = [0, 1, 2, 3].map((i) => (i === largest ? 0 : r.bits(f.bits) * (Math.SQRT2 / (2 ** f.bits - 1)) - Math.SQRT2 / 2));
    q[largest] = Math.sqrt(Math.max(0, 1 - q.reduce((sum, x) => sum + x * x, 0)));
    return q;
  }
  const counted = ['short', 'text', 'list'].includes(f.form);
  const n = counted ? BigInt(r.var()) : wide(r, f.bits);
  must(f.most === 0 || n <= BigInt(f.most));
  const view = new DataView(new ArrayBuffer(8));
  switch (f.form) {
    case 'text': return text(Uint8Array.from({ length: Number(n) }, () => r.bits(8)));
    case 'list': return Array.from({ length: Number(n) }, () => readRow(f.elements, r));
    case 'bool': return n === 1n;
    case 'short': return Number(n);
    case 'int': return portable(BigInt(f.first) + n);
    case 'float':
      view.setBigUint64(0, n, true);
      return f.bits === 32 ? view.getFloat32(0, true) : view.getFloat64(0, true);
    case 'half': {
      const h = n >= 31744n ? Number(n) - 31744 : 31743 - Number(n);
      const size = h < 1024 ? h * 2 ** -24 : ((h % 1024) + 1024) * 2 ** (Math.floor(h / 1024) - 25);
      return n >= 31744n ? size : -size;
    }
    default: return f.low + Number(n) * ((f.high - f.low) / f.most);
  }
}

function snapshot(world, payload) {
  const r = new BitReader().load(payload);
  const tick = nearest(r.bits(16), world.tick);
  const changes = [];
  let index = -1;
  let rows = null;
  while (r.bit()) changes.push({ index: (index += r.var() + 1), generation: r.var(), rows: null });
  for (index = 0; ; index++) {
    if (!r.bit()) {
      const gap = r.var();
      if (gap === 0) break;
      index = (index + gap - 1) % 2 ** 20;
      if (!r.bit()) {
        rows = { fresh: r.bit(), has: [] };
        for (const c of shapes.component) if (r.bit()) rows.has.push([c, r.bit()]);
      }
    }
    must(rows);
    const change = { index, generation: rows.fresh ? r.var() : -1, rows: {} };
    for (const [c, sent] of rows.has) change.rows[c.name] = sent ? readRow(c.fields, r) : null;
    changes.push(change);
  }
  must(tick > 0 && changes.every((c) => c.index < 2 ** 20 && c.generation !== 0 && c.generation < 2 ** 32));
  for (const c of changes) {
    const was = world.entities.get(c.index) ?? { generation: 0, tick: 0, rows: null };
    const generation = c.generation < 0 ? was.generation : c.generation;
    if (generation < was.generation || (generation === was.generation && tick <= was.tick) || (c.generation < 0 && !was.rows)) continue;
    for (const name in c.rows) c.rows[name] ??= (c.generation < 0 && was.rows[name]) || {};
    world.entities.set(c.index, { generation, tick, rows: c.rows });
  }
  world.tick = Math.max(world.tick, tick);
}

test('the golden session of the plain profile', () => {
  const world = { tick: 0, entities: new Map() };
  const known = new Map();
  const taken = new Set();
  let seed = 0;
  let newest = 0;
  let joined = false;
  let snapshots = 0;
  let refused = 0;
  for (const line of lines) {
    for (const bytes of (line.in ?? []).map(unhex)) {
      const r = new ByteReader(bytes);
      if (bytes[0] === Kind.accept && seed === 0) seed = crc32(0, Uint8Array.from([...bytes.subarray(9, 13), ...hash]));
      if (bytes[0] & 0x80 && bytes[0] !== Kind.welcome) continue;
      assert.ok(checksum(bytes, ~seed >>> 0), 'the checksum of a datagram');
      if (bytes[0] === Kind.welcome && !joined) world.tick = Number(new ByteReader(bytes.subarray(5)).u64());
      joined = true;
      if (bytes[0] & 0x80) continue;
      try {
        const number = nearest(readHeader(r).sequence, newest);
        if (number < 1 || number < newest - 32 || taken.has(number)) continue;
        const messages = readMessages(r);
        for (const m of messages) if (m.type === Type.snapshot) snapshot(world, m.body);
        for (const m of messages) if (m.type === Type.keepAlive) world.tick = Math.max(world.tick, nearest(new ByteReader(m.body).u16(), world.tick));
        snapshots += messages.filter((m) => m.type === Type.snapshot).length;
        taken.add(number);
        newest = Math.max(newest, number);
      } catch (err) {
        assert.ok(err instanceof Malformed, err.stack);
        refused++;
      }
    }
    for (const [index, entity] of Object.entries(line.world ?? {})) known.set(Number(index), entity);
    assert.deepEqual(new Map([...world.entities].map(([i, e]) => [i, e.rows && e])), known, `at ${line.ms} ms`);
  }
  assert.ok(snapshots > 50 && refused > 30, `${snapshots} snapshots, ${refused} illegal packets`);
});
