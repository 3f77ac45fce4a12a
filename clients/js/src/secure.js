// transport/secure for Node: encrypts the datagrams of another transport. PROTOCOL.md, section 18. Browsers have TLS.
import { createCipheriv, createDecipheriv, createHash, createHmac, createPublicKey, diffieHellman, generateKeyPairSync, randomBytes } from 'node:crypto';

const kind = { request: 1, challenge: 2, initiate: 3, accept: 4, refuse: 5, data: 6, reset: 7 };
const version = 3;
const aesGCM = 1;
const chaCha = 2;
const words = ['accepted', 'wrong key', 'another version', 'no common cipher', 'the server is full', 'the token is missing', 'malformed', 'the token is forged', 'the token has expired', 'the token is not valid yet', 'the token is for another server', 'the token was used'];
const epoch = 2 ** 20; // numbers of a key
const replay = 1024;
const cookieFor = 1750; // ms for which a cookie is used: a Challenge that comes sooner answers an earlier Request

const sha = (...parts) => parts.reduce((h, p) => h.update(p), createHash('sha256')).digest();
const mac = (key, ...parts) => parts.reduce((h, p) => h.update(p), createHmac('sha256', key)).digest();
const spki = Buffer.from('302a300506032b656e032100', 'hex');
const publicKeyOf = (raw) => createPublicKey({ key: Buffer.concat([spki, raw]), format: 'der', type: 'spki' });
const rawOf = (key) => key.export({ format: 'der', type: 'spki' }).subarray(-32);

function seal(cipher, key, nonce, aad, plain) {
  const c = createCipheriv(cipher === aesGCM ? 'aes-256-gcm' : 'chacha20-poly1305', key, nonce, { authTagLength: 16 });
  c.setAAD(aad, { plaintextLength: plain.length });
  return Buffer.concat([c.update(plain), c.final(), c.getAuthTag()]);
}

// open returns what was sealed, or null where it is not authentic.
function open(cipher, key, nonce, aad, sealed) {
  if (sealed.length < 16) return null;
  const c = createDecipheriv(cipher === aesGCM ? 'aes-256-gcm' : 'chacha20-poly1305', key, nonce, { authTagLength: 16 });
  const plain = sealed.subarray(0, -16);
  c.setAAD(aad, { plaintextLength: plain.length });
  c.setAuthTag(sealed.subarray(-16));
  try {
    return Buffer.concat([c.update(plain), c.final()]);
  } catch {
    return null;
  }
}

// Noise is the client's half of Noise_NK_25519_ChaChaPoly_SHA256.
class Noise {
  constructor(prologue, serverKey) {
    this.h = Buffer.from('Noise_NK_25519_ChaChaPoly_SHA256', 'ascii');
    this.ck = this.h;
    this.server = publicKeyOf(serverKey);
    this.mix(prologue);
    this.mix(serverKey);
    this.own = generateKeyPairSync('x25519');
  }

  mix(data) {
    this.h = sha(this.h, data);
  }

  mixKey(publicKey) {
    const secret = diffieHellman({ privateKey: this.own.privateKey, publicKey });
    [this.ck, this.key] = this.derive(secret);
  }

  derive(input) {
    const temp = mac(this.ck, input);
    const one = mac(temp, Buffer.from([1]));
    return [one, mac(temp, one, Buffer.from([2]))];
  }

  first(payload) {
    const e = rawOf(this.own.publicKey);
    this.mix(e);
    this.mixKey(this.server);
    const sealed = seal(chaCha, this.key, Buffer.alloc(12), this.h, payload);
    this.mix(sealed);
    return Buffer.concat([e, sealed]);
  }

  // second returns the payload of the server's message, or null where it is not the server's.
  second(message) {
    const e = message.subarray(0, 32);
    this.mix(e);
    this.mixKey(publicKeyOf(e));
    return open(chaCha, this.key, Buffer.alloc(12), this.h, message.subarray(32));
  }

  split() {
    return this.derive(Buffer.alloc(0));
  }
}

// Keys are those of one direction.
class Keys {
  constructor(key) {
    this.base = 0; // the number of the first key that is kept
    this.kept = [key];
  }

  /** of returns the key of a number: of the epoch before, the present or the next one. */
  of(number, newest) {
    const n = Math.floor(number / epoch);
    const now = Math.floor(newest / epoch);
    if (n < now - 1 || n > now + 1) return null;
    while (this.base + this.kept.length <= n) this.kept.push(mac(this.kept.at(-1), 'netcode secure next key'));
    while (this.base < now - 1) {
      this.kept.shift();
      this.base++;
    }
    return this.kept[n - this.base] ?? null;
  }
}

/** SecureTransport is a client's end of transport/secure over a transport such as UDPTransport. */
export class SecureTransport {
  /**
   * @param {{send(b: Uint8Array): void, receive(): Uint8Array|null, close(): void}} inner
   * @param {{token?: Uint8Array, serverKey?: Uint8Array, now?: () => number}} options a connect token, which has the server's key, or that key of 32 bytes for a server with Open
   */
  constructor(inner, options) {
    this.inner = inner;
    this.token = Buffer.from(options.token ?? []);
    this.serverKey = Buffer.from(options.serverKey ?? this.token.subarray(1, 33));
    if (this.serverKey.length !== 32) throw new Error('netcode: a token, or a server key of 32 bytes');
    this.now = options.now ?? (() => performance.now());
    this.refused = null;
    this.begin();
  }

