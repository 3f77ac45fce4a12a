// Learns a server's protocol from its refusals. PROTOCOL.md, section 12, Wrong protocol.
import { Closed, Handshake } from './handshake.js';
import { fnv32, fnv64, textBytes } from './bits.js';

/**
 * discover asks a server for its protocol, an entry with each Hello, and returns the entries. It takes as many round trips as there are entries.
 * It fails at an entry of more than some 470 bytes, which a refusal cuts.
 * @param {{send(b: Uint8Array): void, receive(): Uint8Array|null}} transport
 * @param {{random: (n: number) => Uint8Array, sleep?: (ms: number) => Promise<void>, now?: () => number, entries?: string[]}} options
 */
export async function discover(transport, options) {
  const { random, now = () => performance.now(), sleep = (ms) => new Promise((r) => setTimeout(r, ms)) } = options;
  const entries = [...(options.entries ?? [])];
  for (;;) {
    const words = await refusal(transport, { entries, random, now, sleep });
    if (words === null) return entries;
    const m = /^(\d+)(?: (.*))?$/s.exec(words);
    if (!m || Number(m[1]) > 700) throw new Error(`netcode: a refusal that names no entry: ${words}`);
    if (m[2] === undefined) entries.length = Number(m[1]);
    else {
      entries.length = Number(m[1]);
      entries.push(m[2]);
      if (textBytes(words).length >= 478) throw new Error(`netcode: entry ${m[1]} is cut in the refusal: take the lock file`);
    }
  }
}

// refusal makes one attempt with some entries. It returns the detail of the refusal, or null if they are accepted.
async function refusal(transport, { entries, random, now, sleep }) {
  let hash = 0xcbf29ce484222325n;
  for (const e of entries) hash = fnv64(textBytes(`${e}\n`), hash);
  const protocol = { entries: [], hash, hashes: entries.map((e) => fnv32(textBytes(e))) };
  const attempt = new Handshake({ protocol, payload: new Uint8Array(0), random, send: (b) => transport.send(b) }, now());
  attempt.raw = true;
  for (;;) {
    try {
      attempt.update(now());
      for (let b = transport.receive(); b !== null; b = transport.receive()) {
        attempt.take(b, now());
        if (attempt.accept) return null;
      }
    } catch (err) {
      if (err instanceof Closed && err.reason === 33) return err.detail;
      throw err;
    }
    await sleep(2);
  }
}
