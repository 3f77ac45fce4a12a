// Messages that wait for their tick, entity or state. PROTOCOL.md, section 6, Waiting to be handled.
import { nearest } from './bits.js';
import { Mode } from './packets.js';

/** Waiting handles messages in the order of their stages, those of one stage in the order of arrival, as soon as they may. */
export class Waiting {
  constructor() {
    this.list = [];
    this.unreliable = 0;
    this.unreliableBytes = 0;
    this.dropped = 0;
    this.sequenced = new Map(); // channel to the newest packet of which a message was handled
  }

  add(m, now) {
    m.came = now;
    const reliable = m.mode >= Mode.reliable;
    if (!reliable) {
      if (this.unreliable >= 1024 || this.unreliableBytes + m.body.length > 262144) {
        this.dropped++;
        return;
      }
      m.body = m.body.slice(); // the datagram's memory is used again
      this.unreliable++;
      this.unreliableBytes += m.body.length;
    } else if (m.body.buffer.byteLength > m.body.length) m.body = m.body.slice();
    this.list.push(m);
  }

  /** run handles what may be handled. `client` has tick, snapshots and handle. */
  run(client, now) {
    if (this.list.length === 0) return;
    const blocked = new Set(); // ordered channels with a message that waits
    const keep = [];
    let waitingUnreliable = 0;
    const list = this.list;
    this.list = keep;
    list.sort((a, b) => a.stage - b.stage); // stable
    for (const m of this.ordered(list)) {
      const key = m.mode * 64 + m.channel;
      const ordered = m.mode === Mode.ordered;
      const verdict = ordered && blocked.has(key) ? 'wait' : this.verdict(m, client, now);
      if (verdict === 'wait' && !(m.mode < Mode.reliable && (++waitingUnreliable > 64 || now - m.came > 2000))) {
        if (ordered) blocked.add(key);
        keep.push(m);
        continue;
      }
      this.done(m, client);
      if (verdict === 'handle' && !this.overtaken(m)) client.handle(m);
      else this.dropped++;
    }
  }

  // ordered keeps the order of an ordered channel whatever stages its messages name.
  ordered(list) {
    const lastStage = new Map();
    const byArrival = list.filter((m) => m.mode === Mode.ordered).sort((a, b) => a.fullNumber - b.fullNumber);
    for (const m of byArrival) {
      const key = m.channel;
      m.turn = Math.max(m.stage, lastStage.get(key) ?? 0);
      lastStage.set(key, m.turn);
    }
    for (const m of list) if (m.mode !== Mode.ordered) m.turn = m.stage;
    return list.slice().sort((a, b) => a.turn - b.turn || (a.mode === Mode.ordered && b.mode === Mode.ordered && a.channel === b.channel ? a.fullNumber - b.fullNumber : 0));
  }

  overtaken(m) {
    if (m.mode !== Mode.sequenced) return false;
    const before = this.sequenced.get(m.channel) ?? 0;
    if (m.sequence < before) return true;
    this.sequenced.set(m.channel, m.sequence);
    return false;
  }

  done(m, client) {
    if (m.mode >= Mode.reliable) client.link.inbox.handled(m);
    else {
      this.unreliable--;
      this.unreliableBytes -= m.body.length;
    }
  }

  verdict(m, client, now) {
    if (m.tick >= 0 && nearest(m.tick, client.tick) > client.tick) return 'wait';
    if (!m.entity) return 'handle';
    const e = client.snapshots.entities.get(m.entity.index);
    if (e && e.generation > m.entity.generation) return 'drop';
    const known = e !== undefined && e.generation === m.entity.generation;
    const lacks = !known || (m.state >= 0 && nearest(m.state, client.snapshots.newest || client.serverTick) > e.tick);
    if (known && e.alive) return lacks && now - m.came < 2000 ? 'wait' : 'handle';
    return lacks && now - m.came < 10000 ? 'wait' : 'drop'; // it may come, or come again
  }
}
