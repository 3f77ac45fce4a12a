// Types of arche-netcode-client/secure.
import type { Transport } from './index.js';

/** A client's end of transport/secure over another transport, in Node: a connect token, or the server's key of 32 bytes. */
export class SecureTransport implements Transport {
  constructor(inner: Transport, options: { token?: Uint8Array; serverKey?: Uint8Array; now?: () => number });
  readonly ready: boolean;
  readonly failed: Error | null;
  send(datagram: Uint8Array): void;
  receive(): Uint8Array | null;
  close(): void;
}
