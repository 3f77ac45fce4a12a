// Session keeps a player connected: it makes a new client when a connection ends for a reason that may pass.
import { Client, events } from './client.js';
import { Closed } from './handshake.js';

// The reasons of section 15 that may pass: the server restarts, is full or busy, or the network is gone. 0 is a transport that failed or did not open.
const passing = new Set([0, 3, 4, 7, 8, 14, 32, 35, 36, 37, 39]);

const own = ['client', 'waiting', 'end'];

// broken tells whether an error is a mistake of the program: it would come again. fetch reports a network that is gone as a TypeError too.
const broken = (err) => /^(Type|Reference|Range|Syntax)Error$/.test(err.constructor.name) && !/fetch|network|load failed/i.test(err.message);

/**
 * Session has one client at a time. Handlers of `on` and `onMessage` are those of all its clients. Call `update` once a frame.
 *
 * Events beside those of Client: client(client) for each new one; waiting(ms, err), a new attempt begins after so long; end(err), there is none any more.
 * A mistake of the game ends it too, as a handler of a message that the protocol lacks; without a handler of `end` the next `update` throws it.
 */
export class Session {
  /**
   * @param {import('./protocol.js').Protocol|import('./protocol.js').Protocol[]|(() => any)} protocol or a function that returns it or a promise of it, asked for each attempt
   * @param {() => Promise<{send(b: Uint8Array): void, receive(): Uint8Array|null, close(): void}>} transport opens a transport for each attempt
   * @param {{payload?: () => any, least?: number, most?: number, client?: object}} [options] payload: who the player is, asked for each attempt, may be a promise; it throws to end the session, or an error with `reason: 0` to be asked again. least, most: the wait before a new attempt, in ms; it doubles
   */
  constructor(protocol, transport, options = {}) {
    this.protocol = protocol;
    this.open = transport;
    this.options = { least: 500, most: 8000, ...options };
    this.handlers = [];
    this.thrown = null;
    this.own = new Map();
    /** client is the present one, or null. */
    this.client = null;
    /** ended tells that no attempt follows. */
    this.ended = false;
    this.wait = this.options.least;
    this.next = 0; // ms of update at which an attempt begins
    this.opening = false;
  }

  on(event, handler) {
    if (own.includes(event)) this.own.set(event, [...(this.own.get(event) ?? []), handler]);
    else if (events.includes(event)) this.add((c) => c.on(event, handler));
    else throw new Error(`netcode: a session has no event ${event}; it has ${[...own, ...events].join(', ')}`);
    return this;
  }

  onMessage(name, handler) {
    const known = [this.protocol].flat().filter((p) => typeof p !== 'function');
    if (known.length > 0 && !known.some((p) => p.messageNamed.has(name))) throw new Error(`netcode: the protocol has no message ${name}; it has ${[...known[0].messageNamed.keys()].join(', ')}`);
    this.add((c) => c.onMessage(name, handler));
    return this;
  }

  add(handler) {
    this.handlers.push(handler);
    if (this.client) handler(this.client);
  }

  // emit calls all handlers; what one throws is thrown by the next update.
  emit(event, ...args) {
    for (const h of this.own.get(event) ?? []) {
      try {
        h(...args);
      } catch (err) {
        this.thrown ??= err;
      }
    }
  }

  get connected() {
    return this.client !== null && this.client.connected;
  }

  /** update does the work of a frame. */
  update(now = performance.now()) {
    this.now = now;
    if (this.thrown) {
      const err = this.thrown;
      this.thrown = null;
      throw err;
    }
    if (this.client) this.client.update(now);
    else if (!this.ended && !this.opening && now >= this.next) this.attempt();
  }

  async attempt() {
    this.opening = true;
    let transport = null;
    let opens = false; // what fails is the network, in all likelihood
    try {
      const protocol = await (typeof this.protocol === 'function' ? this.protocol() : this.protocol);
      const payload = await this.options.payload?.();
      opens = true;
      transport = await this.open();
      opens = false;
      if (this.ended) return transport.close();
      this.begin(protocol, transport, payload);
    } catch (err) {
      this.client = null;
      transport?.close();
      this.failed(err, opens);
    } finally {
      this.opening = false;
    }
    return undefined;
  }

  // failed ends an attempt. An error without a reason is the game's mistake, but for one of the network.
  failed(thrown, opens) {
    const err = thrown instanceof Error ? thrown : new Error(`netcode: ${thrown}`);
    const network = err.reason === undefined && !broken(err) && (opens || err instanceof TypeError);
    this.over(network ? Object.assign(err, { reason: 0 }) : err);
  }

  begin(protocol, transport, payload) {
    const c = new Client(protocol, transport, { ...this.options.client, payload });
    this.client = c;
    c.on('connect', () => (this.wait = this.options.least));
    for (const h of this.handlers) h(c);
    c.on('close', (err) => this.over(err));
    for (const h of this.own.get('client') ?? []) h(c);
  }

  over(err) {
    this.client = null;
    if (this.ended) return;
    if (!passing.has(err?.reason)) {
      this.ended = true;
      if (!(err instanceof Closed) && !this.own.has('end')) this.thrown ??= err;
      this.emit('end', err);
      return;
    }
    this.next = this.now + this.wait;
    this.emit('waiting', this.wait, err);
    this.wait = Math.min(this.wait * 2, this.options.most);
  }

  /** close ends the session in order; options as in Client. */
  close(words = '', options = {}) {
    this.ended = true;
    this.client?.close(words, options);
  }
}