  /** failed has the reason if the server refused, or the transport below failed, else null. */
  get failed() {
    return this.refused ?? this.inner.failed ?? null;
  }

  /** ready tells whether there is a session. */
  get ready() {
    return this.session !== null;
  }

  begin() {
    this.session = null;
    this.nonce = randomBytes(8);
    this.noise = null;
    this.request = Buffer.concat([Buffer.from([kind.request, version]), this.nonce, Buffer.alloc(54)]);
    this.pause = 100;
    this.next = this.now();
  }

  /** receive returns the next datagram. It also does the work of the handshake. */
  receive() {
    const now = this.now();
    for (let b = this.inner.receive(); b !== null; b = this.inner.receive()) {
      const datagram = this.take(Buffer.from(b.buffer, b.byteOffset, b.length), now);
      if (datagram) return new Uint8Array(datagram);
    }
    if (this.failed) return null;
    if (this.session === null && now >= this.next) {
      this.inner.send(this.request);
      this.next = now + this.pause;
      this.pause = Math.min(this.pause * 1.5, 1000);
    }
    return null;
  }

  take(b, now) {
    if (b[0] === kind.data) return this.open(b);
    if (b[0] === kind.reset) {
      const s = this.session;
      if (s !== null && b.length === 17 && b.readUInt32BE(1) === s.number && b.subarray(5).equals(s.token)) this.begin();
      return null;
    }
    if (this.session !== null) return null;
    if (b[0] === kind.challenge && b.length === 26 && b[1] === version && b.subarray(2, 10).equals(this.nonce) && !(this.noise && now - this.cookieAt < cookieFor)) this.initiate(b, now);
    if (b[0] === kind.accept && b.length === 75 && b[1] === version && b.subarray(2, 10).equals(this.nonce) && this.noise) this.accept(b);
    return null;
  }

  initiate(challenge, now) {
    this.cookieAt = now;
    const head = Buffer.from(challenge);
    head[0] = kind.initiate;
    this.noise = new Noise(Buffer.concat([Buffer.from('netcode secure'), head]), this.serverKey);
    this.request = Buffer.concat([head, this.noise.first(Buffer.concat([Buffer.from([aesGCM | chaCha]), this.token]))]);
    this.pause = 100;
    this.next = now;
  }

  accept(b) {
    const { h, ck, key } = this.noise; // a forged answer changes nothing
    const payload = this.noise.second(b.subarray(10));
    if (payload === null) {
      Object.assign(this.noise, { h, ck, key });
      return;
    }
    const status = payload[0] >> 4;
    if (status !== 0) {
      this.refused = new Error(`netcode: secure: ${words[status] ?? `status ${status}`}`);
      return;
    }
    const [up, down] = this.noise.split();
    this.session = { cipher: payload[0] & 15, number: payload.readUInt32BE(1), token: Buffer.from(payload.subarray(5, 17)), up: new Keys(up), down: new Keys(down), sent: 0, newest: -1, seen: new Set() };
    this.noise = null;
    this.put(Buffer.alloc(0)); // the session counts from the first Data on
  }

  nonceOf(number) {
    const nonce = Buffer.alloc(12);
    nonce.writeBigUInt64BE(BigInt(number), 4);
    return nonce;
  }

  put(plain) {
    const s = this.session;
    const head = Buffer.alloc(9);
    head[0] = kind.data;
    head.writeUInt32BE(s.number, 1);
    head.writeUInt32BE(s.sent % 2 ** 32, 5);
    const sealed = seal(s.cipher, s.up.of(s.sent, s.sent), this.nonceOf(s.sent), head, plain);
    s.sent++;
    this.inner.send(Buffer.concat([head, sealed]));
  }

  open(b) {
    const s = this.session;
    if (s === null || b.length < 25 || b.readUInt32BE(1) !== s.number) return null;
    const low = b.readUInt32BE(5);
    let number = s.newest - (((s.newest % 2 ** 32) - low) | 0); // nearest to the newest
    if (number < 0) number = low;
    if (number <= s.newest - replay || s.seen.has(number)) return null;
    const key = s.down.of(number, Math.max(s.newest, 0));
    const plain = key && open(s.cipher, key, this.nonceOf(number), b.subarray(0, 9), b.subarray(9));
    if (!plain) return null;
    s.seen.add(number);
    s.newest = Math.max(s.newest, number);
    if (s.seen.size > 2 * replay) for (const n of s.seen) if (n <= s.newest - replay) s.seen.delete(n);
    return plain.length > 0 ? plain : null;
  }

  send(bytes) {
    if (this.session !== null) this.put(bytes);
  }

  close() {
    this.inner.close();
  }
}
