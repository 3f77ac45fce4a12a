// Reliable channels: what was sent and is not acknowledged, what came and waits. PROTOCOL.md, section 6.
import { ByteReader, ByteWriter, Malformed } from './bits.js';
import { Mode, Type, readFlags } from './packets.js';

const windowSize = 1024;
const firstGrant = 131072;
const pieceSize = 440; // of a message in pieces: with all prefixes it fits the smallest packet
const maxPieces = 80;

const costOf = (payload) => payload + 32;

/** Outbox sends the reliable messages of all channels, and repeats what was lost. */
export class Outbox {
  constructor() {
    this.channels = new Map(); // mode * 64 + channel to { next, oldest, acked }
    this.waiting = []; // messages that were never sent, in the order of the calls
    this.lost = [];
    this.granted = firstGrant;
    this.spent = 0;
    this.bytes = 0; // of what waits or is unacknowledged
    this.underWay = 0;
  }

  channel(key) {
    let c = this.channels.get(key);
    if (c === undefined) {
      c = { key, next: 0, oldest: 0, acked: new Set(), sets: 0 };
      this.channels.set(key, c);
    }
    return c;
  }

  /** push queues a message: its parts behind the number (`rest`) and its prefix. Throws if too much waits. */
  push(mode, channel, type, stageFlags, rest) {
    if (this.bytes + rest.length > 262144) throw new Error('netcode: 256 KiB of reliable messages wait already');
    const c = this.channel(mode * 64 + channel);
    if (rest.length + 2 <= 486) {
      this.queue({ c, type, stage: stageFlags, rest, count: 1, number: -1, set: null });
      return;
    }
    const count = Math.ceil(rest.length / pieceSize);
    if (count > maxPieces) throw new Error(`netcode: a message of ${rest.length} bytes; at most ${maxPieces * pieceSize} fit: use a transfer`);
    const set = { left: count, begun: false };
    for (let i = 0; i < count; i++) {
      const w = new ByteWriter(pieceSize + 4).u8(type).u8(stageFlags).u8(i).u8(count).raw(rest.subarray(i * pieceSize, (i + 1) * pieceSize));
      this.queue({ c, type: Type.fragment, stage: 0, rest: w.done(), count, number: -1, set, index: i });
    }
  }

  queue(m) {
    this.bytes += m.rest.length;
    this.waiting.push(m);
  }

  /** next returns the next message to send of at most `room` bytes with its prefix of 4, or null. */
  next(room) {
    for (let i = 0; i < this.lost.length; i++) {
      if (this.lost[i].rest.length + 6 <= room) return this.lost.splice(i, 1)[0];
    }
    const blocked = new Set();
    for (let i = 0; i < this.waiting.length; i++) {
      const m = this.waiting[i];
      if (blocked.has(m.c) || !this.maySend(m) || m.rest.length + 6 > room) {
        blocked.add(m.c); // later messages of the channel keep behind it
        continue;
      }
      this.waiting.splice(i, 1);
      m.number = m.c.next++;
      this.spent += costOf(m.rest.length + 2);
      if (m.set && !m.set.begun) {
        m.set.begun = true;
        m.c.sets++;
      }
      return m;
    }
    return null;
  }

  maySend(m) {
    if (m.c.next - m.c.oldest >= windowSize) return false;
    if (m.set && !m.set.begun && this.sets() >= 4) return false;
    return this.spent + costOf(m.rest.length + 2) <= this.granted;
  }

  sets() {
    let n = 0;
    for (const c of this.channels.values()) n += c.sets;
    return n;
  }

  acked(m) {
    const { c } = m;
    if (m.number < c.oldest || c.acked.has(m.number)) return;
    this.bytes -= m.rest.length;
    c.acked.add(m.number);
    while (c.acked.delete(c.oldest)) c.oldest++;
    if (m.set && --m.set.left === 0) c.sets--;
    const again = this.lost.indexOf(m);
    if (again >= 0) this.lost.splice(again, 1);
  }

  lostAgain(m) {
    if (m.number < m.c.oldest || m.c.acked.has(m.number) || this.lost.includes(m)) return;
    this.lost.push(m);
  }

  grant(low) {
    const ahead = (low - (this.granted % 2 ** 32) + 2 ** 32) % 2 ** 32;
    if (ahead >= 1 && ahead <= 2 ** 31) this.granted += ahead;
  }

  get empty() {
    return this.bytes === 0;
  }
}

/** Inbox takes the reliable messages of all channels, each once, and those of ordered channels in order. */
export class Inbox {
  constructor() {
    this.channels = new Map();
    this.used = 0; // cost of what came
    this.returned = 0; // cost of what was handled or dropped
    this.told = firstGrant;
    this.sets = 0;
  }

