// The client of a game: connects, keeps the world that the server shows, handles and sends messages and inputs.
import { ByteReader, ByteWriter, Malformed, fnv32, nearest, textBytes } from './bits.js';
import { checkRow } from './check.js';
import { bytesOfRow, rowOfBytes } from './fields.js';
import { InputClock, ShownClock } from './clock.js';
import { Closed, Handshake, Resume } from './handshake.js';
import { Inputs } from './inputs.js';
import { OwnRows } from './own.js';
import { Link, Overflow } from './link.js';
import { Mode, Type, detail } from './packets.js';
import { Lacking, State, TooMany } from './snapshot.js';
import { Transfers } from './transfers.js';
import { Waiting } from './waiting.js';
import { World } from './world.js';

/** State names of a client. */
export const States = { connecting: 'connecting', connected: 'connected', closing: 'closing', closed: 'closed' };

const secureRandom = (n) => globalThis.crypto.getRandomValues(new Uint8Array(n));
const empty = new Uint8Array(0);
/** Names of the events of a client. */
export const events = ['connect', 'spawn', 'change', 'despawn', 'collection', 'right', 'message', 'error', 'close'];

/**
 * Client is one connection to a server. It has no timer: call `update` once a frame. `transport` sends and receives datagrams, see transports.js.
 *
 * Events, by `on(name, handler)`: connect(), spawn(entity), change(entity), despawn(entity), collection(entity, name, elements), right(entity, rows),
 * message(name, value, info), close(err), error(err). An error that a handler throws stops nothing else: it goes to `error`, and without such a handler
 * `update` throws it at its end.
 */
export class Client {
  /**
   * @param {import('./protocol.js').Protocol|import('./protocol.js').Protocol[]} protocol several: those of older servers behind the own one
   * @param {{send(b: Uint8Array): void, receive(): Uint8Array|null, close(): void}} transport
   * @param {{payload?: Uint8Array|string, random?: (n: number) => Uint8Array, maxEntities?: number, delay?: object}} [options]
   */
  constructor(protocol, transport, options = {}) {
    this.protocols = Array.isArray(protocol) ? protocol : [protocol]; // the own one first, then those of older builds
    this.protocol = this.protocols[0];
    this.transport = transport;
    this.options = options;
    const { payload } = options;
    if (payload !== undefined && payload !== null && typeof payload !== 'string' && !(payload instanceof Uint8Array)) throw new Error('netcode: a payload is a text or a Uint8Array');
    this.payload = typeof payload === 'string' ? textBytes(payload) : payload ?? empty;
    if (this.payload.length > 400) throw new Error(`netcode: a payload of ${this.payload.length} bytes; at most 400 are sent`);
    this.random = options.random ?? secureRandom;
    this.state = States.connecting;
    this.handlers = new Map();
    this.messageHandlers = new Map();
    this.id = 0;
    this.handshake = null;
    this.link = null;
    this.world = null;
    this.calls = new Map();
    this.nextCall = 0;
    this.thrown = []; // errors of the game's handlers
    this.now = 0;
    this.pingMs = 0;
    /** handover is the Traveller that has this client, or null. */
    this.handover = null;
    /** transfers sends and receives large messages. */
    this.transfers = new Transfers(this);
  }

  /** on adds a handler of an event and returns a function that removes it. */
  on(event, handler) {
    if (!events.includes(event)) throw new Error(`netcode: a client has no event ${event}; it has ${events.join(', ')}`);
    const list = this.handlers.get(event) ?? [];
    this.handlers.set(event, [...list, handler]);
    return () => this.handlers.set(event, this.handlers.get(event).filter((h) => h !== handler));
  }

  /** onMessage adds a handler of a message type of the game: handler(value, { entity, tick }). */
  onMessage(name, handler) {
    this.messageNamed(name);
    this.messageHandlers.set(name, [...(this.messageHandlers.get(name) ?? []), handler]);
    return this;
  }

  emit(event, ...args) {
    const list = this.handlers.get(event);
    if (list !== undefined) for (const h of list) this.run(h, ...args);
  }

  /** run calls a handler of the game. What it throws waits for the end of the frame. */
  run(handler, ...args) {
    try {
      handler(...args);
    } catch (err) {
      this.thrown.push(err);
    }
  }

