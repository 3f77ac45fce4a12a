// Types of arche-netcode-client/udp.
import type { Transport } from './index.js';

/** Sends datagrams to one server in clear, from Node. */
export class UDPTransport implements Transport {
  constructor(host: string, port: number);
  readonly opened: Promise<this>;
  readonly ready: boolean;
  readonly failed: Error | null;
  send(datagram: Uint8Array): void;
  receive(): Uint8Array | null;
  close(): void;
}
