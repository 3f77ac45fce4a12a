// Rows that this client writes: sent as whole records until they have come. PROTOCOL.md, section 7, Rows from clients.
import { BitWriter } from './bits.js';

/** OwnRows keeps the values that the game has written. */
export class OwnRows {
  constructor(protocol) {
    this.protocol = protocol;
    this.entities = new Map(); // index to { id, rows: Map of row to { lanes, tail }, changed, acked }
    this.epoch = 0; // of the newest resync that the server asked for
    this.version = 0;
    this.tick = 0; // of the newest snapshot sent
  }

  /** write takes a value of a component of an entity that the server has given to this client. */
  write(entity, c, value) {
    if (!((entity.rights >> this.bitOf(c.row)) & 1n)) throw new Error(`netcode: this client may not write ${c.name} of entity ${entity.index}`);
    let own = this.entities.get(entity.index);
    if (!own || own.id.generation !== entity.generation) {
      own = { id: { index: entity.index, generation: entity.generation }, entity, rows: new Map(), changed: 0, acked: 0 };
      this.entities.set(entity.index, own);
    }
    const before = own.rows.get(c.row);
    const lanes = before ? before.lanes.slice() : entity.lanes(c);
    const tail = c.plan.write(value, lanes, 0);
    if (before && before.lanes.every((v, i) => v === lanes[i]) && !tail) return;
    own.rows.set(c.row, { lanes, tail });
    own.changed = ++this.version;
  }

  /** rowOf returns the own row of a component, or undefined. */
  rowOf(entity, c) {
    return this.entities.get(entity.index)?.rows.get(c.row);
  }

  /** value returns the own value of a component, or undefined. */
  value(entity, c) {
    const row = this.rowOf(entity, c);
    return row ? c.plan.value(row.lanes, 0, row.tail) : undefined;
  }

  /** right forgets the rows that the client may not write any more, and those that it begins anew with the server's value. */
  right(entity, rights, anew) {
    const own = this.entities.get(entity.index);
    if (!own) return;
    for (const row of own.rows.keys()) {
      const bit = this.bitOf(row);
      if (!((rights >> bit) & 1n) || (anew >> bit) & 1n) own.rows.delete(row);
    }
    if (own.rows.size === 0) this.entities.delete(entity.index);
    else own.changed = ++this.version; // under the new number all begins anew
  }

  // bitOf returns the bit of a row in a right: the row, or with more than 64 rows its place among those that clients write.
  bitOf(row) {
    const { components } = this.protocol;
    if (components.length <= 64) return BigInt(row);
    let n = 0;
    for (let i = 0; i < row; i++) if (components[i].owner || components[i].named) n++;
    return BigInt(n);
  }

  forget(entity) {
    const own = this.entities.get(entity.index);
    if (own && own.id.generation === entity.generation) this.entities.delete(entity.index);
  }

  /** resync sends everything anew: the server asked for it. */
  resync(epoch) {
    if (((epoch - this.epoch) & 0xffff) === 0 || ((epoch - this.epoch) & 0xffff) >= 0x8000) return;
    this.epoch = epoch;
    for (const own of this.entities.values()) own.acked = 0;
    this.told = false;
  }

  /** section writes a snapshot of what may not have come, as much as fits `room` bytes. Null: there is nothing. */
  section(tick, room) {
    const due = [...this.entities.values()].filter((o) => o.changed > o.acked);
    const answer = this.epoch !== 0 && !this.told;
    if (due.length === 0 && !answer) return null;
    due.sort((a, b) => a.id.index - b.id.index);
    const w = new BitWriter();
    this.tick = Math.max(this.tick + 1, tick); // the clock of inputs may go back
    w.bits(this.tick & 0xffff, 16);
    if (this.epoch !== 0) w.bits(1, 1).bits(this.epoch, 16);
    else w.bits(0, 1);
    w.bits(0, 1).bits(0, 1);
    const sent = [];
    let before = -1;
    for (const own of due) {
      const mark = w.pos;
      this.record(w, own, own.id.index - before - 1);
      if ((w.pos + 24) / 8 > room) {
        w.cut(mark);
        break;
      }
      before = own.id.index;
      sent.push([own, own.changed]);
    }
    if (sent.length === 0 && !answer) return null;
    this.protocol.listGap.write(w, 0, 0);
    this.told = true;
    return {
      bytes: w.done(),
      acked: () => sent.forEach(([own, version]) => (own.acked = Math.max(own.acked, version))),
      lost: () => (this.told = this.epoch === 0),
    };
  }

  record(w, own, gap) {
    const k = gap < 2 ? gap : 32 - Math.clz32(gap);
    this.protocol.listGap.write(w, 0, 2 * k + 2);
    if (k > 1) w.bits(gap - 2 ** (k - 1), k - 1);
    w.bits(0, 1).var(own.entity.number); // the number of the right stands in place of the generation
    const rows = [...own.rows.keys()].sort((a, b) => a - b);
    this.rowBits(w, rows);
    let floats = true;
    for (const row of rows) {
      const c = this.protocol.components[row];
      const { lanes, tail } = own.rows.get(row);
      if (this.protocol.unpacked) c.plan.writeUnpacked(w, lanes, 0, tail ?? []);
      else c.plan.writeAbsolute(w, lanes, 0, tail ?? []);
      floats &&= c.floats;
    }
    if (floats && rows.some((row) => this.protocol.components[row].plan.size > 0)) w.bits(0, 1); // no run
  }

  rowBits(w, rows) {
    const n = this.protocol.components.length;
    const has = new Set(rows);
    if (n <= 64) {
      for (let i = 0; i < n; i++) w.bits(has.has(i) ? 1 : 0, 1);
      return;
    }
    const blocks = new Set(rows.map((row) => row >> 3));
    for (let b = 0; b * 8 < n; b++) w.bits(blocks.has(b) ? 1 : 0, 1);
    for (let b = 0; b * 8 < n; b++) {
      if (!blocks.has(b)) continue;
      for (let i = b * 8; i < n && i < b * 8 + 8; i++) w.bits(has.has(i) ? 1 : 0, 1);
    }
  }
}