  // tell hands the errors of handlers to the game.
  tell() {
    if (this.thrown.length === 0) return;
    const list = this.thrown;
    this.thrown = [];
    if (this.handlers.has('error')) for (const err of list) for (const h of this.handlers.get('error')) h(err);
    else throw list.length === 1 ? list[0] : new AggregateError(list, `netcode: ${list.length} handlers failed, the first by ${list[0]?.message}`);
  }

  /** connected tells whether the server has this client. */
  get connected() {
    return this.state === States.connected;
  }

  /** entities has the entities that the server shows, by `index`; see World. */
  get entities() {
    return this.world ? this.world.entities : new Map();
  }

  /** update does the work of a frame: reads what came, applies it, handles messages, sends. now is in ms and never goes back. */
  update(now = performance.now()) {
    if (this.state === States.closed) return;
    this.now = now;
    try {
      for (let bytes = this.transport.receive(); bytes !== null && this.state !== States.closed; bytes = this.transport.receive()) this.take(bytes, now);
      if (this.state === States.connecting) this.connecting(now);
      else if (this.link) this.running(now);
      if (this.transport.failed) this.gone(this.transport.failed);
    } catch (err) {
      this.fail(err, now);
    }
    this.tell();
  }

  // gone ends the connection whose transport has failed.
  gone(err) {
    this.end(this.state === States.closing ? new Closed(1, this.closeText) : Object.assign(new Closed(0, err.message.replace(/^netcode: /, '')), { cause: err }));
  }

  // fail ends the connection for what a peer did; other errors are the game's.
  fail(err, now) {
    if (err instanceof Closed) {
      const next = this.protocols[this.protocols.indexOf(this.protocol) + 1];
      if (err.reason === 33 && this.state === States.connecting && next) {
        this.protocol = next; // a new attempt, with a nonce of its own
        this.handshake = null;
        return;
      }
      this.end(err);
      return;
    }
    const reason = err instanceof Malformed ? 6 : err instanceof Overflow ? 8 : err instanceof TooMany ? 12 : 0;
    if (reason === 0) throw err;
    if (this.link) this.link.sendClose(reason, '', now);
    const closed = new Closed(reason, err.message);
    closed.cause = err;
    this.end(closed);
  }

  end(err) {
    if (this.state === States.closed) return;
    this.state = States.closed;
    this.transport.close();
    for (const c of this.calls.values()) c.reject(err);
    this.calls.clear();
    this.transfers.end(err);
    this.emit('close', err);
  }

  take(bytes, now) {
    if (bytes.length < 4) return;
    if (bytes[0] & 0x80) {
      if (this.handshake) this.takeHandshake(bytes, now);
      else this.resume.take(bytes, now, now - this.link.heardAt);
      return;
    }
    if (this.link) {
      this.link.read(bytes, now);
      this.resume.end();
    }
  }

  connecting(now) {
    if (!this.handshake) {
      if (this.transport.ready === false) return;
      this.handshake = new Handshake({ protocol: this.protocol, payload: this.payload, random: this.random, send: (b) => this.transport.send(b) }, now);
    }
    this.handshake.update(now);
  }

  takeHandshake(bytes, now) {
    const welcome = this.handshake.take(bytes, now);
    if (!welcome) return;
    const roundTrip = Math.min(1000, now - this.handshake.began) / 3;
    this.handshake = null;
    this.id = welcome.client;
    this.session = welcome;
    this.tickMs = 1000 / welcome.rate;
    this.state = States.connected;
    this.snapshots = new State(this.protocol, welcome.window, Math.max(1, welcome.tick), this.options.maxEntities);
    this.own = new OwnRows(this.protocol);
    this.world = new World(this.protocol, this.snapshots, this.own, (event, ...args) => this.emit(event, ...args), this.protocols);
    this.shownClock = new ShownClock(welcome.rate, this.options.delay);
    this.inputClock = new InputClock(welcome.rate, welcome.tick, now, roundTrip);
    this.inputs = new Inputs(this.protocol);
    this.waiting = new Waiting();
    this.resume = new Resume(welcome, this.random);
    this.serverTick = Math.max(1, welcome.tick);
    this.slipped = 0; // ticks that the server gave up
    this.slipAt = 0; // the newest input of before
    this.link = new Link(welcome, this, now);
    this.nextSend = now;
    this.firstPacket = false;
    this.mustResync = false;
    this.emit('connect');
  }

