// Types of arche-netcode-client.

/** A value of a component, message, input or element, by the names of its fields. */
export type Value = any;

export interface EntityID {
  index: number;
  generation: number;
}

/** The names and types of a game: `netcode schema js` writes them. Client<Game> then knows each name. */
export interface AnyGame {
  components: any;
  inputs: any;
  messages: any;
  collections: any;
}

type Name<T> = keyof T & string;

export interface Entity<G extends AnyGame = AnyGame> extends EntityID {
  /** For the game: a sprite, a mesh. */
  data: any;
  readonly alive: boolean;
  readonly components: string[];
  has(component: Name<G['components']>): boolean;
  /** The newest value that came. Do not change it. */
  get<K extends Name<G['components']>>(component: K): G['components'][K] | undefined;
  /** The value at the moment that the client shows. */
  shown<K extends Name<G['components']>>(component: K): G['components'][K] | undefined;
  /** The value at a tick with a fraction. */
  at<K extends Name<G['components']>>(component: K, tick: number): G['components'][K] | undefined;
}

export interface Transport {
  readonly ready?: boolean;
  /** The reason once the transport is gone: its client ends at once. */
  readonly failed?: Error | null;
  /** All that was sent comes, in order. */
  readonly ordered?: boolean;
  /** Set before the last datagrams of a page that is left. */
  leaving?: boolean;
  /** Ends a page's connection, behind its last datagram. */
  leave?(): void;
  send(datagram: Uint8Array): void;
  receive(): Uint8Array | null;
  close(): void;
}

export class Protocol {
  constructor(source: string | string[], options?: { tables?: string; extrapolations?: Record<string, Function> });
  readonly entries: string[];
  readonly hash: bigint;
}

export function entriesOfLock(lock: string): string[];

/** The error of a connection that ended. */
export class Closed extends Error {
  readonly reason: number;
  readonly detail: string;
}

/** Bytes that no honest server sends. */
export class Malformed extends Error {
  readonly bit?: number;
}

export interface SendOptions {
  entity?: EntityID;
  /** 0 Initialization to 6 PostLateUpdate. */
  stage?: number;
  /** 0 unreliable, 1 sequenced, 2 reliable, 3 ordered. */
  mode?: number;
  channel?: number;
}

export interface Stats {
  received: number; sent: number; bytesReceived: number; bytesSent: number; lost: number; damaged: number; old: number; lacking: number;
  /** ms */
  roundTrip: number; jitter: number; ping: number;
  /** ticks */
  serverTick: number; shownTick: number; inputTick: number; delay: number;
  entities: number;
}

export interface MessageInfo<G extends AnyGame> {
  entity: Entity<G> | null;
  tick: number | null;
}

export class Client<G extends AnyGame = AnyGame> {
  constructor(protocol: Protocol | Protocol[], transport: Transport, options?: { payload?: Uint8Array | string; maxEntities?: number; delay?: { least?: number; most?: number } });
  readonly id: number;
  readonly state: 'connecting' | 'connected' | 'closing' | 'closed';
  readonly connected: boolean;
  readonly entities: Map<number, Entity<G>>;
  readonly world: { collections: { of<K extends Name<G['collections']>>(entity: Entity<G>, name: K): G['collections'][K] | undefined } } | null;
  on(event: 'connect', handler: () => void): () => void;
  on(event: 'spawn' | 'despawn' | 'change', handler: (entity: Entity<G>) => void): () => void;
  on(event: 'collection', handler: (entity: Entity<G>, name: string, elements: Value[]) => void): () => void;
  /** What this client may write of an entity has changed: a bit for each component that clients write. */
  on(event: 'right', handler: (entity: Entity<G>, rights: bigint) => void): () => void;
  on(event: 'message', handler: (name: string, value: Value, info: MessageInfo<G>) => void): () => void;
  on(event: 'close', handler: (err: Closed) => void): () => void;
  /** What a handler threw. Without a handler of error, update throws it at its end. */
  on(event: 'error', handler: (err: Error) => void): () => void;
  onMessage<K extends Name<G['messages']>>(name: K, handler: (value: G['messages'][K], info: MessageInfo<G>) => void): this;
  /** Does the work of a frame. now is in ms and never goes back. */
  update(now?: number): void;
  send<K extends Name<G['messages']>>(name: K, value: G['messages'][K] | Uint8Array, options?: SendOptions): void;
  call<K extends Name<G['messages']>>(name: K, value: G['messages'][K], options?: SendOptions): Promise<any>;
  input<K extends Name<G['inputs']>>(name: K, value: Partial<G['inputs'][K]>): void;
  write<K extends Name<G['components']>>(entity: Entity<G>, component: K, value: Partial<G['components'][K]>): void;
  /** Ends in order. leaving: no frame may follow, as in pagehide. */
  close(text?: string, options?: { leaving?: boolean }): void;
  stats(): Stats;
  /** Large messages in both directions. */
  readonly transfers: Transfers;
}

