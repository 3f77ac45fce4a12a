// What a game meets: handlers that throw, mistakes in values and names, transports that fail, the end of a page.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Client } from '../src/client.js';
import { Protocol } from '../src/protocol.js';
import { Server, limits } from './server.js';

const protocol = new Protocol([
  limits, 'component Owner{Client:u32short}', 'component Position{X:f32;Y:f32}', 'input Stick{X:i8[-1,1];Y:f32;Dash:bool~event}[64]',
  'message Chat{serialized;From:u32;Text:string100;Tags:[..4]string20}[both ways;ReliableOrdered 0]', 'message Hit{At.X:f32;At.Y:f32;Big:i64;Name:text10;Of:entity;Bag:list4(Kind:u8)}[both ways;Reliable 0]',
]);

function joined(on = () => {}) {
  const server = new Server(protocol);
  const client = new Client(protocol, server, { random: (n) => new Uint8Array(n).fill(1) });
  on(client);
  const frame = (now) => {
    server.now = now;
    client.update(now);
    server.link?.send(now);
  };
  let now = 0;
  for (; !client.connected; now += 16) frame(now);
  return { client, server, frame, now };
}

test('a handler that throws loses no other message, and each is handled once', () => {
  const heard = [];
  const { client, server, frame, now } = joined((c) => c.onMessage('Hit', (m) => {
    heard.push(m.At.X);
    if (m.At.X === 2) throw new Error('the game stumbled');
  }));
  const handled = [];
  const { inbox } = client.link;
  const { handled: before } = inbox;
  inbox.handled = (m) => handled.push(m.fullNumber) && before.call(inbox, m);
  for (let x = 1; x <= 5; x++) server.say('Hit', { At: { X: x } });
  assert.throws(() => frame(now), /the game stumbled/);
  assert.deepEqual(heard, [1, 2, 3, 4, 5]);
  assert.deepEqual(handled, [0, 1, 2, 3, 4]);
  for (let i = 1; i < 50; i++) frame(now + 16 * i);
  assert.equal(heard.length, 5);
});

test('an error of a handler goes to the handlers of error', () => {
  const errors = [];
  const { client, server, frame, now } = joined((c) => {
    c.on('error', (err) => errors.push(err.message));
    c.onMessage('Hit', () => assert.fail('one'));
    c.onMessage('Hit', () => assert.fail('two'));
    c.on('message', () => errors.push('message'));
  });
  server.say('Hit', {});
  frame(now);
  assert.deepEqual(errors, ['message', 'one', 'two'], 'both handlers of the type are called');
  assert.ok(client.connected);
});

test('several errors of a frame come together', () => {
  const { server, frame, now } = joined((c) => c.onMessage('Hit', (m) => assert.fail(`hit ${m.At.X}`)));
  server.say('Hit', { At: { X: 1 } });
  server.say('Hit', { At: { X: 2 } });
  assert.throws(() => frame(now), (err) => err instanceof AggregateError && err.errors.length === 2 && /2 handlers failed, the first by hit 1/.test(err.message));
});

test('a client whose transport has failed ends at once, in words', () => {
  for (const late of [true, false]) {
    const ends = [];
    const { client, server, frame, now } = late ? joined() : { server: new Server(protocol), now: 0 };
    const c = client ?? new Client(protocol, server);
    c.on('close', (err) => ends.push(err.message));
    server.failed = new Error('netcode: the WebSocket to wss://x closed (1006)');
    if (frame) frame(now);
    else c.update(now);
    assert.deepEqual(ends, ['netcode: the connection is gone: the WebSocket to wss://x closed (1006)']);
    assert.equal(c.state, 'closed');
  }
});

test('close sends a Close at once, four in all', () => {
  const { client, server, frame, now } = joined();
  client.close('bye');
  assert.equal(server.closes, 1);
  for (let i = 0; i < 60; i++) frame(now + 16 * i);
  assert.equal(server.closes, 4);
  assert.equal(client.state, 'closed');
});

