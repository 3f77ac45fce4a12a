// Inputs: a row a tick, sent again until it has come. PROTOCOL.md, section 6, Inputs.
import { BitWriter, ByteWriter } from './bits.js';
import { checkRow } from './check.js';
import { around } from './fields.js';

const reach = 64;

/** Inputs keeps the rows of the last ticks. */
export class Inputs {
  constructor(protocol) {
    this.types = protocol.inputs
      .map((t) => ({ ...t, set: false, value: new Uint32Array(t.plan.size), rows: new Map(), at: null }))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    this.newest = 0;
    this.arrived = 0; // the newest tick that is known to have come
  }

  /** set takes the value of an input from the next tick on; events of several calls in a tick are joined. */
  set(name, value) {
    const t = this.types.find((x) => x.name === name);
    if (!t) throw new Error(`netcode: the protocol has no input ${name}; it has ${this.types.map((x) => x.name).join(', ')}`);
    checkRow(t.plan, name, value);
    const before = t.value.slice();
    t.plan.write(value, t.value, 0);
    for (const f of t.plan.fields) if (f.event && t.set) join(f, t.value, before);
    t.set = true;
  }

  /** step makes the rows up to `tick`. */
  step(tick) {
    if (!this.types.some((t) => t.set) || tick <= this.newest) return;
    const from = this.newest === 0 || tick - this.newest > reach ? tick : this.newest + 1;
    for (let n = from; n <= tick; n++) {
      for (const t of this.types) {
        if (!t.set) continue;
        t.rows.set(n, t.value.slice());
        t.rows.delete(n - reach);
        for (const f of t.plan.fields) if (f.event) t.value.fill(0, f.at, f.at + f.lanes.length);
      }
    }
    this.newest = tick;
  }

  /** row returns the numbers of an input at a tick, or null. */
  row(name, tick) {
    return this.types.find((x) => x.name === name)?.rows.get(tick) ?? null;
  }

  /** section writes the ticks that may not have come, as many of the newest as fit `room` bytes. Null: there are none. */
  section(room, behind) {
    if (this.newest <= this.arrived) return null;
    const used = this.types.filter((t) => t.set);
    let n = Math.min(reach, this.newest - this.arrived);
    while (n > 1 && !used.every((t) => t.rows.has(this.newest - n + 1))) n--;
    for (; n >= 1; n >>= 1) {
      const w = new ByteWriter(256).u16(this.newest & 0xffff).u16(behind);
      const bits = new BitWriter();
      for (const t of this.types) this.series(bits, t, n);
      const bytes = w.raw(bits.done()).done();
      if (bytes.length > room && n > 1) continue;
      if (bytes.length > room) return null;
      const newest = this.newest;
      return { bytes, acked: () => (this.arrived = Math.max(this.arrived, newest)) };
    }
    return null;
  }

  series(w, t, n) {
    if (!t.set) return void w.var(0);
    w.var(n);
    let before = null;
    for (let tick = this.newest - n + 1; tick <= this.newest; tick++) {
      const row = t.rows.get(tick);
      if (before === null) t.plan.writeAbsolute(w, row, 0, []);
      else writeNext(w, t.plan, before, row);
      before = row;
    }
  }
}

// join adds the presses of an earlier call in the same tick.
function join(f, now, before) {
  for (let i = 0; i < f.lanes.length; i++) {
    const at = f.at + i;
    if (f.event === 'count') {
      const zero = /^i/.test(f.kind) ? 2 ** (f.lanes[0].bits - 1) : 0;
      now[at] = Math.min(f.lanes[0].max, now[at] + before[at] - zero);
    } else now[at] = (now[at] | before[at]) >>> 0;
  }
}

/** writeNext writes a row of a series behind the one before. */
export function writeNext(w, plan, before, row) {
  if (row.every((v, i) => v === before[i])) return void w.bits(0, 1);
  w.bits(1, 1);
  for (const f of plan.fields) {
    let differs = false;
    for (let i = 0; i < f.lanes.length; i++) differs ||= row[f.at + i] !== before[f.at + i];
    w.bits(differs ? 1 : 0, 1);
    if (!differs) continue;
    for (let i = 0; i < f.lanes.length; i++) {
      const at = f.at + i;
      const same = row[at] === before[at];
      if (f.lanes.length > 1) w.bits(same ? 0 : 1, 1);
      if (!same) writeLane(w, f.lanes[i].bits, before[at], row[at]);
    }
  }
}

function writeLane(w, b, old, now) {
  if (b === 1) return;
  if (b <= 3) return void w.bits(now, b);
  const d = around(now - old, 2 ** b);
  const z = d >= 0 ? 2 * d : -2 * d - 1;
  let k = 0;
  while (z - 1 >= 4 * (2 ** (k + 1) - 1)) k++;
  if (2 * k + 3 < b) w.bits(0, 1).var(z - 1);
  else w.bits(1, 1).bits(now, b);
}
