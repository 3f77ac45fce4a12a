// UDP for Node: bots and tools.
import dgram from 'node:dgram';

/** UDPTransport sends datagrams to one server in clear. Hosts are looked up first. */
export class UDPTransport {
  /** @param {string} host @param {number} port */
  constructor(host, port) {
    this.waiting = [];
    this.dropped = 0;
    this.ready = false;
    this.socket = dgram.createSocket(host.includes(':') ? 'udp6' : 'udp4');
    /** failed has the reason if the host was not found, else null. An error of the network later on is a lost packet. */
    this.failed = null;
    this.socket.on('error', () => {});
    this.socket.on('message', (bytes) => {
      if (this.waiting.length >= 1024) {
        this.waiting.shift();
        this.dropped++;
      }
      this.waiting.push(new Uint8Array(bytes));
    });
    this.opened = new Promise((resolve, reject) => {
      this.socket.connect(port, host, (err) => {
        if (err) {
          this.failed = new Error(`netcode: ${host}:${port}: ${err.message}`, { cause: err });
          reject(this.failed);
          return;
        }
        this.ready = true;
        resolve(this);
      });
    });
    this.opened.catch(() => {});
  }

  send(bytes) {
    this.socket.send(bytes, () => {}); // an error of the network is a lost packet
  }

  receive() {
    return this.waiting.shift() ?? null;
  }

  close() {
    this.socket.close();
  }
}
