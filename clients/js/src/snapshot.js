// Snapshots: decoding and applying. PROTOCOL.md, section 7.
import { BitReader, nearest } from './bits.js';
import { RowReader } from './delta.js';
import { History, Shapes } from './history.js';

/** Lacking is thrown where a snapshot refers to what this client does not have: it asks for a resync. */
export class Lacking extends Error {
  constructor(what) {
    super(what);
    this.name = 'Lacking';
  }
}

const maxIndex = 2 ** 20;

/** State is the world as a client has it: decoded records, and which of them count. */
export class State {
  /**
   * @param {import('./protocol.js').Protocol} protocol
   * @param {number} window W of the session, in ticks
   * @param {number} tick the tick of the Welcome
   */
  constructor(protocol, window, tick, maxEntities = 65536) {
    this.protocol = protocol;
    this.window = window;
    this.maxEntities = maxEntities;
    this.start = tick;
    this.newest = 0; // the newest tick decoded; 0: none
    this.history = new History(window);
    this.shapes = new Shapes(protocol);
    this.entities = new Map(); // index to Entity
    this.reader = new BitReader();
    this.rows = new RowReader();
    this.askedEpoch = 0; // the newest resync that was asked for
    this.servedEpoch = 0;
    this.pending = [];
    this.despawned = []; // pairs of index and generation
    this.rowNumbers = [];
    this.blocks = [];
    this.counts = { absolute: 0, baseline: 0, rows: 0, deltas: 0, same: 0, despawns: 0 };
    this.give = (rec) => rec.shape.give(rec);
    this.pseudo = null;
    this.unknown = new Set(); // rows of the pseudo record whose value at T is not known
    this.wholes = []; // whole rows of a body that differ
    this.pageIndexes = new Uint32Array(64);
  }

  /**
   * read decodes a payload and applies it. It returns false for a stale one, which counts for nothing.
   * Throws Malformed or Lacking; then nothing has changed.
   * @param {Uint8Array} payload
   */
  read(payload) {
    const r = this.reader.load(payload);
    const S = nearest(r.bits(16), this.newest || this.start);
    if (S < 1) r.fail('a tick below 1');
    if (this.newest !== 0 && S <= this.newest - this.window) return false;
    this.pending.length = 0;
    this.despawned.length = 0;
    const counts = this.counts;
    counts.absolute = counts.baseline = counts.rows = counts.deltas = counts.same = counts.despawns = 0;
    let epoch = 0;
    try {
      if (r.bit()) epoch = this.readEpoch(r);
      this.readDespawns(r);
      this.readRecords(r, S);
      r.padding(false);
    } catch (err) {
      for (const rec of this.pending) this.give(rec);
      this.pending.length = 0;
      throw err;
    }
    this.tick = S;
    this.epoch = epoch;
    if (epoch !== 0) this.servedEpoch = epoch;
    this.commit(S);
    return true;
  }

  readEpoch(r) {
    const epoch = r.bits(16);
    if (epoch === 0) r.fail('a resync of epoch 0');
    const ahead = (epoch - this.askedEpoch) & 0xffff;
    if (this.askedEpoch === 0 || (ahead !== 0 && ahead < 0x8000)) r.fail('a resync that was not asked for');
    return epoch;
  }

  readDespawns(r) {
    let index = -1;
    while (r.bit()) {
      const gap = r.var();
      if (gap >= 0x100000000) r.fail('a gap of 2^32 or more');
      index = (index + 1 + gap) % 0x100000000;
      const generation = r.var();
      this.identity(r, index, generation);
      this.despawned.push(index, generation);
      this.counts.despawns++;
    }
  }

  identity(r, index, generation) {
    if (index >= maxIndex) r.fail('an index of 2^20 or more');
    if (generation < 1 || generation >= 0x100000000) r.fail('a generation that is none');
  }

  readRecords(r, S) {
    let U = S;
    const lists = r.bit() === 1;
    if (lists) {
      U = S - 1 - r.var();
      if (U < 1) r.fail('a list of a tick below 1');
      let next = 0; // the page behind the last one of the lists before
      while (r.bit()) next = this.readList(r, S, U, next);
    }
    this.readUnlisted(r, S, U, lists);
  }

