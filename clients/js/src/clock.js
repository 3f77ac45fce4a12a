// Clocks of a client: which tick the server is in, which one is shown, which one an input is for.

const keep = 256; // ticks of which the delay is known

/** ShownClock chooses the tick that is shown: behind the server's by what the network's jitter asks for, never going back. */
export class ShownClock {
  /** @param {number} rate ticks a second */
  constructor(rate, options = {}) {
    this.perMs = rate / 1000;
    this.rate = rate;
    this.least = options.least ?? 1.5; // ticks behind the newest, at least
    this.most = options.most ?? rate / 2;
    this.offsets = new Float64Array(keep); // of the newest ticks: tick less time
    this.times = new Float64Array(keep);
    this.count = 0;
    this.newest = 0;
    this.jitter = 0;
    this.base = null;
    this.delay = Math.max(this.least, 2);
    this.shown = -1;
    this.last = -1;
  }

  /** heard tells that state up to `tick` came at `now`. */
  heard(tick, now) {
    if (tick <= this.newest) return;
    this.newest = tick;
    const offset = tick - now * this.perMs;
    const n = this.count++ % keep;
    this.offsets[n] = offset;
    this.times[n] = now;
    const all = Math.min(this.count, keep);
    // The best of the last seconds came with the least delay. A server that slipped reaches it no more: then the best of half a second counts.
    let best = -Infinity;
    let recent = -Infinity;
    let young = 0;
    for (let i = 0; i < all; i++) {
      if (now - this.times[i] > 3000) continue;
      if (this.offsets[i] > best) best = this.offsets[i];
      if (now - this.times[i] > 500) continue;
      young++;
      if (this.offsets[i] > recent) recent = this.offsets[i];
    }
    const slipped = young > 4 && best - recent > Math.max(4, this.rate / 8);
    this.base = slipped ? recent : best;
    // The delay covers all but one in twenty.
    const late = this.base - offset;
    this.jitter += late > this.jitter ? (late - this.jitter) * 0.19 : (late - this.jitter) * 0.01;
    const want = Math.min(this.most, Math.max(this.least, this.jitter + 1.25));
    this.delay += (want - this.delay) * (want > this.delay ? 0.25 : 0.02);
  }

  /** update returns the tick to show at `now`, with its fraction; -1 before anything was heard. */
  update(now) {
    if (this.base === null) return -1;
    const target = this.base + now * this.perMs - this.delay;
    if (this.shown < 0 || Math.abs(target - this.shown) > this.rate) {
      this.shown = Math.max(this.shown, target);
    } else {
      const elapsed = Math.max(0, now - this.last) * this.perMs;
      const off = target - this.shown - elapsed;
      const bend = Math.max(-0.25, Math.min(0.25, off / Math.max(1, this.rate / 4))); // a quarter faster or slower at most
      this.shown += elapsed * (1 + bend);
    }
    this.last = now;
    return this.shown;
  }
}

/** InputClock numbers the ticks of inputs, so that they come to the server just before they are simulated. */
export class InputClock {
  /** @param {number} rate ticks a second @param {number} tick that of the Welcome */
  constructor(rate, tick, now, roundTrip) {
    this.perMs = rate / 1000;
    this.offset = tick - now * this.perMs + roundTrip * this.perMs + 2;
    this.aim = 1.5; // ticks early
    this.spread = 1;
  }

  at(now) {
    return this.offset + now * this.perMs;
  }

  /** slip moves the clock back by ticks that the server gave up. */
  slip(ticks) {
    this.offset -= ticks;
  }

  /** feedback tells how early an input came, in ticks. */
  feedback(early) {
    const error = early - this.aim;
    this.spread += (Math.abs(error) - this.spread) * 0.1;
    this.aim = Math.max(1, Math.min(6, 1 + this.spread));
    // Late ones are caught up at once, early ones are let go slowly.
    if (early < 0) this.offset += this.aim - early;
    else if (error < -0.5) this.offset -= error * 0.5;
    else if (error > 0.5) this.offset -= Math.min(error * 0.05, 0.1);
  }
}