test('close with reliable messages under way sends them before the Close', () => {
  const { client, server, frame, now } = joined();
  client.send('Hit', { At: { X: 1 } });
  client.close();
  assert.deepEqual([server.heardMessages, server.closes], [['Hit'], 0], 'the Close waits until they have come');
  for (let i = 1; i < 12; i++) frame(now + 16 * i);
  assert.ok(server.closes > 0);
});

test('a page that goes says so at once', () => {
  for (const ordered of [true, false]) {
    const { client, server } = joined();
    server.ordered = ordered;
    client.send('Hit', {});
    client.close('the tab was closed', ordered ? {} : { leaving: true });
    assert.deepEqual(server.heardMessages, ['Hit']);
    assert.equal(server.closes, ordered ? 1 : 4);
  }
});

const mistakes = [
  [(c) => c.input('Stick', { x: 1 }), 'Stick.x: there is no such field; it has X, Y, Dash'],
  [(c) => c.input('Stick', { X: 'left' }), 'Stick.X: "left" is not a number'],
  [(c) => c.input('Stick', { Y: NaN }), 'Stick.Y: NaN is not a number'],
  [(c) => c.input('Stick', { X: NaN }), 'Stick.X: NaN is not a number'],
  [(c) => c.input('Stick', { Dash: 'yes' }), 'Stick.Dash: "yes" is not a boolean'],
  [(c) => c.input('Stick', 5), 'Stick: 5 is not an object of X, Y, Dash'],
  [(c) => c.send('Chat', { text: 'x' }), 'Chat.text: there is no such field; it has From, Text, Tags'],
  [(c) => c.send('Chat', { Text: 5 }), 'Chat.Text: 5 is not a text'],
  [(c) => c.send('Chat', { From: 'me' }), 'Chat.From: "me" is not a number'],
  [(c) => c.send('Chat', { Tags: ['a', 2] }), 'Chat.Tags[1]: 2 is not a text'],
  [(c) => c.send('Hit', { At: { x: 1 } }), 'Hit.At.x: there is no such field; it has X, Y'],
  [(c) => c.send('Hit', { At: { X: '1' } }), 'Hit.At.X: "1" is not a number'],
  [(c) => c.send('Hit', { Big: 0.5 }), 'Hit.Big: 0.5 is not a whole number'],
  [(c) => c.send('Hit', { Name: 3 }), 'Hit.Name: 3 is not a text'],
  [(c) => c.send('Hit', { Of: 3 }), 'Hit.Of: 3 is not an entity, { index, generation } or null'],
  [(c) => c.send('Hit', { Bag: [{ Kind: 1 }, { kind: 1 }] }), 'Hit.Bag[1].kind: there is no such field; it has Kind'],
  [(c) => c.on('spwan', () => {}), 'a client has no event spwan; it has connect, spawn, change, despawn, collection, right, message, error, close'],
  [(c) => c.onMessage('Chatt', () => {}), 'the protocol has no message Chatt; it has Chat, Hit'],
  [(c) => c.world.collections.of(null, 'bag'), 'the protocol has no collection bag; it has none'],
];

test('mistakes are named', () => {
  const { client } = joined();
  for (const [f, words] of mistakes) assert.throws(() => f(client), { message: `netcode: ${words}` });
});

test('what is missing is zero, what is out of bounds is clamped', () => {
  const { client, server } = joined();
  client.input('Stick', { X: 7 });
  assert.equal(client.inputs.types[0].plan.value(client.inputs.types[0].value, 0, null).X, 1);
  client.input('Stick', { Dash: 1 });
  client.send('Hit');
  client.send('Hit', { At: { Y: 2 }, Big: 5n, Of: null, Bag: [{}] });
  client.send('Chat', { From: -1 });
  client.link.send(0);
  assert.deepEqual(server.heardMessages.length, 3);
});

test('a payload that is none is refused when the client is made', () => {
  assert.throws(() => new Client(protocol, new Server(protocol), { payload: { name: 'me' } }), /a payload is a text or a Uint8Array/);
  assert.throws(() => new Client(protocol, new Server(protocol), { payload: 'x'.repeat(401) }), /a payload of 401 bytes/);
});