  readList(r, S, U, next) {
    let [R, alt, skip] = [U, 1, 0];
    if (!r.bit()) {
      R = U - r.var();
      alt = r.var();
      skip = r.var();
      if (R < 1 || alt > 15 || skip >= 2 ** 14) r.fail('a list that is none');
      if (R === U && alt === 1 && skip === 0) r.fail('the longer form of a list');
    }
    const N = alt === 0 ? 0 : R - alt;
    if (alt > 0 && (N < 1 || S - N >= this.window)) r.fail('a list whose N is out of range');
    if (S - R >= this.window) r.fail('a list of a tick before the window');
    const pages = this.history.ticks.get(R);
    if (pages === undefined) throw new Lacking('the records of R');
    if (N > 0 && !this.history.ticks.has(N)) throw new Lacking('the records of N');
    const numbers = pages.pages();
    const first = next + skip;
    let at = lowerBound(numbers, first);
    if (at === numbers.length || numbers[at] !== first) throw new Lacking('the first page of a list');
    let page = next - 1;
    for (let begun = false; ; begun = true, at++) {
      const code = r.bit() ? 1 : r.bit() ? 2 : r.bit() ? 3 : 0;
      if (code === 0) {
        if (!begun) r.fail('a list without a page');
        return page + 1;
      }
      if (at >= numbers.length) r.fail('a page behind the last one');
      if (code === 3 && !begun) r.fail('a list that begins with no record');
      page = numbers[at];
      if (code !== 3) this.readPage(r, S, R, N, pages, page, code === 1);
    }
  }

  readPage(r, S, R, N, pages, page, all) {
    const indexes = this.pageIndexes;
    const n = pages.indexes(page, indexes);
    if (all) {
      for (let i = 0; i < n; i++) this.implicit(r, S, this.history.at(indexes[i], R), N, indexes[i]);
      return;
    }
    // Which of them have a record is told for each four, before their records.
    let context = 2;
    let any = 0;
    let zero = false;
    for (let i = 0; i < n; i += 4) {
      const s = this.protocol.listFour.read(r, context);
      if (s === 16) {
        if (zero || any === 0) r.fail('a page that ends behind an empty four');
        return;
      }
      const size = n - i < 4 ? n - i : 4;
      if (s >= 1 << size) r.fail('a record beyond the page');
      zero = s === 0;
      context = s === 15 ? 2 : s === 0 ? 0 : 1;
      for (let k = 0; k < size; k++) {
        if (!(s & (1 << k))) continue;
        any++;
        this.implicit(r, S, this.history.at(indexes[i + k], R), N, indexes[i + k]);
      }
    }
    if (zero || any === 0 || any === n) r.fail('a page that has no records, or all');
  }

  readUnlisted(r, S, U, lists) {
    let index = -1;
    for (;;) {
      const s = this.protocol.listGap.read(r, lists ? 1 : 0);
      if (s === 0) return;
      const k = (s - 1) >> 1;
      let gap = k > 1 ? 2 ** (k - 1) + (k <= 33 ? r.bits(k - 1) : r.fail('a gap of 2^32 or more')) : k;
      if (gap >= 0x100000000) r.fail('a gap of 2^32 or more');
      index = (index + 1 + gap) % 0x100000000;
      if (index >= maxIndex) r.fail('an index of 2^20 or more');
      if (s % 2 === 1) {
        const base = this.history.upTo(index, U);
        this.implicit(r, S, base, 0, index);
      } else index = this.explicit(r, S, U, index);
    }
  }

  // implicit reads a record against `base`, with the rows that it had.
  implicit(r, S, base, N, index) {
    if (base === null) throw new Lacking(`the record of entity ${index} that an implicit one names`);
    if (S - base.tick >= this.window || base.tick >= S) r.fail('an implicit record of a tick before the window');
    this.body(r, S, base, base.shape, this.previous(S, base, N, base.shape), null);
  }

  // previous finds the record of T'.
  previous(S, base, N, shape) {
    if (N > 0) {
      const rec = this.history.at(base.index, N);
      return rec !== null && rec.generation === base.generation && rec.shape === base.shape ? rec : null;
    }
    if (base.prev === 0 || S - base.prev >= this.window) return null;
    const rec = this.history.at(base.index, base.prev);
    if (rec === null) throw new Lacking(`the record of entity ${base.index} before its baseline`);
    return rec.shape === base.shape ? rec : null;
  }

  explicit(r, S, U, index) {
    if (!r.bit()) return this.absolute(r, S, index);
    const implied = r.bit() === 1;
    const T = implied ? 0 : S - 1 - r.var();
    if (!implied && T < 1) r.fail('a baseline of a tick below 1');
    let base = implied ? this.history.upTo(index, U) : this.history.at(index, T);
    if (r.bit()) {
      if (implied) r.fail('an implicit record in its longer form');
      if (S - T >= this.window) r.fail('rows as at a tick before the window');
      if (base === null) throw new Lacking(`the record of entity ${index} at tick ${T}`);
      this.body(r, S, base, base.shape, this.previous(S, base, 0), null);
      return index;
    }
    const shape = this.shapes.of(this.readRows(r));
    if (base !== null) {
      this.body(r, S, base, shape, this.previous(S, base, 0), null);
      return index;
    }
    if (implied) throw new Lacking(`a record of entity ${index}`);
    const kept = this.history.kept(index, T);
    if (kept === null) throw new Lacking(`the record of entity ${index} at tick ${T}`);
    this.body(r, S, this.restored(kept, shape, T), shape, null, T);
    return index;
  }