export interface Transfer {
  readonly id: number;
  readonly name: string;
  readonly size: number;
}

export interface Transfers {
  /** Takes transfers of up to limit bytes. begin may throw to refuse one. */
  receive(limit: number, handler: {
    begin?(t: Transfer): void;
    progress?(t: Transfer, received: number, size: number): void;
    done?(t: Transfer, bytes: Uint8Array): void;
    failed?(t: Transfer, why: string): void;
  }): void;
  send(name: string, bytes: Uint8Array, progress?: (sent: number, size: number) => void): Promise<void>;
  /** Stops a transfer that comes. */
  cancel(t: Transfer, why?: string): void;
}

/** Keeps a player connected: a new client when a connection ends for a reason that may pass. */
export class Session<G extends AnyGame = AnyGame> {
  /** protocol: or a function, asked for each attempt. */
  constructor(protocol: Protocol | Protocol[] | (() => Protocol | Protocol[] | Promise<Protocol | Protocol[]>), transport: () => Transport | Promise<Transport>, options?: {
    /** Who the player is, asked for each attempt. An error ends the session, one with reason 0 is asked again. */
    payload?: () => Uint8Array | string | Promise<Uint8Array | string>;
    /** The first and the longest wait before a new attempt, in ms. */
    least?: number; most?: number;
    client?: { maxEntities?: number; delay?: { least?: number; most?: number } };
  });
  readonly client: Client<G> | null;
  readonly connected: boolean;
  readonly ended: boolean;
  on(event: 'client', handler: (client: Client<G>) => void): this;
  on(event: 'waiting', handler: (ms: number, err: Error) => void): this;
  on(event: 'end', handler: (err: Error) => void): this;
  on(event: 'connect', handler: () => void): this;
  on(event: 'spawn' | 'despawn' | 'change', handler: (entity: Entity<G>) => void): this;
  on(event: 'collection', handler: (entity: Entity<G>, name: string, elements: Value[]) => void): this;
  on(event: 'right', handler: (entity: Entity<G>, rights: bigint) => void): this;
  on(event: 'message', handler: (name: string, value: Value, info: MessageInfo<G>) => void): this;
  on(event: 'close', handler: (err: Closed) => void): this;
  on(event: 'error', handler: (err: Error) => void): this;
  onMessage<K extends Name<G['messages']>>(name: K, handler: (value: G['messages'][K], info: MessageInfo<G>) => void): this;
  update(now?: number): void;
  close(text?: string, options?: { leaving?: boolean }): void;
}

export class OwnBody {
  constructor(client: Client<any>, options: { component: string; input: string; step: (value: Value, input: Value | undefined, seconds: number) => Value; smooth?: number });
  update(entity: Entity<any> | null | undefined, now?: number): Value | undefined;
  /** Forgets what was predicted: the next value is shown without smoothing. */
  reset(): void;
  readonly corrections: number;
}

export class WebSocketTransport implements Transport {
  constructor(url: string);
  readonly opened: Promise<this>;
  readonly ordered: boolean;
  readonly ready: boolean;
  readonly failed: Error | null;
  send(datagram: Uint8Array): void;
  receive(): Uint8Array | null;
  close(): void;
}

export class WebTransportTransport implements Transport {
  constructor(url: string, options?: object);
  readonly opened: Promise<this>;
  readonly ready: boolean;
  readonly failed: Error | null;
  send(datagram: Uint8Array): void;
  receive(): Uint8Array | null;
  close(): void;
}

/** Opens WebTransport where browser and network allow it, else WebSocket; fallback tells why. */
export function connectTransport(to: { webTransport?: string; webSocket?: string; certificateHashes?: Uint8Array[]; patience?: number }): Promise<(WebTransportTransport | WebSocketTransport) & { readonly fallback: Error | null }>;

/** Asks a server for the entries of its protocol. */
export function discover(transport: Transport, options: { random: (n: number) => Uint8Array; entries?: string[] }): Promise<string[]>;

export class ByteReader {
  constructor(bytes: Uint8Array);
}
export class ByteWriter {
  constructor(size?: number);
}

/** The reasons of a connection's end, in words. */
export const reasons: Record<number, string>;
