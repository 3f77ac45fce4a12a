// Bit streams, byte streams and checksums of PROTOCOL.md, sections 2 and 9.

/**
 * Malformed is thrown for bytes that no honest server sends. `place` names the part of the packet, `bit` the bit of its stream.
 * A client closes the connection with reason 6.
 */
export class Malformed extends Error {
  /** @param {string} what @param {number} [bit] */
  constructor(what, bit) {
    super(bit === undefined ? what : `${what}, at bit ${bit}`);
    this.name = 'Malformed';
    this.bit = bit;
  }
}

/** BitReader reads numbers of up to 32 bits, the least significant bit first. It copies its bytes, so that it can read whole words. */
export class BitReader {
  constructor() {
    this.capacity = 0;
    this.bytes = new Uint8Array(0);
    this.view = new DataView(this.bytes.buffer);
    this.pos = 0;
    this.end = 0;
    this.grow(2048);
  }

  grow(size) {
    this.capacity = size;
    this.bytes = new Uint8Array(size + 8);
    this.view = new DataView(this.bytes.buffer);
  }

  /** load begins to read `bytes`. @param {Uint8Array} bytes */
  load(bytes) {
    if (bytes.length > this.capacity) this.grow(bytes.length * 2);
    this.bytes.set(bytes);
    this.bytes.fill(0, bytes.length, bytes.length + 8);
    this.pos = 0;
    this.end = bytes.length * 8;
    return this;
  }

  fail(what) {
    throw new Malformed(what, this.pos);
  }

  /** bits reads an unsigned number of n bits, n from 0 to 32. */
  bits(n) {
    const pos = this.pos;
    if (pos + n > this.end) this.fail('the stream ends early');
    this.pos = pos + n;
    if (n === 0) return 0;
    const byte = pos >>> 3;
    const shift = pos & 7;
    let v = this.view.getUint32(byte, true) >>> shift;
    if (shift + n > 32) v |= this.bytes[byte + 4] << (32 - shift);
    return n === 32 ? v >>> 0 : v & ((1 << n) - 1);
  }

  /** peek looks at the next n bits, n up to 24. Those beyond the end are zeros. */
  peek(n) {
    return (this.view.getUint32(this.pos >>> 3, true) >>> (this.pos & 7)) & ((1 << n) - 1);
  }

  bit() {
    const pos = this.pos;
    if (pos >= this.end) this.fail('the stream ends early');
    this.pos = pos + 1;
    return (this.bytes[pos >>> 3] >>> (pos & 7)) & 1;
  }

  /** var reads an exponential Golomb number of order 2. None that a client reads is 2^48 or more. */
  var() {
    let b = 0;
    while (this.bit() === 0) if (++b > 45) this.fail('a number is too large');
    const n = b + 2;
    const v = n <= 32 ? this.bits(n) : this.bits(32) + this.bits(n - 32) * 0x100000000;
    return v + (b < 29 ? 4 * ((1 << b) - 1) : 4 * (2 ** b - 1));
  }

  /** padding checks that only zeros are left, fewer than 8 if `byte`. */
  padding(byte) {
    if (byte && this.end - this.pos >= 8) this.fail('bytes behind the end');
    while (this.pos < this.end) {
      const n = Math.min(32, this.end - this.pos);
      if (this.bits(n) !== 0) this.fail('padding that is not zero');
    }
  }
}

/** BitWriter writes what BitReader reads. */
export class BitWriter {
  constructor() {
    this.bytes = new Uint8Array(256);
    this.pos = 0;
  }

  reset() {
    this.bytes.fill(0, 0, (this.pos + 7) >>> 3);
    this.pos = 0;
    return this;
  }

  bits(v, n) {
    if ((this.pos + n) / 8 + 1 > this.bytes.length) {
      const larger = new Uint8Array(this.bytes.length * 2);
      larger.set(this.bytes);
      this.bytes = larger;
    }
    for (let left = n; left > 0; ) {
      const shift = this.pos & 7;
      const take = Math.min(8 - shift, left);
      this.bytes[this.pos >>> 3] |= (v & ((1 << take) - 1)) << shift;
      v = take === 32 ? 0 : v >>> take;
      this.pos += take;
      left -= take;
    }
    return this;
  }

