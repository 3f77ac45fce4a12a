// Datagrams: checksums, packet headers, batches, message prefixes. PROTOCOL.md, sections 2, 3, 5 and 6.
import { ByteReader, ByteWriter, Malformed, crc32, text } from './bits.js';

export const Kind = { hello: 0x81, challenge: 0x82, accept: 0x83, refuse: 0x84, join: 0x85, welcome: 0x86, resume: 0x87, reset: 0x88 };
export const Type = { snapshot: 1, keepAlive: 2, close: 3, resync: 4, credit: 5, fragment: 6, refusal: 7, feedback: 8, input: 9 };
export const Mode = { unreliable: 0, sequenced: 1, reliable: 2, ordered: 3 };

/** reasons has the reasons of section 15 in words; 0 is this client's own, for a transport that failed. */
export const reasons = {
  0: 'the connection is gone', 1: 'closed', 2: 'kicked', 3: 'the server is shutting down', 4: 'silence', 5: 'replaced', 6: 'malformed packet',
  7: 'acknowledgement of a number that was never sent', 8: 'queue overflow', 9: 'sent too much for too long', 10: 'a handler failed',
  11: 'wrote without authority', 12: 'more entities than this client takes', 13: 'the same player connected anew', 14: 'unknown session',
  32: 'the server is full', 33: 'client and server have different protocols', 34: 'client and server have different versions of netcode',
  35: 'no answer', 36: 'too many connections from this address or network', 37: 'the server is busy', 38: 'not approved', 39: 'not decided in time',
  40: 'the player is already connected',
};

const seedBytes = new ByteWriter(16);

/** seedOf returns C, from which the checksums of a session continue. hash is a BigInt. */
export function seedOf(epoch, hash) {
  seedBytes.reset().u32(epoch).u64(hash);
  return crc32(0, seedBytes.bytes, 0, 12);
}

/** checksum tells whether the last four bytes of a datagram are the checksum of those before, continued from `seed`. */
export function checksum(bytes, seed) {
  const end = bytes.length - 4;
  if (end < 0) return false;
  const sum = (bytes[end] | (bytes[end + 1] << 8) | (bytes[end + 2] << 16) | (bytes[end + 3] << 24)) >>> 0;
  return crc32(seed, bytes, 0, end) === sum;
}

/** sealed appends the checksum to what w has and returns a copy. */
export function sealed(w, seed) {
  return w.u32(crc32(seed, w.bytes, 0, w.pos)).done();
}

/** readHeader reads sequence and ack part of a packet. */
export function readHeader(r) {
  const flags = r.u8();
  if (flags & 0xc0) throw new Malformed('bits of the header that are none');
  const h = { sequence: r.u16(), ack: -1, bits: 0, delay: -1 };
  if (!(flags & 1)) {
    if (flags !== 0) throw new Malformed('acks without an ack');
    return h;
  }
  h.ack = r.u16();
  for (let k = 0; k < 4; k++) {
    let byte = 255;
    if (flags & (2 << k)) {
      byte = r.u8();
      if (byte === 255) throw new Malformed('a byte of acks in its longer form');
    }
    h.bits |= byte << (8 * k);
  }
  h.bits >>>= 0;
  if (flags & 32) h.delay = r.u16();
  return h;
}

/**
 * readMessages reads the batches of a packet, from the reader's place to the checksum.
 * Each message: { type, stage, mode, channel, number, tick, entity, call, state, body, order }; -1 or null for parts that it lacks.
 */
export function readMessages(r) {
  const end = r.end - 4;
  const out = [];
  let before = 0;
  for (let first = true; first || r.pos < end; first = false) {
    const start = r.pos;
    const size = r.u16();
    if (size < (first ? 2 : 7) || start + size > end) throw new Malformed('a batch of a size that is none', start * 8);
    const channel = first ? 0 : r.u8();
    if (!first && channel === before) throw new Malformed('two neighbouring batches of one channel', start * 8);
    before = channel;
    while (r.pos < start + size) out.push(readMessage(r, start + size, channel));
  }
  return out;
}

function readMessage(r, end, channel) {
  const at = r.pos * 8;
  if (r.pos + 4 > end) throw new Malformed('a message that ends early', at);
  const m = { type: r.u8(), stage: 0, mode: channel >> 6, channel: channel & 63, number: -1, tick: -1, entity: null, call: -1, state: -1, body: null, payload: 0 };
  const stage = r.u8();
  const size = r.u16();
  if (m.type === 0 || m.type === 255 || (stage & 7) === 7 || stage & 0x80) throw new Malformed('a message of a type or stage that is none', at);
  if (r.pos + size > end) throw new Malformed('a message beyond its batch', at);
  m.payload = size;
  readParts(m, new ByteReader(r.slice(size)), stage);
  return m;
}

// readParts reads what stands before the body. A piece keeps it in the body: it belongs to the whole message.
function readParts(m, p, stage) {
  if (m.mode >= 2) m.number = p.u16();
  m.flags = stage & 0x78;
  m.stage = stage & 7;
  if (m.type === Type.fragment) {
    if (m.mode < 2 || stage !== 0) throw new Malformed('a piece on a channel that has none');
    m.body = p.slice(p.left);
    return;
  }
  readFlags(m, p);
}

/** readFlags reads tick, entity, call and state of a message by its flags; the body is the rest. */
export function readFlags(m, p) {
  const { flags } = m;
  if (flags & 64 && !(flags & 16)) throw new Malformed('a state without an entity');
  if (flags & 8) m.tick = p.u16();
  if (flags & 16) {
    const index = p.varint(2 ** 20 - 1);
    const generation = p.varint();
    if (generation === 0) throw new Malformed('a generation of 0');
    m.entity = { index, generation };
  }
  if (flags & 32) m.call = p.u16();
  if (flags & 64) m.state = p.u16();
  m.body = p.slice(p.left);
}

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]*$/u;

/** detail reads the text of a Close or a refusal. */
export function detail(bytes, most) {
  if (bytes.length > most) throw new Malformed('a detail that is too long');
  const s = text(bytes);
  if (!printable.test(s)) throw new Malformed('a detail that is not printable');
  return s;
}
