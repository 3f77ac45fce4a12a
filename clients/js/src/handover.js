// Handover: a player goes to another server while it plays. PROTOCOL.md, section 6, Handover.
import { ByteReader, ByteWriter, nearest } from './bits.js';

const prefix = 'netcode.handover.';

/**
 * Traveller has the sessions of one player: the one that is shown, and for about a second the one of the server that it goes to. Call `update` once a frame.
 *
 * Events: client(client) for each new one, to give it handlers; switch(client, before) when another one is shown; fail(err) when the player stays where it was.
 */
export class Traveller {
  /** @param {(to: {server: string, token: Uint8Array}, payload: Uint8Array|undefined) => Promise<import('./client.js').Client>} open dials a server and makes a client; payload is for the client, undefined for the first */
  constructor(open) {
    this.open = open;
    this.handlers = new Map();
    /** shown is the client whose world the player sees, or null. */
    this.shown = null;
    this.next = null; // { client, id, carries, has }
    this.ending = [];
    this.opening = false;
  }

  on(event, handler) {
    if (!['client', 'switch', 'fail'].includes(event)) throw new Error(`netcode: a traveller has no event ${event}; it has client, switch, fail`);
    this.handlers.set(event, [...(this.handlers.get(event) ?? []), handler]);
    return this;
  }

  emit(event, ...args) {
    for (const h of this.handlers.get(event) ?? []) h(...args);
  }

  /** start connects to a server. */
  async start(to) {
    const client = await this.open(to, undefined);
    client.handover = this;
    this.emit('client', client);
    const before = this.shown;
    this.shown = client;
    this.emit('switch', client, before);
    if (before) this.retire(before, 0);
  }

  /** input sets an input in both sessions, so that none is lost on the way. */
  input(name, value) {
    for (const c of [this.shown, this.next?.client]) if (c) c.input(name, value);
  }

  /** update does the work of a frame. */
  update(now = performance.now()) {
    for (const e of [...this.ending]) {
      if (now >= e.at) e.client.close('moved');
      if (e.client.state === 'closed') this.ending = this.ending.filter((x) => x !== e);
      else e.client.update(now);
    }
    const { next } = this;
    next?.client.update(now);
    this.shown?.update(now);
    if (!next || this.next !== next) return;
    if (next.client.state === 'closed') this.fail(new Error('netcode: the new server is gone'));
    else if (next.has) this.switch();
    else if (this.shown.state === 'closed' && !next.carries) this.fail(new Error('netcode: the old server is gone'));
  }

  switch() {
    const { next, shown } = this;
    this.put(shown, 'left', new ByteWriter(160).u64(next.id).blob(next.has));
    this.next = null;
    this.shown = next.client;
    this.retire(shown, Infinity, next.id);
    this.emit('switch', next.client, shown);
  }

  retire(client, at, id = 0n) {
    this.ending.push({ client, at, id });
  }

  fail(err) {
    const { next } = this;
    this.next = null;
    if (next) {
      this.put(this.shown, 'cancel', new ByteWriter(64).u64(next.id).string(err.message.slice(0, 40)));
      this.retire(next.client, 0);
    }
    this.emit('fail', err);
  }

  put(client, name, w) {
    if (client.connected) client.put(client.messageNamed(prefix + name), w.done(), { stage: 1 }, -1);
  }

  /** take handles a message of a handover and says whether it was one. */
  take(client, name, bytes) {
    if (!name.startsWith(prefix)) return false;
    const r = new ByteReader(bytes);
    const mine = this.next?.client === client;
    const what = name.slice(prefix.length);
    if (what === 'here') {
      if (mine) this.put(this.shown, 'ready', new ByteWriter(32).u64(this.next.id).raw(bytes));
      return true;
    }
    const id = r.u64();
    const known = this.next?.id === id;
    if (what === 'offer') void this.offered(client, id, { server: r.string(255), token: r.blob(2048).slice() }, r.blob(400).slice());
    else if (what === 'carry' && known && client === this.shown) this.carry(client, r.u16(), r.blob(32768));
    else if (what === 'arrived' && known && mine) {
      r.u16();
      this.next.has = r.blob(128).slice();
    } else if (what === 'stop' && known) this.fail(new Error(`netcode: ${r.string(160)}`));
    else if (what === 'done') for (const e of this.ending) if (e.id === id) e.at = client.now + 100;
    return true;
  }

  async offered(client, id, to, pass) {
    let made = null;
    let why = 'another move is under way';
    if (client === this.shown && !this.next && !this.opening) {
      this.opening = true;
      try {
        made = await this.open(to, pass);
      } catch (err) {
        why = err.message;
      }
      this.opening = false;
    }
    if (made && client === this.shown && client.connected) {
      made.handover = this;
      this.next = { client: made, id, carries: false, has: null };
      this.emit('client', made);
      return;
    }
    made?.close();
    this.put(client, 'cancel', new ByteWriter(64).u64(id).string(why.slice(0, 40)));
    this.emit('fail', new Error(`netcode: ${why}`));
  }

  carry(client, low, sealed) {
    const { next } = this;
    next.carries = true;
    if (sealed.length === 0) return; // the servers deliver it
    const unused = client.inputClock.at(client.now) - (nearest(low, client.tick) + 1);
    const since = Math.floor(next.client.inputClock.at(next.client.now) - unused + 0.125);
    this.put(next.client, 'bring', new ByteWriter(sealed.length + 32).u64(next.id).u16(since & 0xffff).blob(sealed));
  }
}
