// One session: packets, acknowledgements, loss, what waits to be sent. It has no clock and no socket. PROTOCOL.md, sections 4 to 6.
import { ByteReader, ByteWriter, Malformed, nearest, textBytes } from './bits.js';
import { Inbox, Outbox, Overflow } from './channels.js';
import { Closed } from './handshake.js';
import { Mode, Type, checksum, detail, readHeader, readMessages, sealed } from './packets.js';

const ring = 1024; // sent packets that are remembered

/** Link reads and writes the packets of a session. `owner` gives it sections to send and takes what comes. */
export class Link {
  constructor(session, owner, now) {
    this.session = session;
    this.owner = owner;
    this.up = session.seed;
    this.down = ~session.seed >>> 0;
    this.sequence = 0;
    this.sent = new Array(ring).fill(null);
    this.newestAcked = 0;
    this.newest = 0; // the newest accepted
    this.accepted = new Uint8Array(256);
    this.owes = false; // an acknowledgement
    this.owedSince = 0;
    this.outbox = new Outbox();
    this.inbox = new Inbox();
    this.outgoing = []; // unreliable messages: { key, bytes }
    this.sequencedNewest = new Map();
    this.tellGrant = false;
    this.heardAt = now;
    this.saidAt = now;
    this.rtt = 0;
    this.jitter = 0;
    this.lostPackets = 0;
    this.stats = { received: 0, sent: 0, bytesReceived: 0, bytesSent: 0, lost: 0, damaged: 0, old: 0, lacking: 0 };
    this.out = new ByteWriter(2048);
    this.size = Math.min(session.size, 1200);
    this.closing = null;
  }

  // read

  /** read takes a datagram of the session. Throws Closed where the connection has to end. */
  read(bytes, now) {
    this.stats.received++;
    this.stats.bytesReceived += bytes.length;
    if (bytes.length < 9 || !checksum(bytes, this.down)) {
      this.stats.damaged++;
      return;
    }
    const r = new ByteReader(bytes);
    const h = readHeader(r);
    const sequence = nearest(h.sequence, this.newest);
    if (sequence < 1 || sequence <= this.newest - 256 || (sequence <= this.newest && this.accepted[sequence & 255])) {
      this.stats.old++;
      return;
    }
    this.readAcks(h, now);
    const messages = readMessages(r);
    const judged = this.judge(messages, sequence);
    this.heardAt = now;
    if (!this.owner.snapshot(judged.snapshot, now)) {
      this.stats.lacking++;
      return; // not decoded: no effect and no acknowledgement
    }
    this.accept(sequence, messages.length > 0, now);
    this.effects(judged, sequence, now);
  }

  readAcks(h, now) {
    if (h.ack < 0) return;
    const ack = nearest(h.ack, this.sequence);
    if (this.sequence - ack >= ring) return;
    const named = [];
    for (let i = -1; i < 32; i++) {
      if (i >= 0 && !((h.bits >>> i) & 1)) continue;
      const n = ack - 1 - i;
      if (n > this.sequence || (n < 1 && this.sequence - n < ring)) throw new Closed(7);
      if (n >= 1 && this.sequence - n < ring) named.push(n);
    }
    for (const n of named) this.acked(n, n === ack ? h.delay : -1, now);
    if (ack > this.newestAcked) this.newestAcked = ack;
  }

  acked(n, delay, now) {
    const p = this.sent[n % ring];
    if (p === null || p.number !== n || p.acked) return;
    p.acked = true;
    if (p.eliciting && n > this.newestAcked) this.sampleRoundTrip(Math.max(0, now - p.at));
    if (delay >= 0) this.owner.ping?.(Math.max(0, now - p.at - (delay * 8) / 1000));
    for (const m of p.reliable) this.outbox.acked(m);
    this.owner.packetAcked(p.parts, p.tick);
  }

  sampleRoundTrip(ms) {
    if (this.rtt === 0) {
      this.rtt = ms;
      this.jitter = ms / 2;
    } else {
      this.jitter += (Math.abs(ms - this.rtt) - this.jitter) / 4;
      this.rtt += (ms - this.rtt) / 8;
    }
  }