  running(now) {
    const { link } = this;
    const silent = now - link.heardAt;
    if (silent > 10000) throw new Closed(this.resume.reason, this.resume.text);
    const resume = this.resume.packet(now, silent, Math.min(500, Math.max(150, 4 * this.tickMs)));
    if (resume) this.transport.send(resume);
    this.tick = Math.floor(this.inputClock.at(now));
    this.inputs.step(this.tick);
    this.shown = this.shownClock.update(now);
    this.world.show(this.shown);
    this.waiting.run(this, now);
    this.transfers.feed();
    this.expireCalls(now);
    if (now < this.nextSend) return;
    this.nextSend = Math.max(now - this.tickMs, this.nextSend) + this.tickMs;
    link.detectLost(now, this.tickMs);
    if (this.state === States.closing) return this.closingStep(now);
    const quiet = now - link.saidAt;
    if (quiet > (this.firstPacket ? 1000 : 100) || link.sequence === 0) this.keepAlive = true;
    link.send(now);
  }

  // what the link asks

  /** transmit sends a datagram. */
  transmit(bytes) {
    this.transport.send(bytes);
  }

  /** sections adds the library's own messages to a packet. */
  sections(put, room, parts) {
    if (this.mustResync) put(Type.resync, new ByteWriter(2).u16(this.snapshots.askedEpoch).done());
    const rows = this.own.section(this.tick, Math.min(room - 40, 400));
    if (rows) {
      put(Type.snapshot, rows.bytes);
      parts.push(rows);
      room -= rows.bytes.length + 4;
    }
    const input = this.inputs.section(room - 16, this.behind());
    if (input) {
      put(Type.input, input.bytes);
      parts.push(input);
    }
    if (this.keepAlive) {
      put(Type.keepAlive, empty);
      this.keepAlive = false;
    }
  }

  // behind is how far the shown state lies before the newest input, in 1/64 tick.
  behind() {
    if (!(this.shown >= 0)) return 0xffff;
    return Math.max(0, Math.min(0xfffe, Math.round((this.inputs.newest - this.shown) * 64)));
  }

  packetAcked(parts) {
    for (const p of parts) p.acked();
  }

  packetLost(parts) {
    for (const p of parts) p.lost?.();
  }

  ping(ms) {
    this.pingMs = ms;
  }

  /** snapshot decodes a payload. False: it cannot be decoded, and its packet is not acknowledged. */
  snapshot(payload, now) {
    this.firstPacket = true;
    if (payload === null) return true;
    try {
      if (!this.snapshots.read(payload)) return false;
    } catch (err) {
      if (!(err instanceof Lacking)) throw err;
      if (!this.mustResync) {
        this.mustResync = true;
        this.snapshots.askedEpoch = (this.snapshots.askedEpoch % 0xffff) + 1;
      }
      return false;
    }
    if (this.snapshots.epoch === this.snapshots.askedEpoch) this.mustResync = false;
    this.shownClock.heard(this.snapshots.tick, now);
    return true;
  }

  /** heard takes the library's messages of an accepted packet. */
  heard(j, now) {
    if (j.snapshot && this.snapshots.tick > this.serverTick) this.serverTick = this.snapshots.tick;
    if (j.keepAlive !== null) {
      const tick = nearest(j.keepAlive, this.serverTick);
      if (tick > this.serverTick) this.serverTick = tick;
      this.shownClock.heard(tick, now);
    }
    if (j.resync !== undefined) this.own.resync(j.resync);
    if (j.feedback) this.feedback(j.feedback);
    for (const s of j.sections) this.section(s, now);
  }

  // feedback moves the clock of inputs. Ticks that the server gave up move all back; what was sent before them tells nothing.
  feedback(f) {
    if (f.since >= 0) {
      const more = (f.slipped - this.slipped) & 0xffff;
      if (more !== 0 && more < 0x8000) {
        this.slipped = f.slipped;
        this.inputClock.slip(more);
        this.slipAt = this.inputs.newest;
      }
    }
    if (nearest(f.tick, this.tick ?? this.serverTick) > this.slipAt) this.inputClock.feedback(f.early);
  }

  // section reads the parts of whole ticks that carry state; the others are for clients that predict.
  section(m, now) {
    const s = this.protocol.sections.find((x) => x.toClient === m.type);
    if (!s || s.name !== 'consistent') return;
    const r = new ByteReader(m.body);
    r.u16();
    const n = r.u8();
    if (n > 128 && n < 255) throw new Malformed('a claim that names too many packets');
    if (n !== 255) {
      r.u16();
      r.slice(n);
    }
    if (r.left > 0) this.snapshot(r.slice(r.left), now);
  }

