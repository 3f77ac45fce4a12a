// The world of a client: rights that come before their entity, teleports, names that the protocol lacks.
import assert from 'node:assert/strict';
import test from 'node:test';
import { bitsOf } from '../src/fields.js';
import { History, Shapes } from '../src/history.js';
import { OwnBody } from '../src/predict.js';
import { Protocol } from '../src/protocol.js';
import { World } from '../src/world.js';
import { limits } from './server.js';

const protocol = new Protocol([limits, 'component Position{X:f32;Y:f32}[owner]', 'component Teleport{Count:u8}', 'input Stick{X:i8[-1,1]}[64]']);

// worldOf makes a world and `put`, which gives an entity a record: its place and the count of its teleports, -1 for none.
function worldOf() {
  const events = [];
  const history = new History(64);
  const shapes = new Shapes(protocol);
  const state = { entities: new Map(), history };
  const own = { right() {}, forget() {}, value() {} };
  const world = new World(protocol, state, own, (event, ...args) => events.push([event, ...args]));
  const put = (tick, x, teleports, index = 3) => {
    const rec = shapes.of(teleports < 0 ? [0] : [0, 1]).take(index, 1, tick);
    rec.lanes[0] = bitsOf(x);
    if (teleports >= 0) rec.lanes[2] = teleports;
    history.add(rec);
    const before = state.entities.get(index) ?? null;
    const e = before ?? { index, generation: 1, alive: true };
    Object.assign(e, { record: rec, tick });
    state.entities.set(index, e);
    world.record(e, rec, before === null ? null : rec, false);
    return world.find({ index, generation: 1 });
  };
  return { world, put, events };
}

test('a right that comes before its entity counts when the entity comes', () => {
  const { world, put, events } = worldOf();
  for (let index = 0; index < 200; index++) world.right({ Entity: { Index: index, Generation: 1 }, Rows: 1n, Renewed: 1n, Number: 1, Tick: 9 });
  assert.equal(world.early.size, 200);
  for (let index = 0; index < 200; index++) assert.equal(put(10, 0, 0, index).rights, 1n);
  assert.equal(world.early.size, 0);
  assert.equal(events.filter(([event, , rights]) => event === 'right' && rights === 1n).length, 200);
});

test('what is shown slides, and jumps with a Teleport', () => {
  const { put } = worldOf();
  put(100, 0, 0);
  const e = put(101, 10, 0);
  assert.equal(e.at('Position', 100.5).X, 5);
  put(102, 500, 1);
  assert.equal(e.at('Position', 101.5).X, 10, 'it waits');
  assert.equal(e.at('Position', 102).X, 500, 'and jumps');
  put(103, 510, 1);
  assert.equal(e.at('Position', 102.5).X, 505);
  put(104, 0, -1);
  assert.equal(e.at('Position', 103.5).X, 510, 'a Teleport that went is one');
});

test('an own body jumps with a Teleport, without smoothing', () => {
  let values = { Position: { X: 0, Y: 0 }, Teleport: { Count: 0 } };
  const client = { protocol, connected: true, tick: 10, snapshots: { newest: 8 }, session: { rate: 60 }, inputClock: { at: () => client.tick }, inputs: { row: () => null } };
  const entity = { alive: true, get: (name) => values[name] };
  const own = new OwnBody(client, { component: 'Position', input: 'Stick', step: (at) => ({ X: at.X + 1, Y: at.Y }) });
  own.update(entity, 0);
  values = { Position: { X: 4, Y: 0 }, Teleport: { Count: 0 } };
  own.update(entity, 0);
  assert.ok(Math.abs(own.offset.get('.X') + 4) < 1e-9, 'a difference is smoothed');
  values = { Position: { X: 400, Y: 0 }, Teleport: { Count: 1 } };
  client.snapshots.newest = 9;
  client.tick = 11;
  assert.equal(own.update(entity, 16).X, 401);
  assert.equal(own.offset.size, 0);
  assert.throws(() => new OwnBody(client, { component: 'Positoin', input: 'Stick' }), /the protocol has no component Positoin; it has Position, Teleport/);
});

test('a name that the protocol lacks is an error, one that the entity lacks is not', () => {
  const { put } = worldOf();
  const e = put(1, 0, -1);
  for (const f of ['get', 'shown', 'has']) assert.throws(() => e[f]('Positoin'), { message: 'netcode: the protocol has no component Positoin; it has Position, Teleport' });
  assert.deepEqual([e.get('Teleport'), e.shown('Teleport'), e.has('Teleport')], [undefined, undefined, false]);
});