  // judge checks every message of a packet before any takes effect.
  judge(messages, sequence) {
    const j = { snapshot: null, keepAlive: null, close: null, credit: -1, feedback: null, sections: [], reliable: [], games: [], padded: false };
    const once = new Set();
    let pending = 0;
    for (const m of messages) {
      m.sequence = sequence;
      if (m.type < 16 && m.type !== Type.fragment && m.type !== Type.refusal) {
        if (m.mode !== 0 || m.channel !== 0 || m.stage !== 0 || m.flags !== 0) throw new Malformed('a message of the library on another channel');
        if (once.has(m.type)) throw new Malformed('two messages of which a packet has one');
        once.add(m.type);
        this.judgeOwn(m, j);
        continue;
      }
      this.owner.judgeGame(m);
      if (m.mode >= 2) {
        const number = this.inbox.judge(m, pending);
        if (number < 0) continue;
        pending += m.cost;
        m.fullNumber = number;
      }
      j.games.push(m);
    }
    return j;
  }

  judgeOwn(m, j) {
    const r = new ByteReader(m.body);
    switch (m.type) {
      case Type.snapshot:
        if (m.body.length === 0) throw new Malformed('an empty snapshot');
        j.snapshot = m.body;
        break;
      case Type.keepAlive:
        j.keepAlive = r.u16();
        j.padded = r.left > 0;
        if (r.slice(r.left).some((b) => b !== 0)) throw new Malformed('padding that is not zero');
        break;
      case Type.close: {
        const reason = r.u8();
        if (reason === 0) throw new Malformed('a Close without a reason');
        j.close = { reason, text: detail(r.slice(r.left), 200) };
        break;
      }
      case Type.credit:
        if (m.body.length !== 4) throw new Malformed('a Credit of another size');
        j.credit = r.u32();
        break;
      case Type.feedback:
        if (m.body.length !== 4 && m.body.length !== 8) throw new Malformed('a Feedback of another size');
        j.feedback = { tick: r.u16(), early: r.i16() / 256, since: -1, slipped: 0 };
        if (r.left > 0) {
          j.feedback.since = r.u16();
          j.feedback.slipped = r.u16();
        }
        break;
      case Type.resync:
        if (m.body.length !== 2) throw new Malformed('a Resync of another size');
        j.resync = r.u16();
        break;
      case Type.input:
        throw new Malformed('an Input of the server');
      default:
        j.sections.push(m);
    }
    this.owner.judgeOwn?.(m);
  }

  accept(sequence, eliciting, now) {
    if (sequence > this.newest) {
      const from = Math.max(this.newest + 1, sequence - 255);
      for (let n = from; n < sequence; n++) this.accepted[n & 255] = 0;
      this.newest = sequence;
    }
    this.accepted[sequence & 255] = 1;
    if (eliciting && !this.owes) {
      this.owes = true;
      this.owedSince = now;
    }
  }

  effects(j, sequence, now) {
    this.owner.heard(j, now);
    if (j.credit >= 0) this.outbox.grant(j.credit);
    const ready = [];
    for (const m of j.games) {
      if (m.mode >= 2) this.inbox.take(m, m.fullNumber, ready);
      else if (m.mode === Mode.sequenced) {
        const before = this.sequencedNewest.get(m.channel) ?? 0;
        if (sequence < before) continue;
        this.sequencedNewest.set(m.channel, sequence);
        ready.push(m);
      } else ready.push(m);
    }
    for (const m of ready) this.owner.message(m, now);
    if (j.close) {
      this.send(now, true);
      throw new Closed(j.close.reason, j.close.text);
    }
  }

  // write

  /** unreliable queues a message for the next packet. */
  unreliable(mode, channel, type, stageFlags, rest) {
    if (this.outgoing.length >= 1024) return false;
    this.outgoing.push({ key: mode * 64 + channel, bytes: new ByteWriter(rest.length + 4).u8(type).u8(stageFlags).u16(rest.length).raw(rest).done() });
    return true;
  }

  /** detectLost presumes packets lost that later ones overtook, or that are too old. */
  detectLost(now, tickMs) {
    const timeout = this.rtt > 0 ? 1.25 * this.rtt + 2 * this.jitter + tickMs : 250 + tickMs;
    for (let n = Math.max(1, this.sequence - ring + 1); n <= this.sequence; n++) {
      const p = this.sent[n % ring];
      if (p === null || p.number !== n || p.acked || p.lost) continue;
      if (n > this.newestAcked - 3 && now - p.at < timeout) continue;
      p.lost = true;
      if (p.eliciting) this.stats.lost++;
      for (const m of p.reliable) this.outbox.lostAgain(m);
      this.tellGrant ||= p.grant;
      this.owner.packetLost(p.parts, p.tick);
    }
  }

