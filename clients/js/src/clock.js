// Clocks of a client: which tick the server is in, which one is shown, which one an input is for.

/** Shown chooses the tick that is shown: behind the server's by what the network's jitter asks for, never going back. */
export class ShownClock {
  /** @param {number} rate ticks a second */
  constructor(rate, options = {}) {
    this.perMs = rate / 1000;
    this.rate = rate;
    this.least = options.least ?? 1.5; // ticks behind the newest, at least
    this.most = options.most ?? rate / 2;
    this.samples = []; // { at, offset } of the last seconds
    this.base = null;
    this.delay = Math.max(this.least, 2);
    this.shown = -1;
    this.last = -1;
  }

  /** heard tells that state up to `tick` came at `now`. */
  heard(tick, now) {
    const offset = tick - now * this.perMs;
    this.samples.push({ at: now, offset });
    while (this.samples.length > 2 && (now - this.samples[0].at > 3000 || this.samples.length > 512)) this.samples.shift();
    let best = -Infinity;
    for (const s of this.samples) if (s.offset > best) best = s.offset;
    // A server that slipped is behind all samples of before: they are forgotten once nothing reached them for half a second.
    const recent = this.samples.filter((s) => now - s.at < 500);
    let newest = -Infinity;
    for (const s of recent) if (s.offset > newest) newest = s.offset;
    if (recent.length > 4 && best - newest > Math.max(4, this.rate / 8)) {
      this.samples = recent;
      best = newest;
    }
    this.base = best;
    const late = this.samples.map((s) => best - s.offset).sort((a, b) => a - b);
    const jitter = late[Math.floor((late.length - 1) * 0.95)];
    const want = Math.min(this.most, Math.max(this.least, jitter + 1.25));
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
