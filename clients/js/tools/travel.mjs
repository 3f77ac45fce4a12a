// Goes to another server and prints what it saw: node travel.mjs ADDRESS LOCK
import { readFileSync } from 'node:fs';
import { Client, Protocol, Traveller } from '../src/index.js';
import { UDPTransport } from '../src/udp.js';

const [address, lock] = process.argv.slice(2);
const protocol = new Protocol(readFileSync(lock, 'utf8'));
const result = { Switches: 0, Fails: [], Before: 0, After: 0, Steps: 0, Heard: [] };
const player = new Traveller(async (to, payload) => {
  const colon = to.server.lastIndexOf(':');
  const udp = await new UDPTransport(to.server.slice(0, colon), Number(to.server.slice(colon + 1))).opened;
  return new Client(protocol, udp, { payload: payload ?? 'ann' });
});
const own = (client) => [...client.entities.values()].find((e) => e.get('Owner')?.Client === client.id);
player.on('client', (client) => client.onMessage('Said', (m) => result.Heard.push(m.Number)));
player.on('switch', (client, before) => {
  if (!before) return;
  result.Switches++;
  result.Before = own(before)?.get('Hero').Gold ?? -1;
  result.After = own(client)?.get('Hero').Gold ?? -1;
});
player.on('fail', (err) => result.Fails.push(err.message));
await player.start({ server: address, token: new Uint8Array(0) });
const timer = setInterval(() => {
  const now = performance.now();
  player.input('Walk', { X: 1 });
  player.update(now);
  if (result.Switches + result.Fails.length === 0 || player.ending.length > 0) return;
  result.Steps = own(player.shown)?.get('Hero').Steps ?? -1;
  if (result.Steps < 60) return; // it goes on at the new server
  clearInterval(timer);
  player.shown.close('enough', { leaving: true });
  console.log(JSON.stringify(result));
  setTimeout(() => process.exit(0), 50);
}, 8);
