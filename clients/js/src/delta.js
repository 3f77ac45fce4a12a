// Rows as what differs from their baselines. PROTOCOL.md, section 11.
import { Model, around, bitsOf, floatOf, readTailChanges } from './fields.js';

/** ageClass is the class of an age, and of the span from T' to T (0 without T'), in the contexts of tables. */
export const ageClass = (age, span) => (span === 4 ? (age === 1 ? 4 : 5) : age === 1 ? 0 : age <= 4 ? 1 : age <= 12 ? 2 : 3);

// quotient divides and rounds to the nearest, halves away from zero. |n| is below 2^52.
function quotient(n, d) {
  const q = Math.floor((2 * Math.abs(n) + d) / (2 * d));
  return n < 0 ? -q : q;
}

// pow2 has the powers of two: Math.pow is slow.
const pow2 = Float64Array.from({ length: 65 }, (_, n) => 2 ** n);

const bitLength = (v) => (v < 0x100000000 ? 32 - Math.clz32(v) : 64 - Math.clz32(v / 0x100000000));

// rootOf returns the whole part of the square root of x, below 2^56.
function rootOf(x) {
  let l = Math.floor(Math.sqrt(x));
  if (x >= 2 ** 52) {
    while (BigInt(l) * BigInt(l) > BigInt(x)) l--;
    while (BigInt(l + 1) * BigInt(l + 1) <= BigInt(x)) l++;
  }
  return l;
}

/** placeOf orders the floats by their bits; 0 and -0 have one place. */
export const placeOf = (bits) => (bits < 0x80000000 ? bits : 0x80000000 - bits);

const minusZero = 2 ** 33 - 1;

/** token reads a signed number. */
export function token(r, table, context) {
  const s = table.read(r, context);
  if (s < 3) return s === 2 ? -1 : s;
  const t = s - 3;
  const k = 2 + (t >> 2);
  const m = pow2[k - 1] + (t & 2 ? pow2[k - 2] : 0) + r.bits(k - 2);
  return t & 1 ? -m : m;
}

// numberOf returns the number of component `which` of a rotation that leaves out `left`.
function numberOf(v, left, which, M) {
  const n = Math.floor(((v[left] < 0 ? -v[which] : v[which]) + M + 1) / 2);
  return n < 0 ? 0 : n > M ? M : n;
}

/** RowReader reads the rows of one body. Its `miss` is of the last token before. */
export class RowReader {
  constructor() {
    this.miss = 0;
    this.age = 1;
    this.span = 0; // 0: no previous baseline
    this.class = 0;
    this.a = new Float64Array(4);
    this.b = new Float64Array(4);
    this.e = new Float64Array(4);
    this.differs = false;
    this.quat = -1; // the lane at which the rotation in a and e begins, or that of factor and less
    this.turns = 0;
    this.factor = 0;
    this.less = 0;
  }

  /** begin starts a body. span is 0 without a previous baseline. */
  begin(age, span) {
    this.miss = 0;
    this.age = age;
    this.span = span;
    this.class = ageClass(age, span);
  }

  /**
   * row reads a row that differs into `now`, which begins at `at`. `base` at `bat` is the row at T, `prev` at `bat` that at T' (if span is not 0).
   * Returns the tail of the row.
   */
  row(r, c, now, at, base, bat, prev, tail) {
    const { plan } = c;
    const size = plan.size;
    const own = this.expected(c, base, bat, prev);
    this.quat = -1;
    this.differs = false;
    for (let i = 0; i < size; i++) now[at + i] = base[bat + i];
    for (let from = 0, g = 0; from < size; from += 4, g++) {
      const n = size - from < 4 ? size - from : 4;
      const differs = size === 1 && plan.tail.length === 0 ? 1 : c.which[g].read(r, this.class * ((1 << n) + 1) + this.moved(base, prev, bat + from, n));
      for (let i = 0; i < n; i++) {
        if (differs & (1 << i)) this.lane(r, c, from + i, now, at, base, bat, prev, own);
      }
      if (differs) this.differs = true;
    }
    let next = tail;
    if (plan.tail.length > 0) {
      let changed;
      [next, changed] = readTailChanges(r, plan, tail);
      if (changed) this.differs = true;
    }
    if (!this.differs) r.fail(`a row of ${c.name} that differs in nothing`);
    plan.legal(now, at);
    return next;
  }