  /** send writes what waits, in up to a few packets. `must` sends one although nothing waits. */
  send(now, must = false) {
    for (let i = 0; i < 4; i++) {
      if (!this.sendOne(now, must && i === 0)) return;
    }
  }

  sendOne(now, must) {
    const first = new ByteWriter(1200);
    const p = { number: 0, at: now, acked: false, lost: false, eliciting: false, reliable: [], parts: [], tick: this.owner.tick ?? 0, grant: false };
    const put = (type, body) => first.u8(type).u8(0).u16(body.length).raw(body);
    const grant = this.inbox.grant(this.tellGrant);
    if (grant >= 0) {
      put(Type.credit, new ByteWriter(4).u32(grant).done());
      p.grant = true;
      this.tellGrant = false;
    }
    this.owner.sections(put, this.size - 64 - first.pos, p.parts);
    let room = this.size - 24 - first.pos;
    const batches = this.batches(p, room, first);
    p.eliciting = first.pos > 0 || batches.length > 0;
    if (!p.eliciting && !must && !this.owes) return false;
    this.finish(p, first, batches, now);
    return p.eliciting && (this.outgoing.length > 0 || this.outbox.waiting.length > 0 || this.outbox.lost.length > 0);
  }

  // batches fills the rest of a packet: reliable messages, then unreliable ones.
  batches(p, room, first) {
    const out = [];
    let last = null;
    const add = (key, bytes) => {
      if (key === 0 && last === null) {
        first.raw(bytes);
      } else if (last !== null && last.key === key) last.w.raw(bytes);
      else {
        last = { key, w: new ByteWriter(256).raw(bytes) };
        out.push(last);
        room -= 3;
      }
      room -= bytes.length;
    };
    for (let m = this.outbox.next(room - 3); m !== null; m = this.outbox.next(room - 3)) {
      const body = new ByteWriter(m.rest.length + 6).u8(m.type).u8(m.stage).u16(m.rest.length + 2).u16(m.number & 0xffff).raw(m.rest).done();
      add(m.c.key, body);
      p.reliable.push(m);
    }
    while (this.outgoing.length > 0 && this.outgoing[0].bytes.length + 3 <= room) {
      const m = this.outgoing.shift();
      add(m.key, m.bytes);
    }
    if (this.outgoing.length > 0 && this.outgoing[0].bytes.length + 3 > this.size - 40) this.outgoing.shift(); // it fits no packet
    return out;
  }

  finish(p, first, batches, now) {
    p.number = ++this.sequence;
    const w = this.out.reset();
    const acked = this.newest > 0;
    let flags = acked ? 1 : 0;
    const bytes = [];
    for (let k = 0; k < 4 && acked; k++) {
      let byte = 0;
      for (let i = 0; i < 8; i++) {
        const n = this.newest - 1 - (8 * k + i);
        if (n >= 1 && n > this.newest - 256 && this.accepted[n & 255]) byte |= 1 << i;
      }
      if (byte === 255) continue;
      flags |= 2 << k;
      bytes.push(byte);
    }
    w.u8(flags).u16(p.number & 0xffff);
    if (acked) {
      w.u16(this.newest & 0xffff);
      for (const b of bytes) w.u8(b);
    }
    w.u16(first.pos + 2).raw(first.bytes.subarray(0, first.pos));
    for (const b of batches) w.u16(b.w.pos + 3).u8(b.key).raw(b.w.bytes.subarray(0, b.w.pos));
    const datagram = sealed(w, this.up);
    this.sent[p.number % ring] = p;
    this.owes = false;
    if (p.eliciting) this.saidAt = now;
    this.stats.sent++;
    this.stats.bytesSent += datagram.length;
    this.owner.transmit(datagram);
  }

  /** sendClose sends a Close, once. */
  sendClose(reason, words, now) {
    this.outgoing.length = 0;
    const body = new ByteWriter(64).u8(reason).raw(textBytes(words).subarray(0, 200)).done();
    this.unreliable(0, 0, Type.close, 0, body);
    const owner = this.owner;
    this.owner = { ...closingOwner, transmit: (b) => owner.transmit(b) };
    this.sendOne(now, true);
    this.owner = owner;
  }
}

const closingOwner = { sections() {}, packetAcked() {}, packetLost() {}, tick: 0 };

export { Overflow };