  /** judgeOwn checks a message of the library that a protocol chooses. */
  judgeOwn(m) {
    if (m.type === Type.feedback && this.protocol.inputs.length === 0) throw new Malformed('a Feedback without inputs');
    if (m.type === Type.resync && !this.protocol.clientRows) throw new Malformed('a Resync of a server that takes no rows');
    if (m.type >= 10 && m.type < 16 && !this.protocol.sections.some((s) => s.toClient === m.type)) throw new Malformed('a section that the protocol lacks');
  }

  /** judgeGame checks a message of the game before any of its packet takes effect. */
  judgeGame(m) {
    if (m.type === Type.fragment) return;
    if (m.type === Type.refusal) {
      if (m.flags !== 32) throw new Malformed('a Refusal without a call');
      detail(m.body, 200);
      return;
    }
    const t = this.protocol.messages[m.type - 16];
    if (!t) return; // of a newer server: ignored
    if (!t.fromServer) throw new Malformed(`a ${t.name} in the wrong direction`);
    if (Boolean(m.flags & 32) !== (t.question || t.answer)) throw new Malformed(`a ${t.name} that is a call and should not be, or the reverse`);
    if (t.codec) m.value = t.codec.read(m.body);
    if (t.plan) m.value = t.unpacked ? rowOfBytes(t.plan, m.body, false) : rowOfBytes(t.plan, m.body);
  }

  /** message takes a message that is new, in the order of its channel. */
  message(m, now) {
    if (m.piece === null) this.judgeGame(m); // it came in pieces
    this.waiting.add(m, now);
  }

  /** handle runs the handler of a message that waits for nothing any more. */
  handle(m) {
    if (m.type === Type.refusal) return this.answered(m.call, null, new Error(`netcode: the call was refused: ${detail(m.body, 200)}`));
    const t = this.protocol.messages[m.type - 16];
    if (!t) return;
    const value = m.value ?? m.body.slice();
    if (this.transfers.take(t.name, value) || this.handover?.take(this, t.name, m.body.slice())) return;
    if (t.answer) return this.answered(m.call, value, null);
    if (t.name === 'netcode.right') return this.world.right(value);
    if (t.name === 'netcode.Collections') return this.world.collections.take(m);
    const info = { entity: m.entity ? this.world.find(m.entity) : null, tick: m.tick < 0 ? null : nearest(m.tick, this.serverTick) };
    for (const h of this.messageHandlers.get(t.name) ?? []) this.run(h, value, info);
    this.emit('message', t.name, value, info);
  }

  answered(call, value, err) {
    const c = this.calls.get(call);
    if (!c) return;
    this.calls.delete(call);
    if (err) c.reject(err);
    else c.resolve(value);
  }

  expireCalls(now) {
    for (const [n, c] of this.calls) {
      if (now - c.at < 5000) continue;
      this.calls.delete(n);
      c.reject(new Error(`netcode: no answer to ${c.name} within 5 s`));
    }
  }

  // what the game does

  messageNamed(name) {
    const t = this.protocol.messageNamed.get(name);
    if (!t) throw new Error(`netcode: the protocol has no message ${name}; it has ${[...this.protocol.messageNamed.keys()].join(', ')}`);
    return t;
  }

  /**
   * send queues a message of the game for the next packet.
   * @param {string} name @param {object|Uint8Array} value bytes for a type that writes itself
   * @param {{entity?: object, stage?: number, mode?: number, channel?: number}} [options]
   */
  send(name, value, options = {}) {
    if (!this.connected) throw new Error('netcode: not connected');
    const t = this.messageNamed(name);
    if (!t.fromClient) throw new Error(`netcode: ${name} is sent by the server only`);
    if (t.question || t.answer) throw new Error(`netcode: ${name} is a call: use call`);
    this.put(t, value, options, -1);
  }