  channel(key) {
    let c = this.channels.get(key);
    if (c === undefined) {
      c = { key, oldest: 0, have: new Set(), early: new Map(), pieces: new Map() };
      this.channels.set(key, c);
    }
    return c;
  }

  /** judge checks a message without an effect and returns its full number, or -1 for a duplicate. */
  judge(m, pending) {
    const c = this.channel(m.mode * 64 + m.channel);
    const d = (m.number - (c.oldest & 0xffff)) & 0xffff;
    if (d >= windowSize) {
      if (d >= 32768 && c.oldest >= 65536 - d) return -1;
      throw new Malformed('a reliable message outside of the window');
    }
    const number = c.oldest + d;
    if (c.have.has(number)) return -1;
    m.cost = costOf(m.payload);
    if (this.used + pending + m.cost > firstGrant + this.returned) throw new Overflow();
    if (m.type === Type.fragment) this.judgePiece(c, m, number);
    return number;
  }

  judgePiece(c, m, number) {
    const p = new ByteReader(m.body);
    const piece = { type: p.u8(), stage: p.u8(), index: p.u8(), count: p.u8(), bytes: p.slice(p.left) };
    if (piece.count < 2 || piece.count > maxPieces || piece.index >= piece.count || piece.bytes.length === 0) throw new Malformed('a piece that is none');
    if (piece.type === Type.fragment || piece.type === 0 || piece.type === 255 || (piece.stage & 7) === 7 || piece.stage & 0x80) throw new Malformed('a piece of a message that is none');
    if (piece.type < 16 && piece.type !== Type.refusal) throw new Malformed('a piece of a message of the library');
    const first = number - piece.index;
    if (first < 0) throw new Malformed('a piece whose first has a number below 0');
    const set = c.pieces.get(first);
    if (set && (set.count !== piece.count || set.type !== piece.type || set.stage !== piece.stage)) throw new Malformed('pieces that contradict each other');
    for (const [f, other] of c.pieces) if (f !== first && first < f + other.count && f < first + piece.count) throw new Malformed('a number used for two messages');
    if (!set && this.sets >= 4) throw new Malformed('a fifth message in pieces');
    m.piece = piece;
  }

  /** take keeps a message that was judged and returns those that can be handled now, in order. */
  take(m, number, out) {
    const c = this.channel(m.mode * 64 + m.channel);
    if (c.have.has(number)) return;
    this.used += m.cost;
    c.have.add(number);
    const whole = m.piece ? this.join(c, m, number) : m;
    if (c.key >= Mode.ordered * 64) {
      c.early.set(number, null);
      // The place of a message in pieces is the number of its last one.
      if (whole) c.early.set(m.piece ? number - m.piece.index + m.piece.count - 1 : number, whole);
      for (let n = c.oldest; c.early.has(n); n++) {
        const ready = c.early.get(n);
        c.early.delete(n);
        if (ready) out.push(ready);
      }
    } else if (whole) out.push(whole);
    while (c.have.delete(c.oldest)) c.oldest++;
  }

  // join adds a piece to its message and returns the message when it is whole.
  join(c, m, number) {
    const { piece } = m;
    const first = number - piece.index;
    let set = c.pieces.get(first);
    if (!set) {
      set = { type: piece.type, stage: piece.stage, count: piece.count, pieces: new Array(piece.count).fill(null), left: piece.count, cost: 0 };
      c.pieces.set(first, set);
      this.sets++;
    }
    set.pieces[piece.index] = piece.bytes.slice();
    set.cost += m.cost;
    if (--set.left > 0) return null;
    c.pieces.delete(first);
    this.sets--;
    const size = set.pieces[0].length;
    for (let i = 0; i < set.count; i++) {
      const n = set.pieces[i].length;
      if (i < set.count - 1 ? n !== size : n > size) throw new Malformed('pieces of unequal length');
    }
    const all = new ByteWriter(size * set.count);
    for (const p of set.pieces) all.raw(p);
    const whole = { ...m, piece: null, type: set.type, stage: set.stage & 7, flags: set.stage & 0x78, cost: set.cost };
    readFlags(whole, new ByteReader(all.done()));
    return whole;
  }

  /** handled gives the cost of a message back. */
  handled(m) {
    this.returned += m.cost;
  }

  /** grant returns the grant to tell, or -1. `again` tells it although little is new. */
  grant(again) {
    const now = firstGrant + this.returned;
    if (now - this.told < 32768 && !again) return -1;
    this.told = now;
    return now % 2 ** 32;
  }
}

/** Overflow is thrown for a reliable message beyond the credit: reason 8. */
export class Overflow extends Error {}