  moved(base, prev, at, n) {
    if (this.span === 0) return 1 << n;
    let moved = 0;
    for (let i = 0; i < n; i++) if (base[at + i] !== prev[at + i]) moved |= 1 << i;
    return moved;
  }

  // expected asks a component's own extrapolation for its row.
  expected(c, base, bat, prev) {
    if (!c.extrapolation || this.span === 0) return null;
    const { size } = c.plan;
    return c.ownExtrapolation(base.subarray(bat, bat + size), prev.subarray(bat, bat + size), this.age, this.span);
  }

  lane(r, c, i, now, at, base, bat, prev, own) {
    const { plan } = c;
    const w = plan.bits[i];
    const b = base[bat + i];
    let x;
    switch (plan.model[i]) {
      case Model.implied:
        x = 1 - b;
        break;
      case Model.raw:
        x = r.bits(w);
        break;
      case Model.largest:
        x = this.largest(r, c, i, base, bat, prev, own);
        break;
      case Model.rotation:
        x = this.rotation(r, c, i, now, at, base, bat, prev, own);
        break;
      case Model.float:
        x = this.float(r, c, i, b, prev, bat, own);
        break;
      case Model.spin:
        this.turn(c, i, base, bat, prev);
        x = this.float(r, c, i, b, prev, bat, own);
        break;
      default:
        x = this.whole(r, c, i, w, b, prev, bat, own);
    }
    if (x === b) r.fail(`a number of ${c.name} that is sent and does not differ`);
    now[at + i] = x;
  }

  // distance reads a token in the context of the movement m and returns the distance with its sign.
  distance(r, c, i, m, float) {
    let context = this.class * 42 + this.miss;
    if (this.span !== 0) {
      const bits = bitLength(Math.abs(m));
      context += 3 + 3 * Math.min(float ? bits >> 1 : bits, 12);
    }
    const t = token(r, c.tables[i], context);
    const size = Math.abs(t);
    this.miss = size < 2 ? 0 : size < 16 ? 1 : 2;
    return m < 0 ? -t : t;
  }

  whole(r, c, i, w, b, prev, bat, own) {
    const model = c.plan.model[i];
    const span = pow2[w];
    let m = 0;
    if (this.span !== 0 && model !== Model.number && !c.plan.still[i]) {
      const step = model === Model.turn ? around(b - prev[bat + i], span) : b - prev[bat + i];
      m = quotient(step * this.age, this.span);
    }
    let p = b + m;
    if (own && !c.plan.still[i]) {
      p = own[i];
      m = model === Model.linear ? p - b : around(p - b, span);
    }
    if (model === Model.linear) {
      p = p < 0 ? 0 : p > span - 1 ? span - 1 : p;
      const x = p + this.distance(r, c, i, m, false);
      if (x < 0 || x >= span) r.fail(`a number of ${c.name} outside of its width`);
      return x;
    }
    const d = this.distance(r, c, i, m, false);
    if (d < -span / 2 || d > span / 2 - 1) r.fail(`a distance of ${c.name} outside of its width`);
    const x = (p + d) % span;
    return x < 0 ? x + span : x;
  }

  float(r, c, i, b, prev, bat, own) {
    let p = placeOf(b);
    let m = 0;
    if (this.span !== 0 && !c.plan.still[i]) {
      const t = floatOf(b);
      const was = floatOf(prev[bat + i]);
      let f;
      if (own) f = floatOf(own[i]);
      else if (c.plan.model[i] === Model.spin && this.turns > 0) f = Math.fround(this.factor * t - this.less * was);
      else f = Math.fround(t + ((t - was) * this.age) / this.span);
      if (Number.isFinite(f)) {
        const place = placeOf(bitsOf(f));
        m = place - p;
        p = place;
      }
    }
    const d = this.distance(r, c, i, m, true);
    if (d === minusZero) return 0x80000000;
    const x = p + d;
    if (x >= 0x80000000 || x <= -0x80000000) r.fail(`a float of ${c.name} that is none`);
    return x >= 0 ? x : 0x80000000 - x;
  }

