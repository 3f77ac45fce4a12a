import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Mode } from '../src/packets.js';
import { Waiting } from '../src/waiting.js';

test('a message waits for its entity, and for the new life of one that was hidden', () => {
  const entities = new Map();
  const handled = [];
  const client = { tick: 50, snapshots: { entities, newest: 50 }, link: { inbox: { handled() {} } }, handle: (m) => handled.push(m.n) };
  const waiting = new Waiting();
  const send = (n, index, state, now) =>
    waiting.add({ n, mode: Mode.reliable, channel: 0, stage: 4, tick: -1, state, entity: { index, generation: 1 }, body: new Uint8Array(1) }, now);
  entities.set(2, { generation: 1, alive: false, tick: 40 });
  entities.set(3, { generation: 1, alive: false, tick: 40 });
  entities.set(4, { generation: 2, alive: true, tick: 40 });
  send(1, 1, -1, 0); // not known yet
  send(2, 2, 45, 0); // hidden, and shown again in tick 45
  send(3, 3, 40, 0); // gone
  send(4, 4, 45, 0); // a later entity has its index
  send(5, 5, -1, 0); // never comes
  waiting.run(client, 100);
  assert.deepEqual(handled, []);
  assert.equal(waiting.dropped, 2);
  entities.set(1, { generation: 1, alive: true, tick: 44 });
  entities.set(2, { generation: 1, alive: true, tick: 45 });
  waiting.run(client, 9000);
  assert.deepEqual(handled, [1, 2]);
  waiting.run(client, 10001);
  assert.equal(waiting.dropped, 3);
  assert.equal(waiting.list.length, 0);
});
