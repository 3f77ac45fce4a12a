// Transports of browsers. Each has send, receive, close and ready.

const limit = 1024; // datagrams that wait to be read; older ones go first

class Queue {
  constructor() {
    this.waiting = [];
    this.dropped = 0;
  }

  push(bytes) {
    if (this.waiting.length >= limit) {
      this.waiting.shift();
      this.dropped++;
    }
    this.waiting.push(bytes);
  }

  receive() {
    return this.waiting.shift() ?? null;
  }
}

/** WebSocketTransport sends each datagram as one binary message. What a blocked connection cannot take is dropped: state is sent again. */
export class WebSocketTransport extends Queue {
  constructor(url, Socket = globalThis.WebSocket) {
    super();
    this.socket = new Socket(url);
    this.socket.binaryType = 'arraybuffer';
    this.ready = false;
    /** ordered tells that all that was sent comes, in order: nothing had to be dropped. */
    this.ordered = true;
    /** failed has the reason once the connection is gone, else null. */
    this.failed = null;
    this.opened = new Promise((resolve, reject) => {
      this.socket.onopen = () => {
        this.ready = true;
        resolve(this);
      };
      this.socket.onclose = (e) => {
        this.failed = new Error(`netcode: the WebSocket to ${url} ${this.ready ? 'closed' : 'did not open'} (${e.code})`);
        reject(this.failed);
      };
      this.socket.onerror = () => {};
    });
    this.opened.catch(() => {});
    this.socket.onmessage = (e) => this.push(new Uint8Array(e.data));
  }

  send(bytes) {
    if (this.socket.readyState === 1 && this.socket.bufferedAmount < 32768) this.socket.send(bytes);
    else this.ordered = false;
  }

  close() {
    this.socket.close();
  }
}

/** WebTransportTransport sends datagrams over QUIC. */
export class WebTransportTransport extends Queue {
  constructor(url, options = {}) {
    super();
    this.ready = false;
    /** leaving makes send queue what the connection cannot take yet: no later datagram follows. */
    this.leaving = false;
    this.last = new Uint8Array(0);
    /** failed has the reason once the session is gone, else null. */
    this.failed = null;
    this.transport = new globalThis.WebTransport(url, options);
    this.opened = this.transport.ready.then(() => {
      const { datagrams } = this.transport;
      this.writer = (datagrams.createWritable ? datagrams.createWritable() : datagrams.writable).getWriter();
      this.ready = true;
      this.read(datagrams.readable.getReader());
      return this;
    });
    this.transport.closed.then((e) => this.fail(e), (e) => this.fail(e));
    this.opened.catch(() => {});
  }

  fail(e) {
    this.failed = new Error(`netcode: the WebTransport session closed: ${e?.reason || e?.message || ''}`);
  }

  async read(reader) {
    try {
      for (let d = await reader.read(); !d.done; d = await reader.read()) this.push(d.value);
    } catch (e) {
      this.fail(e);
    }
  }

  send(bytes) {
    if (this.leaving) this.last = bytes;
    if (this.ready && (this.writer.desiredSize > 0 || this.leaving)) this.writer.write(bytes).catch(() => {});
  }

  /** leave ends the session. A page that is left has no time for datagrams, so the reason is the last one, which the server takes as such. */
  leave() {
    const reason = this.last.length > 500 ? '' : Array.from(this.last, (b) => b.toString(16).padStart(2, '0')).join('');
    this.transport.close({ closeCode: 1, reason });
  }

  close() {
    try {
      this.transport.close();
    } catch {
      // It never opened.
    }
  }
}

/**
 * connectTransport opens WebTransport where the browser and the network allow it, else WebSocket. The transport's `fallback` is the Error for which it is
 * not WebTransport, or null.
 * @param {{webTransport?: string, webSocket?: string, certificateHashes?: Uint8Array[], patience?: number}} to
 */
export async function connectTransport(to) {
  let fallback = null;
  if (!to.webTransport) fallback = new Error('netcode: no WebTransport address was given');
  else if (!globalThis.WebTransport) fallback = new Error('netcode: this browser has no WebTransport');
  else {
    try {
      return await openWebTransport(to);
    } catch (err) {
      fallback = err;
    }
  }
  if (!to.webSocket) throw new Error(`${fallback.message}, and no WebSocket address was given`, { cause: fallback });
  return Object.assign(await new WebSocketTransport(to.webSocket).opened, { fallback });
}

async function openWebTransport(to) {
  const options = to.certificateHashes ? { serverCertificateHashes: to.certificateHashes.map((value) => ({ algorithm: 'sha-256', value })) } : {};
  const t = new WebTransportTransport(to.webTransport, options);
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('netcode: no WebTransport session in time')), to.patience ?? 3000);
  });
  try {
    return Object.assign(await Promise.race([t.opened, late]), { fallback: null });
  } catch (err) {
    t.close();
    throw err instanceof Error && /^netcode: /.test(err.message) ? err : new Error(`netcode: no WebTransport session to ${to.webTransport}: ${err?.message ?? err}`, { cause: err });
  } finally {
    clearTimeout(timer);
  }
}