  /** call asks a question and returns a promise of the answer. It fails after 5 s, or with the reason of a refusal. */
  call(name, value, options = {}) {
    if (!this.connected) return Promise.reject(new Error('netcode: not connected'));
    const t = this.messageNamed(name);
    if (!t.question) return Promise.reject(new Error(`netcode: ${name} is no question`));
    const number = this.nextCall;
    this.nextCall = (this.nextCall + 1) & 0xffff;
    return new Promise((resolve, reject) => {
      this.calls.set(number, { resolve, reject, at: this.now, name });
      try {
        this.put(t, value, options, number);
      } catch (err) {
        this.calls.delete(number);
        reject(err);
      }
    });
  }

  put(t, value, options, call) {
    const body = value instanceof Uint8Array ? value : t.plan ? rowBytes(t, value) : t.codec ? t.codec.write(value, t.name) : null;
    if (!body) throw new Error(`netcode: the layout of ${t.name} depends on its data: pass its bytes`);
    const w = new ByteWriter(body.length + 24);
    let flags = (options.stage ?? 4) & 7;
    if (options.entity) {
      flags |= 16;
      w.varint(options.entity.index).varint(options.entity.generation);
    } else if (t.ownerOnly) throw new Error(`netcode: ${t.name} is for owners: pass an entity`);
    if (call >= 0) {
      flags |= 32;
      w.u16(call);
    }
    const rest = w.raw(body).done();
    const mode = options.mode ?? t.mode;
    const channel = options.channel ?? t.channel;
    if (mode >= Mode.reliable) this.link.outbox.push(mode, channel, t.type, flags, rest);
    else if (rest.length > this.link.size - 40) throw new Error(`netcode: ${t.name} of ${rest.length} bytes fits no packet of ${this.link.size}; send it reliably`);
    else this.link.unreliable(mode, channel, t.type, flags, rest);
  }

  /** write sets a component that this client writes: one of its own entities, or one that it is named for. */
  write(entity, name, value) {
    if (!this.connected || !entity.alive) return;
    const c = this.protocol.componentNamed.get(name);
    if (!c) throw new Error(`netcode: the protocol has no component ${name}; it has ${[...this.protocol.componentNamed.keys()].join(', ')}`);
    checkRow(c.plan, name, value);
    this.own.write(entity, c, value);
  }

  /** input sets the input of a type from the present tick on. Event fields count once. */
  input(name, value) {
    if (this.connected) this.inputs.set(name, value);
  }

  /**
   * close ends the session in order. What waits is sent at once, and the Close behind it, as soon as what is reliable has come, for a second at most: keep
   * calling `update`. leaving: no frame may follow, as in `pagehide`: four copies of the Close are sent at once, whatever has not come.
   * @param {string} [words] @param {{leaving?: boolean}} [options]
   */
  close(words = '', { leaving = false } = {}) {
    if (leaving) this.transport.leaving = true;
    if (this.state === States.connecting) this.end(new Closed(1, words));
    else if (this.state === States.connected) {
      this.state = States.closing;
      this.closeText = words;
      this.closeAt = this.now + 1000;
      this.closes = 0;
      this.link.send(this.now);
      if (leaving || this.transport.ordered) this.closeAt = this.now; // nobody can wait, or nothing overtakes what was sent
      this.closingStep(this.now);
    }
    if (leaving && this.state === States.closing) {
      while (this.closes < 4) this.sendClose(this.now);
      this.transport.leave?.();
    }
    this.tell();
  }

  closingStep(now) {
    if (now < this.closeAt && !this.link.outbox.empty && this.closes === 0) this.link.send(now);
    else if (this.closes === 0 || (this.closes < 4 && now >= this.nextClose)) this.sendClose(now);
    else if (now >= this.nextClose) this.end(new Closed(1, this.closeText));
  }

  sendClose(now) {
    this.closes++;
    this.nextClose = now + 100;
    this.link.sendClose(1, this.closeText, now);
  }

  /** stats returns the figures of the line: round trip and ping in ms, loss, bytes, ticks. */
  stats() {
    const s = this.link ? this.link.stats : {};
    return {
      ...s, roundTrip: this.link?.rtt ?? 0, jitter: this.link?.jitter ?? 0, ping: this.pingMs, serverTick: this.serverTick ?? 0,
      shownTick: this.shown ?? 0, delay: this.shownClock?.delay ?? 0, inputTick: this.tick ?? 0, entities: this.world?.count ?? 0,
    };
  }
}

// rowBytes checks and writes a message that is a row.
function rowBytes(t, value) {
  checkRow(t.plan, t.name, value);
  return bytesOfRow(t.plan, value, !t.unpacked);
}

export { fnv32 };
