// The world as the game sees it: entities, their components, what is shown between two ticks.
import { nearest } from './bits.js';
import { Collections } from './collections.js';

/** Entity is an entity that the server shows. Its values are made when they are asked for, and kept until they change. */
export class Entity {
  constructor(world, e) {
    this.world = world;
    this.state = e;
    this.index = e.index;
    this.generation = e.generation;
    this.values = new Map();
    /** data is for the game: a sprite, a mesh. */
    this.data = null;
    this.rights = 0n; // rows that this client writes
    this.number = 0; // of the right under which it writes them
    this.nextRight = null; // a right that begins with the state of its tick
  }

  /** alive tells whether the server still shows the entity. */
  get alive() {
    return this.state.alive && this.state.generation === this.generation;
  }

  /** components returns the names of its components. */
  get components() {
    return this.alive ? this.state.record.shape.components.map((c) => c.base.name) : [];
  }

  has(name) {
    return this.rowOf(name) !== null;
  }

  // rowOf finds the row of a component, or that of one of its distance bands.
  rowOf(name) {
    if (this.alive) for (const c of this.state.record.shape.components) if (c.base.name === name) return c;
    this.world.known(name);
    return null;
  }

  /** get returns the newest value of a component, or undefined. Do not change it. */
  get(name) {
    const c = this.rowOf(name);
    if (c === null) return undefined;
    if (this.rights !== 0n) {
      const own = this.world.own.value(this, c);
      if (own !== undefined) return own;
    }
    const { record } = this.state;
    const known = this.values.get(name);
    if (known && known.tick === record.tick) return known.value;
    const value = valueOf(c, record);
    this.values.set(name, { tick: record.tick, value });
    return value;
  }

  // lanes copies the newest numbers of a component.
  lanes(c) {
    const { record } = this.state;
    const at = record.shape.offset[c.row];
    return at < 0 ? new Uint32Array(c.plan.size) : record.lanes.slice(at, at + c.plan.size);
  }

  /** at returns the value of a component as of a tick with a fraction: numbers, angles and rotations between two records. undefined before the first. */
  at(name, tick) {
    return this.world.between(this, name, tick);
  }

  /** shown returns the value at the tick that the client shows at present. */
  shown(name) {
    return this.world.between(this, name, this.world.shown);
  }
}

function valueOf(c, record) {
  const { shape } = record;
  return c.plan.value(record.lanes, shape.offset[c.row], record.tails ? record.tails[shape.place.get(c.row)] : null);
}

const keyOf = (id) => `${id.index}v${id.generation}`;

/** World keeps the entities of a client and tells what came, changed and went. */
export class World {
  constructor(protocol, state, own, emit, protocols = [protocol]) {
    this.own = own;
    this.protocol = protocol;
    this.protocols = protocols; // that of the server, and others that the game knows
    this.teleport = protocol.componentNamed.get('Teleport') ?? null;
    this.snapshots = state;
    this.emit = emit;
    this.entities = new Map(); // index to Entity
    this.shown = -1;
    this.early = new Map(); // rights that came before their entity
    this.collections = new Collections(protocol, this, emit);
    state.onRecord = (e, rec, before, other) => this.record(e, rec, before, other);
    state.onGone = (e) => this.gone(e);
  }

  get count() {
    return this.entities.size;
  }

  /** known throws if no protocol has a component of this name. */
  known(name) {
    if (this.protocols.some((p) => p.componentNamed.has(name))) return;
    throw new Error(`netcode: the protocol has no component ${name}; it has ${[...this.protocol.componentNamed.keys()].join(', ')}`);
  }

  /** find returns the entity of an id, or null. */
  find(id) {
    const e = this.entities.get(id.index);
    return e && e.generation === id.generation ? e : null;
  }

  record(e, rec, before, other) {
    if (other) this.gone(e);
    if (before === null) {
      const entity = new Entity(this, e);
      this.entities.set(e.index, entity);
      this.emit('spawn', entity);
      const key = keyOf(e);
      const right = this.early.get(key);
      if (right && this.early.delete(key)) this.right(right);
      return;
    }
    const entity = this.entities.get(e.index);
    if (entity.nextRight !== null) this.begin(entity);
    this.emit('change', entity);
  }

  gone(e) {
    const entity = this.entities.get(e.index);
    if (!entity) return;
    this.entities.delete(e.index);
    this.collections.forget(entity);
    this.own.forget(entity);
    this.emit('despawn', entity);
  }

