// A protocol: its entries, hashes and plans. PROTOCOL.md, sections 8 and 12.
import { fnv32, fnv64, textBytes } from './bits.js';
import { parseFields } from './fields.js';
import { TableSet, parseTables, tableName } from './tables.js';
import { serialized } from './serialized.js';
import { shipped } from './shipped.js';

const deliveries = { Unreliable: 0, UnreliableSequenced: 1, Reliable: 2, ReliableOrdered: 3 };

/** Names of the modes of delivery, by number. */
export const deliveryNames = Object.keys(deliveries);

/** entriesOfLock reads the entries of a lock file (`netcode schema`), in their order. @param {string} lock */
export function entriesOfLock(lock) {
  const entries = [];
  let head = null;
  let lines = [];
  for (const raw of lock.split(/\r?\n/)) {
    if (raw === '' || raw[0] === '#' || /^(schema|option|supports) /.test(raw)) continue;
    const begin = /^(.*\S) #[0-9a-f]{8} \{(\}.*)?$/.exec(raw);
    if (head === null) {
      if (!begin) throw new Error(`netcode: a line of a lock file that is none: ${raw}`);
      if (begin[2] !== undefined) entries.push(`${begin[1]}{${begin[2]}`);
      else [head, lines] = [begin[1], []];
    } else if (raw[0] === '}') {
      entries.push(`${head}{${lines.join(';')}${raw}`);
      head = null;
    } else {
      lines.push(raw.trim());
    }
  }
  if (head !== null) throw new Error('netcode: a lock file that ends early');
  return entries;
}

// splitFields parts the fields of a description at the semicolons: kinds have none.
const splitFields = (body) => (body === '' ? [] : body.split(';'));

function parseDescription(textOf, what) {
  const open = textOf.indexOf('{');
  let depth = 0;
  for (let i = open; i < textOf.length && open >= 0; i++) {
    if (textOf[i] === '{') depth++;
    else if (textOf[i] === '}' && --depth === 0) return { name: textOf.slice(0, open), body: textOf.slice(open + 1, i), rest: textOf.slice(i + 1) };
  }
  throw new Error(`netcode: a ${what} without braces: ${textOf}`);
}

// planOf makes the plan of a description's body, or null for what is no row.
function planOf(body) {
  const info = { plan: null, unpacked: false, extrapolation: null, raw: false, codec: null };
  if (/^serialized(;|$)/.test(body)) {
    info.codec = serialized(body.slice(11));
    info.raw = info.codec === null;
    return info;
  }
  const parts = splitFields(body);
  if (parts[0] === 'unpacked') {
    info.unpacked = true;
    parts.shift();
  }
  if (parts.length > 0 && /^~[^:]+$/.test(parts[0])) info.extrapolation = parts.shift().slice(1);
  if (parts[0] === 'raw') info.raw = true;
  else info.plan = parseFields(parts);
  return info;
}

/** Protocol is what both ends agree on: made from the entries of a lock file, or those a server tells. */
export class Protocol {
  /**
   * @param {string[]|string} source entries, or the text of a lock file
   * @param {{tables?: string, extrapolations?: Record<string, Function>}} [options] tables: the text of a chosen set
   */
  constructor(source, options = {}) {
    this.entries = typeof source === 'string' ? entriesOfLock(source) : [...source];
    this.components = [];
    this.inputs = [];
    this.messages = [];
    this.collections = [];
    this.sections = [];
    this.locals = [];
    this.unpacked = false;
    this.extrapolations = options.extrapolations ?? {};
    let bytes = 0xcbf29ce484222325n;
    for (const entry of this.entries) bytes = fnv64(textBytes(entry + '\n'), bytes);
    this.hash = bytes;
    this.hashes = this.entries.map((e) => fnv32(textBytes(e)));
    for (const entry of this.entries) this.add(entry);
    this.wide = /;rows:256;/.test(this.entries[0] ?? '');
    this.useTables(options.tables ?? null);
    this.components.forEach((c, i) => (c.row = i));
    this.messages.forEach((m, i) => {
      m.type = i + 16;
      // The library's own are read where they are used; with packing off integers have other forms.
      if (m.codec && (m.name.startsWith('netcode.') || this.unpacked)) m.codec = null;
    });
    this.componentNamed = new Map(this.components.map((c) => [c.name, c]));
    this.messageNamed = new Map(this.messages.map((m) => [m.name, m]));
    this.clientRows = this.components.some((c) => c.owner || c.named);
    for (const c of this.components) c.base = c.of ? this.componentNamed.get(c.of) : c;
  }

