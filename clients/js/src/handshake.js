// The handshake and Resume of a client. PROTOCOL.md, sections 3 and 4.
import { ByteReader, ByteWriter } from './bits.js';
import { Kind, checksum, detail, reasons, sealed, seedOf } from './packets.js';

const open = seedOf(0, 0n); // the seed of datagrams outside of a session
const noCookie = new Uint8Array(16);

/** Refused is the error of a connection that ended: a number of section 15, its words, and the other end's detail. */
export class Closed extends Error {
  constructor(reason, text = '') {
    super(`netcode: ${reasons[reason] ?? `reason ${reason}`}${text ? `: ${text}` : ''}`);
    this.name = 'Closed';
    this.reason = reason;
    this.detail = text;
  }
}

/** Handshake connects: it has no clock and no socket. */
export class Handshake {
  /** @param {{protocol: import('./protocol.js').Protocol, payload: Uint8Array, random: (n: number) => Uint8Array, send: (b: Uint8Array) => void}} options */
  constructor(options, now) {
    Object.assign(this, options);
    if (this.payload.length > 400) throw new Error(`netcode: a payload of ${this.payload.length} bytes; at most 400 are sent`);
    this.began = now;
    this.nonce = new ByteReader(this.random(8)).u64();
    this.cookie = noCookie;
    this.cookieCame = -1;
    this.next = now;
    this.accept = null;
    this.pendingReason = 35;
    this.pendingText = '';
  }

  /** update repeats Hello and Join. It throws Closed when the time is over. */
  update(now) {
    if (now - this.began > 5000) throw new Closed(this.pendingReason, this.pendingText);
    if (now < this.next) return;
    if (this.accept) {
      this.next = now + 50;
      this.send(sealed(new ByteWriter(448).u8(Kind.join).u64(this.nonce).raw(this.cookie).raw(this.payload), this.accept.seed));
      return;
    }
    this.next = now + (this.cookieCame < 0 ? 100 : 50);
    const { hashes } = this.protocol;
    const w = new ByteWriter(512).u8(Kind.hello).u16(1).u64(this.nonce).u64(this.protocol.hash).raw(this.cookie).u16(hashes.length);
    for (const h of hashes.slice(0, 117)) w.u32(h);
    this.send(sealed(w.zeros(508 - w.pos), open));
  }

  /** take reads an answer. It returns the Welcome when connected, else null; throws Closed for a refusal. */
  take(bytes, now) {
    const kind = bytes[0];
    if (kind === Kind.welcome) return this.takeWelcome(bytes);
    if (bytes.length < 14 || !checksum(bytes, open)) return null;
    const r = new ByteReader(bytes.subarray(0, bytes.length - 4));
    r.u8();
    if (r.u64() !== this.nonce) return null;
    if (kind === Kind.challenge && bytes.length === 29) this.takeChallenge(r.slice(16).slice(), now);
    else if (kind === Kind.accept && bytes.length === 23) this.takeAccept(r, now);
    else if (kind === Kind.refuse) this.takeRefuse(r);
    return null;
  }

  takeChallenge(cookie, now) {
    if (cookie.every((b) => b === 0)) return;
    const differs = cookie.some((b, i) => b !== this.cookie[i]);
    if (differs && this.cookieCame >= 0 && now - this.cookieCame < 1000) return; // it answers an earlier Hello
    if (!differs) return;
    this.cookie = cookie;
    this.cookieCame = now;
    this.accept = null;
    this.next = now;
  }

  takeAccept(r, now) {
    if (this.accept) return;
    const a = { epoch: r.u32(), rate: r.u16(), window: r.u16(), size: r.u16() };
    if (a.epoch === 0 || a.rate < 1 || a.rate > 1000 || a.window < 64 || a.window > 4096 || a.size < 256 || a.size > 8192) throw new Closed(6, 'an Accept out of range');
    a.seed = seedOf(a.epoch, this.protocol.hash);
    this.accept = a;
    this.next = now;
  }

  takeRefuse(r) {
    const reason = r.u8();
    if (reason === 0) return;
    let words;
    try {
      words = detail(r.slice(r.left), 480);
    } catch {
      return;
    }
    if (reason === 37 || reason === 39) {
      this.pendingReason = reason;
      this.pendingText = words;
      return;
    }
    throw new Closed(reason, reason === 33 && !this.raw ? explain(this.protocol, words) : words);
  }

  takeWelcome(bytes) {
    if (!this.accept || bytes.length !== 33 || !checksum(bytes, ~this.accept.seed >>> 0)) return null;
    const r = new ByteReader(bytes);
    r.u8();
    const w = { client: r.u32(), tick: Number(r.u64()), token: r.slice(16).slice(), nonce: this.nonce, ...this.accept };
    if (w.client === 0 || w.tick < 0 || w.tick > 2 ** 62) throw new Closed(6, 'a Welcome out of range');
    return w;
  }
}

// explain says where two protocols part: the server's entry, and this client's at its place.
function explain(protocol, words) {
  const m = /^(\d+)(?: (.*))?$/s.exec(words);
  if (!m) return words;
  const own = protocol.entries[Number(m[1])];
  return `entry ${m[1]}: the server has ${m[2] ? `"${m[2]}"` : 'no more'}, this client ${own ? `"${own}"` : 'no more'}. Write the lock file anew and generate the client from it`;
}

/** Resume asks for the session from a new address while nothing comes. */
export class Resume {
  constructor(session, random) {
    this.session = session;
    this.random = random;
    this.number = 0;
    this.end();
  }

  end() {
    this.since = -1;
    this.path = 0n;
    this.cookie = noCookie;
    this.reason = 4;
    this.text = '';
    this.moved = false;
  }

  /** packet returns the next Resume, or null. `silent` is how long nothing came, in ms. */
  packet(now, silent, patience) {
    if (silent < patience) return null;
    if (this.since < 0) {
      this.since = now;
      this.next = now;
      this.path = new ByteReader(this.random(8)).u64();
    }
    if (now < this.next) return null;
    this.next = now + (now - this.since < 2000 ? 30 : 250);
    this.number++;
    const s = this.session;
    return sealed(new ByteWriter(64).u8(Kind.resume).u32(s.client).u64(s.nonce).u64(this.path).u32(this.number).raw(this.cookie), s.seed);
  }

  /** take reads an answer to a Resume. Throws Closed where the session is over. */
  take(bytes, now, silent) {
    if (this.since < 0 || bytes.length < 14 || !checksum(bytes, open)) return;
    const r = new ByteReader(bytes.subarray(0, bytes.length - 4));
    const kind = r.u8();
    if (kind === Kind.reset && bytes.length === 42) {
      if (r.u32() !== this.session.client || r.u64() !== this.session.nonce || r.u64() !== this.path) return;
      const reason = r.u8();
      const token = r.slice(16);
      const known = token.every((b, i) => b === this.session.token[i]);
      if (reason !== 0 && (known || silent >= 500)) throw new Closed(reason);
      return;
    }
    if (r.u64() !== this.path) return;
    if (kind === Kind.challenge && bytes.length === 29) {
      this.cookie = r.slice(16).slice();
      this.moved = true;
      this.next = now;
    } else if (kind === Kind.refuse) this.reason = r.u8() || 4;
  }
}
