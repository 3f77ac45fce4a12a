// What a client keeps of decoded records: by entity and by tick. PROTOCOL.md, section 7, rule 4.

/** Shape is a set of rows: the components of an entity as a client sees it. Its records keep their numbers in one array. */
export class Shape {
  constructor(protocol, rows) {
    this.rows = rows; // numbers of components, ascending
    this.components = rows.map((i) => protocol.components[i]);
    this.offset = new Int32Array(protocol.components.length).fill(-1);
    this.size = 0;
    rows.forEach((row, i) => {
      this.offset[row] = this.size;
      this.size += this.components[i].plan.size;
    });
    this.shared = rows.filter((row) => !protocol.components[row].empty); // those that a body tells of
    this.tails = this.components.some((c) => c.plan.tail.length > 0);
    this.place = new Map(rows.map((row, i) => [row, i]));
    this.free = [];
  }

  /** take returns a record of this shape. */
  take(index, generation, tick) {
    const rec = this.free.pop() ?? { shape: this, index: 0, generation: 0, tick: 0, prev: 0, lanes: new Uint32Array(this.size), tails: this.tails ? new Array(this.rows.length).fill(null) : null, since: null, users: 0 };
    rec.index = index;
    rec.generation = generation;
    rec.tick = tick;
    rec.prev = 0;
    rec.since = null;
    return rec;
  }

  give(rec) {
    if (this.free.length < 4096) this.free.push(rec);
  }
}

/** Shapes finds the shape of a set of rows. */
export class Shapes {
  constructor(protocol) {
    this.protocol = protocol;
    this.byKey = new Map();
  }

  of(rows) {
    const key = rows.join(',');
    let shape = this.byKey.get(key);
    if (!shape) {
      if (this.byKey.size > 65536) this.byKey.clear();
      shape = new Shape(this.protocol, rows.slice());
      this.byKey.set(key, shape);
    }
    return shape;
  }
}

// Life is the history of one generation of an index, oldest first.
class Life {
  constructor(generation) {
    this.generation = generation;
    this.records = [];
    this.head = 0; // records before it are gone
  }

  newest() {
    return this.records[this.records.length - 1];
  }

  find(tick) {
    const { records, head } = this;
    let i = records.length - 1;
    for (let n = 0; i >= head && n < 12; i--, n++) {
      const t = records[i].tick;
      if (t === tick) return records[i];
      if (t < tick) return null;
    }
    let low = head;
    while (low <= i) {
      const mid = (low + i) >> 1;
      const t = records[mid].tick;
      if (t === tick) return records[mid];
      if (t < tick) low = mid + 1;
      else i = mid - 1;
    }
    return null;
  }

  /** upTo returns the newest record that is not after `tick`. */
  upTo(tick) {
    for (let i = this.records.length - 1; i >= this.head; i--) if (this.records[i].tick <= tick) return this.records[i];
    return null;
  }

  /** insert adds a record and says whether it did: a tick has one, the first. */
  insert(rec) {
    const { records } = this;
    let i = records.length;
    while (i > this.head && records[i - 1].tick > rec.tick) i--;
    if (i > this.head && records[i - 1].tick === rec.tick) return false;
    if (i === records.length) records.push(rec);
    else records.splice(i, 0, rec);
    return true;
  }

  /** forget gives up the records before `tick`, but for the newest of them, which learns since when its rows have their values. */
  forget(tick, give) {
    const { records } = this;
    while (this.head + 1 < records.length && records[this.head + 1].tick < tick) {
      carry(records[this.head], records[this.head + 1]);
      give(records[this.head]);
      records[this.head++] = null;
    }
    if (this.head > 32 && this.head * 2 > records.length) {
      records.splice(0, this.head);
      this.head = 0;
    }
  }
}

function sameTail(a, b) {
  if (a === b) return true;
  return JSON.stringify(a, bytesAsArrays) === JSON.stringify(b, bytesAsArrays);
}

const bytesAsArrays = (_, v) => (ArrayBuffer.isView(v) ? [...v] : v);

// carry tells `to`, the record after `from`, since which tick each of its rows has had its value. `from` is given up, so its array goes on.
function carry(from, to) {
  const { shape } = to;
  const known = from.since;
  const since = known !== null && from.shape === shape ? known : new Float64Array(shape.rows.length);
  for (let i = 0; i < shape.rows.length; i++) {
    const row = shape.rows[i];
    const j = from.shape === shape ? i : from.shape.place.get(row) ?? -1;
    since[i] = j >= 0 && sameRow(from, j, to, i) ? (known !== null ? known[j] : from.tick) : to.tick;
  }
  from.since = null;
  to.since = since;
}

// sameRow compares row j of a record with row i of another.
function sameRow(from, j, to, i) {
  const at = from.shape.offset[from.shape.rows[j]];
  const here = to.shape.offset[to.shape.rows[i]];
  const n = to.shape.components[i].plan.size;
  for (let k = 0; k < n; k++) if (from.lanes[at + k] !== to.lanes[here + k]) return false;
  return !to.tails || sameTail(from.tails ? from.tails[j] : null, to.tails[i]);
}

// TickPages has the indexes that have records at a tick, by page of 64.
class TickPages {
  constructor() {
    this.words = new Map(); // page to the place of its two words
    this.numbers = []; // pages, ascending when sorted
    this.bits = [];
    this.sorted = true;
  }