  add(entry) {
    const space = entry.indexOf(' ');
    const kind = entry.slice(0, space);
    const d = parseDescription(entry.slice(space + 1), kind);
    if (kind === 'limits') this.limits(d);
    else if (kind === 'component') this.component(d);
    else if (kind === 'input') this.inputs.push({ name: d.name, ...planOf(d.body), relayed: / relayed$/.test(d.rest) });
    else if (kind === 'message') this.message(d);
    else if (kind === 'collection') this.collection(d);
    else if (kind === 'section') this.section(d);
    else if (kind === 'local') this.locals.push(d);
    else throw new Error(`netcode: an entry of kind ${kind}: this client is older than the server's library`);
  }

  limits(d) {
    const values = Object.fromEntries(d.body.split(';').map((p) => p.split(':')));
    if (values.version !== '1') throw new Error(`netcode: version ${values.version} of the wire; this client speaks 1`);
    this.unpacked = /;unpacked$/.test(d.body);
    this.tablesSum = values.tables;
  }

  component(d) {
    const of = / of (\S+)$/.exec(d.rest);
    const c = { name: d.name, ...planOf(d.body), owner: d.rest.includes('[owner]'), named: d.rest.includes('[named]'), predicted: d.rest.includes(' predicted'), of: of ? of[1] : null };
    c.empty = c.plan.size === 0 && c.plan.tail.length === 0;
    c.floats = c.plan.tail.length === 0 && c.plan.fields.every((f) => /^f32($|~)/.test(f.kind));
    c.whole = c.plan.hasEntities || this.unpacked;
    if (c.extrapolation && !this.extrapolations[c.extrapolation]) {
      throw new Error(`netcode: component ${c.name} needs the extrapolation ${c.extrapolation}: pass it in options.extrapolations`);
    }
    this.components.push(c);
  }

  message(d) {
    const m = /^\[(both ways|from client|from server);(\w+) (\d+)(;owner only)?\](\[question\]|\[answer\])?$/.exec(d.rest);
    if (!m) throw new Error(`netcode: a message whose delivery is not understood: ${d.name}${d.rest}`);
    this.messages.push({
      name: d.name, ...planOf(d.body), fromServer: m[1] !== 'from client', fromClient: m[1] !== 'from server',
      mode: deliveries[m[2]], channel: Number(m[3]), ownerOnly: Boolean(m[4]), question: m[5] === '[question]', answer: m[5] === '[answer]',
    });
  }

  collection(d) {
    const open = d.body.indexOf('element{');
    const head = d.body.slice(0, open - 1).split(';');
    const options = Object.fromEntries(head.slice(1).map((p) => p.split(':')));
    const element = planOf(d.body.slice(open + 8, -1));
    this.collections.push({ name: d.name, kind: head[0], most: Number(options.most), key: Number(options.key ?? 0), plan: element.plan, unpacked: element.unpacked });
  }

  section(d) {
    const types = Object.fromEntries(d.body.split(';').map((p) => p.split(':')));
    this.sections.push({ name: d.name, toServer: Number(types['to server'] ?? 0), toClient: Number(types['to client'] ?? 0) });
  }

  useTables(chosenText) {
    const sums = (this.tablesSum ?? 'none').split('+');
    this.flat = sums[0] === 'none';
    if (!this.flat && sums[0] !== shipped.sum) throw new Error(`netcode: the protocol has tables ${sums[0]}, this client ships ${shipped.sum}: take a client of the server's version`);
    const chosen = chosenText ? parseTables(chosenText) : null;
    if ((sums[1] ?? null) !== (chosen ? chosen.sum : null)) throw new Error(`netcode: the protocol has ${sums[1] ? `tables ${sums[1]} of its own: pass their text in options.tables` : 'no tables of its own, but options.tables has some'}`);
    const set = new TableSet(this.flat ? null : shipped, this.unpacked ? null : chosen);
    const find = (names, symbols, contexts) => set.find(names, symbols, contexts);
    this.rowsTables = [null, 1, 2, 3, 4].map((n) => n && find([`rows.${n}`], 2 ** n, 6 * (2 ** n + 1)));
    this.listFour = find(['list.four'], 17, 3);
    this.listGap = find(['list.gap'], 67, 2);
    for (const c of this.components) if (c.plan) laneTables(c, find);
  }
}

const classes = ['', '', 'largest', 'rotation', 'float', 'linear', 'turn', 'number', 'number', 'spin'];

// laneTables finds the tables of a component: one a lane, and one for each four lanes.
function laneTables(c, find) {
  const name = tableName(c.name);
  const { plan } = c;
  c.tables = Array.from({ length: plan.size }, (_, i) => {
    const model = plan.model[i];
    if (model < 2) return null;
    return find([`${name}.${i}`, `class.${classes[model]}`], model === 2 ? 4 : 131, model === 2 ? 4 : 252);
  });
  c.which = [];
  for (let i = 0, g = 0; i < plan.size; i += 4, g++) {
    const n = Math.min(4, plan.size - i);
    c.which.push(find([`${name}.which${g}`, `class.which${n}`], 2 ** n, 6 * (2 ** n + 1)));
  }
}
