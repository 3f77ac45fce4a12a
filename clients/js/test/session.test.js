// A Session makes a new client where a connection ends for a reason that may pass, and not elsewhere.
import assert from 'node:assert/strict';
import test from 'node:test';
import { ByteReader, ByteWriter } from '../src/bits.js';
import { Kind, sealed, seedOf } from '../src/packets.js';
import { Protocol } from '../src/protocol.js';
import { Session } from '../src/session.js';

const protocol = new Protocol(['limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;reliable:1024;credit:131072;fragments:80;tables:182026c2ce77ee62}', 'component A{X:u8}']);

// refusing is a transport whose server refuses each Hello with a reason, or says nothing.
function refusing(reason, log) {
  const inbox = [];
  return {
    send(b) {
      if (b[0] !== Kind.hello || reason === 0) return;
      const nonce = new ByteReader(b.subarray(3)).u64();
      inbox.push(sealed(new ByteWriter(64).u8(Kind.refuse).u64(nonce).u8(reason), seedOf(0, 0n)));
    },
    receive: () => inbox.shift() ?? null,
    close: () => log.push('closed'),
  };
}

async function play(reasons, seconds) {
  const log = [];
  let n = 0;
  const session = new Session(protocol, async () => {
    const reason = reasons[Math.min(n++, reasons.length - 1)];
    if (reason === 'offline') throw new Error('no network');
    return refusing(reason, log);
  }, { payload: () => log.push('payload') && 'me' });
  session.on('waiting', (ms) => log.push(ms)).on('end', (err) => log.push(`end ${err.reason}`));
  for (let now = 0; now < seconds * 1000; now += 50) {
    session.update(now);
    await null;
    await null;
    await null;
    await null;
  }
  return { session, log: log.filter((l) => l !== 'closed') };
}

test('a full server is asked again, later each time', async () => {
  const { log } = await play([32], 3.4);
  assert.deepEqual(log, ['payload', 500, 'payload', 1000, 'payload', 2000]);
});

test('an attempt without a network is one of them', async () => {
  const { log } = await play(['offline', 32, 38], 4);
  assert.deepEqual(log, ['payload', 500, 'payload', 1000, 'payload', 'end 38']);
});

test('another protocol ends the session', async () => {
  const { session, log } = await play([33], 2);
  assert.deepEqual(log, ['payload', 'end 33']);
  assert.ok(session.ended);
});

test('silence is asked again', async () => {
  const { log } = await play([0], 7);
  assert.deepEqual(log, ['payload', 500, 'payload']);
});

// attempts plays a session whose parts are given, and returns what it told.
async function attempts(parts, seconds = 2) {
  const log = [];
  const session = new Session(parts.protocol ?? protocol, parts.open ?? (async () => refusing(0, [])), { payload: parts.payload });
  parts.on?.(session);
  session.on('waiting', (ms) => log.push(ms));
  if (!parts.silent) session.on('end', (err) => log.push(err.message));
  for (let now = 0; now < seconds * 1000; now += 50) {
    session.update(now);
    for (let i = 0; i < 8; i++) await null;
  }
  return log;
}

test('a mistake of the game ends the session', async () => {
  const fails = (err) => () => {
    throw err;
  };
  assert.deepEqual(await attempts({ payload: fails(new Error('no ticket')) }), ['no ticket']);
  assert.deepEqual(await attempts({ open: async () => undefined.url }), ["Cannot read properties of undefined (reading 'url')"]);
  assert.deepEqual(await attempts({ protocol: async () => protocol, on: (s) => s.onMessage('Nope', () => {}) }), ['netcode: the protocol has no message Nope; it has ']);
  assert.deepEqual(await attempts({ on: (s) => s.on('client', fails(new Error('in client'))) }), ['in client']);
  assert.deepEqual(await attempts({ payload: () => ({ name: 'me' }) }), ['netcode: a payload is a text or a Uint8Array']);
  await assert.rejects(attempts({ silent: true, payload: fails(new Error('no ticket')) }), /no ticket/, 'without a handler of end, update throws it');
  const session = new Session(protocol, async () => refusing(0, []));
  assert.throws(() => session.onMessage('Nope', () => {}), /the protocol has no message Nope/);
  assert.throws(() => session.on('spwan', () => {}), /a session has no event spwan; it has client, waiting, end, connect/);
});

test('a network that is gone is asked again', async () => {
  assert.deepEqual(await attempts({ open: () => Promise.reject(new Error('netcode: the WebSocket did not open')) }), [500, 1000, 2000]);
  assert.deepEqual(await attempts({ open: () => Promise.reject() }), [500, 1000, 2000]);
  assert.deepEqual(await attempts({ payload: () => Promise.reject(new TypeError('Failed to fetch')) }), [500, 1000, 2000]);
  assert.deepEqual(await attempts({ payload: () => Promise.reject(Object.assign(new Error('503'), { reason: 0 })) }), [500, 1000, 2000]);
});

test('a transport that failed is replaced at once', async () => {
  const opened = [];
  const log = await attempts({ open: async () => opened[opened.push({ ...refusing(0, []), failed: opened.length === 0 ? new Error('netcode: gone') : null }) - 1] }, 1);
  assert.deepEqual(log, [500]);
  assert.equal(opened.length, 2);
});

test('the protocol is asked for each attempt', async () => {
  let asked = 0;
  const log = await attempts({ protocol: async () => (asked++, protocol), open: async () => refusing(32, []) }, 3.4);
  assert.deepEqual([asked, ...log], [3, 500, 1000, 2000]);
});
