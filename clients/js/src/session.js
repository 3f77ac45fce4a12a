// Session keeps a player connected: it makes a new client when a connection ends for a reason that may pass.
import { Client } from './client.js';

// The reasons of section 15 that may pass: the server restarts, is full or busy, or the network is gone.
const passing = new Set([0, 3, 4, 7, 8, 14, 32, 35, 36, 37, 39]);

/**
 * Session has one client at a time. Handlers of `on` and `onMessage` are those of all its clients. Call `update` once a frame.
 *
 * Events beside those of Client: client(client) for each new one; waiting(ms, err), a new attempt begins after so long; end(err), there is none any more.
 */
export class Session {
  /**
   * @param {import('./protocol.js').Protocol|import('./protocol.js').Protocol[]} protocol
   * @param {() => Promise<{send(b: Uint8Array): void, receive(): Uint8Array|null, close(): void}>} transport opens a transport for each attempt
   * @param {{payload?: () => any, least?: number, most?: number, client?: object}} [options] payload: who the player is, asked for each attempt, may be a promise. least, most: the wait before a new attempt, in ms; it doubles
   */
  constructor(protocol, transport, options = {}) {
    this.protocol = protocol;
    this.open = transport;
    this.options = { least: 500, most: 8000, ...options };
    this.handlers = [];
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
    if (['client', 'waiting', 'end'].includes(event)) this.own.set(event, [...(this.own.get(event) ?? []), handler]);
    else this.add((c) => c.on(event, handler));
    return this;
  }

  onMessage(name, handler) {
    this.add((c) => c.onMessage(name, handler));
    return this;
  }

  add(handler) {
    this.handlers.push(handler);
    if (this.client) handler(this.client);
  }

  emit(event, ...args) {
    for (const h of this.own.get(event) ?? []) h(...args);
  }

  get connected() {
    return this.client !== null && this.client.connected;
  }

  /** update does the work of a frame. */
  update(now = performance.now()) {
    this.now = now;
    if (this.client) this.client.update(now);
    else if (!this.ended && !this.opening && now >= this.next) this.attempt();
  }

  async attempt() {
    this.opening = true;
    let transport = null;
    try {
      const payload = await this.options.payload?.();
      transport = await this.open();
      if (this.ended) return transport.close();
      this.begin(transport, payload);
    } catch (err) {
      transport?.close();
      this.over(Object.assign(err, { reason: err.reason ?? 0 }));
    } finally {
      this.opening = false;
    }
  }

  begin(transport, payload) {
    const c = new Client(this.protocol, transport, { ...this.options.client, payload });
    this.client = c;
    c.on('connect', () => (this.wait = this.options.least));
    for (const h of this.handlers) h(c);
    c.on('close', (err) => this.over(err));
    this.emit('client', c);
  }

  over(err) {
    this.client = null;
    if (this.ended) return;
    if (!passing.has(err.reason)) {
      this.ended = true;
      this.emit('end', err);
      return;
    }
    this.next = this.now + this.wait;
    this.emit('waiting', this.wait, err);
    this.wait = Math.min(this.wait * 2, this.options.most);
  }

  /** close ends the session in order. */
  close(words = '') {
    this.ended = true;
    this.client?.close(words);
  }
}
