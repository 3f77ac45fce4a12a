// Damages what a server sends: a client must end with an error that says what was wrong, and never hang or grow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { ByteReader, Malformed } from '../src/bits.js';
import { Kind, Type, readHeader, readMessages } from '../src/packets.js';
import { Protocol } from '../src/protocol.js';
import { Lacking, State, TooMany } from '../src/snapshot.js';

const lines = readFileSync(new URL('../../../testdata/session.golden', import.meta.url), 'utf8').split('\n');
const protocol = new Protocol(lines.filter((l) => l.startsWith('entry ')).map((l) => l.slice(6)));

function payloads() {
  const out = [];
  for (const line of lines) {
    const m = /^server>client \d+ (?:lost )?(\S+)$/.exec(line);
    if (!m) continue;
    const long = m[1].replace(/\(00\*(\d+)\)/g, (_, n) => '00'.repeat(Number(n)));
    const bytes = Uint8Array.from(long.match(/../g), (x) => parseInt(x, 16));
    if (bytes[0] & 0x80) continue;
    const r = new ByteReader(bytes);
    readHeader(r);
    for (const message of readMessages(r)) if (message.type === Type.snapshot) out.push(message.body.slice());
  }
  return out;
}

// random is a small generator with a seed.
function random(seed) {
  let s = seed >>> 0;
  return (n) => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return Math.floor((s / 0x100000000) * n);
  };
}

test('damaged snapshots', () => {
  const all = payloads();
  assert.ok(all.length > 50);
  const pick = random(7);
  let refused = 0;
  for (let round = 0; round < 60; round++) {
    const state = new State(protocol, 64, 2, 4096);
    state.askedEpoch = 1;
    for (const body of all) {
      const b = body.slice();
      if (pick(3) === 0) {
        for (let k = pick(4); k >= 0; k--) b[pick(b.length)] ^= 1 << pick(8);
      }
      const before = state.newest;
      try {
        state.read(pick(10) === 0 ? b.subarray(0, pick(b.length)) : b);
      } catch (err) {
        assert.ok(err instanceof Malformed || err instanceof Lacking || err instanceof TooMany, err.stack);
        assert.equal(state.newest, before, 'a snapshot that is refused has no effect');
        refused++;
      }
    }
    assert.ok(state.entities.size <= 4096);
  }
  assert.ok(refused > 100);
});

test('random snapshots', () => {
  const pick = random(8);
  for (let round = 0; round < 4000; round++) {
    const state = new State(protocol, 64, 2, 4096);
    const b = Uint8Array.from({ length: 2 + pick(300) }, () => pick(256));
    try {
      state.read(b);
    } catch (err) {
      assert.ok(err instanceof Malformed || err instanceof Lacking || err instanceof TooMany, err.stack);
    }
  }
});

test('damaged packets', () => {
  const pick = random(9);
  for (let round = 0; round < 20000; round++) {
    const b = Uint8Array.from({ length: 9 + pick(80) }, () => (pick(3) ? pick(4) : pick(256)));
    try {
      const r = new ByteReader(b);
      readHeader(r);
      readMessages(r);
    } catch (err) {
      assert.ok(err instanceof Malformed, err.stack);
    }
  }
  assert.equal(Kind.hello, 0x81);
});
