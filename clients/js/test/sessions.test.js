// Plays the golden sessions of features (testdata/sessions): what reached a client, and what it means.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';
import { Client } from '../src/client.js';
import { crc32 } from '../src/bits.js';
import { Protocol } from '../src/protocol.js';

const folder = new URL('../../../testdata/sessions/', import.meta.url);
const unhex = (s) => Uint8Array.from(s.match(/../g), (x) => parseInt(x, 16));

// plain makes a value comparable to JSON: 64 bits as text, an entity by its id.
function plain(v) {
  if (typeof v === 'bigint') return String(v);
  if (Array.isArray(v)) return v.map(plain);
  if (v === null || typeof v !== 'object') return v;
  if (typeof v.generation === 'number' && typeof v.index === 'number') return `${v.index}v${v.generation}`;
  return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, plain(x)]));
}

// same compares values; a float of 32 bits stands in JSON in its shortest form.
function same(is, want) {
  if (typeof is === 'number' && typeof want === 'number') return is === want || is === Math.fround(want);
  if (Array.isArray(want)) return Array.isArray(is) && is.length === want.length && want.every((w, i) => same(is[i], w));
  if (want === null || typeof want !== 'object') return is === want;
  const keys = Object.keys(want);
  return typeof is === 'object' && is !== null && keys.length === Object.keys(is).length && keys.every((k) => same(is[k], want[k]));
}

class Replay {
  constructor(lines) {
    this.head = lines[0];
    this.lines = lines;
    this.inbox = [];
    this.heard = [];
    this.sent = new Set(); // of the nonces: each attempt has its own
    const nonces = [];
    for (const l of lines) if (l.up?.startsWith('81') && !nonces.includes(l.up.slice(6, 22))) nonces.push(l.up.slice(6, 22));
    const protocols = lines.find((l) => l.protocols).protocols.map((entries) => new Protocol(entries));
    const transport = { send() {}, receive: () => this.inbox.shift() ?? null, close() {} };
    this.client = new Client(protocols, transport, { random: (n) => (nonces.length > 0 ? unhex(nonces.shift()) : new Uint8Array(n)) });
    this.client.on('message', (name, value) => this.heard.push({ heard: 'message', name, value: plain(value) }));
    const has = protocols.some((p) => p.messages.some((m) => /transfer/i.test(m.name)));
    if (has) this.client.transfers.receive(1 << 20, { done: (t, bytes) => this.heard.push({ heard: 'transfer', name: t.name, value: { bytes: bytes.length, crc32: crc32(0, bytes) } }) });
    this.client.on('connect', () => (this.client.link.sequence = 2000)); // the server acknowledges packets of the client that was written down
    this.client.on('close', (err) => assert.fail(err.cause ?? err));
  }

  do(l) {
    const { client } = this;
    if (l.do === 'send') client.send(l.name, l.value);
    else if (l.do === 'input') client.input(l.name, l.value);
    else if (l.do === 'transfer') void client.transfers.send(l.name, Uint8Array.from(l.value)).catch(() => {});
    else if (l.do === 'call') {
      client.call(l.name, l.value).then((v) => this.heard.push({ heard: 'answer', name: client.protocol.messages.find((m) => m.answer).name, value: plain(v) }),
        (err) => this.heard.push({ heard: 'refused', name: l.name, value: err.message }));
    } else assert.fail(`a deed that is none: ${l.do}`);
  }

  // compare holds the entities of a line to what they should be.
  compare(l, where) {
    const { client } = this;
    for (const [key, want] of Object.entries(l.is)) {
      const [index, generation] = key.split('v').map(Number);
      const e = client.entities.get(index);
      assert.equal(e?.generation, generation, `${where}: ${key}`);
      const is = {};
      for (const name of Object.keys(want)) {
        const collection = client.protocol.collections.some((c) => c.name === name);
        is[name] = plain(collection ? client.world.collections.of(e, name) ?? [] : e.get(name));
        assert.ok(same(is[name], want[name]), `${where}: ${key}.${name} is ${JSON.stringify(is[name])}, not ${JSON.stringify(want[name])}`);
      }
      this.compared++;
    }
    for (const key of l.gone) {
      const [index, generation] = key.split('v').map(Number);
      assert.notEqual(client.entities.get(index)?.generation, generation, `${where}: ${key} is there`);
    }
  }

  // play plays all frames. A frame is a line `frame` and what stands before the next one.
  async play() {
    const wants = [];
    const frames = [];
    for (const l of this.lines) {
      if (l.frame) frames.push({ number: l.frame, deeds: [], before: [], is: [] });
      const f = frames.at(-1);
      if (!f) continue;
      if (l.do) f.deeds.push(l); // the game does it after the frame
      if (l.down) this.push(f, l.down);
      if (l.is) f.is.push(l);
      if (l.heard) wants.push(l);
    }
    this.compared = 0;
    for (const f of frames) {
      for (const hex of f.before) this.inbox.push(unhex(hex));
      this.client.update(f.number * this.head.ms);
      for (const l of f.is) this.compare(l, `frame ${f.number}`);
      for (const l of f.deeds) this.do(l);
      await null; // answers of calls
    }
    return wants;
  }

  push(f, hex) {
    f.before.push(hex);
  }
}

for (const file of readdirSync(folder).filter((f) => f.endsWith('.jsonl') && !f.startsWith('plain'))) {
  test(`the golden session ${file}`, async () => {
    const lines = readFileSync(new URL(file, folder), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
    const r = new Replay(lines);
    const wants = await r.play();
    await new Promise((resolve) => setTimeout(resolve, 0));
    const key = (l) => JSON.stringify([l.heard, l.name]);
    for (const kind of new Set(wants.map(key))) {
      const of = (list) => list.filter((l) => key(l) === kind);
      assert.deepEqual(of(r.heard).map((l) => l.value), of(wants).map((l) => l.value), kind);
    }
    assert.equal(r.heard.length, wants.length);
    assert.ok(r.compared + wants.length > 0);
  });
}