  // restored makes the rows as at T from what is kept: those of S, each with the value that it has had since T or before.
  restored(kept, shape, T) {
    const rec = shape.take(kept.index, kept.generation, T);
    this.unknown.clear();
    for (let i = 0; i < shape.rows.length; i++) {
      const row = shape.rows[i];
      if (shape.components[i].empty) continue;
      const place = kept.shape.place.get(row);
      if (place === undefined || kept.since[place] > T) {
        if (shape.components[i].whole) {
          this.unknown.add(row); // it needs no value if it differs
          continue;
        }
        shape.give(rec);
        throw new Lacking(`row ${shape.components[i].name} of entity ${kept.index} at tick ${T}`);
      }
      const from = kept.shape.offset[row];
      rec.lanes.set(kept.lanes.subarray(from, from + shape.components[i].plan.size), shape.offset[row]);
      if (rec.tails) rec.tails[i] = kept.tails ? kept.tails[place] : null;
    }
    this.pseudo = rec;
    return rec;
  }

  // readRows reads which rows are present.
  readRows(r) {
    const out = this.rowNumbers;
    out.length = 0;
    const n = this.protocol.components.length;
    if (n <= 64) {
      for (let i = 0; i < n; i++) if (r.bit()) out.push(i);
      return out;
    }
    const blocks = this.blocks;
    blocks.length = 0;
    for (let b = 0; b * 8 < n; b++) if (r.bit()) blocks.push(b);
    for (const b of blocks) {
      const before = out.length;
      for (let i = b * 8; i < n && i < b * 8 + 8; i++) if (r.bit()) out.push(i);
      if (out.length === before) r.fail('a block without a row');
    }
    return out;
  }

  wholeRow(r, c, rec, i) {
    const { shape } = rec;
    const at = shape.offset[shape.rows[i]];
    const tail = this.protocol.unpacked ? c.plan.unpacked(r, rec.lanes, at) : c.plan.absolute(r, rec.lanes, at);
    if (rec.tails) rec.tails[i] = tail;
  }

  // absolute reads a record against no baseline, and the run behind it. It returns the last index.
  absolute(r, S, index) {
    const generation = r.var();
    this.identity(r, index, generation);
    const shape = this.shapes.of(this.readRows(r));
    const rec = shape.take(index, generation, S);
    this.pending.push(rec);
    for (let i = 0; i < shape.rows.length; i++) {
      this.wholeRow(r, shape.components[i], rec, i);
      this.counts.rows++;
    }
    this.counts.absolute++;
    const floats = !this.protocol.unpacked && shape.size > 0 && shape.components.every((c) => c.floats);
    if (!floats || !r.bit()) return index;
    return this.run(r, S, index, generation, shape);
  }

  run(r, S, index, generation, shape) {
    while (r.pos & 7) if (r.bit()) r.fail('padding that is not zero');
    const n = r.bits(8);
    if (n === 0) r.fail('a run of nothing');
    for (let k = 0; k < n; k++) {
      if (++index >= maxIndex) r.fail('an index of 2^20 or more');
      const rec = shape.take(index, generation, S);
      this.pending.push(rec);
      for (let i = 0; i < shape.size; i++) rec.lanes[i] = r.bits(32);
      for (const c of shape.components) c.plan.legal(rec.lanes, shape.offset[c.row]);
      this.counts.absolute++;
      this.counts.rows += shape.rows.length;
    }
    return index;
  }

  // body reads what differs from base, into a record of `shape`.
  body(r, S, base, shape, prev, restoredT) {
    const rec = shape.take(base.index, base.generation, S);
    this.pending.push(rec);
    const age = S - base.tick;
    if (age < 1) r.fail('a baseline that is not before its record');
    const rows = this.rows;
    rows.begin(age, prev === null ? 0 : base.tick - prev.tick);
    if (restoredT === null) rec.prev = base.tick;
    const same = base.shape === shape;
    const common = same ? shape.shared : shape.shared.filter((row) => base.shape.offset[row] >= 0);
    const wholes = this.wholes;
    wholes.length = 0;
    for (let from = 0; from < common.length; from += 4) {
      const n = Math.min(4, common.length - from);
      const moved = prev === null ? 1 << n : this.movedRows(base, prev, common, from, n);
      const differs = this.protocol.rowsTables[n].read(r, rows.class * ((1 << n) + 1) + moved);
      for (let k = 0; k < n; k++) this.commonRow(r, rec, base, prev, common[from + k], (differs >> k) & 1, wholes);
    }
    for (let i = 0; i < shape.rows.length && !(same && wholes.length === 0); i++) {
      const row = shape.rows[i];
      const c = shape.components[i];
      if (c.empty) continue;
      const isNew = base.shape.offset[row] < 0;
      if (!isNew && !wholes.includes(row)) continue;
      this.wholeRow(r, c, rec, i);
      this.counts.rows++;
    }
    this.counts.baseline++;
    if (this.pseudo !== null) {
      this.give(this.pseudo);
      this.pseudo = null;
    }
  }

