// A server that accepts one client, on a virtual clock: the transport of a Client under test, and what reached the server.
import { ByteReader, ByteWriter } from '../src/bits.js';
import { bytesOfRow } from '../src/fields.js';
import { Link } from '../src/link.js';
import { Kind, Type, sealed, seedOf } from '../src/packets.js';

export const limits = 'limits netcode{version:1;acks:33;rows:64;entities:1048576;window:64..4096;packet:256..8192;reliable:1024;credit:131072;fragments:80;tables:182026c2ce77ee62}';
const open = seedOf(0, 0n);

export class Server {
  constructor(protocol) {
    this.protocol = protocol;
    this.seed = seedOf(7, protocol.hash);
    this.toClient = [];
    this.heardMessages = [];
    this.closes = 0;
    this.now = 0;
    this.link = null;
    this.failed = null;
  }

  // the transport

  receive() {
    return this.toClient.shift() ?? null;
  }

  close() {}

  send(b) {
    if (b[0] === Kind.hello) {
      const nonce = new ByteReader(b.subarray(3)).u64();
      this.toClient.push(sealed(new ByteWriter(64).u8(Kind.accept).u64(nonce).u32(7).u16(60).u16(64).u16(1200), open));
    } else if (b[0] === Kind.join && this.link === null) {
      this.link = new Link({ seed: ~this.seed >>> 0, size: 1200 }, this, this.now);
      const { judgeOwn } = this.link;
      this.link.judgeOwn = (m, j) => m.type === Type.close && judgeOwn.call(this.link, m, j); // the rest has another form from a client
      this.toClient.push(sealed(new ByteWriter(64).u8(Kind.welcome).u32(1).u64(100n).raw(new Uint8Array(16)), ~this.seed >>> 0));
    } else if (!(b[0] & 0x80)) {
      try {
        this.link.read(b, this.now);
      } catch (err) {
        if (err.reason !== 1) throw err;
        this.closes++;
      }
    }
  }

  // the owner of the link

  transmit(bytes) {
    this.toClient.push(bytes.slice());
  }

  sections() {}

  packetAcked() {}

  packetLost() {}

  snapshot() {
    return true;
  }

  heard() {}

  judgeGame() {}

  message(m) {
    this.heardMessages.push(this.protocol.messages[m.type - 16].name);
    this.link.inbox.handled(m);
  }

  /** say sends a reliable message. */
  say(name, value) {
    const t = this.protocol.messageNamed.get(name);
    this.link.outbox.push(t.mode, t.channel, t.type, 4, bytesOfRow(t.plan, value));
    this.link.send(this.now);
  }
}