  reset() {
    this.words.clear();
    this.numbers.length = 0;
    this.bits.length = 0;
    this.sorted = true;
  }

  add(index) {
    const page = index >>> 6;
    let at = this.words.get(page);
    if (at === undefined) {
      at = this.bits.length;
      this.words.set(page, at);
      this.bits.push(0, 0);
      if (this.numbers.length > 0 && this.numbers[this.numbers.length - 1] > page) this.sorted = false;
      this.numbers.push(page);
    }
    this.bits[at + ((index >>> 5) & 1)] |= 1 << (index & 31);
  }

  pages() {
    if (!this.sorted) {
      this.numbers.sort((a, b) => a - b);
      this.sorted = true;
    }
    return this.numbers;
  }

  /** indexes writes the indexes of a page into `out` and returns their number. */
  indexes(page, out) {
    const at = this.words.get(page);
    let n = 0;
    for (let word = 0; word < 2; word++) {
      for (let bits = this.bits[at + word]; bits !== 0; bits &= bits - 1) {
        out[n++] = page * 64 + word * 32 + (31 - Math.clz32(bits & -bits));
      }
    }
    return n;
  }
}

/** History has all records that may be baselines. */
export class History {
  constructor(window, maxIndexes = 65536) {
    this.window = window;
    this.maxIndexes = maxIndexes;
    this.lives = new Map(); // index to lives, by generation
    this.ticks = new Map(); // tick to TickPages
    this.order = []; // ticks with records, oldest first
    this.newest = 0;
    this.spare = []; // pages of ticks that are gone, to be used again
  }

  livesOf(index) {
    return this.lives.get(index);
  }

  /** at returns the record of an index at a tick, of whatever generation. */
  at(index, tick) {
    const lives = this.lives.get(index);
    if (lives === undefined) return null;
    for (let i = lives.length - 1; i >= 0; i--) {
      const rec = lives[i].find(tick);
      if (rec !== null) return rec;
    }
    return null;
  }

  /** upTo returns the newest record of an index, of whatever generation, that is not after `tick`. */
  upTo(index, tick) {
    const lives = this.lives.get(index);
    let best = null;
    if (lives === undefined) return best;
    for (const life of lives) {
      const rec = life.upTo(tick);
      if (rec !== null && (best === null || rec.tick > best.tick)) best = rec;
    }
    return best;
  }

  /** after returns the oldest record of an index, of whatever generation, that is after `tick`. */
  after(index, tick) {
    const lives = this.lives.get(index);
    let best = null;
    if (lives === undefined) return best;
    for (const { records, head } of lives) {
      for (let i = records.length - 1; i >= head && records[i].tick > tick; i--) if (best === null || records[i].tick < best.tick) best = records[i];
    }
    return best;
  }

  /**
   * kept returns the record that says what the rows at `tick` were when the record of that tick is gone: that of the lowest generation that reaches it.
   * Null if there is none.
   */
  kept(index, tick) {
    const lives = this.lives.get(index);
    if (lives === undefined) return null;
    for (const life of lives) {
      if (life.newest().tick < tick) continue;
      // The oldest that is kept and not before the tick: later ones tell the same or less.
      for (let i = life.head; i < life.records.length; i++) if (life.records[i].tick >= tick) return life.records[i].since ? life.records[i] : null;
    }
    return null;
  }

  /** add keeps a decoded record and says whether it did. */
  add(rec) {
    let lives = this.lives.get(rec.index);
    if (lives === undefined) {
      lives = [];
      this.lives.set(rec.index, lives);
    }
    let i = lives.length - 1;
    while (i >= 0 && lives[i].generation > rec.generation) i--;
    let life = i >= 0 ? lives[i] : null;
    if (life === null || life.generation !== rec.generation) {
      life = new Life(rec.generation);
      lives.splice(i + 1, 0, life);
    }
    if (!life.insert(rec)) return false;
    this.pagesOf(rec.tick).add(rec.index);
    return true;
  }

  pagesOf(tick) {
    let pages = this.ticks.get(tick);
    if (pages === undefined) {
      pages = this.spare.pop() ?? new TickPages();
      this.ticks.set(tick, pages);
      const { order } = this;
      let i = order.length;
      while (i > 0 && order[i - 1] > tick) i--;
      order.splice(i, 0, tick);
    }
    return pages;
  }

  /** forget gives up what is 2W or more behind the newest tick, by the records of the ticks that pass. `applied` are never given back while shown. */
  forget(newest, give) {
    this.newest = newest;
    const before = newest - 2 * this.window + 1;
    while (this.order.length > 0 && this.order[0] < before) {
      const tick = this.order.shift();
      const pages = this.ticks.get(tick);
      this.ticks.delete(tick);
      for (const page of pages.pages()) {
        const n = pages.indexes(page, scratch);
        for (let i = 0; i < n; i++) this.forgetIndex(scratch[i], before, give);
      }
      pages.reset();
      this.spare.push(pages);
    }
  }

  // forgetIndex gives up old records of an index, and old generations of it as a whole.
  forgetIndex(index, before, give) {
    const lives = this.lives.get(index);
    if (lives === undefined) return;
    for (const life of lives) life.forget(before, give);
    while (lives.length > 1 && lives[0].newest().tick < before) {
      give(lives[0].newest());
      lives.shift();
    }
  }
}

const scratch = new Uint32Array(64);