  // turn finds by how much the rotation of floats with lane i goes on turning: its factors of the rotations at T and at T'.
  turn(c, i, base, bat, prev) {
    const first = c.plan.start[i];
    this.turns = this.span !== 0 && this.age % this.span === 0 ? this.age / this.span : 0;
    if (this.turns > 16) this.turns = 0;
    if (this.turns === 0 || this.quat === first) return;
    this.quat = first;
    const sum = (a, b) => {
      const p = [0, 1, 2, 3].map((k) => floatOf(a[bat + first + k]) * floatOf(b[bat + first + k]));
      return p[0] + p[1] + (p[2] + p[3]);
    };
    const twice = 2 * (sum(base, prev) / Math.sqrt(sum(base, base) * sum(prev, prev)));
    this.factor = twice;
    this.less = 1;
    for (let n = this.turns; n > 1; n--) [this.factor, this.less] = [twice * this.factor - this.less, this.factor];
  }

  // numbersOf writes the four numbers of the rotation at `at` of l into out.
  numbersOf(l, at, k, out) {
    const M = pow2[k] - 1;
    const left = l[at];
    let sum = 0;
    for (let i = 0, j = 1; i < 4; i++) {
      if (i === left) continue;
      const v = 2 * l[at + j++] - M;
      out[i] = v;
      sum += v * v;
    }
    out[left] = rootOf(Math.max(0, 2 * M * M - sum));
  }

  // expect makes a and e of the rotation whose first lane is q.
  expect(c, q, k, base, bat, prev, own) {
    if (this.quat === q) return;
    this.quat = q;
    const { a, b, e } = this;
    this.numbersOf(base, bat + q, k, a);
    e.set(a);
    if (this.span === 0 || c.plan.still[q]) return;
    if (own) {
      this.numbersOf(own, q, k, e);
      return;
    }
    const M = pow2[k] - 1;
    this.numbersOf(prev, bat + q, k, b);
    let dot = 0;
    for (let i = 0; i < 4; i++) dot += a[i] * b[i];
    let any = false;
    let sum = 0;
    for (let i = 0; i < 4; i++) {
      let s = quotient((a[i] - (dot < 0 ? -b[i] : b[i])) * this.age, this.span);
      s = s < -4 * M ? -4 * M : s > 4 * M ? 4 * M : s;
      any ||= s !== 0;
      e[i] = a[i] + s;
      sum += e[i] * e[i];
    }
    if (!any) return;
    const l = rootOf(65536 * sum);
    const g = rootOf(65536 * 2 * M * M);
    for (let i = 0; i < 4; i++) e[i] = l === 0 ? a[i] : quotient(e[i] * g, l);
  }

  largest(r, c, i, base, bat, prev, own) {
    const k = c.plan.bits[i + 1];
    this.expect(c, i, k, base, bat, prev, own);
    const { e } = this;
    let context = 0;
    for (let j = 1; j < 4; j++) if (Math.abs(e[j]) > Math.abs(e[context])) context = j;
    return c.tables[i].read(r, context);
  }

  rotation(r, c, i, now, at, base, bat, prev, own) {
    const start = c.plan.start[i];
    const k = c.plan.bits[i];
    this.expect(c, start, k, base, bat, prev, own);
    const M = pow2[k] - 1;
    const left = now[at + start];
    const j = i - start - 1;
    const which = j < left ? j : j + 1;
    const p = numberOf(this.e, left, which, M);
    const m = p - numberOf(this.a, left, which, M);
    const x = p + this.distance(r, c, i, m, false);
    if (x < 0 || x > M) r.fail(`a number of ${c.name} outside of its width`);
    return x;
  }
}
