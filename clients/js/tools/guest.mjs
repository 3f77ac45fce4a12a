// Plays in a game on a virtual clock, in step with the process that runs it: node guest.mjs LOCK SEED
// Reads a line of JSON a frame and answers with one: see frame.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Client, Protocol } from '../src/index.js';
import { worldOf } from './show.mjs';

const [lock, seed] = process.argv.slice(2);
const protocol = new Protocol(readFileSync(lock, 'utf8'));

// mulberry32 of Tommy Ettinger: a game of the same seed is the same game.
let state = Number(seed) >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return (t ^ (t >>> 14)) >>> 0;
}

const inbox = [];
let outbox = [];
let heard = [];
let client = null;
let closed = '';

function connect() {
  closed = '';
  client = new Client(protocol, { send: (b) => outbox.push(Buffer.from(b).toString('hex')), receive: () => inbox.shift() ?? null, close() {} },
    { random: (n) => Uint8Array.from({ length: n }, () => random() & 255) });
  client.on('close', (err) => (closed = err.message + (err.cause ? `\n${err.cause.stack}` : '')));
  client.on('message', (name, value) => heard.push({ name, value }));
}

// draw makes a value for a component that this client writes, from its fields.
function draw(c) {
  const value = {};
  for (const f of c.plan.fields) value[f.path] = (random() % 200) / 2;
  for (const f of c.plan.tail) if (f.tail === 'text') value[f.path] = ['', 'mine', 'my öwn'][random() % 3];
  return value;
}

function write() {
  for (const e of client.entities.values()) {
    if (e.rights === 0n) continue;
    for (const c of protocol.components) if ((e.rights >> BigInt(c.row)) & 1n && e.has(c.name) && random() % 4 === 0) client.write(e, c.name, draw(c));
  }
}

/** frame plays a frame: { now, in: datagrams, connect, write, send: [[name, value, options]], world } to { out, id, closed, heard, world }. */
function frame(m) {
  if (m.connect) connect();
  for (const hex of m.in ?? []) inbox.push(new Uint8Array(Buffer.from(hex, 'hex')));
  if (m.write && client.connected) write();
  for (const [name, value, options] of m.send ?? []) if (client.connected) client.send(name, value, options);
  client.update(m.now);
  const answer = { out: outbox, id: client.connected ? client.id : 0, closed, heard };
  if (m.world) answer.world = client.connected ? worldOf(client) : {};
  outbox = [];
  heard = [];
  return answer;
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(frame(JSON.parse(line)), (_, v) => (typeof v === 'bigint' ? String(v) : v))}\n`);
}
