// Reads the golden session: every datagram, and each snapshot's meaning.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { ByteReader } from '../src/bits.js';
import { Kind, Type, checksum, readHeader, readMessages, seedOf } from '../src/packets.js';
import { Protocol } from '../src/protocol.js';
import { Lacking, State } from '../src/snapshot.js';

const lines = readFileSync(new URL('../../../testdata/session.golden', import.meta.url), 'utf8').split('\n');
const protocol = new Protocol(lines.filter((l) => l.startsWith('entry ')).map((l) => l.slice(6)));

const unhex = (s) => {
  const long = s.replace(/\(00\*(\d+)\)/g, (_, n) => '00'.repeat(Number(n)));
  return Uint8Array.from(long.match(/../g), (x) => parseInt(x, 16));
};

// goFloat writes a number as the file does: shortest digits, an exponent below 1e-4 and from 1e21 on with two digits.
function goFloat(v, round) {
  if (Object.is(v, -0)) return '-0';
  let n = 1;
  while (n < 17 && !Object.is(round(Number(v.toExponential(n - 1))), v)) n++;
  const [digits, exponent] = v.toExponential(n - 1).split('e');
  const e = Number(exponent);
  if (v !== 0 && (e < -4 || e >= 21)) return `${digits}e${e < 0 ? '-' : '+'}${String(Math.abs(e)).padStart(2, '0')}`;
  return e < 0 ? v.toFixed(n - 1 - e) : Number(v.toExponential(n - 1)).toLocaleString('fullwide', { useGrouping: false, maximumFractionDigits: 20 });
}

function show(field, v) {
  if (field.entity) return v === null ? 'nobody' : `${v.index}v${v.generation}`;
  if (Array.isArray(v)) return v.map((x) => goFloat(x, Math.fround)).join(',');
  if (/^f(32|64)/.test(field.kind)) return goFloat(v, field.kind.startsWith('f32') ? Math.fround : Number);
  return String(v);
}

function showRow(c, lanes, at) {
  return `${c.name}{${c.plan.fields.map((f) => `${f.path}:${show(f, f.get(lanes, at + f.at))}`).join(';')}}`;
}

test('the protocol hash', () => {
  assert.equal(protocol.hash.toString(16), /^hash (.*)$/m.exec(lines.find((l) => l.startsWith('hash')))[1]);
});

test('every snapshot of the golden session says what its line says', () => {
  const sessions = new Map();
  let snapshots = 0;
  for (let i = 0; i < lines.length; i++) {
    const head = /^(\S+)>(\S+) (\d+) (lost )?(.*)$/.exec(lines[i]);
    if (!head) continue;
    const [, from, to, , , hex] = head;
    const bytes = unhex(hex);
    const name = from === 'server' ? to : from;
    if (bytes[0] === Kind.accept) sessions.set(name, { seed: seedOf(new ByteReader(bytes.subarray(9)).u32(), protocol.hash) });
    const s = sessions.get(name);
    if (bytes[0] === Kind.welcome) {
      const tick = Number(new ByteReader(bytes.subarray(5)).u64());
      s.server = new State(protocol, 64, tick); // what the client is told
      s.client = new State(protocol, 64, tick); // what the server is told
    }
    if (bytes[0] & 0x80) continue;
    assert.ok(checksum(bytes, from === 'server' ? ~s.seed >>> 0 : s.seed), lines[i]);
    const r = new ByteReader(bytes);
    const h = readHeader(r);
    const meaning = lines[i + 1];
    assert.equal(/sequence=(\d+)/.exec(meaning)[1], String(h.sequence));
    for (const m of readMessages(r)) {
      if (m.type === Type.resync) {
        const other = from === 'server' ? s.client : s.server;
        const epoch = new ByteReader(m.body).u16();
        if (other.askedEpoch !== epoch) other.losePast();
        other.askedEpoch = epoch;
      }
      if (m.type !== Type.snapshot) continue;
      snapshots++;
      checkSnapshot(from === 'server' ? s.server : s.client, m.body, /Snapshot (tick=.*?)(?: \| [A-Z]| \| stage|\]$)/.exec(meaning)?.[1] ?? meaning, lines[i].slice(0, 60));
    }
  }
  assert.ok(snapshots > 150, `${snapshots} snapshots`);
});

function checkSnapshot(state, body, meaning, where) {
  if (/missing|lean/.test(meaning)) {
    assert.throws(() => state.read(body), Lacking, where);
    return;
  }
  let applied;
  state.read(body);
  assert.equal(/tick=(\d+)/.exec(meaning)[1], String(state.tick), where);
  const counts = /despawns=(\d+) absolute=(\d+) baseline=(\d+) rows=(\d+) deltas=(\d+) same=(\d+)/.exec(meaning);
  const c = state.counts;
  if (counts) assert.deepEqual(counts.slice(1).map(Number).slice(0, 3), [c.despawns, c.absolute, c.baseline], `${where} ${meaning}`);
  const said = meaning.slice(meaning.indexOf(': ') + 2);
  for (const part of said.split('; ')) {
    const m = /^(\d+)v(\d+) (.*)$/.exec(part);
    if (!m) continue;
    const e = state.entities.get(Number(m[1]));
    if (m[3] === 'gone') {
      assert.ok(!e || !e.alive || e.generation > Number(m[2]), `${where} ${part}`);
      continue;
    }
    assert.equal(e.generation, Number(m[2]), where);
    const rows = e.record.shape.components.map((comp) => showRow(comp, e.record.lanes, e.record.shape.offset[comp.row])).join(' ');
    assert.equal(rows, m[3], `${where} ${meaning}`);
    applied = true;
  }
  void applied;
}
