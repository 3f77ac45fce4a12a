// Collections: lists, sets and maps of an entity. PROTOCOL.md, section 6, Collections.
import { BitReader, ByteReader, Malformed } from './bits.js';

/** Collections keeps the collections of all entities. */
export class Collections {
  constructor(protocol, world, emit) {
    this.kinds = [...protocol.collections].sort((a, b) => (a.name < b.name ? -1 : 1));
    this.world = world;
    this.emit = emit;
    this.byEntity = new Map();
  }

  /** names returns the names of the collections that the protocol has. */
  names() {
    return this.kinds.map((k) => k.name);
  }

  /** of returns the elements of a collection of an entity, or undefined before it came. Do not change them. */
  of(entity, name) {
    if (!this.kinds.some((k) => k.name === name)) throw new Error(`netcode: the protocol has no collection ${name}; it has ${this.names().join(', ') || 'none'}`);
    return this.byEntity.get(entity)?.get(name)?.values;
  }

  forget(entity) {
    this.byEntity.delete(entity);
  }

  take(m) {
    const r = new ByteReader(m.body);
    const kind = this.kinds[r.varint(255)];
    if (!kind || r.left === 0) throw new Malformed('a collection that the protocol lacks, or without an operation');
    const entity = this.world.find(m.entity);
    const all = this.byEntity.get(entity) ?? new Map();
    if (entity) this.byEntity.set(entity, all);
    let c = all.get(kind.name);
    if (!c) {
      c = { values: undefined, rows: null, building: null, stopped: true };
      all.set(kind.name, c);
    }
    const before = c.values;
    while (r.left > 0) this.operation(r, kind, c);
    if (entity && c.values !== before) this.emit('collection', entity, kind.name, c.values);
  }

  operation(r, kind, c) {
    const op = r.u8();
    const target = c.building ?? c.rows;
    const idle = c.stopped || target === null;
    if (op === 1) {
      c.building = [];
      c.stopped = false;
    } else if (op === 6) {
      if (c.building === null && !c.stopped) throw new Malformed('the end of a collection that did not begin');
      if (c.building) this.replace(kind, c, c.building);
      c.building = null;
    } else if (op === 7) {
      c.stopped = true;
      c.building = null;
    } else if (op === 5) {
      if (!idle) this.edit(kind, c, () => []);
    } else if (op >= 2 && op <= 4) this.elements(r, kind, c, op, idle);
    else throw new Malformed('an operation of a collection that is none');
  }

  elements(r, kind, c, op, idle) {
    const place = r.varint();
    const count = r.varint() + 1;
    if (place > kind.most || count > kind.most) throw new Malformed('a place beyond a collection');
    const fresh = op === 4 ? [] : this.read(r, kind, count);
    if (idle) return;
    this.edit(kind, c, (rows) => {
      if (place > rows.length || (op !== 2 && place + count > rows.length)) throw new Malformed('a place beyond a collection');
      const out = rows.slice();
      out.splice(place, op === 2 ? 0 : count, ...fresh);
      if (out.length > kind.most) throw new Malformed('more elements than a collection may have');
      return out;
    });
  }

  read(r, kind, count) {
    const bits = new BitReader().load(r.bytes.subarray(r.pos, r.end));
    const out = [];
    for (let i = 0; i < count; i++) {
      const l = new Uint32Array(kind.plan.size);
      const tail = kind.unpacked ? kind.plan.unpacked(bits, l, 0) : kind.plan.absolute(bits, l, 0);
      out.push({ l, value: kind.plan.value(l, 0, tail) });
    }
    while (bits.pos & 7) if (bits.bit()) throw new Malformed('padding that is not zero');
    r.slice(bits.pos >> 3);
    return out;
  }

  edit(kind, c, change) {
    if (c.building) c.building = change(c.building);
    else this.replace(kind, c, change(c.rows));
  }

  replace(kind, c, rows) {
    if (kind.kind !== 'list') {
      for (let i = 1; i < rows.length; i++) if (compare(rows[i - 1].l, rows[i].l, kind.key || rows[i].l.length) >= 0) throw new Malformed('keys that do not ascend');
    }
    c.rows = rows;
    c.values = rows.map((e) => e.value);
  }
}

function compare(a, b, n) {
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return 0;
}
