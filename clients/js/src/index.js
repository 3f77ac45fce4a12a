// A client of arche-netcode servers: see README.md.
export { Client } from './client.js';
export { Session } from './session.js';
export { Traveller } from './handover.js';
export { Protocol, entriesOfLock } from './protocol.js';
export { Closed } from './handshake.js';
export { Malformed, ByteReader, ByteWriter } from './bits.js';
export { WebSocketTransport, WebTransportTransport, connectTransport } from './transports.js';
export { discover } from './discover.js';
export { reasons } from './packets.js';
export { OwnBody } from './predict.js';
