// SecureTransport beside whatever comes: nothing but the server's words changes anything. The game by it is played by live_test.go.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import test from 'node:test';
import { SecureTransport } from '../src/secure.js';

function line() {
  const inbox = [];
  const sent = [];
  return { inbox, sent, send: (b) => sent.push(Buffer.from(b)), receive: () => inbox.shift() ?? null, close() {} };
}

test('any datagram is ignored, whatever its kind and size', () => {
  let now = 0;
  const l = line();
  const t = new SecureTransport(l, { serverKey: randomBytes(32), now: () => now });
  for (let i = 0; i < 3000; i++) {
    const b = randomBytes([0, 1, 11, 17, 25, 26, 33, 75, 200][i % 9]);
    if (b.length > 0) b[0] = i % 10;
    if (b.length > 1) b[1] = 3;
    if (i % 3 === 0 && b.length >= 10) b.set(t.nonce, 2); // as if it were an answer
    l.inbox.push(new Uint8Array(b));
    assert.equal(t.receive(), null);
    now += 1;
  }
  assert.equal(t.ready, false);
  assert.equal(t.failed, null);
});

test('a Request is of 64 bytes and is repeated more rarely each time', () => {
  let now = 0;
  const l = line();
  const t = new SecureTransport(l, { serverKey: randomBytes(32), now: () => now });
  for (; now < 3000; now += 10) t.receive();
  assert.ok(l.sent.length >= 5 && l.sent.length <= 8, `${l.sent.length}`);
  for (const b of l.sent) assert.deepEqual([b.length, b[0], b[1]], [64, 1, 3]);
});

test('a challenge makes the key of the server be used, and never a forged answer', () => {
  const l = line();
  const t = new SecureTransport(l, { serverKey: randomBytes(32), now: () => 0 });
  t.receive();
  l.inbox.push(new Uint8Array(Buffer.concat([Buffer.from([2, 3]), t.nonce, randomBytes(16)])));
  t.receive();
  assert.equal(l.sent.at(-1)[0], 3);
  const h = Buffer.from(t.noise.h);
  l.inbox.push(new Uint8Array(Buffer.concat([Buffer.from([4, 3]), t.nonce, randomBytes(65)])));
  t.receive();
  assert.equal(t.ready, false);
  assert.deepEqual(t.noise.h, h, 'the handshake goes on as before');
});

test('a second challenge changes the Initiate only when the cookie of the first is old', () => {
  let now = 0;
  const l = line();
  const t = new SecureTransport(l, { serverKey: randomBytes(32), now: () => now });
  const challenge = () => {
    l.inbox.push(new Uint8Array(Buffer.concat([Buffer.from([2, 3]), t.nonce, randomBytes(16)])));
    now += 200;
    t.receive();
    return l.sent.at(-1);
  };
  t.receive();
  const first = challenge();
  for (let i = 0; i < 5; i++) assert.deepEqual(challenge(), first, 'an answer to an earlier Request');
  now += 1000;
  assert.notDeepEqual(challenge(), first);
});

test('a key is asked for', () => {
  assert.throws(() => new SecureTransport(line(), {}), /server key of 32 bytes/);
});