  var(v) {
    let b = 0;
    while (v >= 4 * (2 ** (b + 1) - 1)) b++;
    for (let i = 0; i < b; i++) this.bits(0, 1);
    this.bits(1, 1);
    const rest = v - 4 * (2 ** b - 1);
    const n = b + 2;
    if (n <= 32) return this.bits(rest >>> 0, n);
    return this.bits(rest >>> 0, 32).bits(Math.floor(rest / 0x100000000), n - 32);
  }

  /** cut gives up what was written behind bit `pos`. */
  cut(pos) {
    const from = pos >>> 3;
    this.bytes.fill(0, from + 1, ((this.pos + 7) >>> 3) + 1);
    this.bytes[from] &= (1 << (pos & 7)) - 1;
    this.pos = pos;
  }

  /** done returns the bytes, the last one filled up with zeros. */
  done() {
    return this.bytes.slice(0, (this.pos + 7) >>> 3);
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const toUtf8 = new TextEncoder();

/** text decodes UTF-8 and throws Malformed where it is none. */
export function text(bytes) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Malformed('a text is not UTF-8');
  }
}

/** textBytes encodes a string in UTF-8. */
export function textBytes(s) {
  return toUtf8.encode(s);
}

/** ByteReader reads little-endian numbers, varints of SQLite4, bytes and strings. */
export class ByteReader {
  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.bytes = bytes;
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.pos = 0;
    this.end = bytes.length;
  }

  get left() {
    return this.end - this.pos;
  }

  take(n) {
    const pos = this.pos;
    if (pos + n > this.end) throw new Malformed('the bytes end early', pos * 8);
    this.pos = pos + n;
    return pos;
  }

  u8() {
    return this.bytes[this.take(1)];
  }

  u16() {
    return this.view.getUint16(this.take(2), true);
  }

  u32() {
    return this.view.getUint32(this.take(4), true);
  }

  u64() {
    return this.view.getBigUint64(this.take(8), true);
  }

  i16() {
    return this.view.getInt16(this.take(2), true);
  }

  i32() {
    return this.view.getInt32(this.take(4), true);
  }

  f32() {
    return this.view.getFloat32(this.take(4), true);
  }

  f64() {
    return this.view.getFloat64(this.take(8), true);
  }

  bool() {
    const v = this.u8();
    if (v > 1) throw new Malformed('a bool that is neither 0 nor 1', this.pos * 8 - 8);
    return v === 1;
  }

  /** slice returns the next n bytes, not copied. */
  slice(n) {
    const pos = this.take(n);
    return this.bytes.subarray(pos, pos + n);
  }

  /** varint64 reads a varint as a BigInt. */
  varint64() {
    const at = this.pos;
    const a = this.u8();
    if (a <= 240) return BigInt(a);
    if (a <= 248) {
      const v = 240 + 256 * (a - 241) + this.u8();
      if (v === 240) throw new Malformed('a number that is not in its shortest form', at * 8);
      return BigInt(v);
    }
    if (a === 249) {
      const v = 2288 + 256 * this.u8();
      return BigInt(v + this.u8());
    }
    const bytes = this.slice(a - 247);
    let v = 0n;
    for (const b of bytes) v = (v << 8n) | BigInt(b);
    if (bytes[0] === 0 || v < 67824n) throw new Malformed('a number that is not in its shortest form', at * 8);
    return v;
  }

  /** varint reads a varint of at most `max`, below 2^53. */
  varint(max = 0xffffffff) {
    const v = this.varint64();
    if (v > BigInt(max)) throw new Malformed('a number beyond its bound', this.pos * 8);
    return Number(v);
  }

  /** blob reads bytes behind their length, of at most `max`. */
  blob(max) {
    return this.slice(this.varint(max));
  }

  string(max) {
    return text(this.blob(max));
  }
}

