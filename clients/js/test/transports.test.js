// Transports of browsers, over sockets that are made here.
import assert from 'node:assert/strict';
import test from 'node:test';
import { WebSocketTransport, connectTransport } from '../src/transports.js';
import { UDPTransport } from '../src/udp.js';

class Socket {
  constructor(url) {
    this.url = url;
    this.readyState = 0;
    this.bufferedAmount = 0;
    this.sent = [];
    queueMicrotask(() => {
      this.readyState = 1;
      this.onopen?.();
    });
  }

  send(b) {
    this.sent.push(b);
  }

  close() {}
}

test('a WebSocket that closes has failed, and one that dropped a datagram is not ordered', async () => {
  const t = await new WebSocketTransport('ws://x/ws', Socket).opened;
  assert.deepEqual([t.failed, t.ordered], [null, true]);
  t.send(new Uint8Array(1));
  t.socket.bufferedAmount = 40000;
  t.send(new Uint8Array(1));
  assert.deepEqual([t.socket.sent.length, t.ordered], [1, false]);
  t.socket.onclose({ code: 1006 });
  assert.equal(t.failed.message, 'netcode: the WebSocket to ws://x/ws closed (1006)');
});

test('connectTransport tells why it is not WebTransport', async () => {
  const before = [globalThis.WebSocket, globalThis.WebTransport];
  globalThis.WebSocket = Socket;
  try {
    assert.equal((await connectTransport({ webSocket: 'ws://x/ws' })).fallback.message, 'netcode: no WebTransport address was given');
    const to = { webSocket: 'ws://x/ws', webTransport: 'https://x/netcode', patience: 20 };
    globalThis.WebTransport = undefined;
    assert.equal((await connectTransport(to)).fallback.message, 'netcode: this browser has no WebTransport');
    await assert.rejects(connectTransport({ webTransport: to.webTransport }), { message: 'netcode: this browser has no WebTransport, and no WebSocket address was given' });
    globalThis.WebTransport = class {
      constructor() {
        this.ready = Promise.reject(new Error('Opening handshake failed.'));
        this.closed = this.ready;
      }
    };
    const t = await connectTransport(to);
    assert.ok(t instanceof WebSocketTransport && t.fallback instanceof Error);
    assert.equal(t.fallback.message, 'netcode: no WebTransport session to https://x/netcode: Opening handshake failed.');
    globalThis.WebTransport = class {
      ready = new Promise(() => {});

      closed = new Promise(() => {});

      close() {}
    };
    assert.equal((await connectTransport(to)).fallback.message, 'netcode: no WebTransport session in time');
  } finally {
    [globalThis.WebSocket, globalThis.WebTransport] = before;
  }
});

test('a host that is not found fails the transport; an error of the network does not', async () => {
  const t = new UDPTransport('no such host.invalid', 9);
  await assert.rejects(t.opened);
  assert.match(t.failed.message, /^netcode: no such host\.invalid:9: /);
  t.close();
  const u = await new UDPTransport('127.0.0.1', 9).opened;
  u.socket.emit('error', new Error('ECONNREFUSED'));
  assert.equal(u.failed, null);
  u.close();
});