  commonRow(r, rec, base, prev, row, differs, wholes) {
    const c = this.protocol.components[row];
    const at = rec.shape.offset[row];
    const bat = base.shape.offset[row];
    const place = rec.tails ? rec.shape.place.get(row) : 0;
    const tail = c.plan.tail.length > 0 ? base.tails[base.shape.place.get(row)] : null;
    if (!differs) {
      if (base === this.pseudo && this.unknown.has(row)) throw new Lacking(`row ${c.name} of entity ${base.index} at tick ${base.tick}`);
      for (let i = 0; i < c.plan.size; i++) rec.lanes[at + i] = base.lanes[bat + i];
      if (rec.tails) rec.tails[place] = tail;
      this.counts.same++;
    } else if (c.whole) {
      wholes.push(row);
    } else {
      const next = this.rows.row(r, c, rec.lanes, at, base.lanes, bat, prev === null ? null : prev.lanes, tail);
      if (rec.tails) rec.tails[place] = next;
      this.counts.deltas++;
    }
  }

  movedRows(base, prev, common, from, n) {
    let moved = 0;
    for (let k = 0; k < n; k++) {
      const row = common[from + k];
      if (!this.protocol.components[row].whole && !this.equals(base, prev, row)) moved |= 1 << k;
    }
    return moved;
  }

  // equals compares a row of two records.
  equals(a, b, row) {
    const { plan } = this.protocol.components[row];
    const at = a.shape.offset[row];
    const bat = b.shape.offset[row];
    for (let i = 0; i < plan.size; i++) if (a.lanes[at + i] !== b.lanes[bat + i]) return false;
    if (plan.tail.length === 0) return true;
    return sameTails(a.tails[a.shape.place.get(row)], b.tails[b.shape.place.get(row)]);
  }

  commit(S) {
    const { pending, despawned } = this;
    for (let i = 0; i < despawned.length; i += 2) this.applyDespawn(despawned[i], despawned[i + 1], S);
    for (const rec of pending) {
      if (!this.history.add(rec)) {
        this.give(rec);
        continue;
      }
      this.applyRecord(rec);
    }
    pending.length = 0;
    if (S > this.newest) {
      this.newest = S;
      this.history.forget(S, this.give);
    }
  }

  /** losePast drops the history, as a client may when it asks for a resync. */
  losePast() {
    this.history = new History(this.window);
  }

  entity(index) {
    let e = this.entities.get(index);
    if (e === undefined) {
      if (this.entities.size >= this.maxEntities) throw new TooMany(`more than ${this.maxEntities} entities`);
      e = { index, generation: 0, tick: 0, record: null, alive: false, changed: false };
      this.entities.set(index, e);
    }
    return e;
  }

  applyRecord(rec) {
    const e = this.entity(rec.index);
    if (rec.generation < e.generation) return;
    if (rec.generation === e.generation && rec.tick <= e.tick) return;
    const before = e.record;
    const wasAlive = e.alive;
    const wasGeneration = e.generation;
    e.generation = rec.generation;
    e.tick = rec.tick;
    e.record = rec;
    e.alive = true;
    if (this.onRecord) this.onRecord(e, rec, wasAlive && wasGeneration === rec.generation ? before : null, wasAlive && wasGeneration !== rec.generation ? wasGeneration : 0);
  }

  applyDespawn(index, generation, S) {
    const e = this.entity(index);
    if (generation < e.generation || (generation === e.generation && S <= e.tick)) return;
    const was = e.alive ? e.generation : 0;
    e.generation = generation;
    e.tick = S;
    e.alive = false;
    if (was && this.onGone) this.onGone(e, was);
    e.record = null;
  }
}

/** TooMany is thrown where a server shows more entities than this client takes: reason 12. */
export class TooMany extends Error {}

function sameTails(a, b) {
  if (a === b) return true;
  const flat = (v) => JSON.stringify(v, (_, x) => (ArrayBuffer.isView(x) ? [...x] : x));
  return flat(a) === flat(b);
}

function lowerBound(list, v) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid] < v) low = mid + 1;
    else high = mid;
  }
  return low;
}


