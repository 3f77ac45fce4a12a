// Transfers: large messages in both directions, with progress. PROTOCOL.md, section 6, Transfers.
import { ByteReader, ByteWriter, Malformed } from './bits.js';

const pieceSize = 480;
const gotEvery = 16384;
const ahead = 131072;
const prefix = 'netcode.transfer.';

/** Transfers sends and receives large messages. Give handlers to `receive` before the first comes. */
export class Transfers {
  constructor(client) {
    this.client = client;
    this.known = client.protocol.messageNamed.has(`${prefix}begin`);
    this.incoming = new Map();
    this.newest = 0; // the newest ID of the server
    this.outgoing = new Map();
    this.next = 1;
    this.limit = 0;
    this.handler = null;
  }

  /**
   * receive takes transfers of up to `limit` bytes. handler: { begin(t), progress(t, received, size), done(t, bytes), failed(t, why) }; begin may throw to refuse.
   * t has id, name and size.
   */
  receive(limit, handler) {
    if (!this.known) throw new Error('netcode: the protocol has no transfers');
    this.limit = limit;
    this.handler = handler;
  }

  /** send begins a transfer of `bytes` and returns a promise of its end. progress(sent, size) is called as it is confirmed. */
  send(name, bytes, progress = () => {}) {
    if (!this.known) return Promise.reject(new Error('netcode: the protocol has no transfers'));
    const id = this.next++;
    const t = { id, name, bytes, sent: 0, got: 0, progress };
    this.outgoing.set(id, t);
    this.put('begin', new ByteWriter().varint(id).varint(bytes.length).string(name));
    return new Promise((resolve, reject) => {
      t.resolve = resolve;
      t.reject = reject;
    });
  }

  /** cancel ends an outgoing transfer (of send) or an incoming one. */
  cancel(t, why = 'cancelled') {
    const sender = this.outgoing.get(t.id) === t;
    (sender ? this.outgoing : this.incoming).delete(t.id);
    this.stop(t.id, sender, why);
    if (sender) t.reject(new Error(`netcode: the transfer was ${why}`));
  }

  stop(id, sender, why) {
    this.put('stop', new ByteWriter().varint(id).u8(sender ? 1 : 0).string(why.slice(0, 40)));
  }

  put(name, w) {
    const t = this.client.protocol.messageNamed.get(prefix + name);
    this.client.put(t, w.done(), { stage: 0 }, -1);
  }

  /** feed sends pieces while little waits before them. */
  feed() {
    for (const t of this.outgoing.values()) {
      while (t.sent < t.bytes.length && t.sent - t.got < ahead && this.client.link.outbox.bytes < 16384) {
        const piece = t.bytes.subarray(t.sent, t.sent + pieceSize);
        this.put('piece', new ByteWriter(pieceSize + 16).varint(t.id).blob(piece));
        t.sent += piece.length;
      }
    }
  }

  /** take handles a message of a transfer and says whether it was one. */
  take(name, bytes) {
    if (!name.startsWith(prefix)) return false;
    const r = new ByteReader(bytes);
    const id = r.varint();
    if (name.endsWith('begin')) this.begun(id, r.varint(), r.string(64));
    else if (name.endsWith('piece')) this.piece(id, r.blob(pieceSize));
    else if (name.endsWith('got')) this.confirmed(id, r.varint());
    else this.stopped(id, r.bool(), r.string(120));
    if (r.left > 0) throw new Malformed('bytes behind a message of a transfer');
    return true;
  }

  begun(id, size, name) {
    if (id <= this.newest) throw new Malformed('a transfer whose ID is not above the newest');
    this.newest = id;
    const t = { id, name, size, received: 0, told: 0, parts: [] };
    if (!this.handler || size > this.limit || this.incoming.size >= 4) {
      this.stop(id, false, this.handler ? 'too large' : 'nobody takes it');
      return;
    }
    try {
      this.handler.begin?.(t);
    } catch (err) {
      this.stop(id, false, err.message);
      return;
    }
    this.incoming.set(id, t);
    if (size === 0) this.finish(t);
  }

  piece(id, bytes) {
    if (id > this.newest || bytes.length === 0) throw new Malformed('a piece of a transfer that did not begin, or an empty one');
    const t = this.incoming.get(id);
    if (!t) return; // it is over
    t.received += bytes.length;
    if (t.received > t.size) throw new Malformed('a piece beyond the size of its transfer');
    t.parts.push(bytes.slice());
    this.tell('progress', t, t.received, t.size);
    if (t.received === t.size) this.finish(t);
    else if (t.received - t.told >= gotEvery) this.got(t);
  }

  // tell calls a method of the game's handler.
  tell(what, ...args) {
    this.client.run(() => this.handler?.[what]?.(...args));
  }

  got(t) {
    t.told = t.received;
    this.put('got', new ByteWriter().varint(t.id).varint(t.received));
  }

  finish(t) {
    this.got(t);
    this.incoming.delete(t.id);
    const all = new Uint8Array(t.size);
    let at = 0;
    for (const p of t.parts) {
      all.set(p, at);
      at += p.length;
    }
    t.parts = [];
    this.tell('done', t, all);
  }

  confirmed(id, n) {
    const t = this.outgoing.get(id);
    if (!t) {
      if (id >= this.next) throw new Malformed('a confirmation of a transfer that did not begin');
      return;
    }
    if (n < t.got || n > t.sent) throw new Malformed('a confirmation of what was not sent');
    t.got = n;
    this.client.run(t.progress, n, t.bytes.length);
    if (n < t.bytes.length) return;
    this.outgoing.delete(id);
    t.resolve();
  }

  stopped(id, sender, why) {
    const list = sender ? this.incoming : this.outgoing;
    const t = list.get(id);
    if (!t) return;
    list.delete(id);
    if (sender) this.tell('failed', t, why);
    else t.reject(new Error(`netcode: the server refused the transfer: ${why}`));
  }

  /** end fails all transfers: the connection is over. */
  end(err) {
    for (const t of this.outgoing.values()) t.reject(err);
    for (const t of this.incoming.values()) this.tell('failed', t, err.message);
    this.outgoing.clear();
    this.incoming.clear();
  }
}
