// Uses each type of the package as a game does. It is checked and never run: npm run types
import { Client, Closed, OwnBody, Protocol, Session, WebSocketTransport, connectTransport, discover, entriesOfLock, reasons } from 'arche-netcode-client';
import { UDPTransport } from '../src/udp.js';
import { SecureTransport } from '../src/secure.js';
import { createProtocol, entries, hash, type Game } from './game.js';

async function play() {
  const transport = await connectTransport({ webTransport: 'https://play.example/netcode', webSocket: 'wss://play.example/ws', patience: 500 });
  const why: Error | null = transport.fallback;
  const client = new Client<Game>(createProtocol(), transport, { payload: 'ticket', maxEntities: 1000, delay: { least: 1 } });
  client.on('spawn', (entity) => {
    const points: number | undefined = entity.get('health')?.Points;
    const x: number = entity.shown('position')?.X ?? 0;
    // @ts-expect-error: no such component
    entity.get('helth');
    // @ts-expect-error: no such field
    entity.get('health')?.Point;
    entity.data = [points, x, why];
  });
  client.on('close', (err: Closed) => console.log(err.reason, err.detail, reasons[err.reason]));
  client.onMessage('chat', (m, info) => console.log(m.Text.toFixed(), info.entity?.index, info.tick));
  client.onMessage('said', (m) => console.log(m.Text.trim()));
  client.input('stick', { X: 1 });
  // @ts-expect-error: a text where a number belongs
  client.input('stick', { X: 'left' });
  client.send('chat', { Text: 1 }, { mode: 3, channel: 0 });
  // @ts-expect-error: a field is missing
  client.send('chat', {});
  for (const entity of client.entities.values()) {
    const items = client.world?.collections.of(entity, 'inventory');
    console.log(items?.map((item) => item.Item + item.Count), entity.alive && entity.components.length);
  }
  const own = new OwnBody(client, { component: 'position', input: 'stick', step: (at, stick, seconds) => ({ X: at.X + (stick?.X ?? 0) * seconds, Y: at.Y }) });
  own.update(client.entities.get(1), 0);
  client.transfers.receive(1000, { done: (t, bytes) => console.log(t.name, bytes.length) });
  await client.transfers.send('replay', new Uint8Array(9), (sent, size) => console.log(sent / size));
  client.update(performance.now());
  console.log(client.stats().roundTrip, client.connected, client.id);
  client.close('bye', { leaving: true });
}

function stay() {
  const session = new Session<Game>(async () => new Protocol(entries), () => new WebSocketTransport('wss://play.example/ws').opened, { payload: () => 'ticket' });
  session.on('client', (client) => client.input('stick', { Y: -1 }));
  session.on('waiting', (ms, err) => console.log(ms.toFixed(), err.message));
  session.update();
  return session.client?.connected ?? session.ended;
}

async function tool() {
  const udp = new UDPTransport('127.0.0.1', 9000);
  const secure = new SecureTransport(udp, { serverKey: new Uint8Array(32) });
  const found: string[] = await discover(secure, { random: (n) => new Uint8Array(n) });
  return [entriesOfLock(found.join('\n')).length, hash.length];
}

export { play, stay, tool };