  show(tick) {
    this.shown = tick;
  }

  /** right takes what this client may write. */
  right(v) {
    const id = { index: v.Entity.Index, generation: v.Entity.Generation };
    const e = this.find(id);
    if (!e) {
      this.early.set(keyOf(id), v); // it came before its entity
      if (this.early.size > 1024) this.early.delete(this.early.keys().next().value);
      return;
    }
    e.rights &= v.Rows; // what is lost is lost at once
    this.own.right(e, e.rights, 0n);
    e.nextRight = v.Rows === 0n ? null : v;
    if (v.Rows === 0n) {
      e.number = 0;
      this.emit('right', e, e.rights);
    }
    this.begin(e);
  }

  // begin uses a right once the client has the server's state of its tick.
  begin(e) {
    const v = e.nextRight;
    if (v === null || e.state.tick < nearest(v.Tick, e.state.tick, 32)) return;
    e.nextRight = null;
    e.rights = v.Rows;
    e.number = v.Number;
    this.own.right(e, e.rights, v.Renewed);
    this.emit('right', e, e.rights);
  }

  // between interpolates a component between the records around a tick.
  between(entity, name, tick) {
    const c = entity.rowOf(name);
    if (c === null) return undefined;
    if (entity.rights !== 0n && this.own.value(entity, c) !== undefined) return entity.get(name);
    const { history } = this.snapshots;
    const whole = Math.floor(tick);
    const a = history.upTo(entity.index, whole);
    if (a === null || a.generation !== entity.generation || a.shape.offset[c.row] < 0) return entity.get(name);
    const b = history.after(entity.index, whole);
    const value = valueOf(c, a);
    if (b === null || b.generation !== a.generation || b.shape.offset[c.row] < 0 || this.teleported(a, b)) return value;
    // An entity at rest has no records: it begins to move one tick before the next one.
    const from = Math.max(a.tick, b.tick - 1 - this.gap(a, b));
    const t = Math.max(0, Math.min(1, (tick - from) / (b.tick - from)));
    return mix(c.plan, value, valueOf(c, b), t);
  }

  // teleported tells whether an entity jumped from one record to another: its Teleport differs.
  teleported(a, b) {
    const c = this.teleport;
    if (c === null) return false;
    const [at, to] = [a.shape.offset[c.row], b.shape.offset[c.row]];
    if (at < 0 || to < 0) return at >= 0 || to >= 0;
    for (let i = 0; i < c.plan.size; i++) if (a.lanes[at + i] !== b.lanes[to + i]) return true;
    return false;
  }

  // gap is how many ticks between two records may be due to loss.
  gap(a, b) {
    return Math.min(b.tick - a.tick - 1, 8);
  }
}

// mix interpolates values field by field: floats, bounded floats, angles and rotations; everything else is that of the earlier one.
function mix(plan, a, b, t) {
  if (plan.scalar) return plan.fields.length ? mixField(plan.fields[0], a, b, t) : a;
  const out = structured(a);
  for (const f of plan.fields) {
    if (!/^(f32|f64|quat)/.test(f.kind) || /~none/.test(f.kind)) continue;
    let [x, y, z] = [a, b, out];
    for (let i = 0; i < f.steps.length - 1; i++) [x, y, z] = [x[f.steps[i]], y[f.steps[i]], z[f.steps[i]]];
    const last = f.steps[f.steps.length - 1];
    z[last] = mixField(f, x[last], y[last], t);
  }
  return out;
}

function mixField(f, a, b, t) {
  if (f.quat) {
    let dot = 0;
    for (let i = 0; i < 4; i++) dot += a[i] * b[i];
    const s = dot < 0 ? -1 : 1;
    const q = a.map((v, i) => v + (b[i] * s - v) * t);
    const l = Math.hypot(...q) || 1;
    return q.map((v) => v / l);
  }
  if (!/^f/.test(f.kind)) return a;
  if (/angle/.test(f.kind)) {
    let d = (b - a) % (2 * Math.PI);
    if (d > Math.PI) d -= 2 * Math.PI;
    if (d < -Math.PI) d += 2 * Math.PI;
    return a + d * t;
  }
  return a + (b - a) * t;
}

function structured(v) {
  if (Array.isArray(v)) return v.map(structured);
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, structured(x)]));
  return v;
}