/** ByteWriter writes what ByteReader reads. */
export class ByteWriter {
  constructor(size = 256) {
    this.bytes = new Uint8Array(size);
    this.view = new DataView(this.bytes.buffer);
    this.pos = 0;
  }

  reset() {
    this.pos = 0;
    return this;
  }

  room(n) {
    const pos = this.pos;
    if (pos + n > this.bytes.length) {
      const larger = new Uint8Array(Math.max(pos + n, this.bytes.length * 2));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    this.pos = pos + n;
    return pos;
  }

  u8(v) {
    const pos = this.room(1);
    this.view.setUint8(pos, v);
    return this;
  }

  u16(v) {
    const pos = this.room(2);
    this.view.setUint16(pos, v, true);
    return this;
  }

  u32(v) {
    const pos = this.room(4);
    this.view.setUint32(pos, v, true);
    return this;
  }

  u64(v) {
    const pos = this.room(8);
    this.view.setBigUint64(pos, v, true);
    return this;
  }

  i32(v) {
    return this.u32(v >>> 0);
  }

  f32(v) {
    const pos = this.room(4);
    this.view.setFloat32(pos, v, true);
    return this;
  }

  f64(v) {
    const pos = this.room(8);
    this.view.setFloat64(pos, v, true);
    return this;
  }

  raw(bytes) {
    const pos = this.room(bytes.length);
    this.bytes.set(bytes, pos);
    return this;
  }

  zeros(n) {
    const pos = this.room(n);
    this.bytes.fill(0, pos, pos + n);
    return this;
  }

  varint(v) {
    v = BigInt(v);
    if (v <= 240n) return this.u8(Number(v));
    if (v <= 2287n) return this.u8(241 + Number((v - 240n) >> 8n)).u8(Number((v - 240n) & 255n));
    if (v <= 67823n) return this.u8(249).u8(Number((v - 2288n) >> 8n)).u8(Number((v - 2288n) & 255n));
    let n = 3;
    while (v >> BigInt(8 * n)) n++;
    this.u8(247 + n);
    for (let i = n - 1; i >= 0; i--) this.u8(Number((v >> BigInt(8 * i)) & 255n));
    return this;
  }

  blob(bytes) {
    return this.varint(bytes.length).raw(bytes);
  }

  string(s) {
    return this.blob(textBytes(s));
  }

  /** done returns a copy of what was written. */
  done() {
    return this.bytes.slice(0, this.pos);
  }
}

const crcTable = new Uint32Array(256);
for (let i = 0; i < 256; i++) {
  let c = i;
  for (let k = 0; k < 8; k++) c = c & 1 ? (c >>> 1) ^ 0xedb88320 : c >>> 1;
  crcTable[i] = c >>> 0;
}

/** crc32 continues the CRC-32 of IEEE 802.3 from `crc` over the bytes from `start` to `end`. */
export function crc32(crc, bytes, start = 0, end = bytes.length) {
  let c = ~crc;
  for (let i = start; i < end; i++) c = crcTable[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

/** fnv32 is FNV-1a with 32 bits. */
export function fnv32(bytes) {
  let h = 0x811c9dc5;
  for (const b of bytes) h = Math.imul(h ^ b, 0x01000193);
  return h >>> 0;
}

/** fnv64 is FNV-1a with 64 bits, a BigInt. */
export function fnv64(bytes, h = 0xcbf29ce484222325n) {
  for (const b of bytes) h = ((h ^ BigInt(b)) * 0x100000001b3n) & 0xffffffffffffffffn;
  return h;
}

/** nearest returns the number with the low `bits` bits `low` that is nearest to `near`, the larger of two equally near ones. */
export function nearest(low, near, bits = 16) {
  const span = bits === 16 ? 0x10000 : 2 ** bits;
  const half = span / 2;
  let d = (low - near) % span;
  if (d < 0) d += span;
  if (d > half) d -= span;
  return near + d;
}
