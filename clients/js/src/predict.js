// Simple prediction of the own body: its inputs are played again behind each state of the server, and the error is shown smoothed.

/**
 * OwnBody predicts one component of one entity. The game gives the rule: step(value, input, seconds) returns the value a tick later, and changes nothing.
 * The rule has to be the server's; where it differs the error is corrected each time the server's state comes.
 */
export class OwnBody {
  /**
   * @param {import('./client.js').Client} client
   * @param {{component: string, input: string, step: (value: any, input: any, seconds: number) => any, smooth?: number}} options
   *   smooth: ms until an error has shrunk to a third
   */
  constructor(client, options) {
    this.client = client;
    this.options = { smooth: 100, ...options };
    this.type = client.protocol.inputs.find((t) => t.name === options.input);
    if (!this.type) throw new Error(`netcode: the protocol has no input ${options.input}; it has ${client.protocol.inputs.map((t) => t.name).join(', ')}`);
    const { componentNamed } = client.protocol;
    if (!componentNamed.has(options.component)) throw new Error(`netcode: the protocol has no component ${options.component}; it has ${[...componentNamed.keys()].join(', ')}`);
    this.teleports = componentNamed.has('Teleport');
    this.reset();
  }

  /** reset forgets what was predicted: the next value is shown without smoothing. */
  reset() {
    this.entity = null;
    this.jumps = '';
    this.predicted = new Map(); // tick to value
    this.offset = new Map(); // path of a number to what is added to it on the screen
    this.last = -1;
    this.corrections = 0;
  }

  /** update predicts up to the client's tick and returns the value to show, undefined while the entity lacks the component. */
  update(entity, now = performance.now()) {
    const { client } = this;
    const { component, step } = this.options;
    if (!entity || !entity.alive || !client.connected) return undefined;
    let value = entity.get(component);
    if (value === undefined) return undefined;
    this.jump(entity);
    const from = client.snapshots.newest;
    const to = Math.max(from, client.tick);
    const seconds = 1 / client.session.rate;
    const fresh = new Map();
    let before = value;
    for (let tick = from + 1; tick <= to; tick++) {
      before = value;
      value = step(value, this.inputAt(tick), seconds);
      fresh.set(tick, value);
    }
    this.correct(fresh, to);
    this.predicted = fresh;
    this.fade(now);
    const part = client.inputClock.at(now) - client.tick;
    return this.shift(blend(before, value, Math.max(0, Math.min(1, part))));
  }

  // jump begins anew, without smoothing, for another entity and after a teleport.
  jump(entity) {
    const jumps = this.teleports ? Object.values(entity.get('Teleport') ?? {}).join() : '';
    if (entity === this.entity && jumps === this.jumps) return;
    const { corrections } = this;
    this.reset();
    Object.assign(this, { entity, jumps, corrections });
  }

  inputAt(tick) {
    const row = this.client.inputs.row(this.type.name, tick);
    return row ? this.type.plan.value(row, 0, null) : undefined;
  }

  // correct compares what was predicted for one tick before and now, and keeps the difference on the screen.
  correct(fresh, to) {
    for (let tick = to; tick > to - 3; tick--) {
      if (!this.predicted.has(tick) || !fresh.has(tick)) continue;
      let any = false;
      each(this.predicted.get(tick), fresh.get(tick), '', (path, was, is) => {
        if (was === is) return;
        any = true;
        this.offset.set(path, (this.offset.get(path) ?? 0) + was - is);
      });
      if (any) this.corrections++;
      return;
    }
  }

  fade(now) {
    const keep = this.last < 0 ? 1 : Math.exp(-Math.max(0, now - this.last) / this.options.smooth);
    this.last = now;
    for (const [path, v] of this.offset) {
      if (Math.abs(v * keep) < 1e-6) this.offset.delete(path);
      else this.offset.set(path, v * keep);
    }
  }

  shift(value) {
    if (this.offset.size === 0) return value;
    return map(value, '', (path, v) => v + (this.offset.get(path) ?? 0));
  }
}

function each(a, b, path, f) {
  if (typeof a === 'number' && typeof b === 'number') f(path, a, b);
  else if (a && b && typeof a === 'object') for (const k of Object.keys(a)) each(a[k], b[k], `${path}.${k}`, f);
}

function map(v, path, f) {
  if (typeof v === 'number') return f(path, v);
  if (Array.isArray(v)) return v.map((x, i) => map(x, `${path}.${i}`, f));
  if (v && typeof v === 'object') return Object.fromEntries(Object.entries(v).map(([k, x]) => [k, map(x, `${path}.${k}`, f)]));
  return v;
}

function blend(a, b, t) {
  if (typeof a === 'number' && typeof b === 'number') return a + (b - a) * t;
  if (Array.isArray(b)) return b.map((x, i) => blend(a?.[i], x, t));
  if (b && typeof b === 'object') return Object.fromEntries(Object.entries(b).map(([k, x]) => [k, blend(a?.[k], x, t)]));
  return b;
}
