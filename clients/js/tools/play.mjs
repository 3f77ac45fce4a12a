// Plays against the server of live_test.go and prints its world: node play.mjs ADDRESS LOCK SECONDS [TOKEN]
import { readFileSync } from 'node:fs';
import { Client, Protocol } from '../src/index.js';
import { SecureTransport } from '../src/secure.js';
import { UDPTransport } from '../src/udp.js';

const [address, lock, seconds, token] = process.argv.slice(2);
const protocol = new Protocol(readFileSync(lock, 'utf8'));
const colon = address.lastIndexOf(':');
const udp = await new UDPTransport(address.slice(0, colon), Number(address.slice(colon + 1))).opened;
const client = new Client(protocol, token ? new SecureTransport(udp, { token: Buffer.from(token, 'hex') }) : udp);

const result = { Entities: {}, Echoes: [], Coins: 0, Refused: '', Cells: '', Level: '', Notes: [] };
let done = null;
let own = null;
client.on('close', (err) => {
  console.error('closed:', err.message, err.cause?.stack ?? '');
  process.exit(1);
});
client.transfers.receive(1 << 20, { done: (t, bytes) => (result.Level = `${t.name} ${bytes.length} ${bytes.every((b, i) => b === ((59999 - i) & 255))}`) });
client.on('right', (e) => (own = e.rights !== 0n ? e : null));
client.onMessage('Chat', (m) => result.Echoes.push(m.Text));
client.onMessage('Big', (m) => (result.Cells = String(m.Cells[999])));
client.onMessage('Note', (m) => result.Notes.push(`${m.Text} ${JSON.stringify(m.Tags)} ${m.Kind} ${m.Kind === 1 ? m.Hits : m.Aim}`));
client.onMessage('Done', (m) => (done = m.Tick));
client.on('connect', () => {
  for (let i = 0; i < 10; i++) client.send('Chat', { Text: `a ${i}` });
  client.send('Note', { Text: 'hé', Tags: ['a', 'b'], Kind: 1, Hits: 70000 });
  client.send('Note', { Kind: 2, Aim: 0.5 });
  client.send('Big', { Cells: Array.from({ length: 1000 }, (_, i) => (i === 999 ? 3n : BigInt(i))) });
  client.transfers.send('level', Uint8Array.from({ length: 60000 }, (_, i) => i & 255)).catch((err) => console.error(err.message));
  client.call('Price', { Item: 3 }).then((v) => (result.Coins = v.Count), (err) => console.error(err.message));
  client.call('Price', { Item: 0 }).catch((err) => (result.Refused = err.message));
});

const shown = (e) => {
  const out = { Index: e.index, Generation: e.generation, Rows: {}, Text: null, Bag: null, Inventory: null, Ranks: null };
  const { record } = e.state;
  for (const c of record.shape.components) {
    if (c.name === 'Name') {
      const v = e.get('Name');
      out.Text = v.Text;
      if (v.Bag.length > 0) out.Bag = v.Bag;
      continue;
    }
    const at = record.shape.offset[c.row];
    const written = client.own.rowOf(e, c); // what this client writes is as it wrote it
    out.Rows[c.name] = [...(written ? written.lanes : record.lanes.slice(at, at + c.plan.size))];
  }
  const bag = client.world.collections.of(e, 'bag');
  const ranks = client.world.collections.of(e, 'ranks');
  if (bag?.length > 0) out.Inventory = bag;
  if (ranks?.length > 0) out.Ranks = ranks.map((r) => [r.Key, r.Value]);
  return out;
};

const begin = performance.now();
let presses = 0;
let quiet = 0;
while (performance.now() - begin < (Number(seconds) + 20) * 1000) {
  const now = performance.now();
  client.update(now);
  if (client.connected) {
    if (presses < 3 && now - begin > 800 + presses * 500) {
      client.input('Stick', { X: 5, Y: -5, Jump: true });
      presses++;
    } else client.input('Stick', { X: 5, Y: -5, Jump: false });
    if (own) client.write(own, 'Paint', { Hue: 7 });
  }
  // A second of rest behind the last tick: what was lost has come again.
  if (done !== null && result.Level !== '' && client.serverTick > done + 60 && ++quiet > 2) break;
  await new Promise((r) => setTimeout(r, 8));
}
for (const e of client.entities.values()) result.Entities[e.index] = shown(e);
process.stdout.write(JSON.stringify(result));
console.error(client.stats());
process.exit(0);
